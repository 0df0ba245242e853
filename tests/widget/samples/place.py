"""The point of an answer, as every section tells it."""

from location_context.sections.contract import PointBody, Query


def point_of(query: Query) -> PointBody:
    point = query.point
    return PointBody(
        lat=point.lat,
        lng=point.lng,
        timezone=point.timezone,
        country=point.country,
        region=point.region,
    )
