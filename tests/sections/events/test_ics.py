"""Calendars: 42 of real bug reports, and what is read of an event."""

import csv
from datetime import UTC, date
from hashlib import sha256
from pathlib import Path

import pytest

from location_context.sections.events.imports.ics import read_ics
from location_context.sections.events.imports.reading import Reading, RejectedEntry, Task
from location_context.sections.events.records import ProviderEvent
from tests.sections.events.hostile import calendar
from tests.sections.events.readings import split, task

# The alarm of a series may strike while garbage is collected; it repeats until it is received.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ZONE = "Europe/Berlin"
WINDOW = task(date(2026, 11, 1), date(2027, 10, 31), ZONE)


def _read(data: bytes, window: Task = WINDOW) -> tuple[list[ProviderEvent], list[RejectedEntry]]:
    return split(read_ics(data, window))


def _comparable(entry: ProviderEvent, window: Task) -> tuple | None:
    last = entry.end.day if entry.end else entry.start.day
    if entry.start.day > window.last or last < window.first:
        return None
    start = entry.start.at.astimezone(UTC) if entry.start.at else entry.start.day
    end = entry.end and (entry.end.at.astimezone(UTC) if entry.end.at else entry.end.day)
    return entry.title, start, end


with (Path(__file__).parent / "real_calendars.csv").open() as file:
    RECORDED = list(csv.DictReader(file, delimiter=";"))


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{row['file']} {row['year']}")
def test_real_calendar_gives_the_recorded_occurrences(shared_data, row):
    """An expansion by days that shares no code with the shipped one recorded them."""
    first, last = (date(int(row["year"]), *day) for day in ((1, 1), (12, 31)))
    window = task(first, last, ZONE)
    entries, refused = _read((shared_data / "events" / "ics" / row["file"]).read_bytes(), window)
    found = {shown for entry in entries if (shown := _comparable(entry, window))}
    lines = sorted(" | ".join(map(str, one)) for one in found)
    digest = sha256("\n".join(lines).encode()).hexdigest()
    assert (len(found), digest[:16]) == (int(row["occurrences"]), row["digest"]), lines
    assert {one.reason for one in refused} <= {"the title is missing"}


def test_real_calendar_of_five_thousand_events_is_read_in_the_sandbox(shared_data):
    data = (shared_data / "events" / "ics" / "issue42_benchmark_large.ics").read_bytes()
    window = task(date(2019, 1, 1), date(2019, 12, 31), ZONE)
    found = list(Reading(data, window).found())
    assert len([one for one in found if isinstance(one, ProviderEvent)]) > 300


def test_hourly_recurrence_rule_is_read_only_if_it_gives_few_dates():
    """In its process: the alarm that ends the endless one must not ring in the tests' own."""
    data = calendar(
        "UID:a\nSUMMARY:Guided tour\nDTSTART:20261205T090000Z\nRRULE:FREQ=HOURLY;COUNT=8",
        "UID:c\nSUMMARY:Chime\nDTSTART:20200101T000000Z\nRRULE:FREQ=HOURLY",
    )
    entries, refused = split(Reading(data, WINDOW).found())
    assert [one.title for one in entries].count("Guided tour") == 8
    assert ["Chime" in one.location for one in refused] == [True]


@pytest.mark.parametrize("frequency", ["SECONDLY", "MINUTELY"])
def test_recurrence_rule_by_minutes_or_seconds_is_refused_even_with_few_dates(frequency):
    rule = f"DTSTART:20261205T090000Z\nRRULE:FREQ={frequency};COUNT=6"
    entries, refused = _read(calendar(f"UID:b\nSUMMARY:Shuttle\n{rule}"))
    assert [entry.title for entry in entries] == ["Good"]
    assert [one.reason for one in refused] == [
        f"the event repeats {frequency.lower()}, which is not supported"
    ]


def test_ics_place_category_and_url_are_read():
    entries, _ = _read(
        calendar(
            "UID:a\nSUMMARY:Advent\\, with choir\nDTSTART:20261206T160000Z\nGEO:48.137;11.575\n"
            "LOCATION:Marienplatz\nCATEGORIES:Concert,Free\nURL:https://advent.example/"
        )
    )
    advent = next(entry for entry in entries if entry.title == "Advent, with choir")
    place = advent.place
    assert (place.lat, place.lng, place.name) == (48.137, 11.575, "Marienplatz")
    assert (advent.category, advent.url) == ("concert", "https://advent.example/")
