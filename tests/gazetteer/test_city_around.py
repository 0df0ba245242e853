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
def test_quarter_belongs_to_its_city_and_a_town_nearby_to_itself(gazetteer, lat, lng, name):
    assert gazetteer.city_around(lat, lng).name == name


def test_point_between_cities_has_none(gazetteer):
    assert gazetteer.city_around(-40.5, -120.25) is None


def test_repeated_point_is_answered_from_memory(gazetteer):
    assert gazetteer.city_around(48.8566, 2.3522) is gazetteer.city_around(48.8566, 2.3522)
