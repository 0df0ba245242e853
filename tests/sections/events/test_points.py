"""Points: coordinates in the four spellings of foreign tables."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.events.fields import parse_point

latitudes, longitudes = st.floats(-90, 90), st.floats(-180, 180)
values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["lat", "lng", "lon", "type", "coordinates", "geometry"]), inner
    ),
)  # fmt: skip


@given(latitudes, longitudes)
def test_four_notations_of_coordinates_are_read_as_the_same_point(lat, lng):
    spellings = (
        f"{lat!r}, {lng!r}",
        f"POINT ({lng!r} {lat!r})",
        {"type": "Point", "coordinates": [lng, lat]},
        {"lon": lng, "lat": lat},
    )
    expected = None if (lat, lng) == (0, 0) else (lat, lng)
    for spelling in spellings:
        assert parse_point(spelling) == expected
        if isinstance(spelling, dict):
            assert parse_point(json.dumps(spelling)) == expected


@pytest.mark.parametrize(
    "spelling",
    [
        "48.85;2.35", " 48.85 ,2.35 ", "point(2.35 48.85)", "SRID=4326;POINT (2.35 48.85)",
        "POINT (2.35 48.85 35)", '{"type":"Point","coordinates":[2.35,48.85,35.0]}',
        {"latitude": "48.85", "longitude": "2.35"}, {"lat": 48.85, "lng": 2.35},
    ],
)  # fmt: skip
def test_coordinates_are_read_in_the_notations_of_open_data_portals(spelling):
    assert parse_point(spelling) == (48.85, 2.35)


@pytest.mark.parametrize(
    "spelling",
    [
        None, "", "here", "48.85", "nan, 2", "inf, 2", "2, 1e400", "91, 0.1", "48.85, 2.35, 7",
        "POINT EMPTY", "POLYGON ((2 48, 3 48, 3 49, 2 48))", "0, 0", "{", "[" * 100_000,
        "{" * 100_000, '{"lat": 1e999, "lon": 2}', {}, {"lat": 48.85}, {"coordinates": [2.35]},
        {"lat": None, "lon": None}, {"lat": 10**400, "lon": 1}, {"lat": 10**5000, "lon": 1},
        {"lat": math.nan, "lon": math.inf}, {"type": "Polygon", "coordinates": [[[2, 48]]]},
        {"lat": True, "lon": True},
    ],
)  # fmt: skip
def test_text_that_is_not_a_coordinate_pair_is_read_as_none(spelling):
    assert parse_point(spelling) is None


@given(values)
def test_arbitrary_json_gives_valid_coordinates_or_none(value):
    for spelling in (value, json.dumps(value)):
        found = parse_point(spelling)
        assert found is None or (-90 <= found[0] <= 90 and -180 <= found[1] <= 180)
