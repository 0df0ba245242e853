"""The answer's body: what was found, in the asked language and units."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from location_context.point import bearing
from location_context.sections.addresses import web_address
from location_context.sections.contract import Attribution
from location_context.sections.guide.records import STARS
from location_context.sections.guide.response import (
    GuideBody,
    NearestBeyond,
    RestaurantBody,
    TierBody,
)
from location_context.sections.guide.wording import Wording
from location_context.sections.licences import ODBL
from location_context.sections.placed import point_body, point_notices
from location_context.sections.units import Measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.contract import DegradedReason, Query
    from location_context.sections.guide.catalogue import Found, TierFound
    from location_context.sections.guide.records import GuideVersion
    from location_context.sections.guide.response import Travel

_ROAD_NOTICE = Attribution(
    name="OpenStreetMap",
    url="https://www.openstreetmap.org/copyright",
    license=ODBL.name,
    text="Travel times: © OpenStreetMap contributors, ODbL",
)


class Answer:
    """Builds one body; its language, units and version are fixed."""

    def __init__(self, query: Query, version: GuideVersion, radii: Sequence[float]) -> None:
        self._query = query
        self._provenance = version.provenance
        self._radii = radii
        self._measure = Measure(query.units)
        self._wording = Wording(query.language, version.provenance.labels)

    def body(
        self, found: Sequence[TierFound], ways: Sequence[Travel], lacking: DegradedReason | None
    ) -> GuideBody:
        """`ways` go with the restaurants inside, in the same order; `lacking`: why not routed."""
        point = self._query.point
        inside = [one for tier in found for one in tier.inside]
        routed = any(not way.estimated for way in ways)
        return GuideBody(
            point=point_body(point),
            units=self._measure.body,
            as_of=datetime.combine(self._provenance.dated, time(), UTC),
            stale=False,
            degraded_reason=lacking,
            attribution=self._attributions(routed=routed),
            tiers=[self._tier(rank, tier) for rank, tier in enumerate(found, 1)],
            restaurants=[self._restaurant(one, way) for one, way in zip(inside, ways, strict=True)],
            total=sum(tier.inside_radius for tier in found),
        )

    def _attributions(self, *, routed: bool) -> list[Attribution]:
        roads = [_ROAD_NOTICE] if routed else []
        return [self._attribution(), *roads, *point_notices(self._query.point)]

    def _attribution(self) -> Attribution:
        source, language = self._provenance, self._query.language
        text = source.attribution
        if source.sample:
            text = language.gettext("Sample guide {year}, not current").format(
                year=source.dated.year
            )
        return Attribution(
            name=source.attribution,
            url=web_address(source.attribution_url),
            license=source.license,
            text=text,
            adapted=not source.sample,  # its rows are checked, brought to five tiers and merged
        )

    def _tier(self, rank: int, found: TierFound) -> TierBody:
        beyond = found.nearest_beyond
        return TierBody(
            tier=found.tier,
            rank=rank,
            label=self._wording.label(found.tier),
            meaning=self._wording.meaning(found.tier),
            radius=self._distance(self._radii[rank - 1]),
            count=found.inside_radius,
            nearest_beyond=beyond
            and NearestBeyond(
                id=beyond[2].id,
                name=beyond[2].name,
                distance=self._distance(beyond[0]),
            ),
        )

    def _restaurant(self, found: Found, way: Travel) -> RestaurantBody:
        (km, _, kept), point = found, self._query.point
        return RestaurantBody(
            id=kept.id,
            name=kept.name,
            tier=kept.tier,
            label=self._wording.label(kept.tier),
            stars=STARS[kept.tier],
            distance=self._distance(km),
            bearing=self._bearing(bearing(point.lat, point.lng, kept.lat, kept.lng)),
            travel=way,
            cuisine=list(kept.cuisine),
            price_level=kept.price_level,
            price=kept.price,
            address=kept.address,
            city=kept.city,
            country=kept.country,
            lat=kept.lat,
            lng=kept.lng,
            url=web_address(kept.url),
            website=web_address(kept.website),
            phone=kept.phone,
            award_year=kept.award_year,
        )

    def _distance(self, km: float) -> float:
        distance = self._measure.distance(km)
        assert distance is not None
        return distance

    def _bearing(self, degrees: float) -> float:
        """Rounded to 0.1, where 359.96 is north again."""
        angle = self._measure.angle(degrees)
        assert angle is not None
        return angle % 360
