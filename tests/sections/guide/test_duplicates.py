"""Rows of one restaurant become one; a shared street address alone never merges."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.point import distance_km
from location_context.sections.guide.imports import matching
from location_context.sections.guide.imports.matching import (
    SpatialGrid,
    assign_ids,
    fold,
    group_duplicates,
    merge,
    nearly_same,
)
from location_context.sections.guide.records import Restaurant
from tests.sections.guide.samples import METADATA, open_csv, open_row, restaurant

METRE = 1 / 111_195  # of latitude, in degrees


def pair(one: dict[str, Any], other: dict[str, Any]) -> int:
    """How many restaurants two rows come to."""
    return len(group_duplicates([restaurant(1, **one), restaurant(2, **other)]))


def test_row_is_compared_with_at_most_a_hundred_rows_at_the_same_point_or_address(monkeypatch):
    compared = []

    def different(one: str, other: str) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr(matching, "nearly_same", different)
    at_one_point = [restaurant(n) for n in range(1000)]
    assert len(group_duplicates(at_one_point)) == 1000
    assert len(compared) < 100 * 1000
    compared.clear()
    at_one_address = [restaurant(n, lat=n / 20, address="1 rue X") for n in range(1000)]
    assert len(group_duplicates(at_one_address)) == 1000
    assert len(compared) < 100 * 1000


FAR = {"lat": 48.9}
NEXT_DOOR = {"lat": 48.85 + 60 * METRE}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"url": "https://g.example/a/b"}, {"url": "http://www.g.example/a/b/?x=1", **FAR}),
        ({"name": "Chez Léon"}, {"name": "CHEZ LEON", **NEXT_DOOR}),
        ({"name": "Restaurant Chez Léon"}, {"name": "Chez Leon"}),
        ({"name": "Bella & Brava"}, {"name": "Bella and Brava"}),
        ({"name": "La Grenouillère"}, {"name": "La Grenouillere Restaurant"}),
        ({"name": "Sushi Yamamoto"}, {"name": "Sushi Yamamto"}),
        ({"name": "Chez Léon", "address": "1, rue X"}, {"name": "Chez Leon", "address": "1 Rue X"}),
    ],
)
def test_duplicate_restaurants_are_merged_into_one_restaurant(one, other):
    assert pair(one, other) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "Alba", "address": "1 rue X"}, {"name": "Nobu", "address": "1 rue X"}),
        ({"name": "Tantra"}, {"name": "Tantra DNA"}),
        ({"name": "Chez Léon"}, {"name": "Chez Léon", "lat": 48.85 + 100 * METRE}),
        ({"name": "Number 41 Bistro"}, {"name": "Number 42 Bistro"}),
        ({"name": "Ko"}, {"name": "Mo"}),
        ({"name": "Ñ"}, {"name": "5"}),
        (
            {"website": "https://chain.example/"},
            {"name": "Other", "website": "https://chain.example/"},
        ),
        ({"url": "https://g.example/"}, {"name": "Other", "url": "https://g.example/"}),
    ],
)
def test_different_restaurants_are_not_merged(one, other):
    assert pair(one, other) == 2


def test_merged_restaurant_has_the_newest_award_and_the_fields_of_both_rows():
    old = restaurant(1, tier="three_star", award_year=2019, phone="+33", city="Paris")
    new = restaurant(2, tier="two_star", award_year=2024)
    one = merge([old, new])
    assert (one.tier, one.award_year, one.phone, one.city) == ("two_star", 2024, "+33", "Paris")


@given(st.text(max_size=12), st.text(max_size=12))
def test_name_similarity_check_is_symmetric_and_every_name_is_similar_to_itself(one, other):
    a, b = fold(one), fold(other)
    assert nearly_same(a, a)
    assert nearly_same(a, b) == nearly_same(b, a)


offsets = st.floats(-0.002, 0.002)


@given(
    st.sampled_from([(48.85, 2.35), (89.9999, 10.0), (-90.0, 0.0), (0.0, 180.0), (65.0, -180.0)]),
    st.lists(st.tuples(offsets, offsets), max_size=12),
)
@settings(deadline=None)
def test_spatial_grid_finds_exactly_the_points_within_80_metres_even_at_poles(centre, moves):
    grid, put = SpatialGrid(), list[tuple[float, float]]()
    for number, (north, east) in enumerate(moves):
        lat = max(-90.0, min(90.0, centre[0] + north))
        lng = (centre[1] + east + 180) % 360 - 180
        far = [distance_km(lat, lng, *place) for place in put]
        clear = all(abs(km - 0.08) > 1e-7 for km in far)
        found = grid.add(lat, lng, number)
        assert not clear or sorted(found) == [n for n, km in enumerate(far) if km <= 0.08]
        put.append((lat, lng))


def ids(rows: list[Restaurant], former: list[Restaurant] | None = None) -> list[str]:
    without = [msgspec.structs.replace(one, id="") for one in rows]
    return [r.id for r in assign_ids(without, former or [])]


def test_restaurant_id_is_unchanged_if_everything_but_its_page_url_changes():
    before = restaurant(1, url="https://g.example/a/b")
    after = restaurant(9, name="New name", url="https://g.example/a/b", tier="two_star", lat=48.9)
    assert ids([before]) == ids([after])


def test_restaurant_id_is_unchanged_if_only_its_page_url_and_position_change_slightly():
    (former,) = assign_ids([restaurant(1, id="", url="https://g.example/a")], [])
    moved = restaurant(9, name="TABLE 1", url="https://g.example/b", lat=48.85 + 50 * METRE)
    assert ids([moved], [former]) == [former.id]


def test_restaurant_id_in_use_is_not_assigned_to_another_restaurant():
    former = assign_ids([restaurant(1, id="", url="https://g.example/a")], [])
    twin = restaurant(2, name="Table 1", url="https://g.example/b", lat=48.85 + 50 * METRE)
    both = ids([restaurant(1, url="https://g.example/a"), twin], former)
    assert both[0] == former[0].id
    assert len(set(both)) == 2


def test_restaurants_of_one_name_in_one_city_have_separate_ids():
    rows = [restaurant(1, city="Tokyo"), restaurant(1, city="Tokyo", lat=35.7)]
    assert len(set(ids(rows))) == 2
    assert ids(rows) == ids(list(reversed(rows)))[::-1]


async def test_restaurant_ids_are_inherited_only_from_versions_of_the_same_guide(importer, guides):
    async def import_page(name: str, page: str) -> list[str]:
        data = open_csv(open_row(1, Url=f"https://guide.example/{page}"))
        version, _ = await importer.run(data, METADATA, name=name)
        return [one.id for one in await guides.load(version.number)]

    unnamed, house = await import_page("", "a"), await import_page("house", "b")
    assert unnamed != house
    assert await import_page("house", "c") == house
    assert await import_page("", "d") == unnamed
