"""The index answers exactly what brute force answers, everywhere on Earth."""

import math

from hypothesis import example, given, settings
from hypothesis import strategies as st

from location_context.point import EARTH_RADIUS_KM
from location_context.sections.guide.imports.formats import read_table
from location_context.sections.guide.imports.reading import installed_formats
from location_context.sections.guide.imports.validation import tier_of
from location_context.sections.guide.records import TIERS, Restaurant
from location_context.sections.guide.restaurant_index import RestaurantIndex
from tests.sections.guide.oracle import BruteForce, as_expected
from tests.sections.guide.samples import RADII, points, restaurant, scattered, snapshots


def test_index_agrees_with_brute_force_at_poles_and_180_degrees():
    restaurants = scattered(300)
    index, brute = RestaurantIndex(restaurants), BruteForce(restaurants)
    for lat, lng in points(2000):
        answer = as_expected(index.query(lat, lng, RADII))
        assert answer == brute.expected(lat, lng, RADII), (lat, lng)


def test_index_agrees_with_brute_force_at_hotspots_of_a_real_guide(shared_data):
    rows = read_table(snapshots(shared_data)[2023].read_bytes(), installed_formats()).rows
    restaurants = [
        Restaurant(
            id=f"{n}", name=row.get("name"), tier=tier_of(row.get("award"), "", ""),
            lat=float(row.get("lat")), lng=float(row.get("lng")),
        )
        for n, row in enumerate(rows)
    ]  # fmt: skip
    index, brute = RestaurantIndex(restaurants), BruteForce(restaurants)
    crowded = restaurants[:: len(restaurants) // 200]
    for near in crowded:
        lat, lng = round(near.lat + 0.004, 4), round(near.lng - 0.003, 4)
        answer = as_expected(index.query(lat, lng, RADII))
        assert answer == brute.expected(lat, lng, RADII), (lat, lng)


places = st.tuples(
    st.sampled_from([-90.0, -89.99, 0.0, 48.85, 89.999, 90.0]) | st.floats(-90, 90),
    st.sampled_from([-180.0, -179.999, 0.0, 179.999, 180.0]) | st.floats(-180, 180),
)


@given(st.lists(st.tuples(places, st.sampled_from(TIERS)), max_size=25), places)
@example([((0.0, 0.0), "one_star"), ((0.0, -1e-5), "one_star")], (-89.99, -2.0))  # alike to 1 mm
@settings(max_examples=150, deadline=None)
def test_index_agrees_with_brute_force_on_random_small_sets_of_restaurants(given_places, at):
    restaurants = [
        restaurant(n, tier=tier, lat=round(lat, 6), lng=round(lng, 6))
        for n, ((lat, lng), tier) in enumerate(given_places)
    ]
    lat, lng = round(at[0], 4), round(at[1], 4)
    answer = as_expected(RestaurantIndex(restaurants).query(lat, lng, RADII))
    assert answer == BruteForce(restaurants).expected(lat, lng, RADII)


def test_restaurant_within_half_a_millimetre_of_the_radius_is_inside():
    edge = [restaurant(1, tier="one_star", lat=math.degrees(15.0000004 / EARTH_RADIUS_KM), lng=0)]
    assert [km for km, *_ in RestaurantIndex(edge).query(0, 0, RADII)[2].inside] == [15.0]


def test_restaurants_at_one_spot_are_ordered_by_id():
    spot = [restaurant(n, lat=48.86, lng=2.36) for n in (5, 1, 9, 3)]
    found = RestaurantIndex(spot).query(48.85, 2.35, RADII)[2].inside
    assert [one.id for _, one in found] == ["r00001", "r00003", "r00005", "r00009"]


def test_restaurants_over_the_list_limit_are_counted_and_top_tiers_are_listed_first():
    rows = [restaurant(n, tier="one_star", lat=48.85 + n / 10_000) for n in range(70)]
    rows += [restaurant(100 + n, tier="three_star", lat=48.9) for n in range(10)]
    answer = RestaurantIndex(rows).query(48.85, 2.35, RADII)
    assert [tier.inside_radius for tier in answer] == [10, 0, 70, 0, 0]
    assert [len(tier.inside) for tier in answer] == [10, 0, 40, 0, 0]


def test_empty_guide_has_no_restaurant_inside_or_beyond_the_radius():
    answer = RestaurantIndex([]).query(10, 10, RADII)
    assert [(tier.inside_radius, tier.nearest_beyond) for tier in answer] == [(0, None)] * 5
