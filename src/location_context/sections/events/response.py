"""What the events section answers: these Structs are value, schema and documentation at once."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import (
    DatedApplicable,
    Latitude,
    Longitude,
    NotApplicable,
    Quantity,
    Text,
    WebAddress,
)

Category = Literal[
    "public_holiday",
    "school_holiday",
    "observance",
    "concert",
    "festival",
    "sport",
    "performing_arts",
    "exhibition",
    "conference",
    "community",
    "other",
]
Overlap = Literal["arrival", "stay", "departure"]
EventStatus = Literal["confirmed", "estimated", "postponed"]
Scope = Literal["point", "city", "region", "country"]
CoverageStatus = Literal["ok", "partial", "stale", "unavailable", "not_configured", "not_covered"]


_TIME = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?)"
DateOrMoment = Annotated[  # a choice of two formats is no type at all in some generated clients
    str, Meta(pattern=f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(T{_TIME})?$")
]


class Venue(msgspec.Struct, frozen=True, kw_only=True):
    """Where an event happens."""

    name: Annotated[str | None, Meta(description="The venue's name.")]
    address: Annotated[str | None, Meta(description="Its address in one line.")]
    lat: Annotated[Latitude | None, Meta(description="Latitude in decimal degrees.")]
    lng: Annotated[Longitude | None, Meta(description="Longitude in decimal degrees.")]
    distance: Annotated[
        Quantity | None,
        Meta(description="Great-circle distance from the point, in units.distance."),
    ]


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a ticket costs."""

    min: Annotated[float | None, Meta(description="The cheapest ticket.")]
    max: Annotated[float | None, Meta(description="The dearest ticket.")]
    currency: Annotated[str | None, Meta(description="ISO 4217 code.")]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event that touches the stay, joined from every provider that knows it."""

    id: Annotated[Text, Meta(description="Survives a new fetch or import.")]
    title: Annotated[Text, Meta(description="The name; holidays in the asked language.")]
    category: Annotated[Category, Meta(description="What kind of event it is.")]
    start: Annotated[
        DateOrMoment,
        Meta(description="A moment with the local offset; a date when all-day or time unknown."),
    ]
    end: Annotated[
        DateOrMoment | None,
        Meta(description="Likewise; a date is the last one, included; null when not known."),
    ]
    all_day: Annotated[bool, Meta(description="Whether it fills whole days.")]
    overlaps: Annotated[
        list[Overlap],
        Meta(
            min_length=1,
            max_length=3,
            description="Which parts of the stay it touches: first date, between, last.",
        ),
    ]
    status: Annotated[
        EventStatus,
        Meta(
            description="`estimated` where the date waits for a sighting of the moon or for the "
            "organiser, or a provider worked out the time itself."
        ),
    ]
    venue: Annotated[Venue | None, Meta(description="Where it happens; null when not known.")]
    scope: Annotated[Scope, Meta(description="How wide it reaches.")]
    regions: Annotated[
        list[str], Meta(description="ISO 3166-2 codes, when only parts of a country keep it.")
    ]
    rank: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None,
        Meta(description="Weight from 0 to 100, logarithmic."),
    ]
    url: Annotated[WebAddress | None, Meta(description="Its page; http or https.")]
    image: Annotated[WebAddress | None, Meta(description="Its picture; http or https.")]
    price: Annotated[Price | None, Meta(description="What a ticket costs; null when not known.")]
    sources: Annotated[
        list[Text], Meta(min_length=1, description="Names of the providers that know it.")
    ]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of asking one provider."""

    provider: Annotated[Text, Meta(description="The provider's name.")]
    status: Annotated[
        CoverageStatus,
        Meta(
            description="`ok`: all it has; `partial`: it has more than was read, which is the most "
            "important where the provider ranks; `stale`: an older answer, since newer could not "
            "be had; `unavailable`: it could not be asked; `not_configured`: it is not connected "
            "here; `not_covered`: it does not know the point's country."
        ),
    ]


class EventsBody(DatedApplicable, frozen=True, kw_only=True, tag="events"):
    """The events that touch the stay, and who was asked."""

    radius: Annotated[
        Quantity, Meta(description="Events with a venue count within this, in units.distance.")
    ]
    events: Annotated[
        list[Event],
        Meta(
            max_length=50,
            description="In order of start, all-day first, rank, distance; 50 at most, 10 a day.",
        ),
    ]
    omitted: Annotated[
        dict[Category, Annotated[int, Meta(ge=1)]],
        Meta(description="Events that did not fit, counted by category."),
    ]
    coverage: Annotated[list[Coverage], Meta(description="What became of asking each provider.")]


class NoEvents(NotApplicable, frozen=True, kw_only=True):
    """No event touches the stay, or the stay is over."""

    coverage: Annotated[
        list[Coverage],
        Meta(description="What became of asking each provider; empty for `stay_in_past`."),
    ]
