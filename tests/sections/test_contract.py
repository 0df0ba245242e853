"""Every answer names its point."""

from location_context.point import Point
from location_context.sections.contract import point_body, point_notices


def test_point_in_the_answer_has_coordinates_time_zone_country_and_region():
    point = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
    body = point_body(point)
    assert (body.lat, body.lng, body.timezone) == (48.8566, 2.3522, "Europe/Paris")
    assert (body.country, body.region) == ("FR", "FR-IDF")


def test_geonames_is_attributed_only_if_the_point_has_a_region():
    paris = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
    sea = Point(0.0, 0.0, "Etc/GMT")
    assert [notice.name for notice in point_notices(paris)] == ["OpenStreetMap", "GeoNames"]
    assert [notice.name for notice in point_notices(sea)] == ["OpenStreetMap"]
