"""Cells and slots: whatever is near and overlaps is among what a query reads."""

import math
from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.point import distance_km
from location_context.storage.events import (
    MAX_INDEXED_DAYS,
    buckets_overlapping,
    cell_of,
    cells_within,
    country_cell,
    time_bucket,
)

lats, lngs = st.floats(-90, 90), st.floats(-180, 180)
days = st.dates(date(1900, 1, 1), date(2050, 12, 31))


@settings(max_examples=500)
@given(
    lats, lngs, st.floats(0, 2 * math.pi), st.floats(0, 0.999), st.sampled_from([5.0, 25.0, 80.0])
)
def test_every_point_within_the_radius_lies_in_a_cell_around(lat, lng, turn, share, radius):
    reach = radius * share / 111.2
    other_lat = max(-90.0, min(90.0, lat + reach * math.sin(turn)))
    width = reach * math.cos(turn) / max(0.01, math.cos(math.radians(lat)))
    other_lng = (lng + max(-180, min(180, width)) + 180) % 360 - 180
    if distance_km(lat, lng, other_lat, other_lng) <= radius:
        assert cell_of(other_lat, other_lng) in cells_within(lat, lng, radius)


@given(lats, lngs)
def test_a_circle_touches_few_cells(lat, lng):
    around = cells_within(lat, lng, 25)
    assert cell_of(lat, lng) in around
    if abs(lat) < 85:
        assert len(around) <= 16


@settings(max_examples=500)
@given(days, st.integers(0, MAX_INDEXED_DAYS - 1), days, st.integers(0, 91))
def test_every_overlapping_event_is_in_a_slot_that_is_read(first, length, start, stay):
    last, end = first + timedelta(days=length), start + timedelta(days=stay)
    filed = time_bucket(first, last)
    read = any(low <= filed <= high for low, high in buckets_overlapping(start, end))
    if first <= end and last >= start:
        assert read


@given(days, days)
def test_an_event_of_one_day_is_read_on_its_day_only(day, other):
    read = any(
        low <= time_bucket(day, day) <= high for low, high in buckets_overlapping(other, other)
    )
    assert read is (day == other)


def test_countries_have_cells_of_their_own():
    cells = {country_cell(a + b) for a in "ABCXYZ" for b in "ABCXYZ"}
    assert len(cells) == 36
    assert max(cells) < 0
