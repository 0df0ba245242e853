"""What every section promises: a query comes in, a reading goes out.

A `Section` answers a `Query` with a `Reading`: the body that is sent as JSON and rendered in the
widget, how long it stays true, and whether anything was missing from it. A body is either a
subclass of `Applicable` or `NotApplicable`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from location_context.localisation.language import Language
from location_context.point import Point
from location_context.stay import Stay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.upstream.deadline import Deadline

UnitSystem = Literal["metric", "imperial"]
ProviderStatus = Literal["operational", "degraded", "outage", "not_configured", "unknown"]


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a section. `public` marks widget traffic, which may spend half a budget."""

    point: Point
    stay: Stay | None
    units: UnitSystem
    language: Language
    public: bool = False


class PointBody(msgspec.Struct, frozen=True, kw_only=True):
    """The point as the section computed with it."""

    lat: Annotated[float, Meta(description="Latitude in decimal degrees, four decimals.")]
    lng: Annotated[float, Meta(description="Longitude in decimal degrees, four decimals.")]
    timezone: Annotated[str, Meta(description="IANA time zone; the nautical one at sea.")]
    country: Annotated[str | None, Meta(description="ISO 3166-1 alpha-2, null at sea.")]
    region: Annotated[str | None, Meta(description="ISO 3166-2, null when unsure.")]


class StayBody(msgspec.Struct, frozen=True, kw_only=True):
    """The dates of the stay, both included."""

    start: date
    end: date


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The notice a data licence asks for; `text` is to be shown as it stands."""

    name: str
    url: str | None
    license: str | None
    text: str


class UnitsBody(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of every kind of number in the answer."""

    temperature: Literal["°C", "°F"]
    precipitation: Literal["mm", "inch"]
    snowfall: Literal["cm", "inch"]
    wind_speed: Literal["km/h", "mph"]
    distance: Literal["km", "mi"]
    elevation: Literal["m", "ft"]
    probability: Literal["%"] = "%"
    humidity: Literal["%"] = "%"
    cloud_cover: Literal["%"] = "%"
    angle: Literal["°"] = "°"
    sunshine: Literal["h"] = "h"
    hours: Literal["h"] = "h"


class NotApplicable(msgspec.Struct, frozen=True, kw_only=True):
    """The section has nothing meaningful to say for this point and stay."""

    applicable: Literal[False] = False
    reason: Annotated[str, Meta(description="A code that does not change.")]
    message: Annotated[str, Meta(description="One sentence for a person.")]


class Applicable(msgspec.Struct, frozen=True, kw_only=True):
    """The fields every applicable section carries; each section adds its own after them."""

    applicable: Literal[True] = True
    point: PointBody
    units: UnitsBody
    as_of: Annotated[datetime | None, Meta(description="When the data was true, UTC.")]
    stale: Annotated[bool, Meta(description="Whether newer data could not be had.")]
    attribution: list[Attribution]


@dataclass(frozen=True)
class Reading:
    """A section's answer, how long it stays true, and whether it lacked something.

    `complete` is false for a fallback, a stale answer, or one that lacks a provider: such an
    answer is cached for a minute only. `fresh_until` is never past the local midnight for what
    depends on today.
    """

    body: Applicable | NotApplicable
    fresh_until: datetime
    complete: bool = True

    @cached_property
    def payload(self) -> bytes:
        """The body as JSON, encoded once."""
        return msgspec.json.encode(self.body)

    @cached_property
    def digest(self) -> str:
        """A short hash of the payload, from which an ETag is made."""
        return hashlib.blake2b(self.payload, digest_size=12).hexdigest()


class DatedApplicable(Applicable, frozen=True, kw_only=True):
    """What sections that depend on dates carry besides."""

    stay: StayBody


class ProviderState(msgspec.Struct, frozen=True, kw_only=True):
    """One provider as `/v1/status` shows it."""

    name: str
    status: ProviderStatus
    last_success_at: datetime | None
    last_error_code: str | None
    breaker: Literal["closed", "open", "half_open"] | None


class DatasetState(msgspec.Struct, frozen=True, kw_only=True):
    """One imported dataset as `/v1/status` shows it."""

    version: str | None
    rows: int
    imported_at: datetime | None


class Section(Protocol):
    """A section: reads a query within a deadline, and tells the state of its providers.

    `read` raises `UpstreamUnavailable` only when it holds nothing at all.
    """

    @property
    def name(self) -> str: ...

    @property
    def dated(self) -> bool: ...

    @property
    def response(self) -> type[Applicable]: ...

    @property
    def refusal(self) -> type[NotApplicable]: ...

    async def read(self, query: Query, deadline: Deadline) -> Reading: ...

    def providers(self) -> Sequence[ProviderState]: ...

    async def dataset(self) -> DatasetState | None:
        """The imported dataset it answers from, if it has one."""
        ...

    def notices(self) -> Sequence[str]:
        """Sentences the operator should see in status, doctor and at start."""
        ...

    async def run(self) -> None:
        """Work in the background while the server runs; returns or is cancelled."""
        ...
