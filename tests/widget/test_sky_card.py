"""What the sky card says is true of the days below it, and what it draws is to scale."""

import asyncio
import math
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date

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


def read(section, request):
    """The section's body, read beside whatever loop a browser keeps running in this thread."""

    async def body():
        return (await section.read(request, Deadline.after(30))).body

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(body())).result()


@given(st.floats(0, 359.9))
def test_lit_area_of_the_drawn_moon_equals_the_illuminated_fraction(angle):
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
def test_drawn_moon_is_tilted_as_seen_from_the_coordinates(point, evening, low, high):
    assert low <= turns(EPHEMERIS, point, [evening])[0] <= high


@pytest.mark.parametrize(
    ("lat", "lng"), [(43.3, -1.98), (35.68, 139.76), (-33.87, 151.2), (24.1, 32.9), (64.1, -21.9)]
)
@pytest.mark.parametrize("start", ["2026-12-20", "2027-03-20", "2027-06-20"])
def test_drawn_sun_follows_its_true_altitude(gazetteer, lat, lng, start):
    """The section's golden hours, found from the ephemeris, lie at -4 and +6 degrees of it."""
    section = Astronomy(EPHEMERIS, lambda: NOW)
    request = query(gazetteer, lat, lng, start, 3)
    body = read(section, request)
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


def sky_of(gazetteer, lat, lng, start, nights):
    section = Astronomy(EPHEMERIS, lambda: NOW)
    body = read(section, query(gazetteer, lat, lng, start, nights + 1))
    return sky.card(body, EPHEMERIS, WORDS, body.days[0].date)


@pytest.mark.parametrize(
    ("lat", "start", "words"),
    [
        (69.65, "2026-12-10", "The Sun does not rise; twilight"),
        (69.65, "2027-06-10", "The Sun does not set"),
        (69.65, "2027-05-15", "no longer sets"),
        (69.65, "2027-07-22", "sets again"),
        (69.65, "2027-01-10", "rises again"),
        (43.3, "2027-06-10", "best light"),
    ],
)
def test_daylight_sentence_covers_sunset_midnight_sun_and_polar_night(gazetteer, lat, start, words):
    view = sky_of(gazetteer, lat, 18.96, start, 11).view
    assert words in view.light
    assert len(view.nights) == 11
    if words == "The Sun does not set":
        assert (view.times, view.best) == ([], None)
        assert {night.dark for night in view.nights} == {"Never fully dark"}


def test_bright_planets_are_grouped_by_time_of_night_and_listed_brightest_first(gazetteer):
    """August 2025: Venus and Jupiter close together at dawn, as almanacs announced."""
    planets = sky_of(gazetteer, 48.86, 2.35, "2025-08-11", 3).view.planets
    shown = {one.when: one.names for one in planets}
    assert re.match("Venus(,| and) Jupiter", shown["Planets before dawn"])
    assert "Mars" not in " ".join(shown.values())  # at magnitude 1.6 it does not stand out


def test_planet_hidden_on_a_night_is_not_named(gazetteer):
    body = read(Astronomy(EPHEMERIS, lambda: NOW), query(gazetteer, 48.86, 2.35, "2025-08-11", 3))
    first = body.days[0]
    hidden = [msgspec.structs.replace(one, visible="none") for one in first.planets]
    days = [msgspec.structs.replace(first, planets=hidden), *body.days[1:]]
    body = msgspec.structs.replace(body, days=days)
    assert sky.card(body, EPHEMERIS, WORDS, first.date).view.planets == []


@pytest.mark.parametrize(
    ("lat", "start", "said"),
    [
        (43.3, "2026-12-20", "The shortest day of the year"),
        (-33.9, "2026-12-20", "The longest day of the year"),
        (43.3, "2027-06-19", "The longest day of the year"),
        (69.65, "2027-06-19", ""),
        (0.3, "2027-06-19", ""),
    ],
)
def test_solstice_text_depends_on_the_hemisphere(gazetteer, lat, start, said):
    found = sky_of(gazetteer, lat, 18.96, start, 3).moments
    assert [one.text for one in found if one.icon == "season"] == [said]


@pytest.mark.parametrize("start", ["2026-11-16", "2026-11-30"])
def test_moon_quarters_are_not_listed_as_sky_events(gazetteer, start):
    body = read(Astronomy(EPHEMERIS, lambda: NOW), query(gazetteer, 48.86, 2.35, start, 4))
    assert [one for one in body.highlights if "quarter" in one.type]
    found = sky.card(body, EPHEMERIS, WORDS, body.days[0].date).moments
    assert [one for one in found if "quarter" in one.icon] == []


def test_polar_night_shows_twilight_and_auroras(gazetteer):
    card = sky_of(gazetteer, 69.65, 18.96, "2026-12-10", 3)
    (fact,) = card.facts
    assert re.fullmatch(r"0\d:\d\d–\u20601\d:\d\d", fact.value)
    assert fact.caption == "twilight; the Sun does not rise"
    assert card.view.path.polar
    assert card.view.path.above == ""
    assert [label for _, label in card.view.times] == ["first light", "brightest", "last light"]
    assert card.view.best[2].endswith("aurora season")


@pytest.mark.parametrize(
    ("lat", "lng", "degrees"),
    [(69.65, 18.96, 67), (43.3, -1.98, 45.5), (64.15, -21.9, 69), (-54.8, -68.3, 45),
     (80.8, -72.7, 90)],
)  # fmt: skip
def test_geomagnetic_latitude_agrees_with_published_values(lat, lng, degrees):
    """Dipole latitudes within two degrees of published ones."""
    assert sky.geomagnetic_latitude(lat, lng) == pytest.approx(degrees, abs=2)


def test_faint_meteor_showers_are_omitted_beside_the_perseids(gazetteer):
    """August 2026, without a Moon: beside a total eclipse of the Sun, the shower of the year."""
    card = sky_of(gazetteer, 43.3, -1.98, "2026-07-29", 16)
    found = {one.title: one for one in card.moments}
    assert "Alpha Capricornid meteors" not in found
    perseids = found["Perseid meteors"]
    assert perseids.day == date(2026, 8, 12), "the evening of the night"
    assert re.match(
        r"dozens an hour, best 0\d:\d[05]–0\d:\d[05]", perseids.text.replace("\u2060", "")
    )
    assert card.facts[0].weight == 70, "the rarest sight is a fact"
    assert "eclipse" in card.facts[0].value


def test_best_night_for_meteors_names_the_dates_of_evening_and_morning(gazetteer):
    view = sky_of(gazetteer, 40.4, -3.7, "2026-08-11", 4).view
    assert view.best[1].replace("\u00a0", " ") == "Best night: Wed 12 to Thu 13"
    assert view.best[2].startswith("Perseid meteors")


def test_best_night_for_meteors_of_a_summer_stay_is_a_perseid_night(gazetteer):
    card = sky_of(gazetteer, 43.3, -1.98, "2027-06-01", 91)
    assert card.view.best[2].startswith("Perseid meteors")


@pytest.mark.parametrize("start", ["2026-08-11", "2027-01-02"])  # no Moon; a Moon that rises late
def test_best_time_for_meteors_lies_within_a_dark_window(gazetteer, start):
    body = read(Astronomy(EPHEMERIS, lambda: NOW), query(gazetteer, 40.4, -3.7, start, 4))
    (shower,) = [one for one in body.highlights if one.type == "meteor_shower"]
    best = shower.details
    windows = [window for day in body.days for window in day.night.dark_windows]
    assert any(one.start <= best.start < best.end <= one.end for one in windows)
    assert best.start <= shower.at <= best.end


@pytest.mark.parametrize(
    ("lat", "start", "nights", "said"),
    [
        (43.3, "2026-10-20", 8, r"Sunset 19:\d\d, 18:\d\d by Wed.28"),  # the clocks go back
        (60.2, "2027-03-01", 20, r"Sunset \d\d:\d\d, \d\d:\d\d by Sun.21"),
        (43.3, "2027-06-10", 8, r"Sunset \d\d:\d\d, best light \d\d:\d\d"),
    ],
)
def test_daylight_sentence_mentions_a_change_of_sunset_time_of_ten_minutes_or_more(
    gazetteer, lat, start, nights, said
):
    assert re.match(said, sky_of(gazetteer, lat, -1.98, start, nights).view.light)


def test_clock_change_is_listed_with_the_officially_announced_time(gazetteer):
    """At three they go back to two; at two they go forward to three."""
    for start, said in (("2026-10-24", "at 03:00"), ("2027-03-27", "at 02:00")):
        moments = sky_of(gazetteer, 43.3, -1.98, start, 3).moments
        assert [one.text for one in moments if one.icon == "clock"] == [said]


def test_eclipse_after_midnight_belongs_to_the_night_before(gazetteer):
    """28 August 2026: the Moon is deepest in shadow at 06:13 in San Sebastián."""
    card = sky_of(gazetteer, 43.3, -1.98, "2026-08-26", 4)
    (moment,) = [one for one in card.moments if one.icon == "lunar_eclipse"]
    assert moment.day == date(2026, 8, 27)
    assert WORDS.plain(moment.text) == "maximum at 06:12, night before Fri 28"
    assert WORDS.plain(card.facts[0].caption) == "night of Thu 27 to Fri 28"


def test_past_highlights_of_a_stay_in_progress_are_omitted(gazetteer):
    request = query(gazetteer, 43.3, -1.98, "2026-08-10", 8)
    body = read(Astronomy(EPHEMERIS, lambda: NOW), request)
    before, after = (
        sky.card(body, EPHEMERIS, WORDS, today) for today in (date(2026, 8, 10), date(2026, 8, 14))
    )
    assert "eclipse" in before.facts[0].value
    assert "eclipse" not in " ".join(fact.value for fact in after.facts)
    assert "Perseid meteors" in [one.title for one in before.moments]
    assert "Perseid meteors" not in [one.title for one in after.moments]


def test_meteor_rate_depends_on_the_latitude_of_the_observer(gazetteer):
    def perseids(lat):
        moments = sky_of(gazetteer, lat, -1.98, "2026-08-11", 4).moments
        return next(one.text for one in moments if one.title == "Perseid meteors")

    assert perseids(43.3).startswith("dozens an hour, best ")
    assert perseids(-18.0).startswith("best ")


def test_solar_eclipse_with_its_date_is_a_key_fact_of_the_stay(gazetteer):
    card = sky_of(gazetteer, 43.3, -1.98, "2026-08-10", 8)
    assert WORDS.plain(card.facts[0].caption).startswith("Wed 12, ")


def test_best_night_of_a_long_stay_names_its_month(gazetteer):
    card = sky_of(gazetteer, 43.3, -1.98, "2027-06-01", 92)
    assert re.fullmatch(r"Best night: \w+ \d+ \w+ to \w+ \d+ \w+", WORDS.plain(card.view.best[1]))
