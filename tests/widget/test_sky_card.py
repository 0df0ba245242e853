"""What the sky card says is true of the days below it, and what it draws is to scale."""

import asyncio
import math
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta

import ephem
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.astronomy import card as sky
from location_context.sections.astronomy.drawing import (
    RADIUS,
    _declination,
    altitude,
    lit_part,
    turns,
)
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.contract import PointBody
from location_context.upstream.deadline import Deadline
from tests.widget.queries import NOW, WORDS, query

EPHEMERIS = Ephemeris()


def read(section, asked):
    """The section's body, read beside whatever loop a browser keeps running in this thread."""

    async def body():
        return (await section.read(asked, Deadline.after(30))).body

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(body())).result()


@given(st.floats(0, 359.9))
def test_the_moons_lit_part_has_the_area_that_is_lit(angle):
    share = (1 - math.cos(math.radians(angle))) / 2
    path = lit_part(angle, share)
    if share < 0.003:
        assert path == ""
        return
    half, side = re.search(r"A([\d.]+) 15 0 0 ([01]) 0-15Z", path).groups()
    drawn = (
        math.pi * RADIUS**2 / 2 + (1 if side == "1" else -1) * math.pi * RADIUS * float(half) / 2
    )
    assert drawn / (math.pi * RADIUS**2) == pytest.approx(share, abs=0.004)


def place(lat: float, lng: float, zone: str) -> PointBody:
    return PointBody(lat=lat, lng=lng, timezone=zone, country=None, region=None)


@pytest.mark.parametrize(
    ("point", "evening", "low", "high"),
    [
        (place(48.86, 2.35, "Europe/Paris"), date(2026, 11, 17), 0, 60),  # lit on the right
        (place(48.86, 2.35, "Europe/Paris"), date(2026, 12, 1), 90, 180),  # on the left
        (place(-33.87, 151.21, "Australia/Sydney"), date(2026, 11, 17), 120, 180),  # on the left
        (place(0.35, 32.58, "Africa/Kampala"), date(2026, 11, 13), 60, 120),  # a boat
    ],
)
def test_the_moon_leans_as_it_is_seen_from_there(point, evening, low, high):
    assert low <= turns(EPHEMERIS, point, [evening])[0] <= high


@pytest.mark.parametrize(
    ("lat", "lng"), [(43.3, -1.98), (35.68, 139.76), (-33.87, 151.2), (24.1, 32.9), (64.1, -21.9)]
)
@pytest.mark.parametrize("start", ["2026-12-20", "2027-03-20", "2027-06-20"])
def test_the_suns_curve_is_its_true_altitude(gazetteer, lat, lng, start):
    """The section's golden hours, found from the ephemeris, lie at -4 and +6 degrees of it."""
    section = Astronomy(EPHEMERIS, lambda: NOW)
    asked = query(gazetteer, lat, lng, start, 3)
    body = read(section, asked)
    day = body.days[1]
    declination = _declination(day.date, lat, day.sun.noon_altitude)
    for span, ends in (
        (day.sun.golden_hour_morning, (-4, 6)),
        (day.sun.golden_hour_evening, (6, -4)),
    ):
        for moment, height in zip((span.start, span.end), ends, strict=True):
            turned = math.radians((moment - day.sun.solar_noon).total_seconds() / 240)
            turns = altitude(lat, declination, math.pi), day.sun.noon_altitude
            reached = min(max(height, turns[0]), turns[1])  # it may turn before
            assert altitude(lat, declination, turned) == pytest.approx(reached, abs=0.35)


@pytest.mark.parametrize(
    ("lat", "start", "words"),
    [
        (69.65, "2026-12-10", "does not rise"),
        (69.65, "2027-06-10", "does not set"),
        (69.65, "2027-05-15", "no longer sets"),
        (69.65, "2027-07-22", "sets again"),
        (69.65, "2027-01-10", "rises again"),
        (43.3, "2027-06-10", "hours of daylight, sunset near"),
    ],
)
def test_the_skys_sentence_says_what_the_sun_does(gazetteer, lat, start, words):
    section = Astronomy(EPHEMERIS, lambda: NOW)
    body = read(section, query(gazetteer, lat, 18.96, start, 12))
    card = sky.card(body, EPHEMERIS, WORDS)
    assert words in card.lead
    assert len(card.nights) == 11
    if words == "does not set":
        assert card.path.sunrise == ""
        assert {night.why for night in card.nights} == {"Never fully dark"}


def sky_of(gazetteer, lat, lng, start, nights):
    section = Astronomy(EPHEMERIS, lambda: NOW)
    return sky.card(read(section, query(gazetteer, lat, lng, start, nights + 1)), EPHEMERIS, WORDS)


def test_planets_that_stand_out_are_named_brightest_first_by_when_to_look(gazetteer):
    """August 2025: Venus and Jupiter close together at dawn, as almanacs announced."""
    shown = {one.when: one.names for one in sky_of(gazetteer, 48.86, 2.35, "2025-08-11", 3).planets}
    assert re.match("Venus(,| and) Jupiter", shown["Planets before dawn"])
    assert "Mars" not in " ".join(shown.values())  # at magnitude 1.6 it does not stand out


def test_a_planet_that_is_not_seen_on_every_night_is_not_named(gazetteer):
    body = read(Astronomy(EPHEMERIS, lambda: NOW), query(gazetteer, 48.86, 2.35, "2025-08-11", 3))
    first = body.days[0]
    gone = [msgspec.structs.replace(one, visible="none") for one in first.planets]
    days = [msgspec.structs.replace(first, planets=gone), *body.days[1:]]
    assert sky.card(msgspec.structs.replace(body, days=days), EPHEMERIS, WORDS).planets == []


@pytest.mark.parametrize(
    ("lat", "start", "said"),
    [
        (43.3, "2026-12-20", "The shortest day of the year."),
        (-33.9, "2026-12-20", "The longest day of the year."),
        (43.3, "2027-06-19", "The longest day of the year."),
        (69.65, "2027-06-19", ""),
        (0.3, "2027-06-19", ""),
    ],
)
def test_a_solstice_says_which_day_it_is_here(gazetteer, lat, start, said):
    shown = next(
        h for h in sky_of(gazetteer, lat, 18.96, start, 3).highlights if h.icon == "season"
    )
    assert shown.text.endswith(said)
    assert said or "day of the year" not in shown.text


@pytest.mark.parametrize(
    ("start", "icon", "said", "goes"),
    [
        ("2026-11-16", "first_quarter", "Sets that night at ", ephem.Observer.next_setting),
        ("2026-11-30", "last_quarter", "Rises that night at ", ephem.Observer.next_rising),
    ],
)
def test_a_half_moon_says_when_its_light_ends_or_begins(gazetteer, start, icon, said, goes):
    """Against the ephem library, to two minutes."""
    shown = next(h for h in sky_of(gazetteer, 48.86, 2.35, start, 4).highlights if h.icon == icon)
    day = int(re.search(r"\d+", shown.text)[0])
    noon = datetime.fromisoformat(start).replace(day=day, month=12 if day < 10 else 11, hour=11)
    observer = ephem.Observer()
    observer.lat, observer.lon, observer.date = "48.86", "2.35", noon
    moment = goes(observer, ephem.Moon()).datetime() + timedelta(hours=1)  # Paris in winter
    hour, minute = map(int, re.search(said + r"(\d\d):(\d\d)", shown.text).groups())
    assert abs(hour * 60 + minute - moment.hour * 60 - moment.minute) <= 2


def test_in_the_polar_night_the_sun_at_its_highest_is_below_the_horizon(gazetteer):
    facts = {fact.label: fact for fact in sky_of(gazetteer, 69.65, 18.96, "2026-12-10", 3).facts}
    assert facts["Sun at its highest"].detail == ", 3° below the horizon"


def test_a_guest_in_the_polar_night_reads_of_twilight_and_no_golden_hour(gazetteer):
    shown = sky_of(gazetteer, 69.65, 18.96, "2026-12-10", 3)
    facts = {fact.label: fact.value for fact in shown.facts}
    assert not [label for label in facts if "Golden" in label]
    assert re.fullmatch(r"0\d:\d\d–\u20601\d:\d\d", facts["Twilight"])
    assert shown.path.golden == []


def test_the_perseids_come_before_showers_that_nobody_sees(gazetteer):
    """August 2026, without a Moon: beside a total eclipse of the Sun, the shower of the year."""
    shown = sky_of(gazetteer, 43.3, -1.98, "2026-07-29", 16).highlights
    titles = [one.title for one in shown]
    assert "Perseid meteors" in titles
    assert "Alpha Capricornid meteors" not in titles
    perseids = next(one for one in shown if one.title == "Perseid meteors")
    said = perseids.text.replace("\u00a0", " ").replace("\u2060", "")
    assert re.match(r"Night of Wed 12 to Thu 13, best 0\d:\d[05]–0\d:\d[05]\.", said)


@pytest.mark.parametrize("start", ["2026-08-11", "2027-01-02"])  # no Moon; a Moon that rises late
def test_the_best_time_for_meteors_lies_within_one_dark_window(gazetteer, start):
    body = read(Astronomy(EPHEMERIS, lambda: NOW), query(gazetteer, 40.4, -3.7, start, 4))
    (shower,) = [one for one in body.highlights if one.type == "meteor_shower"]
    best = shower.details
    windows = [window for day in body.days for window in day.night.dark_windows]
    assert any(one.start <= best.start < best.end <= one.end for one in windows)
    assert best.start <= shower.at <= best.end


@pytest.mark.parametrize(
    ("lat", "start", "days", "said"),
    [
        (43.3, "2026-10-20", 8, r"sunset from 18:\d\d to 19:\d\d"),  # the clocks go back
        (60.2, "2027-03-01", 20, r"sunset from \d\d:\d\d to \d\d:\d\d"),
        (43.3, "2027-06-10", 8, r"sunset near \d\d:\d\d"),
    ],
)
def test_sunset_is_one_time_only_where_it_hardly_moves(gazetteer, lat, start, days, said):
    assert re.search(said, sky_of(gazetteer, lat, -1.98, start, days).lead)


def test_a_drift_of_sunset_below_ten_minutes_is_not_told(gazetteer):
    assert "moves" not in sky_of(gazetteer, 43.3, -1.98, "2027-06-10", 8).drift
    assert "moves" in sky_of(gazetteer, 43.3, -1.98, "2027-03-01", 12).drift
