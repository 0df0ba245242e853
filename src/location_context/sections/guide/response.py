"""The guide's answer: tiers in rank order, and the restaurants inside their radii."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import (
    Applicable,
    Bearing,
    Latitude,
    Longitude,
    Quantity,
    Text,
    WebAddress,
)
from location_context.sections.guide.records import MAX_NOTE_LENGTH, Tier


class NearestBeyond(msgspec.Struct, frozen=True, kw_only=True):
    """The nearest restaurant of a tier that has none inside its radius."""

    id: Annotated[Text, Meta(description="Identifier, the same after each import.")]
    name: Annotated[Text, Meta(description="The restaurant's name.")]
    distance: Annotated[Quantity, Meta(description="Distance from the point, in units.distance.")]


class TierBody(msgspec.Struct, frozen=True, kw_only=True):
    """One of the five tiers of restaurants; an answer has all five, also empty tiers."""

    tier: Annotated[Tier, Meta(description="Code of the tier.")]
    rank: Annotated[int, Meta(ge=1, le=5, description="Rank from 1 to 5; 1 is the highest.")]
    label: Annotated[Text, Meta(description="The tier's name, localised.")]
    meaning: Annotated[Text, Meta(description="Explanation of the tier, localised.")]
    radius: Annotated[
        Quantity, Meta(description="Radius within which this tier is listed, in units.distance.")
    ]
    count: Annotated[int, Meta(ge=0, description="Number of restaurants inside the radius.")]
    nearest_beyond: Annotated[
        NearestBeyond | None,
        Meta(
            description=(
                "If count is 0: the nearest restaurant of the tier within 1,000 km, else null."
            )
        ),
    ]


class Travel(msgspec.Struct, frozen=True, kw_only=True):
    """The way from the point to a restaurant, on foot or by car."""

    kind: Annotated[Literal["walk", "drive"], Meta(description="On foot or by car.")]
    minutes: Annotated[int, Meta(ge=1, description="Travel time in minutes.")]
    estimated: Annotated[
        bool,
        Meta(description="True if estimated from the distance; false if a route was calculated."),
    ]


class RestaurantBody(msgspec.Struct, frozen=True, kw_only=True):
    """A restaurant. Values that the dataset lacks are null."""

    id: Annotated[Text, Meta(description="Identifier, the same after each import.")]
    name: Annotated[Text, Meta(description="The restaurant's name.")]
    tier: Annotated[Tier, Meta(description="Code of the restaurant's tier.")]
    label: Annotated[Text, Meta(description="The tier's name, localised.")]
    stars: Annotated[
        int, Meta(ge=0, le=3, description="Number of stars; 0 in the tiers without a star.")
    ]
    distance: Annotated[Quantity, Meta(description="Great-circle distance, in units.distance.")]
    bearing: Annotated[Bearing, Meta(description="Degrees clockwise from north, from the point.")]
    travel: Annotated[Travel, Meta(description="Travel from the point to the restaurant.")]
    cuisine: Annotated[list[str], Meta(description="Cuisines, as the dataset names them.")]
    price_level: Annotated[
        Annotated[int, Meta(ge=1, le=4)] | None,
        Meta(description="Price level from 1 to 4; 1 is the lowest."),
    ]
    price: Annotated[str | None, Meta(description="Prices, as the dataset writes them.")]
    address: Annotated[str | None, Meta(description="The postal address in one line.")]
    city: Annotated[str | None, Meta(description="The city's name.")]
    country: Annotated[str | None, Meta(description="The country, ISO 3166-1 alpha-2.")]
    lat: Annotated[Latitude, Meta(description="Latitude in decimal degrees.")]
    lng: Annotated[Longitude, Meta(description="Longitude in decimal degrees.")]
    url: Annotated[
        WebAddress | None, Meta(description="The restaurant's page at the dataset's provider.")
    ]
    website: Annotated[WebAddress | None, Meta(description="The restaurant's own website.")]
    phone: Annotated[str | None, Meta(description="Phone number, as the dataset writes it.")]
    award_year: Annotated[int | None, Meta(description="The year of the distinction.")]
    note: Annotated[
        Annotated[str, Meta(max_length=MAX_NOTE_LENGTH)] | None,
        Meta(description="A sentence by whoever runs the service, like a hotel's tip; plain text."),
    ]


class GuideBody(Applicable, frozen=True, kw_only=True, tag="guide"):
    """The answer: at most 50 of `total` restaurants, by tier (highest first), then by distance."""

    tiers: Annotated[
        list[TierBody], Meta(min_length=5, max_length=5, description="All five, highest first.")
    ]
    restaurants: Annotated[
        list[RestaurantBody], Meta(max_length=50, description="Highest tier first, then nearest.")
    ]
    total: Annotated[int, Meta(ge=0, description="Number of all restaurants inside the radii.")]
