"""Cells: whatever is near is among what a query reads."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.point import distance_km
from location_context.storage.events import cell_of, cells_within, country_cell

lats, lngs = st.floats(-90, 90), st.floats(-180, 180)


@settings(max_examples=500)
@given(
    lats, lngs, st.floats(0, 2 * math.pi), st.floats(0, 0.999), st.sampled_from([5.0, 25.0, 80.0])
)
def test_index_cells_of_a_circle_contain_each_point_of_the_circle(lat, lng, turn, share, radius):
    reach = radius * share / 111.2
    other_lat = max(-90.0, min(90.0, lat + reach * math.sin(turn)))
    width = reach * math.cos(turn) / max(0.01, math.cos(math.radians(lat)))
    other_lng = (lng + max(-180, min(180, width)) + 180) % 360 - 180
    if distance_km(lat, lng, other_lat, other_lng) <= radius:
        assert cell_of(other_lat, other_lng) in cells_within(lat, lng, radius)


@given(lats, lngs)
def test_circle_is_covered_by_few_index_cells(lat, lng):
    around = cells_within(lat, lng, 25)
    assert cell_of(lat, lng) in around
    if abs(lat) < 85:
        assert len(around) <= 16


def test_each_country_code_maps_to_its_own_negative_cell_number():
    cells = {country_cell(a + b) for a in "ABCXYZ" for b in "ABCXYZ"}
    assert len(cells) == 36
    assert max(cells) < 0
