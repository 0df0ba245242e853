"""Every answer names its point."""

from location_context.point import Point
from location_context.sections.contract import point_body, point_notices


def test_point_body_repeats_the_point():
    point = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
    body = point_body(point)
    assert (body.lat, body.lng, body.timezone) == (48.8566, 2.3522, "Europe/Paris")
    assert (body.country, body.region) == ("FR", "FR-IDF")


def test_source_of_a_region_is_named_only_where_there_is_a_region():
    paris = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
    sea = Point(0.0, 0.0, "Etc/GMT")
    assert [notice.name for notice in point_notices(paris)] == ["OpenStreetMap", "GeoNames"]
    assert [notice.name for notice in point_notices(sea)] == ["OpenStreetMap"]
