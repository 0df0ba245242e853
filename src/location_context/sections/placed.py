"""What every answer says of its point: the point, and the notices of the data that placed it."""

from location_context.point import Point
from location_context.sections.contract import Attribution, PointBody
from location_context.sections.licences import CC_BY, ODBL

_ZONES = Attribution(
    name="OpenStreetMap",
    url="https://www.openstreetmap.org/copyright",
    license=ODBL.name,
    text="Time zones: © OpenStreetMap contributors, ODbL",
)
_REGIONS = Attribution(
    name="GeoNames",
    url="https://www.geonames.org/",
    license=CC_BY.name,
    text="Regions: GeoNames, CC BY 4.0",
    adapted=True,  # its codes brought to ISO 3166-2, a region by its nearest city
)


def point_body(point: Point) -> PointBody:
    """The point as it is answered."""
    return PointBody(
        lat=point.lat,
        lng=point.lng,
        timezone=point.timezone,
        country=point.country,
        region=point.region,
    )


def point_notices(point: Point) -> list[Attribution]:
    """The zone's notice, and the region's where it is known."""
    return [_ZONES] if point.region is None else [_ZONES, _REGIONS]
