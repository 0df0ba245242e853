"""What every answer carries of its point."""

from location_context.point import Point
from location_context.sections.contract import point_body, point_notices


def test_the_point_is_answered_as_it_is():
    point = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
    body = point_body(point)
    assert (body.lat, body.lng, body.timezone) == (48.8566, 2.3522, "Europe/Paris")
    assert (body.country, body.region) == ("FR", "FR-IDF")


def test_the_region_s_source_is_named_only_where_a_region_is_told():
    paris = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
    sea = Point(0.0, 0.0, "Etc/GMT")
    assert [notice.name for notice in point_notices(paris)] == ["OpenStreetMap", "GeoNames"]
    assert [notice.name for notice in point_notices(sea)] == ["OpenStreetMap"]
