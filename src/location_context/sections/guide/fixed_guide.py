"""Made-up restaurants for test keys, one of each tier, around any point on land."""

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime

from location_context.point import EARTH_RADIUS_KM, Point
from location_context.sections import contract
from location_context.sections.guide.presenter import Presenter
from location_context.sections.guide.records import TIERS, GuideVersion, Provenance, Restaurant
from location_context.sections.guide.response import GuideBody
from location_context.sections.guide.restaurant_index import RestaurantIndex
from location_context.sections.guide.travel import estimate

_DISTANCES = (20.0, 10.0, 5.0, 1.0, 0.5)  # km, one for each tier
_MADE_UP = Provenance(source="test", dated=date(2026, 1, 1), attribution="Made-up restaurants")
_MADE_AT = datetime(2026, 1, 1, tzinfo=UTC)
_VERSION = GuideVersion(
    number=0, name="", provenance=_MADE_UP, rows=5, imported_at=_MADE_AT, replaces=None, active=True
)


def fixed_body(query: contract.Query, radii: Sequence[float]) -> GuideBody | None:
    """Return an answer with the made-up restaurants within `radii` (km by tier); None at sea."""
    point = query.point
    if point.country is None:
        return None
    found = RestaurantIndex(_around(point)).query(point.lat, point.lng, radii)
    ways = [estimate(km) for tier in found for km, _ in tier.inside]
    return Presenter(query, _VERSION, radii).body(found, ways, None)


def _around(point: Point) -> list[Restaurant]:
    """Return one made-up restaurant of each tier; all lie between the point and the equator."""
    return [
        Restaurant(
            id=f"test-{tier}",
            name="Test restaurant",
            tier=tier,
            lat=point.lat - math.copysign(math.degrees(km / EARTH_RADIUS_KM), point.lat),
            lng=point.lng,
            cuisine=("Regional",),
            price_level=2,
            city="Testville",
            country=point.country,
        )
        for tier, km in zip(TIERS, _DISTANCES, strict=True)
    ]
