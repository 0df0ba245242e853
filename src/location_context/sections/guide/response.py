"""What the guide answers: tiers in rank order, and the restaurants inside their radii."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import Applicable
from location_context.sections.guide.records import Tier


class NearestBeyond(msgspec.Struct, frozen=True, kw_only=True):
    """The nearest restaurant of a tier that has none inside its radius."""

    id: str
    name: str
    distance: Annotated[float, Meta(description="From the point, in units.distance.")]


class TierBody(msgspec.Struct, frozen=True, kw_only=True):
    """One of the five tiers, always present."""

    tier: Tier
    rank: Annotated[int, Meta(ge=1, le=5, description="1 is the highest.")]
    label: Annotated[str, Meta(description="Its name, localised.")]
    meaning: Annotated[str, Meta(description="What it stands for, localised.")]
    radius: Annotated[float, Meta(description="How far it is worth the way, in units.distance.")]
    count: Annotated[int, Meta(description="Restaurants inside the radius.")]
    nearest_beyond: Annotated[
        NearestBeyond | None, Meta(description="When count is 0: the nearest, however far.")
    ]


class Travel(msgspec.Struct, frozen=True, kw_only=True):
    """The way there."""

    kind: Literal["walk", "drive"]
    minutes: Annotated[int, Meta(ge=1)]
    estimated: Annotated[bool, Meta(description="From distance alone; false when routed.")]


class RestaurantBody(msgspec.Struct, frozen=True, kw_only=True):
    """One restaurant. What the dataset does not tell is null."""

    id: Annotated[str, Meta(description="Stays the same over new imports.")]
    name: str
    tier: Tier
    label: Annotated[str, Meta(description="The tier's name, localised.")]
    stars: Annotated[int, Meta(ge=0, le=3)]
    distance: Annotated[float, Meta(description="Great-circle distance, in units.distance.")]
    bearing: Annotated[float, Meta(description="Degrees clockwise from north, from the point.")]
    travel: Travel
    cuisine: list[str]
    price_level: Annotated[
        Annotated[int, Meta(ge=1, le=4)] | None, Meta(description="1 is the lowest.")
    ]
    price: Annotated[str | None, Meta(description="As the dataset gives it.")]
    address: str | None
    city: str | None
    country: Annotated[str | None, Meta(description="ISO 3166-1 alpha-2.")]
    lat: float
    lng: float
    url: Annotated[str | None, Meta(description="Its page at the dataset's provider.")]
    website: str | None
    phone: str | None
    award_year: int | None


class GuideBody(Applicable, frozen=True, kw_only=True):
    """Restaurants by tier, highest first, then distance; at most 50 of `total`."""

    tiers: list[TierBody]
    restaurants: Annotated[list[RestaurantBody], Meta(max_length=50)]
    total: Annotated[int, Meta(description="All restaurants inside the radii.")]
