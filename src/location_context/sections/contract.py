"""The input and output of a section.

A `Section` answers a `Query` with a `SectionResult`: the body that is sent as JSON and rendered in
the widget, the time until which it is fresh, and whether data is missing. A body is an `Applicable`
if the section has data, else a `NotApplicable`. Types that all sections share are defined here too:
the point, the notices that licences require, and the state of providers.
"""

from asyncio import Future
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from location_context.errors import ProviderBudgetSpent, ProviderTimeout
from location_context.localisation.language import Language
from location_context.point import Point
from location_context.stay import Stay

Moment = Annotated[datetime, Meta(tz=True)]
Text = Annotated[str, Meta(min_length=1)]
Latitude = Annotated[float, Meta(ge=-90, le=90)]
Longitude = Annotated[float, Meta(ge=-180, le=180)]
Country = Annotated[str, Meta(pattern="^[A-Z]{2}$")]
Quantity = Annotated[float, Meta(ge=0)]
Bearing = Annotated[float, Meta(ge=0, le=360)]
WebAddress = Annotated[str, Meta(extra_json_schema={"format": "uri"})]
UnitSystem = Literal["metric", "imperial"]
ProviderStatus = Literal["operational", "degraded", "outage", "not_configured", "unknown"]
DegradedReason = Literal[
    "forecast_unavailable",
    "archive_unavailable",
    "provider_unavailable",
    "late",
    "budget_spent",
]
NotApplicableReason = Literal[
    "stay_in_past",
    "no_restaurants_in_range",
    "no_guide_loaded",
    "no_events",
    "no_climate_data",
]
NOT_APPLICABLE: Mapping[NotApplicableReason, str] = {
    "stay_in_past": "Weather and events: the stay has ended at the point.",
    "no_restaurants_in_range": "Guide: no restaurant lies inside the radius of its tier.",
    "no_guide_loaded": "Guide: the operator has loaded no restaurant guide.",
    "no_events": "Events: no known events during the stay; `coverage` lists the sources used.",
    "no_climate_data": (
        "Year: the climate store, stored months and fallback grid have no data for the point."
    ),
}
DEGRADED: Mapping[DegradedReason, str] = {  # if several apply, the first is reported
    "forecast_unavailable": "A forecast was expected; climatology or a monthly mean is used.",
    "archive_unavailable": "Ten-year climatology was expected; a monthly mean is used.",
    "provider_unavailable": (
        "A provider failed; the data is of the expected kind, but from a second provider, stale "
        "or incomplete."
    ),
    "late": "Like `provider_unavailable`, because a provider did not answer by the deadline.",
    "budget_spent": (
        "Like `provider_unavailable`, because this service's budget for the provider is spent."
    ),
}


def foremost(reasons: Iterable[DegradedReason | None]) -> DegradedReason | None:
    """Return the reason that comes first in `DEGRADED`; None if all `reasons` are None."""
    return min((one for one in reasons if one), key=list(DEGRADED).index, default=None)


def lasts(reason: DegradedReason | None, *, stale: bool = False) -> bool:
    """Return True if an answer with this `degraded_reason` may be cached for over a minute.

    An answer without a reason (None) is complete, so it may. An answer with the reason
    `budget_spent` may unless it is `stale`: a new read would find the budget still spent.
    """
    return reason is None or (reason == "budget_spent" and not stale)


def degraded_by(error: BaseException) -> DegradedReason:
    """Return the `degraded_reason` of an answer that lacks data because of `error`."""
    if isinstance(error, TimeoutError | ProviderTimeout):
        return "late"
    if isinstance(error, ProviderBudgetSpent):
        return "budget_spent"
    return "provider_unavailable"


def meanings(codes: Mapping[Any, str]) -> str:
    """Return one text that lists the codes with their explanations, for the OpenAPI schema."""
    return " ".join(f"`{code}`: {sentence}" for code, sentence in codes.items())


ReadKind = Literal["fresh", "revalidating", "stale", "joined", "miss", "failed"]  # worst last


@dataclass(frozen=True, slots=True)
class Query:
    """A query to a section.

    Attributes:
        guide: the name of a restaurant guide; empty for the guide without a name.
        public: True for widget traffic, which may spend at most half of a provider's budget.
        reads: how each `CachedSection` obtained its result, for log and metrics. `fresh`: from its
            cache. `revalidating`: from its cache, while a new result is read. `stale`: from its
            cache, since a new read failed. `joined`: from a read that was already under way.
            `miss`: from a new read. `failed`: there was no result.
    """

    point: Point
    stay: Stay | None
    units: UnitSystem
    language: Language
    guide: str = ""
    public: bool = False
    reads: list[ReadKind] = field(default_factory=list, compare=False)

    @property
    def dates(self) -> Stay:
        """The stay. Only sections that are `dated` may use it: their queries always have a stay."""
        assert self.stay is not None
        return self.stay

    @property
    def read_as(self) -> ReadKind | None:
        """How the worst of the results in `reads` was obtained; None if `reads` is empty."""
        return max(self.reads, key=get_args(ReadKind).index, default=None)


class PointBody(msgspec.Struct, frozen=True, kw_only=True):
    """The point that the answer is for: coordinates, time zone, country, region and place."""

    lat: Annotated[Latitude, Meta(description="Latitude in decimal degrees, four decimals.")]
    lng: Annotated[Longitude, Meta(description="Longitude in decimal degrees, four decimals.")]
    timezone: Annotated[
        Text, Meta(description="IANA time zone; at sea the nautical zone, such as Etc/GMT+3.")
    ]
    country: Annotated[Country | None, Meta(description="ISO 3166-1 alpha-2, null at sea.")]
    region: Annotated[str | None, Meta(description="ISO 3166-2 code; null if uncertain.")]
    place: Annotated[
        str | None,
        Meta(
            description=(
                "Name of the city around the point, else of the nearest city within 25 km; null if "
                "there is none."
            )
        ),
    ] = None


def point_body(point: Point) -> PointBody:
    """Return the point as the Struct that answers contain."""
    return msgspec.convert(point, PointBody, from_attributes=True)


class StayBody(msgspec.Struct, frozen=True, kw_only=True):
    """The first and the last date of the stay, both included."""

    start: Annotated[date, Meta(description="The first date, local to the point.")]
    end: Annotated[date, Meta(description="The last date, local to the point, included.")]


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence: its SPDX identifier, its usual name, and the URL of its terms."""

    spdx: str
    name: str
    url: str


CC_BY = Licence("CC-BY-4.0", "CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/")
ODBL = Licence("ODbL-1.0", "ODbL 1.0", "https://opendatacommons.org/licenses/odbl/1-0/")
MIT = Licence("MIT", "MIT", "https://opensource.org/license/mit")
CC0 = Licence("CC0-1.0", "CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/")
_KNOWN = (
    CC_BY,
    ODBL,
    MIT,
    CC0,
    # licences of datasets that an operator may import
    Licence("CC-BY-3.0", "CC BY 3.0", "https://creativecommons.org/licenses/by/3.0/"),
    Licence("CC-BY-SA-3.0", "CC BY-SA 3.0", "https://creativecommons.org/licenses/by-sa/3.0/"),
    Licence("CC-BY-SA-4.0", "CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    Licence("CC-BY-NC-4.0", "CC BY-NC 4.0", "https://creativecommons.org/licenses/by-nc/4.0/"),
    Licence("ODC-By-1.0", "ODC-By 1.0", "https://opendatacommons.org/licenses/by/1-0/"),
    Licence("PDDL-1.0", "PDDL 1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
    Licence("etalab-2.0", "Etalab 2.0", "https://www.etalab.gouv.fr/licence-ouverte-open-licence/"),
)
_ADDRESSES = {
    written.casefold(): one.url for one in _KNOWN for written in (one.spdx, one.name)
}  # fmt: skip


def terms_of(written: str | None) -> str | None:
    """Return the URL of the terms of a licence, by its name or SPDX identifier; None if unknown."""
    return _ADDRESSES.get(written.strip().casefold()) if written else None


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The notice that a data licence requires; `text` must be shown unchanged."""

    name: Annotated[Text, Meta(description="Name of the data's provider.")]
    url: Annotated[WebAddress | None, Meta(description="The source's page.")]
    license: Annotated[str | None, Meta(description="The licence's name.")]
    text: Annotated[Text, Meta(description="The notice. Show it unchanged.")]
    license_url: Annotated[
        WebAddress | None,
        Meta(description="Address of the licence's terms; null if unknown."),
    ] = None
    adapted: Annotated[
        bool,
        Meta(
            description="True if this service changed the data: corrected, averaged or merged it."
        ),
    ] = False

    def __post_init__(self) -> None:
        """Set `license_url` from the licence's name if the caller did not set it."""
        if self.license_url is None:
            msgspec.structs.force_setattr(self, "license_url", terms_of(self.license))


TEST_DATA = Attribution(name="Test data", url=None, license=None, text="Test data, made up")
_ZONES = Attribution(
    name="OpenStreetMap",
    url="https://www.openstreetmap.org/copyright",
    license=ODBL.name,
    text="Time zones: © OpenStreetMap contributors, ODbL",
)
_PLACES = Attribution(
    name="GeoNames",
    url="https://www.geonames.org/",
    license=CC_BY.name,
    text="Places and regions: GeoNames, CC BY 4.0",
    adapted=True,  # codes are converted to ISO 3166-2; a point gets its nearest city's region
)


def point_notices(point: Point) -> list[Attribution]:
    """Return the licence notices for a point's time zone and, if known, its region and place."""
    return [_ZONES, _PLACES] if point.region or point.possible_regions or point.place else [_ZONES]


class UnitsBody(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of every kind of number in the answer."""

    temperature: Annotated[Literal["°C", "°F"], Meta(description="Temperatures.")]
    precipitation: Annotated[
        Literal["mm", "inch"], Meta(description="Rain, and snow as melted water.")
    ]
    snowfall: Annotated[Literal["cm", "inch"], Meta(description="Fresh snow.")]
    wind_speed: Annotated[Literal["km/h", "mph"], Meta(description="Wind and gusts.")]
    distance: Annotated[Literal["km", "mi"], Meta(description="Distances and radii.")]
    elevation: Annotated[Literal["m", "ft"], Meta(description="Heights above sea level.")]
    probability: Annotated[Literal["%"], Meta(description="Probabilities.")] = "%"
    humidity: Annotated[Literal["%"], Meta(description="Relative humidity.")] = "%"
    cloud_cover: Annotated[Literal["%"], Meta(description="Cloud cover.")] = "%"
    angle: Annotated[Literal["°"], Meta(description="Altitudes, azimuths and bearings.")] = "°"
    sunshine: Annotated[Literal["h"], Meta(description="Sunshine.")] = "h"
    hours: Annotated[Literal["h"], Meta(description="Other durations in hours.")] = "h"


class NotApplicable(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="not_applicable"
):
    """The answer of a section that has no data for this point and stay."""

    applicable: Annotated[
        Literal[False], Meta(description="Always false: leave the section out.")
    ] = False
    reason: Annotated[
        NotApplicableReason,
        Meta(description=f"A stable code. {meanings(NOT_APPLICABLE)}"),
    ]
    message: Annotated[Text, Meta(description="The reason in one sentence.")]


class Applicable(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """The fields of every answer that has data; each section adds its own after them.

    In the JSON, `type` is the Struct's tag: the name of the section.
    """

    applicable: Annotated[
        Literal[True],
        Meta(description="Always true: the section has data for this point and stay."),
    ] = True
    point: Annotated[PointBody, Meta(description="The point that the answer is for.")]
    units: Annotated[UnitsBody, Meta(description="The unit of every kind of number in the answer.")]
    as_of: Annotated[Moment | None, Meta(description="When the data was current, UTC.")]
    stale: Annotated[
        bool,
        Meta(
            description=(
                "True if the data is older than intended, because newer data is not available."
            )
        ),
    ]
    degraded: Annotated[
        bool, Meta(description="True if a fallback was used or data are missing.")
    ] = False
    degraded_reason: Annotated[
        DegradedReason | None,
        Meta(
            description=(
                "The reason; null unless degraded. If several apply, the first in this order. "
            )
            + meanings(DEGRADED)
        ),
    ] = None
    attribution: Annotated[list[Attribution], Meta(description="Notices to show with the data.")]

    def __post_init__(self) -> None:
        """Set `degraded` to True if the section has set a `degraded_reason`, else to False."""
        msgspec.structs.force_setattr(self, "degraded", self.degraded_reason is not None)


@dataclass(frozen=True)
class SectionResult:
    """A section's answer, the time until which it is valid, and why data is missing in it.

    Attributes:
        body: the answer.
        fresh_until: the time until which the answer is valid. If the answer depends on today's
            date, this is local midnight at the latest.
        lacks: why a provider's data is missing. It is used only for a `NotApplicable` body, since
            an `Applicable` body states this reason in its `degraded_reason`.
        awaits: a background fetch that will improve the answer. Caches reuse the answer until that
            fetch completes, then drop it.
        shared_until: the time until which a CDN may cache the answer, if later than `fresh_until`.
    """

    body: Applicable | NotApplicable
    fresh_until: datetime
    lacks: DegradedReason | None = None
    awaits: Future[None] | None = None
    shared_until: datetime | None = None

    @property
    def reason(self) -> DegradedReason | None:
        """The reason why the result is degraded; None if nothing is missing."""
        return self.body.degraded_reason if isinstance(self.body, Applicable) else self.lacks

    @property
    def complete(self) -> bool:
        """True if no data is missing. An incomplete result is soon replaced by a new read."""
        return self.reason is None

    @property
    def is_cacheable(self) -> bool:
        """True if clients may cache the result for longer than a minute.

        A complete result is cacheable. A degraded result is cacheable if data is missing only
        because a provider's call budget is spent, and its body is not stale (see `lasts`).
        """
        return lasts(self.reason, stale=isinstance(self.body, Applicable) and self.body.stale)

    @property
    def is_late(self) -> bool:
        """True if a fetch that is still under way is expected to complete the result."""
        return self.reason == "late" or self.awaits is not None

    @property
    def superseded(self) -> bool:
        """True if the fetch `awaits` has completed or failed; caches then drop the result."""
        return self.awaits is not None and self.awaits.done()

    @cached_property
    def payload(self) -> bytes:
        """The body as JSON, encoded once."""
        return msgspec.json.encode(self.body)


class DatedApplicable(Applicable, frozen=True, kw_only=True):
    """The fields of every answer that depends on dates: those of `Applicable`, and the stay."""

    stay: Annotated[StayBody, Meta(description="The dates of the stay, both included.")]


class BudgetState(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's call budget in a time window, and how much all processes together have used."""

    window: Annotated[Text, Meta(description="`minute`, `hour`, `day` or `month` (31 days).")]
    limit: Annotated[Quantity, Meta(description="Units allowed in any window of this length.")]
    used: Annotated[Quantity, Meta(description="Units spent in the window that ends now.")]
    free_at: Annotated[
        Moment | None,
        Meta(
            description="When the next unit becomes available, UTC; null if one is available now."
        ),
    ]


class ProviderState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a provider, as `/v1/status` shows it."""

    name: Annotated[Text, Meta(description="The provider's name.")]
    status: Annotated[ProviderStatus, Meta(description="The provider's present state.")]
    last_success_at: Annotated[Moment | None, Meta(description="When it last succeeded, UTC.")]
    last_error_code: Annotated[
        str | None, Meta(description="The kind of the newest failure since the last success.")
    ]
    last_error: Annotated[
        str | None, Meta(description="The newest failure since the last success, in a sentence.")
    ] = None
    breaker: Annotated[
        Literal["closed", "open", "half_open"] | None,
        Meta(
            description=(
                "`open`: calls are suspended after failures; null if the provider is never called "
                "over the network."
            )
        ),
    ]
    budgets: Annotated[
        list[BudgetState],
        Meta(description="Limits on calls to this provider, shared by all its addresses."),
    ] = []


class DatasetState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an imported dataset, as `/v1/status` shows it."""

    version: Annotated[str | None, Meta(description="The dataset's edition.")]
    rows: Annotated[int, Meta(ge=0, description="Number of its rows.")]
    imported_at: Annotated[Moment | None, Meta(description="When it was imported, UTC.")]
    named: Annotated[
        int, Meta(ge=0, description="Number of further datasets that have their own names.")
    ] = 0
