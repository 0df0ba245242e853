"""Hostile files end within a bound of processor time, floods of events within one of rows."""

import json
import resource
from datetime import UTC, date, datetime
from unittest.mock import patch

import pytest

from location_context.sections.events.imports.importer import ImportRejected, read_calendar
from location_context.sections.events.imports.reading import (
    CPU_SECONDS,
    MAX_ENTRIES,
    MAX_REJECTED,
    Task,
)
from location_context.sections.events.records import Calendar
from tests.sections.events.hostile import CALENDARS, EVENTS, LISTS, PAGES, TABLES

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OWN = Calendar(id="cal_1", kind="import", source="a", lat=48.1, lng=11.5, timezone="Europe/Berlin")
# of the processor; the worst take 6 to 7 s on a core of 2026, a slow one may take three times that
ENOUGH = 20.0
WITHIN_THE_PARSER = 2  # where only the bound of the process ends it


def _processor() -> float:
    """Seconds that children which have ended took of the processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def _titles_and_refused(
    data: bytes, kind, bound: float = ENOUGH
) -> tuple[set[str], list[str]]:
    task = Task(OWN, kind, date(2026, 11, 1), date(2027, 10, 31))
    seconds = WITHIN_THE_PARSER if bound == WITHIN_THE_PARSER else CPU_SECONDS[kind]
    before = _processor()
    try:
        with patch.dict(CPU_SECONDS, {kind: seconds}):
            imported = await read_calendar(task, data, NOW)
    except ImportRejected as refusal:
        return set(), [one.reason for one in refusal.rejected] or [refusal.message]
    finally:
        assert _processor() - before < bound + 1
    return {event.title for event in imported.events}, [one.reason for one in imported.rejected]


@pytest.mark.parametrize("name", EVENTS)
async def test_hostile_ics_event_is_stopped_in_time_and_the_other_events_are_imported(name):
    titles, _ = await _titles_and_refused(EVENTS[name](), "ics")
    assert "Good" in titles


@pytest.mark.parametrize("name", CALENDARS)
async def test_unreadable_calendar_is_refused_in_time_with_a_reason(name):
    titles, refused = await _titles_and_refused(CALENDARS[name](), "ics")
    assert titles == set()
    assert refused


@pytest.mark.parametrize("name", PAGES)
async def test_hostile_html_page_is_refused_in_time_with_a_reason(name):
    within = name == "a tag of 300,000 attributes"
    bound = WITHIN_THE_PARSER if within else ENOUGH
    titles, refused = await _titles_and_refused(PAGES[name](), "jsonld", bound)
    assert titles == set()
    assert refused
    assert ("of processor time" in refused[0]) == within


@pytest.mark.parametrize("name", TABLES)
async def test_hostile_table_is_refused_in_time_with_a_report_of_bounded_length(name):
    titles, refused = await _titles_and_refused(TABLES[name](), "csv")
    assert titles <= {"x"}  # the rows after a quote that never closes
    assert 0 < len(refused) <= MAX_REJECTED + 2


@pytest.mark.parametrize("name", LISTS)
async def test_hostile_json_list_is_refused_in_time_with_a_report_of_bounded_length(name):
    titles, refused = await _titles_and_refused(LISTS[name](), "list")
    assert titles == set()
    assert 0 < len(refused) <= MAX_REJECTED + 2


def _table(count: int) -> str:
    rows = (f"Event {n},2026-12-{n % 28 + 1:02}T19:{n % 60:02}\n" for n in range(count))
    return "title,start\n" + "".join(rows)


def _page(count: int) -> str:
    events = [
        {"@type": "Event", "name": f"Event {n}", "startDate": f"2026-12-{n % 28 + 1:02}T19:00"}
        for n in range(count)
    ]
    return f'<script type="application/ld+json">{json.dumps(events)}</script>'


@pytest.mark.parametrize("flood", [_table, _page])
async def test_excess_of_events_in_one_calendar_is_cut_off_at_the_limit_and_reported(opened, flood):
    imported = await opened.import_file(flood(MAX_ENTRIES + 1_000).encode(), "flood")
    (stored,) = await opened.feeds.calendars()
    assert imported.calendar.rows == stored.rows == MAX_ENTRIES
    assert [(refused.location, refused.reason) for refused in imported.rejected] == [
        ("the rest", "the calendar has more than 50,000 events; only the first 50,000 are stored")
    ]
