"""What the events section answers: these Structs are value, schema and documentation at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import DatedApplicable, NotApplicable

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
CoverageStatus = Literal["ok", "stale", "unavailable", "not_configured", "not_covered"]


_DATE_OR_MOMENT: dict[str, Any] = {"anyOf": [{"format": "date"}, {"format": "date-time"}]}


class Venue(msgspec.Struct, frozen=True, kw_only=True):
    """Where an event happens."""

    name: Annotated[str | None, Meta(description="The venue's name.")]
    address: Annotated[str | None, Meta(description="Its address in one line.")]
    lat: Annotated[float | None, Meta(description="Latitude in decimal degrees.")]
    lng: Annotated[float | None, Meta(description="Longitude in decimal degrees.")]
    distance: Annotated[
        float | None, Meta(description="Great-circle distance from the point, in units.distance.")
    ]


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a ticket costs."""

    min: Annotated[float | None, Meta(description="The cheapest ticket.")]
    max: Annotated[float | None, Meta(description="The dearest ticket.")]
    currency: Annotated[str | None, Meta(description="ISO 4217 code.")]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event that touches the stay, joined from every provider that knows it."""

    id: Annotated[str, Meta(description="Survives a new fetch or import.")]
    title: Annotated[str, Meta(description="The name; holidays in the asked language.")]
    category: Category
    start: Annotated[
        str,
        Meta(
            description="A moment with the local offset; a date when all-day or time unknown.",
            extra_json_schema=_DATE_OR_MOMENT,
        ),
    ]
    end: Annotated[
        str | None,
        Meta(description="Likewise; the last date, included, when all-day; null when not known."),
    ]
    all_day: Annotated[bool, Meta(description="Whether it fills whole days.")]
    overlaps: Annotated[
        list[Overlap],
        Meta(description="Which parts of the stay it touches: first date, between, last."),
    ]
    status: Annotated[
        EventStatus,
        Meta(
            description="`estimated` where the date waits for a sighting of the moon or for the "
            "organiser, or a provider worked out the time itself."
        ),
    ]
    venue: Venue | None
    scope: Annotated[Scope, Meta(description="How wide it reaches.")]
    regions: Annotated[
        list[str], Meta(description="ISO 3166-2 codes, when only parts of a country keep it.")
    ]
    rank: Annotated[float | None, Meta(description="Weight from 0 to 100, logarithmic.")]
    url: Annotated[str | None, Meta(description="http or https.")]
    image: Annotated[str | None, Meta(description="http or https.")]
    price: Price | None
    sources: Annotated[list[str], Meta(description="Names of the providers that know it.")]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of asking one provider."""

    provider: str
    status: CoverageStatus


class EventsBody(DatedApplicable, frozen=True, kw_only=True):
    """The events that touch the stay, and who was asked."""

    radius: Annotated[
        float, Meta(description="Events with a venue count within this, in units.distance.")
    ]
    events: Annotated[
        list[Event],
        Meta(description="In order of start, all-day first, rank, distance; 50 at most, 10 a day."),
    ]
    omitted: Annotated[
        dict[Category, int], Meta(description="Events that did not fit, counted by category.")
    ]
    coverage: list[Coverage]


class NoEvents(NotApplicable, frozen=True, kw_only=True):
    """No event touches the stay, or the stay is over (`stay_in_past`, without coverage)."""

    coverage: list[Coverage] | msgspec.UnsetType = msgspec.UNSET
