"""Country and zone at the cities whose truth is known; what is known is settled beforehand."""

import pytest

from location_context.gazetteer.cities import Cities
from tests.gazetteer.city_truth import (
    Row,
    clock,
    contested_zone,
    contradicts_itself,
    current,
    geonames_places,
    read_rows,
)


@pytest.fixture(scope="module")
def rows(shared_data) -> list[Row]:
    return read_rows(shared_data)


def _share(right: int, of: int) -> str:
    return f"{right / of:.3%} of {of:,}"


def test_countries_found_at_city_coordinates_agree_with_a_reference_table(gazetteer, rows):
    coded = [row for row in rows if row.country]
    unknown = {row for row in coded if contradicts_itself(row)}
    found = {row: gazetteer.point(row.lat, row.lng).country for row in coded}
    differing = [row for row in coded if found[row] != row.country]
    wrong = [row for row in differing if row not in unknown]
    known = len(coded) - len(unknown)
    print(f"country right for {_share(known - len(wrong), known)} known; ", end="")
    print(f"{_share(len(coded) - len(differing), len(coded))} with none left out")
    for row in differing:
        print(row, "found", found[row], "" if row in wrong else "(contradicts itself)")
    assert len(unknown) < len(coded) / 200
    assert 1 - len(wrong) / known >= 0.999


def test_time_zones_found_at_city_coordinates_agree_with_a_reference_table(gazetteer, rows):
    zoned = [row for row in rows if row.zone]
    known = [row for row in zoned if not contested_zone(row)]
    found = {row: gazetteer.point(row.lat, row.lng).timezone for row in zoned}
    wrong = [row for row in known if current(found[row]) != current(row.zone or "")]
    print(f"zone right for {_share(len(known) - len(wrong), len(known))} known")
    for row in wrong:
        print(row, "found", found[row])
    assert len(known) > 0.98 * len(zoned)
    assert 1 - len(wrong) / len(known) >= 0.995


def test_local_time_at_each_city_of_the_table_is_correct(gazetteer, rows):
    """The zone found shows the same time as the row's through 2027, whatever it is called."""
    zoned = [row for row in rows if row.zone]
    found = {row: gazetteer.point(row.lat, row.lng).timezone for row in zoned}
    wrong = [row for row in zoned if clock(found[row]) != clock(row.zone or "")]
    print(f"clock right for {_share(len(zoned) - len(wrong), len(zoned))}")
    for row in wrong:
        print(row, "found", found[row])
    assert 1 - len(wrong) / len(zoned) >= 0.995


def test_countries_found_at_geonames_coordinates_agree_with_geonames(gazetteer):
    """One in 30 of GeoNames' places, which are independent of the boundaries."""
    places = geonames_places()[::30]
    wrong = [
        (place["name"], place["countrycode"], found)
        for place in places
        if (found := gazetteer.point(place["latitude"], place["longitude"]).country)
        != place["countrycode"]
    ]
    print(f"country right for {_share(len(places) - len(wrong), len(places))}; differing: {wrong}")
    assert 1 - len(wrong) / len(places) >= 0.999


@pytest.mark.parametrize(
    ("lat", "lng", "name", "country"),
    [
        (-89.9, 0, "Puerto Williams", "CL"),
        (-48.9, -123.4, "Hanga Roa", "CL"),
        (-16.8, -179.99, "Savusavu", "FJ"),  # across the date line
    ],
)
def test_nearest_city_is_found_far_from_any_settlement(lat, lng, name, country):
    city = Cities().nearest(lat, lng)
    assert (city.name, city.country) == (name, country)
