"""The section: its body, its languages, and how it keeps the event loop free."""

import asyncio
import threading
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest

from location_context.sections.astronomy import section as section_module
from location_context.sections.astronomy.response import AstronomyBody, Details
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import (
    Ephemeris,
    Month,
    MonthCache,
    months_between,
)
from location_context.sections.contract import Query
from location_context.upstream.deadline import Deadline
from tests.moved_clock import NOON, MovedClock
from tests.sections.astronomy.queries import query


def in_paris(start: date, end: date | None = None) -> Query:
    return query(48.8566, 2.3522, "Europe/Paris", start, end)


class HeldUp(Ephemeris):
    """An ephemeris whose months are made only once a gate opens; says which thread made them."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.threads: set[str] = set()

    def _make(self, month: Month) -> MonthCache:
        self.threads.add(threading.current_thread().name)
        assert self.gate.wait(30)
        return super()._make(month)


async def test_astronomy_body_has_the_documented_keys_in_order():
    section = Astronomy(Ephemeris(), MovedClock())
    wanted = in_paris(date(2026, 11, 28), date(2026, 12, 4))
    reading = await section.read(wanted, Deadline.after(30))
    body = msgspec.json.decode(reading.payload)
    assert list(body) == [
        "type", "applicable", "point", "units", "as_of", "stale", "degraded", "degraded_reason",
        "attribution", "stay", "days", "highlights",
    ]  # fmt: skip
    assert (body["type"], body["applicable"]) == ("astronomy", True)
    assert (body["as_of"], body["stale"]) == (None, False)
    assert len(body["days"]) == 7
    assert reading.complete
    assert reading.fresh_until == NOON + timedelta(days=1)
    assert [row["name"] for row in body["days"][0]["planets"]] == [
        "mercury", "venus", "mars", "jupiter", "saturn",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "last", "kind", "known"),
    [
        (date(2026, 8, 12), date(2026, 8, 12), "solar_eclipse",
         {"kind", "start", "maximum", "end", "magnitude", "obscuration"}),
        (date(2026, 8, 28), date(2026, 8, 28), "lunar_eclipse",
         {"kind", "start", "maximum", "end", "magnitude"}),
        (date(2026, 12, 13), date(2026, 12, 15), "meteor_shower",
         {"start", "end", "rate", "moonlight", "radiant_height"}),
        (date(2026, 10, 25), date(2026, 10, 25), "clock_change", {"shift_minutes"}),
    ],
)  # fmt: skip
async def test_details_of_a_highlight_have_every_field_and_null_where_a_field_does_not_apply(
    first, last, kind, known
):
    section = Astronomy(Ephemeris(), MovedClock())
    reading = await section.read(in_paris(first, last), Deadline.after(30))
    highlights = msgspec.json.decode(reading.payload)["highlights"]
    details = next(one["details"] for one in highlights if one["type"] == kind)
    assert list(details) == list(Details.__struct_fields__)
    assert {name for name, value in details.items() if value is not None} == known


async def test_uncached_ephemeris_month_is_computed_outside_the_event_loop():
    ephemeris = HeldUp()
    section = Astronomy(ephemeris, MovedClock())
    wanted = in_paris(date(2033, 5, 1))
    reading = asyncio.create_task(section.read(wanted, Deadline.after(30)))
    for _ in range(100):
        await asyncio.sleep(0)  # the loop goes round while the month waits
    assert not reading.done()
    ephemeris.gate.set()
    assert isinstance((await reading).body, AstronomyBody)
    assert all(name.startswith("astronomy") for name in ephemeris.threads)


async def test_uncached_month_is_still_computed_after_the_request_for_it_timed_out():
    ephemeris = HeldUp()
    section = Astronomy(ephemeris, MovedClock())
    wanted = in_paris(date(2033, 5, 10))
    with pytest.raises(TimeoutError):
        await section.read(wanted, Deadline.after(0.01))
    ephemeris.gate.set()
    assert isinstance((await section.read(wanted, Deadline.after(30))).body, AstronomyBody)


async def test_stay_of_92_days_gets_an_astronomy_answer(reader):
    wanted = query(-54.8, -68.3, "America/Argentina/Ushuaia", date(2026, 11, 1), date(2027, 1, 31))
    reading = await reader.section.read(wanted, Deadline.after(30))
    assert isinstance(reading.body, AstronomyBody)
    assert len(reading.body.days) == 92


@pytest.mark.parametrize("day", [date(1900, 1, 1), date(2050, 12, 31)])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
async def test_first_and_last_day_of_the_ephemeris_have_an_answer(day, zone, reader):
    reading = await reader.section.read(query(10.0, 10.0, zone, day), Deadline.after(30))
    assert isinstance(reading.body, AstronomyBody)


async def test_astronomy_section_has_no_providers_and_no_dataset(reader):
    assert list(reader.section.providers()) == []
    assert await reader.section.dataset() is None
    assert list(reader.section.warnings()) == []


async def test_number_of_cached_ephemeris_months_is_bounded():
    ephemeris = Ephemeris(most=2)
    for month in [(2026, 1), (2026, 2), (2026, 3)]:
        ephemeris.month(month)
    start = datetime(2026, 2, 1, tzinfo=UTC).timestamp()
    assert ephemeris.holds(start, start + 50 * 86400)
    assert not ephemeris.holds(start - 86400, start)


async def test_ephemeris_months_after_december_continue_with_january_of_the_next_year():
    start, end = datetime(2026, 11, 30, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    months = list(months_between(start.timestamp(), end.timestamp()))
    assert months == [(2026, 11), (2026, 12), (2027, 1)]


def test_attribution_names_the_ephemeris():
    names = [attribution.name for attribution in section_module.ATTRIBUTION]
    assert names == ["NASA JPL DE421"]
