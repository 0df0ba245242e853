"""The response of the events section; the OpenAPI schema is made from its Structs."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import (
    DatedApplicable,
    DegradedReason,
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
DateOrMoment = Annotated[  # a pattern, since some client generators cannot choose of two formats
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

    min: Annotated[float | None, Meta(description="The cheapest ticket, in `currency`.")]
    max: Annotated[float | None, Meta(description="The most expensive ticket, in `currency`.")]
    currency: Annotated[str | None, Meta(description="ISO 4217 code.")]


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event that overlaps the stay, merged from all providers that list it."""

    id: Annotated[
        Text, Meta(description="Identifier, the same when the event is fetched or imported again.")
    ]
    title: Annotated[
        Text, Meta(description="The event's name; for a holiday, in the requested language.")
    ]
    category: Annotated[Category, Meta(description="The kind of event.")]
    start: Annotated[
        DateOrMoment,
        Meta(
            description=(
                "Time with the local offset; a date if the event is all-day or its time is unknown."
            )
        ),
    ]
    end: Annotated[
        DateOrMoment | None,
        Meta(
            description="Time with the local offset, or the last date (included); null if unknown."
        ),
    ]
    all_day: Annotated[bool, Meta(description="True if the event lasts whole days.")]
    overlaps: Annotated[
        list[Overlap],
        Meta(
            min_length=1,
            max_length=3,
            description=(
                "The parts of the stay that the event overlaps: `arrival` (first date), `stay` "
                "(between), `departure` (last date)."
            ),
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
    scope: Annotated[Scope, Meta(description="The area that the event concerns.")]
    regions: Annotated[
        list[str], Meta(description="ISO 3166-2 codes, if only parts of a country observe it.")
    ]
    uncertain: Annotated[
        bool,
        Meta(
            description=(
                "True if the point may lie in a region that does not observe the event, because "
                "its region is uncertain."
            )
        ),
    ]
    rank: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None,
        Meta(description="Importance from 0 to 100, logarithmic."),
    ]
    url: Annotated[WebAddress | None, Meta(description="The event's page; http or https.")]
    image: Annotated[WebAddress | None, Meta(description="The event's picture; http or https.")]
    price: Annotated[Price | None, Meta(description="Ticket prices; null if unknown.")]
    sources: Annotated[
        list[Text], Meta(min_length=1, description="Names of the providers that list the event.")
    ]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one provider's answer."""

    provider: Annotated[Text, Meta(description="The provider's name.")]
    status: Annotated[
        CoverageStatus,
        Meta(
            description="`ok`: all its events were read; `partial`: it has more events than were "
            "read (the most important ones if it ranks them); `stale`: older events, as newer ones "
            "are not available; `unavailable`: it did not answer; `not_configured`: it is "
            "not connected here; `not_covered`: it does not cover the point's country."
        ),
    ]


class EventsBody(DatedApplicable, frozen=True, kw_only=True, tag="events"):
    """The events that overlap the stay, and the state of each provider's answer."""

    radius: Annotated[
        Quantity,
        Meta(
            description="Radius within which events with a venue are included, in units.distance."
        ),
    ]
    events: Annotated[
        list[Event],
        Meta(
            max_length=50,
            description=(
                "Sorted by start (all-day first), then rank, then distance; at most 50, and 10 a "
                "day."
            ),
        ),
    ]
    omitted: Annotated[
        dict[Category, Annotated[int, Meta(ge=1)]],
        Meta(description="Number of events left out because of the limits, by category."),
    ]
    coverage: Annotated[list[Coverage], Meta(description="The state of each provider's answer.")]


class NoEvents(NotApplicable, frozen=True, kw_only=True):
    """An answer without events: none overlaps the stay, or the stay is over."""

    coverage: Annotated[
        list[Coverage],
        Meta(description="The state of each provider's answer; empty for `stay_in_past`."),
    ]
    degraded: Annotated[
        bool, Meta(description="True if a provider that may know of events did not answer.")
    ] = False
    degraded_reason: Annotated[
        DegradedReason | None, Meta(description="The reason; null unless degraded.")
    ] = None

    def __post_init__(self) -> None:
        """Set `degraded` to True if there is a `degraded_reason`, else to False."""
        msgspec.structs.force_setattr(self, "degraded", self.degraded_reason is not None)
