"""Calendars: the 42 of real bug reports against an independent expansion, and what is read."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from location_context.sections.events.imports.ics import read_ics
from location_context.sections.events.imports.reading import Reading, RejectedEntry, Task
from location_context.sections.events.records import ProviderEvent
from tests.sections.events import calendar_oracle
from tests.sections.events.hostile import calendar
from tests.sections.events.readings import task

# The alarm of a series may strike while garbage is collected; it repeats until it is received.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ZONE = "Europe/Berlin"
WINDOW = task(date(2026, 11, 1), date(2027, 10, 31), ZONE)


def _read(data: bytes, window: Task = WINDOW) -> tuple[list[ProviderEvent], list[RejectedEntry]]:
    found = list(read_ics(data, window))
    entries = [one for one in found if isinstance(one, ProviderEvent)]
    return entries, [one for one in found if isinstance(one, RejectedEntry)]


def _comparable(entry: ProviderEvent, window: Task) -> tuple | None:
    last = entry.end.day if entry.end else entry.start.day
    if entry.start.day > window.last or last < window.first:
        return None
    start = entry.start.at.astimezone(UTC) if entry.start.at else entry.start.day
    end = entry.end and (entry.end.at.astimezone(UTC) if entry.end.at else entry.end.day)
    return entry.title, start, end


def test_real_calendars_hold_what_an_independent_expansion_finds(shared_data):
    """For the first and the last year in which something starts, event by event."""
    files = sorted((shared_data / "events" / "ics").glob("*.ics"))
    assert len(files) == 42
    compared, untitled = 0, 0
    for file in files:
        data = file.read_bytes()
        text = data.decode("utf-8-sig")
        starts = [
            calendar_oracle.day_of(calendar_oracle.moment(*e.one("DTSTART"), ZoneInfo(ZONE)))
            for e in calendar_oracle.events(text)[0]
        ]
        for year in sorted({min(starts).year, max(starts).year}) if starts else ():
            window = task(date(year, 1, 1), date(year, 12, 31), ZONE)
            entries, refused = _read(data, window)
            mine = {shown for entry in entries if (shown := _comparable(entry, window))}
            assert mine == calendar_oracle.expand(text, window.first, window.last, ZONE), file.name
            assert {r.reason for r in refused} <= {"it has no title"}, file.name
            compared += len(mine)
            untitled += len(refused)
    print(f"42 calendars: {compared} occurrences as expected, {untitled} refused without a title")
    assert compared > 1500


def test_a_real_calendar_of_five_thousand_events_is_read_in_its_process(shared_data):
    data = (shared_data / "events" / "ics" / "issue42_benchmark_large.ics").read_bytes()
    window = task(date(2019, 1, 1), date(2019, 12, 31), ZONE)
    found = list(Reading(data, window).found())
    assert len([one for one in found if isinstance(one, ProviderEvent)]) > 300


def test_a_rule_by_the_hour_is_read_while_its_dates_are_few():
    """In its process: the alarm that ends the endless one must not ring in the tests' own."""
    data = calendar(
        "UID:a\nSUMMARY:Guided tour\nDTSTART:20261205T090000Z\nRRULE:FREQ=HOURLY;COUNT=8",
        "UID:c\nSUMMARY:Chime\nDTSTART:20200101T000000Z\nRRULE:FREQ=HOURLY",
    )
    found = list(Reading(data, WINDOW).found())
    titles = [one.title for one in found if isinstance(one, ProviderEvent)]
    assert titles.count("Guided tour") == 8
    assert (
        len([one for one in found if isinstance(one, RejectedEntry) and "Chime" in one.location])
        == 1
    )


@pytest.mark.parametrize("frequency", ["SECONDLY", "MINUTELY"])
def test_a_rule_within_the_hour_is_refused_however_few_its_dates(frequency):
    found = _read(
        calendar(
            f"UID:b\nSUMMARY:Shuttle\nDTSTART:20261205T090000Z\nRRULE:FREQ={frequency};COUNT=6"
        )
    )
    entries, refused = found
    assert [entry.title for entry in entries] == ["Good"]
    assert [one.reason for one in refused] == [f"it repeats {frequency.lower()}"]


def test_all_that_follows_can_be_moved_at_once():
    entries, _ = _read(
        calendar(
            "UID:a\nSUMMARY:Choir\nDTSTART:20261201T180000Z\nRRULE:FREQ=DAILY;COUNT=4",
            "UID:a\nSUMMARY:Choir\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261203T180000Z\n"
            "DTSTART:20261203T200000Z",
        )
    )
    hours = [entry.start.at.hour for entry in entries if entry.title == "Choir"]
    assert sorted(hours) == [18, 18, 20, 20]


def test_whole_days_end_on_their_last_day():
    entries, _ = _read(
        calendar("UID:a\nSUMMARY:Fair\nDTSTART;VALUE=DATE:20261204\nDTEND;VALUE=DATE:20261207")
    )
    fair = next(entry for entry in entries if entry.title == "Fair")
    assert (fair.start.day, fair.end.day, fair.all_day) == (
        date(2026, 12, 4),
        date(2026, 12, 6),
        True,
    )


def test_a_time_without_zone_is_on_the_calendars_own_clock():
    data = calendar("UID:a\nSUMMARY:Market\nDTSTART:20261205T100000").replace(
        b"VERSION:2.0", b"X-WR-TIMEZONE:America/New_York"
    )
    market = next(entry for entry in _read(data)[0] if entry.title == "Market")
    assert market.start.at == datetime(2026, 12, 5, 15, tzinfo=UTC)


def test_place_category_and_address_are_read():
    entries, _ = _read(
        calendar(
            "UID:a\nSUMMARY:Advent\\, with choir\nDTSTART:20261206T160000Z\nGEO:48.137;11.575\n"
            "LOCATION:Marienplatz\nCATEGORIES:Concert,Free\nURL:https://advent.example/"
        )
    )
    advent = next(entry for entry in entries if entry.title == "Advent, with choir")
    assert (advent.place.lat, advent.place.lng, advent.place.name) == (
        48.137,
        11.575,
        "Marienplatz",
    )
    assert (advent.category, advent.url) == ("concert", "https://advent.example/")


def test_a_cancelled_event_is_left_out():
    entries, _ = _read(calendar("UID:a\nSUMMARY:Off\nSTATUS:CANCELLED\nDTSTART:20261206T160000Z"))
    assert [entry.title for entry in entries] == ["Good"]
