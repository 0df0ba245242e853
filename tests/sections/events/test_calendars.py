"""Strange but honest calendars come out as they are meant; rules agree with dateutil's."""

import contextlib
import time
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.sections.events.imports.ics import CpuTimeExceeded, cpu_time_limit, read_ics
from location_context.sections.events.records import When
from tests.sections.events.calendar_cases import FILES, SERIES, TIMES, ZONES, at
from tests.sections.events.readings import split, task

# The alarm of a series may strike while garbage is collected; it repeats until it is received.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
WINDOW = task(date(2026, 11, 1), date(2027, 10, 31), "Europe/Berlin")
CASES = {
    f"{kind}: {name}": case
    for kind, cases in {"zone": ZONES, "time": TIMES, "series": SERIES, "file": FILES}.items()
    for name, case in cases.items()
}


def _shown(when: When | None) -> str:
    if when is None:
        return "-"
    if when.at is None:
        return when.day.isoformat()
    real = when.at.astimezone(UTC).astimezone(
        when.at.tzinfo
    )  # an hour that is skipped is not an hour
    return real.isoformat(timespec="minutes")


@pytest.mark.parametrize("name", CASES)
def test_unusual_calendar_gives_the_expected_events(name):
    case = CASES[name]
    entries, rejected = split(read_ics(case.data, WINDOW))
    shown = [f"{one.title}, {_shown(one.start)}, {_shown(one.end)}" for one in entries]
    assert sorted(shown) == sorted(case.shown)
    refused = [one.reason for one in rejected]
    assert len(refused) == len(case.refused)
    assert all(map(str.startswith, sorted(refused), sorted(case.refused)))


def test_rejection_of_a_calendar_entry_names_its_title():
    data = at("DTSTART:20261205T190000Z") + at("DTSTART:soon").replace(
        b"SUMMARY:A", b"SUMMARY:Ball"
    )
    _, (refused,) = split(read_ics(data, WINDOW))
    assert refused.location == "Ball"


def _try_for_ever(seconds: float) -> None:
    """Like a library that catches every error of its own, and tries again."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        with contextlib.suppress(Exception):
            for _ in range(5_000_000):
                pass


def test_cpu_time_limit_is_not_caught_as_a_parser_error():
    with pytest.raises(CpuTimeExceeded), cpu_time_limit(0.02):
        _try_for_ever(1)


rules = st.builds(
    "FREQ={};INTERVAL={}{}{}".format,
    st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    st.integers(1, 6),
    st.sampled_from([
        "", ";BYDAY=MO,FR", ";BYMONTHDAY=-1,15", ";BYMONTH=12,3", ";BYDAY=SU;BYSETPOS=-1",
        ";BYDAY=TU;BYMONTHDAY=8,9,10,11,12,13,14", ";WKST=SU;BYDAY=SU,MO", ";BYHOUR=9,17",
    ]),
    st.sampled_from(["", ";COUNT=17", ";UNTIL=20270331T120000Z"]),
)  # fmt: skip


starts = st.datetimes(datetime(2026, 9, 1), datetime(2027, 2, 1))  # noqa: DTZ001  on the clock of a zone
zones = st.sampled_from(["Europe/Berlin", "America/New_York", "Pacific/Auckland", "UTC"])


@settings(max_examples=60)
@given(rules, starts.map(lambda moment: moment.replace(microsecond=0)), zones)
def test_recurrence_rule_gives_the_same_dates_as_dateutil(rule, start, name):
    """Both by the wall clock of the zone; the start itself counts, as RFC 5545 has it."""
    aware = start.replace(tzinfo=ZoneInfo(name))
    data = at(f"DTSTART;TZID={name}:{start:%Y%m%dT%H%M%S}", f"RRULE:{rule}")
    read = {one.start.at.astimezone(UTC) for one in read_ics(data, WINDOW)}
    first = datetime(2026, 11, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    last = first + timedelta(days=365)
    dates = rrulestr(rule, dtstart=aware).xafter(aware - timedelta(days=1), count=800)
    found = {one.astimezone(UTC) for one in (aware, *dates)}
    expected = {one for one in found if first <= one < last}
    assert {one for one in read if first <= one < last} == expected
