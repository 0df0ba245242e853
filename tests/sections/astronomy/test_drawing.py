"""What the drawing functions say agrees with the ephemeris."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from location_context.sections.astronomy.drawing import Bodies, days_of
from location_context.sections.astronomy.sky.ephemeris import MOON, SUN, Ephemeris
from location_context.sections.astronomy.sky.horizon import directions
from tests.sections.astronomy.queries import at

OFTEN = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
YEARS = st.sampled_from([1953, 1999, 2026, 2050])


def bodies(lng: float, moment: datetime) -> Bodies:
    return Bodies.at(lng, np.array(days_of(moment)))


@OFTEN
@given(YEARS, st.integers(0, 2000), st.floats(-89, 89), st.floats(-180, 180))
def test_the_drawn_sun_and_moon_are_where_the_ephemeris_has_them(
    ephemeris: Ephemeris, year: int, step: int, lat: float, lng: float
) -> None:
    sky = ephemeris.month((year, 12)).sky
    moment = datetime.fromtimestamp(sky.times[step], UTC)
    seen = directions(sky, lat, lng)
    sun, moon = (seen.towards(b)[[1, 2, 0], step] for b in (SUN, MOON))
    altitude = np.degrees(np.arcsin(sun[2]))
    drawn = bodies(lng, moment)
    assert drawn.sun_altitude(lat) == pytest.approx(altitude, abs=0.03)
    apart = np.degrees(np.arccos(sun @ moon))
    if 25 < apart < 155 and abs(moon[2]) < 0.99:
        tilt = _tilt(sun, moon)
        off = (drawn.moon_tilt(lat) - tilt + 180) % 360 - 180
        assert abs(off) < 6


def _tilt(sun: np.ndarray, moon: np.ndarray) -> float:
    """Where the Sun lies from the Moon, clockwise from the zenith."""
    zenith = np.array([0.0, 0.0, 1.0])
    top = zenith - moon * (zenith @ moon)
    top /= np.linalg.norm(top)
    right = np.cross(moon, top)
    towards = sun - moon * (sun @ moon)
    return float(np.degrees(np.arctan2(towards @ right, towards @ top)) % 360)


def test_a_waxing_half_moon_is_lit_on_the_right_in_the_north_and_the_left_in_the_south() -> None:
    """17 November 2026, first quarter, in each place's evening."""
    assert 45 < bodies(2.35, at(2026, 11, 17, 18)).moon_tilt(48.86) < 135
    assert 225 < bodies(151.21, at(2026, 11, 17, 9)).moon_tilt(-33.87) < 315


def test_the_drawn_sun_is_highest_at_noon() -> None:
    moments = [at(2026, 6, 21) + n * timedelta(minutes=15) for n in range(97)]
    altitudes = {moment: bodies(0.0, moment).sun_altitude(48.86) for moment in moments}
    assert max(moments, key=altitudes.__getitem__) == at(2026, 6, 21, 12)
    assert max(altitudes.values()) == pytest.approx(90 - 48.86 + 23.44, abs=0.05)
