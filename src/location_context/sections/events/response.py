"""The response of the events section: these Structs are value, schema and documentation."""

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
DateOrMoment = Annotated[  # some generated clients have no type for a choice of two formats
    str, Meta(pattern=f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(T{_TIME})?$")
]


class Venue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The place of an event."""

    name: Annotated[str | None, Meta(description="The venue's name.")]
    address: Annotated[str | None, Meta(description="Its address in one line.")]
    lat: Annotated[Latitude | None, Meta(description="Latitude in decimal degrees.")]
    lng: Annotated[Longitude | None, Meta(description="Longitude in decimal degrees.")]
    distance: Annotated[
        Quantity | None,
        Meta(description="Great-circle distance from the point, in units.distance."),
    ]


class Price(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The price of a ticket."""

    min: Annotated[float | None, Meta(description="The cheapest ticket.")]
    max: Annotated[float | None, Meta(description="The most expensive ticket.")]
    currency: Annotated[str | None, Meta(description="ISO 4217 code.")]


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event that touches the stay, merged from every provider that knows it."""

    id: Annotated[
        Text, Meta(description="Stays the same when the event is fetched or imported again.")
    ]
    title: Annotated[
        Text, Meta(description="The name; that of a holiday in the requested language.")
    ]
    category: Annotated[Category, Meta(description="What kind of event it is.")]
    start: Annotated[
        DateOrMoment,
        Meta(description="A time with the local offset; a date if all-day or the time is unknown."),
    ]
    end: Annotated[
        DateOrMoment | None,
        Meta(description="Likewise; a date is the last day, included; null if unknown."),
    ]
    all_day: Annotated[bool, Meta(description="Whether it lasts whole days.")]
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
            description="`estimated` if the date depends on a sighting of the moon, if it is not "
            "confirmed by the organiser, or if a provider estimated the time."
        ),
    ]
    venue: Annotated[Venue | None, Meta(description="Where it happens; null if unknown.")]
    scope: Annotated[Scope, Meta(description="The area it concerns.")]
    regions: Annotated[
        list[str], Meta(description="ISO 3166-2 codes, if only parts of a country observe it.")
    ]
    uncertain: Annotated[
        bool,
        Meta(
            description="Whether the region of the point is in doubt, and only some of the regions "
            "it may be observe the event."
        ),
    ]
    rank: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None,
        Meta(description="Importance from 0 to 100, logarithmic."),
    ]
    url: Annotated[WebAddress | None, Meta(description="Its page; http or https.")]
    image: Annotated[WebAddress | None, Meta(description="Its picture; http or https.")]
    price: Annotated[Price | None, Meta(description="What a ticket costs; null if unknown.")]
    sources: Annotated[
        list[Text], Meta(min_length=1, description="Names of the providers that know it.")
    ]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one provider's answer."""

    provider: Annotated[Text, Meta(description="The provider's name.")]
    status: Annotated[
        CoverageStatus,
        Meta(
            description="`ok`: everything it has; `partial`: it has more events than were read "
            "(the most important ones if it ranks them); `stale`: older events, as newer ones are "
            "not available; `unavailable`: it did not answer; `not_configured`: it is "
            "not connected here; `not_covered`: it does not cover the point's country."
        ),
    ]


class EventsBody(DatedApplicable, frozen=True, kw_only=True, tag="events"):
    """The events that touch the stay, and how far each provider answered."""

    radius: Annotated[
        Quantity, Meta(description="Events with a venue are included within it, in units.distance.")
    ]
    events: Annotated[
        list[Event],
        Meta(
            max_length=50,
            description="By start, all-day first, then rank, then distance; 50 at most, 10 a day.",
        ),
    ]
    omitted: Annotated[
        dict[Category, Annotated[int, Meta(ge=1)]],
        Meta(description="Events that did not fit, counted by category."),
    ]
    coverage: Annotated[list[Coverage], Meta(description="How far each provider answered.")]


class NoEvents(NotApplicable, frozen=True, kw_only=True):
    """An answer without events: none touches the stay, or the stay is over."""

    coverage: Annotated[
        list[Coverage],
        Meta(description="How far each provider answered; empty for `stay_in_past`."),
    ]
