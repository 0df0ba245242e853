"""The Moon as it is drawn leans as astronomy-engine has it."""

import math

import astronomy
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from location_context.sections.astronomy.drawing import moon_tilt
from location_context.sections.astronomy.sky.horizon import directions
from location_context.sections.astronomy.sky.local_days import J2000

OFTEN = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
YEARS = st.sampled_from([1953, 1999, 2026, 2050])


@OFTEN
@given(YEARS, st.integers(0, 2000), st.floats(-89, 89), st.floats(-180, 180))
def test_bright_limb_of_the_moon_faces_the_sun(ephemeris, year, step, lat, lng):
    sky = ephemeris.month((year, 12)).sky
    when = astronomy.Time((float(sky.times[step]) - J2000) / 86400)
    sun, moon = (
        direction(body, when, lat, lng) for body in (astronomy.Body.Sun, astronomy.Body.Moon)
    )
    apart = math.degrees(math.acos(max(-1.0, min(1.0, sun @ moon))))
    if 25 < apart < 155 and abs(moon[2]) < 0.99:
        (drawn,) = moon_tilt(directions(sky, lat, lng), np.array([step]))
        off = (drawn - tilt(sun, moon) + 180) % 360 - 180
        assert off == pytest.approx(0, abs=0.5)


def direction(body: astronomy.Body, when: astronomy.Time, lat: float, lng: float) -> np.ndarray:
    """The unit vector to a body: east, north and up."""
    observer = astronomy.Observer(lat, lng, 0)
    place = astronomy.Equator(body, when, observer, True, True)
    seen = astronomy.Horizon(when, observer, place.ra, place.dec, astronomy.Refraction.Airless)
    altitude, azimuth = math.radians(seen.altitude), math.radians(seen.azimuth)
    level = math.cos(altitude)
    return np.array([
        level * math.sin(azimuth), level * math.cos(azimuth), math.sin(altitude)
    ])  # fmt: skip


def tilt(sun: np.ndarray, moon: np.ndarray) -> float:
    """Where the Sun lies from the Moon, clockwise from the zenith."""
    zenith = np.array([0.0, 0.0, 1.0])
    top = zenith - moon * (zenith @ moon)
    top /= np.linalg.norm(top)
    right = np.cross(moon, top)
    towards = sun - moon * (sun @ moon)
    return float(np.degrees(np.arctan2(towards @ right, towards @ top)) % 360)
