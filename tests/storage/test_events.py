"""The event store on both databases."""

from datetime import UTC, date, datetime, timedelta

import msgspec

from location_context.point import Point
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.events import SqlEventStore
from tests.databases import pooled_settings as database_settings  # noqa: F401  a fixture

PARIS = Point(48.85, 2.35, "Europe/Paris")
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


def _event(name: str, first: date, last: date, lat: float = 48.85, lng: float = 2.35):
    return ProviderEvent(
        id=name, source="operator", title=name, category="other", start=When(first), end=When(last),
        all_day=True, place=Place(lat=lat, lng=lng),
    )  # fmt: skip


async def _titles(rows: SqlEventStore, first: date, last: date) -> set[str]:
    found = await rows.find_nearby(PARIS, 25, Stay(first, last), 1000)
    return {event.title for event in found}


async def test_event_is_found_on_each_of_its_days(database: Database):
    rows = SqlEventStore(database)
    begin = date(2026, 12, 1)
    lengths = [1, 2, 8, 9, 63, 64, 65, 400, 600]
    new_events = [_event(f"{n} days", begin, begin + timedelta(days=n - 1)) for n in lengths]
    await rows.replace(Calendar(id="c", kind="import", source="file"), new_events)
    for n in lengths:
        last = begin + timedelta(days=n - 1)
        assert f"{n} days" in await _titles(rows, last, last)
        assert f"{n} days" in await _titles(rows, begin - timedelta(days=3), begin)


async def test_calendar_is_replaced_and_removed_as_a_whole(database: Database):
    rows = SqlEventStore(database)
    day = date(2026, 12, 1)
    calendar = Calendar(id="c", kind="import", source="file", rows=2)
    await rows.replace(calendar, [_event("a", day, day), _event("b", day, day)])
    await rows.replace(calendar, [_event("c", day, day)])
    assert await _titles(rows, day, day) == {"c"}
    assert await rows.calendars() == [calendar]
    assert await rows.remove("c")
    assert not await rows.remove("c")
    assert await _titles(rows, day, day) == set()


async def test_events_of_several_batches_are_stored_unchanged(database: Database):
    rows, day = SqlEventStore(database), date(2026, 12, 1)
    words = ["100 %", "$1 and ? and :name", 'd\'Artagnan "the" \\', "Fête 🎉"]
    new_events = [_event(f"{words[n % 4]} {n}", day, day) for n in range(4_100)]
    await rows.replace(Calendar(id="c", kind="import", source="file", rows=4_100), new_events)
    found = await rows.find_nearby(PARIS, 25, Stay(day, day), 5_000)
    assert sorted(found, key=lambda one: one.id) == sorted(new_events, key=lambda one: one.id)


async def test_each_feed_to_refresh_is_claimed_by_a_single_caller(database: Database):
    rows = SqlEventStore(database)
    await rows.replace(Calendar(id="a", kind="feed", source="https://a.example/x.ics"), [])
    await rows.replace(Calendar(id="b", kind="import", source="file"), [])
    claimed = await rows.claim(NOW, NOW - timedelta(hours=1))
    assert claimed is not None
    assert claimed.checked_at == NOW
    assert await rows.claim(NOW, NOW - timedelta(hours=1)) is None
    assert await rows.claim(NOW + timedelta(hours=2), NOW + timedelta(hours=1)) is not None


async def test_update_does_not_restore_a_removed_calendar(database: Database):
    rows = SqlEventStore(database)
    await rows.update_calendar(
        Calendar(id="deleted", kind="feed", source="https://a.example/x.ics")
    )
    assert await rows.calendars() == []


async def test_event_that_began_years_ago_is_found_while_it_lasts(database: Database):
    rows, since = SqlEventStore(database), date(2026, 11, 1)
    running = _event("running", date(1990, 5, 1), date(2040, 1, 1))
    country = msgspec.structs.replace(
        _event("country", since, since), place=None, scope="country", country="FR"
    )
    calendar = Calendar(id="c", kind="import", source="file")
    await rows.replace(calendar, [running, country])
    for day in (since, date(2026, 12, 24), date(2029, 12, 31)):
        assert "running" in await _titles(rows, day, day)
    nearby = await rows.find_nearby(
        msgspec.structs.replace(PARIS, country="FR"), 25, Stay(since, since), 1000
    )
    assert {event.title for event in nearby} == {"running", "country"}
    assert await _titles(rows, since, since) == {"running"}
