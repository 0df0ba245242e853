"""Made-up restaurants: eighteen of San Sebastián, as far and in which direction from any point."""

import math
from datetime import UTC, datetime

from location_context.point import EARTH_RADIUS_KM, bearing
from location_context.sections.contract import MIT, Attribution, Query, point_notices
from location_context.sections.guide.presenter import tier_texts
from location_context.sections.guide.records import Tier
from location_context.sections.guide.response import GuideBody, RestaurantBody, TierBody, Travel
from location_context.sections.units import Measure
from tests.widget.samples.place import point_of

SAMPLE = Attribution(
    name="Sample guide 2026, not current",
    url=None,
    license=MIT.name,
    text="Sample guide 2026: a demonstration, not current, places up to 500 m off",
)
TABLES = (
    ("three_star", ("Goizargi", "Creative Basque", 4, 3.4), ("Harkaitz", "Contemporary", 4, 7.1)),
    ("two_star", ("Ataria 1899", "Modern, seasonal", 4, 1.9), ("Errota", "Creative", 4, 9.6)),
    ("one_star", ("Kresala", "Seafood", 3, 1.1), ("Bidarte", "Market cuisine", 3, 2.6),
     ("Hiru Zubi", "Modern Basque", 3, 3.1), ("Lizarra", "Grills", 3, 6.4),
     ("Amalur", "Creative", 4, 11.2), ("Sutegi", "Basque", 3, 13.9)),
    ("good_value", ("Txoko Urdina", "Traditional Basque", 2, 0.65), ("Ostatu", "Country", 2, 1.3),
     ("Plaza Berri", "Pintxos", 1, 1.7)),
    ("selected", ("Lanperna", "Grills", 2, 0.35), ("Zazpi", "Basque", 2, 0.4),
     ("Itsas Begi", "Seafood", 3, 0.8), ("Kale Nagusia", "Contemporary", 2, 0.9),
     ("Errekalde", "Vegetarian", 2, 0.95)),
)  # fmt: skip
NOTES = {
    "Lanperna": "Stand at the bar and order the mushrooms.",  # in view, the next is folded
    "Zazpi": "Ask for a table by the window, " + "and book two days ahead, " * 4 + "please.",
}
# most lie along the coast and inland of it, as San Sebastián's do
BEARINGS = {"three_star": 245, "two_star": 120, "one_star": 95, "good_value": 210, "selected": 150}
RADII = {"three_star": 80, "two_star": 40, "one_star": 15, "good_value": 2, "selected": 1}


def guide(query: Query) -> GuideBody:
    measure, texts = Measure(query.units), tier_texts(query.language, {})
    found = [
        _restaurant(query, texts[tier][0], tier, number, table)
        for tier, *tables in TABLES
        for number, table in enumerate(tables)
    ]
    return GuideBody(
        point=point_of(query),
        units=measure.body,
        as_of=datetime(2026, 2, 1, tzinfo=UTC),
        stale=False,
        attribution=[SAMPLE, *point_notices(query.point)],
        tiers=_tiers(measure, texts),
        restaurants=found,
        total=len(found),
    )


def _restaurant(
    query: Query, label: str, tier: str, number: int, table: tuple[str, str, int, float]
) -> RestaurantBody:
    name, cuisine, price, km = table
    turn = BEARINGS[tier] + 37 * number
    lat, lng = destination(query.point.lat, query.point.lng, km, turn)
    return RestaurantBody(
        id=f"{tier}-{number}",
        name=name,
        tier=tier,
        label=label,
        stars={"three_star": 3, "two_star": 2, "one_star": 1}.get(tier, 0),
        distance=Measure(query.units).distance(km) or 0.0,
        bearing=round(bearing(query.point.lat, query.point.lng, lat, lng), 1) % 360,
        travel=Travel(
            kind="walk" if km < 1.2 else "drive",
            minutes=round(km * 13) if km < 1.2 else round(5 + km * 1.6),
            estimated=True,
        ),
        cuisine=[cuisine],
        price_level=price,
        price="€" * price,
        address=None,
        city=None,
        country="ES",
        lat=lat,
        lng=lng,
        url="https://guide.example/" + name.lower().replace(" ", "-") if number else None,
        website=None,
        phone=None,
        award_year=2026,
        note=NOTES.get(name),
    )


def destination(lat: float, lng: float, km: float, turn: float) -> tuple[float, float]:
    """The point so far away in a direction in degrees."""
    arc, phi, theta = km / EARTH_RADIUS_KM, math.radians(lat), math.radians(turn)
    sine = math.sin(phi) * math.cos(arc) + math.cos(phi) * math.sin(arc) * math.cos(theta)
    across = math.sin(theta) * math.sin(arc) * math.cos(phi)
    east = math.degrees(math.atan2(across, math.cos(arc) - math.sin(phi) * sine))
    return math.degrees(math.asin(sine)), (lng + east + 540) % 360 - 180


def _tiers(measure: Measure, texts: dict[Tier, tuple[str, str]]) -> list[TierBody]:
    return [
        TierBody(
            tier=tier,
            rank=rank + 1,
            label=texts[tier][0],
            meaning=texts[tier][1],
            radius=measure.distance(RADII[tier]) or 0.0,
            count=len(tables),
            nearest_beyond=None,
        )
        for rank, (tier, *tables) in enumerate(TABLES)
    ]
