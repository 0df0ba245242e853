"""Whatever means harm ends within five seconds, from the call to the last filed event."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import pytest

from location_context.sections.events.imports.entries import Window
from location_context.sections.events.imports.expansion import SECONDS, Task
from location_context.sections.events.imports.importer import calendar_id, read_calendar
from location_context.sections.events.imports.reader import MOST_REFUSED
from location_context.sections.events.records import Calendar
from location_context.upstream.deadline import Deadline
from tests.sections.events.hostile import CALENDARS, EVENTS, PAGES, TABLES

pytestmark = pytest.mark.anyio
WINDOW = Window(date(2026, 11, 1), date(2027, 10, 31), "Europe/Berlin")
NOW = datetime(2026, 11, 21, tzinfo=UTC)
OWN = Calendar(id="cal_1", kind="import", source="a", lat=48.1, lng=11.5)


async def _titles_and_refused(data: bytes, kind) -> tuple[set[str], list[str]]:
    begun = time.monotonic()
    deadline = Deadline.after(SECONDS)
    imported = await read_calendar(OWN, data, Task(kind, WINDOW), NOW, deadline)
    assert time.monotonic() - begun < 5
    return {told.title for _, _, told in imported.rows}, [one.why for one in imported.refused]


@pytest.mark.parametrize("name", EVENTS)
async def test_a_hostile_event_ends_in_time_and_the_rest_is_imported(name: str):
    titles, _ = await _titles_and_refused(EVENTS[name](), "ics")
    assert "Good" in titles


@pytest.mark.parametrize("name", CALENDARS)
async def test_a_calendar_that_is_none_ends_in_time_with_a_reason(name: str):
    titles, refused = await _titles_and_refused(CALENDARS[name](), "ics")
    assert titles == set()
    assert refused


@pytest.mark.parametrize("name", PAGES)
async def test_a_hostile_page_ends_in_time_with_a_reason(name: str):
    titles, refused = await _titles_and_refused(PAGES[name](), "jsonld")
    assert titles == set()
    assert refused


@pytest.mark.parametrize("name", TABLES)
async def test_a_hostile_table_ends_in_time_and_tells_no_more_than_anybody_reads(name: str):
    titles, refused = await _titles_and_refused(TABLES[name](), "csv")
    assert titles <= {"x"}  # the rows after a quote that never closes
    assert 0 < len(refused) <= MOST_REFUSED + 2


async def test_a_calendar_that_floods_is_in_the_database_in_time(opening, tmp_path):
    """More events than are kept, from a file to the last stored row."""
    file = tmp_path / "flood.csv"
    rows = (f"Event {n},2026-12-{n % 28 + 1:02}T19:{n % 60:02}\n" for n in range(100_000))
    file.write_text("title,start\n" + "".join(rows))
    async with opening() as opened:
        source = Calendar(id=calendar_id("x"), kind="import", source=str(file), lat=48.1, lng=11.5)
        begun = time.monotonic()
        imported = await opened.section._feeds.take(source)
        assert time.monotonic() - begun < 5
    assert imported.calendar.rows > 0
    assert "the rest" in {refused.where for refused in imported.refused}
