"""Point: one canonical form, and great-circle distance held against another formula."""

import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.point import EARTH_RADIUS_KM, Point, bearing, canonical, distance_km

latitudes = st.floats(-90, 90)
longitudes = st.floats(-180, 180)


@pytest.mark.parametrize(
    ("lat", "lng", "expected"),
    [
        (48.85661234, 2.35221234, (48.8566, 2.3522)),
        (-0.0, -0.0, (0.0, 0.0)),
        (-0.00001, -0.00001, (0.0, 0.0)),
        (12, -180, (12.0, 180.0)),
        (12, -179.99999, (12.0, 180.0)),
        (90, 77, (90.0, 0.0)),
        (-89.99999, 77, (-90.0, 0.0)),
    ],
)
def test_canonical_coordinates_are_rounded_without_minus_zero_and_equal_for_equal_points(
    lat: float, lng: float, expected: tuple[float, float]
):
    got = canonical(lat, lng)
    assert got == expected
    assert all(math.copysign(1, value) > 0 for value in got if value == 0)


@given(latitudes, longitudes)
def test_canonical_form_of_coordinates_is_idempotent(lat: float, lng: float):
    once = canonical(lat, lng)
    assert canonical(*once) == once


def by_vectors(lat: float, lng: float, to_lat: float, to_lng: float) -> float:
    """The angle between two unit vectors by atan2, an independent formula."""

    def unit(phi: float, lam: float) -> tuple[float, float, float]:
        phi, lam = math.radians(phi), math.radians(lam)
        return math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)

    (a, b, c), (d, e, f) = unit(lat, lng), unit(to_lat, to_lng)
    cross = math.hypot(b * f - c * e, c * d - a * f, a * e - b * d)
    return EARTH_RADIUS_KM * math.atan2(cross, a * d + b * e + c * f)


@given(latitudes, longitudes, latitudes, longitudes)
def test_distance_agrees_with_the_angle_between_vectors(a: float, b: float, c: float, d: float):
    assert distance_km(a, b, c, d) == pytest.approx(by_vectors(a, b, c, d), abs=1e-3)


@given(latitudes, longitudes, latitudes, longitudes)
def test_distance_is_symmetric(a: float, b: float, c: float, d: float):
    assert distance_km(a, b, c, d) == pytest.approx(distance_km(c, d, a, b), abs=1e-6)


@pytest.mark.parametrize(
    ("to", "degrees"), [((1, 0), 0), ((0, 1), 90), ((-1, 0), 180), ((0, -1), 270)]
)
def test_bearing_counts_clockwise_from_north(to: tuple[float, float], degrees: float):
    assert bearing(0, 0, *to) == pytest.approx(degrees)


def test_today_is_the_local_date_at_the_coordinates():
    moment = datetime(2026, 6, 1, 11, 30, tzinfo=UTC)
    assert Point(-1.87, -157.4, "Pacific/Kiritimati").today(moment) == date(2026, 6, 2)
    assert Point(0, -180, "Etc/GMT+12").today(moment) == date(2026, 5, 31)
