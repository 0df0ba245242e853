"""Meteor showers, planets' visibility, and titles."""

import math
from datetime import UTC, date, datetime, timedelta
from typing import get_args

import ephem
import pytest

from location_context.localisation.language import Languages
from location_context.sections.astronomy.highlights.highlights import titles
from location_context.sections.astronomy.response import Details, Highlight, PrincipalPhase, Season
from location_context.sections.astronomy.sky.ephemeris import SHOWERS
from tests.sections.astronomy.queries import SectionReader, at

MADRID = (40.4168, -3.7038, "Europe/Madrid")
SYDNEY = (-33.8688, 151.2093, "Australia/Sydney")


def showers(found: list[Highlight]) -> dict[str, Details]:
    return {h.title: h.details for h in found if h.type == "meteor_shower"}


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("quadrantids", date(2026, 1, 3)),
        ("lyrids", date(2026, 4, 22)),
        ("eta_aquariids", date(2026, 5, 6)),
        ("southern_delta_aquariids", date(2026, 7, 31)),
        ("alpha_capricornids", date(2026, 7, 31)),
        ("perseids", date(2026, 8, 13)),
        ("draconids", date(2026, 10, 9)),
        ("orionids", date(2026, 10, 21)),
        ("southern_taurids", date(2026, 11, 5)),
        ("northern_taurids", date(2026, 11, 12)),
        ("leonids", date(2026, 11, 17)),
        ("geminids", date(2026, 12, 14)),
        ("ursids", date(2026, 12, 22)),
    ],
)
def test_peaks_of_showers_fall_on_the_dates_of_meteor_calendars(name, day, ephemeris):
    moments = ephemeris.sky_events(at(2026, 1, 1).timestamp(), at(2027, 1, 1).timestamp())
    (found,) = [m.at for m in moments if m.shower >= 0 and SHOWERS[m.shower].name == name]
    assert datetime.fromtimestamp(found, UTC).date() == day


def test_perseids_of_2026_have_no_moonlight_and_are_not_listed_in_sydney(reader):
    days = date(2026, 8, 11), date(2026, 8, 14)
    north, south = reader.highlights(*MADRID, *days), reader.highlights(*SYDNEY, *days)
    perseids = showers(north)["Perseid meteors"]
    assert perseids.moonlight == 0
    assert 90 <= perseids.rate <= 100
    assert perseids.radiant_height > 50
    assert showers(south) == {}


@pytest.mark.parametrize("year", [2025, 2026, 2027, 2028])
def test_quadrantid_rate_falls_with_the_hours_between_viewing_and_peak(reader, year):
    """Their peak is over within hours: ten hours from it nobody sees the full rate."""
    found = reader.highlights(*MADRID, date(year, 1, 2), date(year, 1, 5))
    (shower,) = [one for one in found if one.title == "Quadrantid meteors"]
    moments = reader.section._ephemeris.sky_events(
        at(year, 1, 1).timestamp(), at(year, 1, 8).timestamp()
    )
    (peak,) = [one.at for one in moments if one.shower == 0]
    hours = abs(shower.at.timestamp() - peak) / 3600
    assert shower.details.rate == pytest.approx(80 * 10 ** (-1.8 * hours / 24.35), rel=0.05, abs=1)


def test_quadrantids_have_at_least_half_of_their_peak_rate_for_eight_hours():
    (shower,) = [one for one in SHOWERS if one.name == "quadrantids"]
    degrees = math.log10(2) / shower.rise + math.log10(2) / shower.decline
    assert degrees * 24.35 == pytest.approx(8, abs=0.5)


def test_perseids_and_geminids_decline_at_published_rates():
    """A day is 0.986 degrees of solar longitude; after the peak the Geminids fall faster."""
    showers = {one.name: one for one in SHOWERS}
    perseids, geminids = showers["perseids"], showers["geminids"]
    assert 10 ** (-0.986 * perseids.decline) == pytest.approx(0.63, abs=0.02)
    assert 10 ** (-0.986 * geminids.rise) == pytest.approx(0.41, abs=0.02)
    assert 10 ** (-0.986 * geminids.decline) == pytest.approx(0.19, abs=0.02)


def test_altitude_of_a_meteor_radiant_agrees_with_ephem(reader):
    """The Geminids of 2026 over Madrid, the radiant given in the same equinox."""
    found = reader.highlights(*MADRID, date(2026, 12, 13), date(2026, 12, 15))
    (geminids,) = [h for h in found if h.title == "Geminid meteors"]
    observer = ephem.Observer()
    observer.lat, observer.lon, observer.pressure = str(MADRID[0]), str(MADRID[1]), 0
    observer.date = geminids.at.astimezone(UTC).replace(tzinfo=None)
    radiant = ephem.FixedBody()
    radiant._ra, radiant._dec = ephem.degrees("112"), ephem.degrees("33")
    radiant.compute(observer)
    assert geminids.details.radiant_height == pytest.approx(float(radiant.alt) * 57.29578, abs=0.3)


def test_moonlight_during_a_meteor_shower_is_reported(reader):
    """The Perseids of 2025 came four days after full Moon."""
    found = showers(reader.highlights(*MADRID, date(2025, 8, 11), date(2025, 8, 14)))
    assert found["Perseid meteors"].moonlight == pytest.approx(0.85, abs=0.08)


def visible(
    reader: SectionReader, name: str, day: date, place: tuple[float, float, str] = MADRID
) -> str:
    planets = reader.day(*place, day).planets
    return next(planet.visible for planet in planets if planet.name == name)


@pytest.mark.parametrize(
    ("name", "day", "expected"),
    [
        ("jupiter", date(2026, 1, 10), "all_night"),  # its opposition
        ("saturn", date(2026, 10, 4), "all_night"),  # its opposition
        ("venus", date(2026, 6, 9), "evening"),
        ("venus", date(2026, 12, 1), "morning"),
        ("venus", date(2026, 1, 6), "none"),  # behind the Sun
        ("jupiter", date(2026, 7, 29), "none"),  # behind the Sun
        ("mars", date(2026, 1, 9), "none"),  # behind the Sun
    ],
)
def test_visibility_of_planets_agrees_with_their_oppositions_and_conjunctions(
    name, day, expected, reader
):
    assert visible(reader, name, day) == expected


def test_no_planet_is_visible_in_polar_day(reader):
    planets = reader.day(78.22, 15.65, "Arctic/Longyearbyen", date(2026, 6, 20)).planets
    assert {planet.visible for planet in planets} == {"none"}


def test_every_kind_of_highlight_has_a_title():
    words = titles(Languages.load().english)
    assert all(words[shower.name] for shower in SHOWERS)
    assert all(words[kind] for kind in (*get_args(PrincipalPhase), *get_args(Season)))
    assert words["total solar_eclipse"] == "Total eclipse of the Sun"
    assert words["penumbral lunar_eclipse"] == "Penumbral eclipse of the Moon"
    assert words["full_moon"] == "Full Moon"


def test_eclipse_at_sunset_is_listed_only_for_a_stay_that_includes_its_maximum(reader):
    """12 August 2026 over Palma: the Sun sets within the total eclipse's last part."""
    day = date(2026, 8, 12)
    palma = 39.57, 2.65, "Europe/Madrid"
    (eclipse,) = reader.highlights(*palma, day, kind="solar_eclipse")
    assert (eclipse.details.kind, eclipse.details.obscuration) == ("total", 1)
    assert eclipse.details.end == reader.day(*palma, day).sun.sunset
    before = day - timedelta(days=3), day - timedelta(days=1)
    assert reader.highlights(*palma, *before, kind="solar_eclipse") == []
