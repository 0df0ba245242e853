"""The city a point lies in, as the widget's title names it."""

import pytest


@pytest.mark.parametrize(
    ("lat", "lng", "name"),
    [
        (48.8566, 2.3522, "Paris"),
        (35.68, 139.76, "Tokyo"),
        (51.5, -0.12, "London"),
        (48.80, 2.13, "Versailles"),
        (46.02, 7.75, "Zermatt"),
    ],
)
def test_point_is_named_after_the_city_around_it_or_the_small_town_in_which_it_lies(
    gazetteer, lat, lng, name
):
    assert gazetteer.point(lat, lng).place == name


def test_point_between_cities_has_no_city(gazetteer):
    assert gazetteer.point(-40.5, -120.25).place is None
