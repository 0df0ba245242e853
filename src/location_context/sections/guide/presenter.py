"""Presenter: builds the guide's answer, in the requested language and units."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time

import msgspec

from location_context.localisation.language import Language
from location_context.point import bearing
from location_context.sections import contract
from location_context.sections.addresses import web_address
from location_context.sections.guide import response
from location_context.sections.guide.records import STARS, GuideVersion, Tier, TierTexts
from location_context.sections.guide.restaurant_index import Found, TierFound
from location_context.sections.section import TextTable
from location_context.sections.units import Measure

_ROAD_NOTICE = contract.Attribution(
    name="OpenStreetMap",
    url="https://www.openstreetmap.org/copyright",
    license=contract.ODBL.name,
    text="Travel times: © OpenStreetMap contributors, ODbL",
)

# a day's drive; a restaurant farther away does not help, and its coordinates are often wrong
MAX_BEYOND_KM = 1000.0
_COLUMNS = ("tier", "restaurant", "away", "way", "cuisine", "city", "note")


def tier_texts(language: Language, own: Mapping[Tier, TierTexts]) -> dict[Tier, tuple[str, str]]:
    """Return label and meaning of each tier in a language.

    If `own` has the operator's texts for a tier, they replace the built-in ones.
    """
    _ = language.gettext
    texts: dict[Tier, tuple[str, str]] = {
        "three_star": (
            _("Three stars"),
            _("Among the best in the world: plan a day around it"),
        ),
        "two_star": (_("Two stars"), _("Outstanding cooking: worth a long drive")),
        "one_star": (_("One star"), _("Excellent cooking: worth a short drive")),
        "good_value": (_("Good value"), _("Good cooking at a fair price: worth a walk")),
        "selected": (_("Selected"), _("Recommended, and close by")),
    }
    parts = language.tag.lower().split("-")
    tags = ["-".join(parts[:n]) for n in range(len(parts), 0, -1)] + [""]  # de-at, de, all
    for tier, given in own.items():
        label, meaning = texts[tier]
        texts[tier] = (
            next((given.label[tag] for tag in tags if tag in given.label), label),
            next((given.meaning[tag] for tag in tags if tag in given.meaning), meaning),
        )
    return texts


class Presenter:
    """A builder of the guide's answer to one query, from the restaurants found for it."""

    def __init__(
        self, query: contract.Query, version: GuideVersion, radii: Sequence[float]
    ) -> None:
        self._query = query
        self._provenance = version.provenance
        self._radii = radii
        self._measure = Measure(query.units)
        self._texts = tier_texts(query.language, version.provenance.labels)

    def body(
        self,
        found: Sequence[TierFound],
        ways: Sequence[response.Travel],
        degraded: contract.DegradedReason | None,
    ) -> response.GuideBody:
        """Return the body of an answer.

        Args:
            found: the result of each tier, highest tier first.
            ways: the travel to each restaurant, in the order of the `inside` lists of `found`.
            degraded: the reason why drives are estimated (OSRM failed); None if OSRM did not fail.
        """
        point = self._query.point
        inside = [one for tier in found for one in tier.inside]
        return response.GuideBody(
            point=contract.point_body(point),
            units=self._measure.body,
            as_of=datetime.combine(self._provenance.dated, time(), UTC),
            stale=False,
            degraded_reason=degraded,
            attribution=[
                self._attribution(),
                *([_ROAD_NOTICE] if any(not way.estimated for way in ways) else []),
                *contract.point_notices(point),
            ],
            tiers=[self._tier(rank, tier) for rank, tier in enumerate(found, 1)],
            restaurants=[self._restaurant(one, way) for one, way in zip(inside, ways, strict=True)],
            total=sum(tier.inside_radius for tier in found),
        )

    def _attribution(self) -> contract.Attribution:
        source, language = self._provenance, self._query.language
        name = text = source.attribution
        if source.sample:
            year = source.dated.year
            name = language.gettext("Sample guide {year}, not current").format(year=year)
            text = language.gettext(
                "Sample guide {year}: a demonstration, not current, places up to 500 m off"
            ).format(year=year)
        return contract.Attribution(
            name=name,
            url=web_address(source.attribution_url),
            license=source.license,
            text=text,
            # the import checks, maps and merges rows, and some licences require saying so
            adapted=bool(source.license) and not source.sample,
        )

    def _tier(self, rank: int, found: TierFound) -> response.TierBody:
        beyond, (label, meaning) = found.nearest_beyond, self._texts[found.tier]
        if beyond and beyond[0] > MAX_BEYOND_KM:
            beyond = None
        return response.TierBody(
            tier=found.tier,
            rank=rank,
            label=label,
            meaning=meaning,
            radius=self._distance(self._radii[rank - 1]),
            count=found.inside_radius,
            nearest_beyond=beyond
            and response.NearestBeyond(
                id=beyond[1].id, name=beyond[1].name, distance=self._distance(beyond[0])
            ),
        )

    def _restaurant(self, found: Found, way: response.Travel) -> response.RestaurantBody:
        (km, restaurant), point = found, self._query.point
        towards = bearing(point.lat, point.lng, restaurant.lat, restaurant.lng)
        own = msgspec.structs.asdict(restaurant) | {
            "cuisine": list(restaurant.cuisine),
            "url": web_address(restaurant.url),
            "website": web_address(restaurant.website),
        }
        return response.RestaurantBody(
            **own,
            label=self._texts[restaurant.tier][0],
            stars=STARS[restaurant.tier],
            distance=self._distance(km),
            bearing=self._measure.bearing(towards) or 0.0,  # never None
            travel=way,
        )

    def _distance(self, km: float) -> float:
        return self._measure.distance(km) or 0.0  # never None, since `km` is a number


def to_text(body: response.GuideBody) -> Iterator[str | TextTable]:
    """Yield what `location-context read` prints: a table of restaurants, and a count of them."""
    rows = []
    for one in body.restaurants:
        about = "about " if one.travel.estimated else ""
        rows.append([
            one.label, one.name, f"{one.distance:g} {body.units.distance}",
            f"{one.travel.kind}, {about}{one.travel.minutes} min", ", ".join(one.cuisine),
            one.city or "", one.note or "",
        ])  # fmt: skip
    yield TextTable(columns=_COLUMNS, rows=rows)
    yield f"{len(body.restaurants)} of {body.total} restaurants"
