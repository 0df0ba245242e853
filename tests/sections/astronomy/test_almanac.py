"""The section beside the almanacs: rise and set, twilight, phases and seasons."""

from collections import defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from location_context.sections.astronomy.response import Day
from location_context.sections.astronomy.sky.ephemeris import Ephemeris, month_start, next_month
from tests.sections.astronomy.queries import seconds_apart, utc

ROUNDING = 30  # the tables are rounded to minutes
YEARS = (1900, 1940, 1970, 2020, 2050)  # of both tables
ZONES = ("UTC", "Etc/GMT+8", "Etc/GMT-8")
Event = tuple[str, datetime]


def table(folder: Path) -> dict[tuple[str, float, float], list[Event]]:
    """Body, longitude and latitude, to its events as ('r' or 's', moment)."""
    rows = defaultdict(list)
    for line in (folder / "astronomy" / "rise_set_usno.txt").read_text().splitlines():
        body, lng, lat, moment, kind = line.split()
        rows[body, float(lng), float(lat)].append((kind, utc(moment)))
    return rows


def events_of(days: list[Day], body: str) -> set[Event]:
    names = ("sunrise", "sunset") if body == "Sun" else ("moonrise", "moonset")
    found = set()
    for day in days:
        record = day.sun if body == "Sun" else day.moon
        for kind, name in zip("rs", names, strict=True):
            if (moment := getattr(record, name)) is not None:
                found.add((kind, moment.astimezone(utc("2000-01-01T00:00Z").tzinfo)))
    return found


PLACES = [
    ("Sun", 0.0, 60.0),
    ("Sun", -150.0, -60.0),
    ("Sun", 30.0, 89.0),
    ("Moon", 105.0, 83.0),
    ("Moon", 135.0, 85.0),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_sun_and_moon_rise_and_set_times_agree_with_the_almanac_within_a_minute(
    place, shared_data, reader
):
    body, lng, lat = place
    rows = table(shared_data)[place]
    # a date tells its first rise and set; three zones' dates together tell every one
    first, last = rows[0][1].date(), rows[-1][1].date()
    events: set[Event] = set()
    for zone in ZONES:
        events |= events_of(list(reader.days(lat, lng, zone, first, last)), body)
    worst = 0.0
    for kind, moment in rows:
        near = [e for e in events if e[0] == kind and seconds_apart(e[1], moment) < 1800]
        assert near, f"{kind} {moment} is missing"
        worst = max(worst, min(seconds_apart(e[1], moment) for e in near))
    minute = timedelta(minutes=1)
    inside = [e for e in events if rows[0][1] - minute <= e[1] <= rows[-1][1] + minute]
    invented = [
        e for e in inside if not any(k == e[0] and seconds_apart(e[1], m) < 1800 for k, m in rows)
    ]
    assert invented == []
    assert worst <= 60
    print(f"{place}: {len(rows)} events, worst {worst:.0f} s from the rounded minute")


def test_almanac_tests_cover_each_place_of_the_almanac_table(shared_data):
    assert sorted(table(shared_data)) == sorted(PLACES)


def test_twilight_times_agree_with_the_almanac_within_a_minute(shared_data, reader):
    for line in (shared_data / "astronomy" / "twilight.txt").read_text().splitlines():
        lat, lng, _, *moments = line.split()
        expected = [utc(moment) for moment in moments]
        day = (expected[0] - timedelta(hours=5)).date()
        sun = reader.day(float(lat), float(lng), "America/New_York", day).sun
        found = [
            sun.astronomical_dawn, sun.nautical_dawn, sun.civil_dawn,
            sun.civil_dusk, sun.nautical_dusk, sun.astronomical_dusk,
        ]  # fmt: skip
        for mine, theirs in zip(found, expected, strict=True):
            assert seconds_apart(mine, theirs) <= 60


def moments_of(ephemeris: Ephemeris, year: int) -> list[tuple[str, float]]:
    start, end = month_start((year, 1)), month_start(next_month((year, 12)))
    return [(moment.type, moment.at) for moment in ephemeris.sky_events(start, end)]


@pytest.mark.parametrize("year", YEARS)
def test_moon_phase_times_agree_with_the_almanac_within_a_minute(year, shared_data, ephemeris):
    names = ("new_moon", "first_quarter", "full_moon", "last_quarter")
    lines = (shared_data / "astronomy" / "moon_phases.txt").read_text().splitlines()
    expected = [
        (names[int(line[0])], utc(line[2:]).timestamp()) for line in lines if line[2:6] == str(year)
    ]
    found = [(name, at) for name, at in moments_of(ephemeris, year) if name in names]
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert max(abs(a - b) for (_, a), (_, b) in zip(found, expected, strict=True)) <= 60


@pytest.mark.parametrize("year", YEARS)
def test_season_start_times_agree_with_the_almanac_within_a_minute(year, shared_data, ephemeris):
    lines = (shared_data / "astronomy" / "seasons.txt").read_text().splitlines()
    expected = [
        utc(line.split()[0]).timestamp()
        for line in lines
        if line.startswith(str(year)) and line.split()[1] in ("Equinox", "Solstice")
    ]
    names = ("march_equinox", "june_solstice", "september_equinox", "december_solstice")
    found = [(name, at) for name, at in moments_of(ephemeris, year) if name in names]
    assert tuple(name for name, _ in found) == names
    assert max(abs(a - b) for (_, a), b in zip(found, expected, strict=True)) <= 60


def test_perihelion_is_not_a_highlight(reader):
    found = reader.highlights(0, 0, "UTC", date(2026, 1, 1), date(2026, 1, 9))
    assert {highlight.type for highlight in found} == {"full_moon", "meteor_shower"}
