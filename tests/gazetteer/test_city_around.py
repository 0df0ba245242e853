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
def test_point_in_a_city_or_small_town_is_named_after_that_city_or_town(gazetteer, lat, lng, name):
    assert gazetteer.point(lat, lng).place == name


def test_point_far_from_any_city_has_no_place_name(gazetteer):
    assert gazetteer.point(-40.5, -120.25).place is None
