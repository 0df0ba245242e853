"""The section beside ephem, astronomy-engine and skyfield itself, at all kinds of places."""

import math
from datetime import UTC, date, datetime, timedelta

import astronomy
import ephem
import numpy as np
import pytest
from skyfield.api import wgs84

from location_context.sections.astronomy.response import Day
from location_context.sections.astronomy.sky.ephemeris import SUN
from location_context.sections.astronomy.sky.horizon import directions
from location_context.sections.astronomy.sky.local_days import skyfield_time
from tests.sections.astronomy.queries import seconds_apart

PLACES = [
    (48.8566, 2.3522, date(2026, 12, 1)),
    (-33.8688, 151.2093, date(2026, 6, 21)),
    (1.3521, 103.8198, date(2027, 3, 20)),
    (-54.9333, -67.6167, date(1999, 1, 15)),
    (64.1466, -21.9426, date(2026, 5, 5)),
    (37.7749, -122.4194, date(1985, 9, 9)),
    (59.9, 30.3, date(2026, 11, 11)),
    (19.4326, -99.1332, date(2033, 7, 7)),
]
BODIES = {
    "mercury": astronomy.Body.Mercury, "venus": astronomy.Body.Venus, "mars": astronomy.Body.Mars,
    "jupiter": astronomy.Body.Jupiter, "saturn": astronomy.Body.Saturn,
}  # fmt: skip


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def observer_at(lat: float, lng: float, moment: datetime) -> ephem.Observer:
    """Return ephem's observer in air that does not refract."""
    observer = ephem.Observer()
    observer.lat, observer.lon, observer.pressure = str(lat), str(lng), 0
    observer.date = moment.astimezone(UTC).replace(tzinfo=None)
    return observer


each_place = pytest.mark.parametrize(("lat", "lng", "day"), PLACES, ids=str)


def first(
    observer: ephem.Observer, search: str, body: ephem.Body, horizon: float, centre: bool
) -> datetime | None:
    """ephem's next event of the UTC date the observer stands on."""
    observer.horizon = str(horizon)
    try:
        found = getattr(observer, search)(body, use_center=centre).datetime().replace(tzinfo=UTC)
    except (ephem.AlwaysUpError, ephem.NeverUpError):
        return None
    start = observer.date.datetime().replace(tzinfo=UTC)
    return found if found < start + timedelta(days=1) else None


def assert_agreement(mine: datetime | None, theirs: datetime | None, tolerance: float) -> None:
    assert (mine is None) == (theirs is None)
    if mine is not None and theirs is not None:
        assert seconds_apart(mine, theirs) <= tolerance


@each_place
def test_sun_and_moon_agree_with_ephem(lat, lng, day, reader):
    """Within 15 s: ephem takes the Sun's true radius, the almanac 16', and a round Earth's Moon."""
    found = reader.day(lat, lng, "UTC", day)
    observer = observer_at(lat, lng, midnight(day))
    sun, moon = ephem.Sun(), ephem.Moon()
    for rises, sets, horizon, centre in (
        (found.sun.sunrise, found.sun.sunset, -34 / 60, False),
        (found.sun.civil_dawn, found.sun.civil_dusk, -6, True),
        (found.sun.nautical_dawn, found.sun.nautical_dusk, -12, True),
        (found.sun.astronomical_dawn, found.sun.astronomical_dusk, -18, True),
    ):
        assert_agreement(rises, first(observer, "next_rising", sun, horizon, centre), 15)
        assert_agreement(sets, first(observer, "next_setting", sun, horizon, centre), 15)
    assert_agreement(found.moon.moonrise, first(observer, "next_rising", moon, -34 / 60, False), 15)
    assert_agreement(found.moon.moonset, first(observer, "next_setting", moon, -34 / 60, False), 15)


@each_place
def test_planets_agree_with_astronomy_engine(lat, lng, day, reader):
    found = reader.day(lat, lng, "UTC", day)
    begin = astronomy.Time(ut(midnight(day)))
    observer = astronomy.Observer(lat, lng, 0)
    for planet in found.planets:
        body = BODIES[planet.name]
        for mine, direction in (
            (planet.rise, astronomy.Direction.Rise),
            (planet.set, astronomy.Direction.Set),
        ):
            event = astronomy.SearchRiseSet(body, observer, direction, begin, 1.0)
            assert_agreement(mine, event.Utc().replace(tzinfo=UTC) if event else None, 10)
        theirs = astronomy.Illumination(body, astronomy.Time(begin.ut + 1)).mag
        assert planet.magnitude == pytest.approx(theirs, abs=0.35)


def ut(moment: datetime) -> float:
    return (moment - datetime(2000, 1, 1, 12, tzinfo=UTC)) / timedelta(days=1)


@each_place
def test_phase_of_the_moon_agrees_with_astronomy_engine(lat, lng, day, reader):
    moon = reader.day(lat, lng, "UTC", day).moon
    end = astronomy.Time(ut(midnight(day + timedelta(days=1))))
    angle = astronomy.MoonPhase(end)
    assert (moon.phase_angle - angle + 180) % 360 - 180 == pytest.approx(0, abs=0.1)
    light = astronomy.Illumination(astronomy.Body.Moon, end).phase_fraction
    assert moon.illumination == pytest.approx(light, abs=0.002)
    assert moon.waxing == (angle < 180)
    new = astronomy.SearchMoonPhase(0, astronomy.Time(end.ut - moon.age_days - 1), 2)
    assert end.ut - new.ut == pytest.approx(moon.age_days, abs=0.01)


@each_place
def test_solar_noon_and_azimuths_agree_with_ephem(lat, lng, day, reader):
    found = reader.day(lat, lng, "UTC", day).sun
    for moment, azimuth, altitude in (
        (found.solar_noon, None, found.noon_altitude),
        (found.sunrise, found.sunrise_azimuth, None),
        (found.sunset, found.sunset_azimuth, None),
    ):
        if moment is None:
            continue
        observer = observer_at(lat, lng, moment)
        sun = ephem.Sun(observer)
        if azimuth is not None:
            assert azimuth == pytest.approx(math.degrees(sun.az), abs=0.1)
        if altitude is not None:
            assert altitude == pytest.approx(math.degrees(sun.alt), abs=0.1)


@pytest.mark.parametrize("month", [(1900, 1), (1971, 12), (2026, 11), (2050, 12)])
def test_altitudes_agree_with_skyfield_within_half_an_arcsecond(month, ephemeris):
    """What is left out: the speed of the observer (diurnal aberration, 0.3") and its light time."""
    sky = ephemeris.month(month).sky
    steps = np.arange(100, sky.steps - 100, 191)
    seen = directions(sky, 48.8566, 2.3522)
    t = skyfield_time(ephemeris._timescale, sky.times[steps])
    observer = ephemeris._kernel["earth"] + wgs84.latlon(48.8566, 2.3522)
    for body, name in ((SUN, "sun"), (1, "moon"), (3, "venus"), (6, "saturn barycenter")):
        altitude = observer.at(t).observe(ephemeris._kernel[name]).apparent().altaz()[0].radians
        off = np.degrees(np.abs(np.arcsin(seen.up[body, steps]) - altitude)) * 3600
        assert off.max() < 0.5


@pytest.mark.parametrize("day", [
    date(1972, 1, 2), date(1972, 6, 29), date(1972, 7, 2), date(2016, 12, 30), date(2017, 1, 2),
], ids=str)  # fmt: skip
def test_terrestrial_time_agrees_with_skyfield_on_both_sides_of_a_leap_second(day, ephemeris):
    timescale, moment = ephemeris._timescale, midnight(day)
    found = skyfield_time(timescale, np.array([moment.timestamp()])).tt[0]
    assert found == pytest.approx(timescale.from_datetime(moment).tt, abs=0.001 / 86400, rel=0)


def test_positions_are_continuous_between_months_of_the_ephemeris(ephemeris):
    seam = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
    sky = ephemeris.sky(seam - 36000, seam + 36000)
    seen = directions(sky, 10.0, 20.0)
    bends = np.abs(np.diff(seen.up, 4, axis=1)).max(axis=1)
    assert bends.max() < 1e-4


def dark_minutes(day: Day) -> float:
    return sum((w.end - w.start).total_seconds() / 60 for w in day.night.dark_windows)


@each_place
def test_dark_windows_are_dark_and_moonless_in_ephem(lat, lng, day, reader):
    found = reader.day(lat, lng, "UTC", day)
    assert found.night.dark_hours == pytest.approx(dark_minutes(found) / 60, abs=0.01)
    observer = observer_at(lat, lng, midnight(day))
    noon = midnight(day) + timedelta(hours=12)
    for minute in range(0, 1440, 10):
        moment = noon + timedelta(minutes=minute)
        observer.date = moment.replace(tzinfo=None)
        sun, moon = ephem.Sun(observer), ephem.Moon(observer)
        limb = math.degrees(moon.alt + moon.radius) + 34 / 60
        if abs(math.degrees(sun.alt) + 18) < 0.1 or abs(limb) < 0.1:
            continue
        dark = math.degrees(sun.alt) < -18 and limb < 0
        assert dark == any(w.start <= moment < w.end for w in found.night.dark_windows)
