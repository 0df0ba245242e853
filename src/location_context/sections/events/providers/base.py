"""The interface of event providers, and the base class of providers called over HTTP.

A provider behind HTTP is called for one tile and one week at a time. A tile is a circle around the
centre of a cell of a fixed grid, large enough to contain the search circle of every point in the
cell. A week begins on Monday, local to the point. `docs/decisions/events.md` has the reasons.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

import msgspec

from location_context.errors import ProviderError
from location_context.localisation.language import Language
from location_context.point import EARTH_RADIUS_KM, canonical
from location_context.sections import contract
from location_context.sections.events.fields import event_from_row, parse_rows, value_at
from location_context.sections.events.records import ProviderEvent
from location_context.sections.events.response import CoverageStatus
from location_context.sections.section import DEFAULT_ORDER, SectionContext, provider_state
from location_context.stay import Stay
from location_context.upstream.budget import DAY, MINUTE
from location_context.upstream.cached import Cached, Entry, Sharing
from location_context.upstream.client import ProviderClient
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline

Body = TypeVar("Body")
MAX_CACHED_EVENTS = 20_000  # in all cached results of a provider, about 22 MB
_KM_PER_DEGREE = math.radians(1) * EARTH_RADIUS_KM
_SIDE = 0.8  # smaller cells are shared by fewer points, larger ones fetch more unused events
_ROUNDED_KM = math.hypot(0.005, 0.005) * _KM_PER_DEGREE  # largest error of rounding to 0.01°
_WEEK, _DAY = timedelta(days=7), timedelta(days=1)


class Grid:
    """A fixed grid on the Earth, so that nearby points share the results of providers.

    The search circle of a point has a radius of `radius` km. A tile is a larger circle around the
    centre of a cell, with a radius of `reach` km (a whole number); it contains the search circle of
    every point in the cell. A cell is nearly a square, with sides of `_SIDE` times `radius` km.
    Each row of cells goes once around the Earth at one latitude, without a partial cell at 180°.
    """

    def __init__(self, radius: float) -> None:
        self._side = radius * _SIDE
        self.reach = math.ceil(radius + self._side * math.sqrt(0.5) + _ROUNDED_KM)

    def centre(self, lat: float, lng: float) -> tuple[float, float]:
        """Return latitude and longitude of the centre of the point's cell, rounded to 0.01°."""
        step = self._side / _KM_PER_DEGREE
        middle = max(-90.0, min(90.0, round(lat / step) * step))
        widest = max(0.0, abs(middle) - step / 2)
        columns = max(1, math.ceil(360 * math.cos(math.radians(widest)) / step))
        east = round(lng / 360 * columns) % columns * 360 / columns
        return canonical(round(middle, 2), round(east - 360 if east > 180 else east, 2))


def weeks_of(stay: Stay) -> list[Stay]:
    """Return the weeks, from Monday to Sunday, that contain a day of the stay."""
    monday = stay.start - timedelta(days=stay.start.weekday())
    count = (stay.end - monday).days // 7 + 1
    return [Stay(monday + n * _WEEK, monday + n * _WEEK + 6 * _DAY) for n in range(count)]


@dataclass(frozen=True)
class Page:
    """The events of one page of a provider's answer, or of several pages joined.

    Attributes:
        events: the events that were read.
        truncated: True if the provider has more events, which are not read.
    """

    events: Sequence[ProviderEvent] = field(default=(), repr=False)
    truncated: bool = False

    def joined(self, later: "Page") -> "Page":
        """Return this page joined with `later`; of duplicates, the event in `later` is kept."""
        return Page(unique([*self.events, *later.events]), self.truncated or later.truncated)


def unique(events: Iterable[ProviderEvent]) -> list[ProviderEvent]:
    """Return the events; if several have the same id and start, only the last of them is kept."""
    return list({(event.id, event.start): event for event in events}.values())


# the encoding of a result for other processes; the second moment is no longer read, and earlier
# versions stored a number in the last place
_SharedPage = tuple[datetime, datetime, list[ProviderEvent], int | bool]


def pack(page: Page, fetched_at: datetime) -> bytes:
    """Return a page and the time of its fetch, encoded as bytes to share with other processes."""
    return msgspec.msgpack.encode((fetched_at, fetched_at, page.events, page.truncated))


def unpack(data: bytes) -> tuple[Page, datetime]:
    """Return the page that `pack` encoded, and the time of its fetch."""
    at, _, events, truncated = msgspec.msgpack.decode(data, type=_SharedPage)
    return Page(events, bool(truncated)), at


@dataclass(frozen=True)
class ProviderResult:
    """The result of fetching from one provider.

    Attributes:
        status: the state to show in the response's `coverage`.
        events: the events, in the provider's order.
        as_of: the time at which the events were fetched; None if they are computed offline.
        reason: the `degraded_reason` if events are missing or old, else None.
        notices: the licence notice of each source, for a provider that has several. A source's key
            is the part before the colon in its events' ids.
    """

    status: CoverageStatus
    events: Sequence[ProviderEvent] = field(default=(), repr=False)
    as_of: datetime | None = None
    reason: contract.DegradedReason | None = None
    notices: Mapping[str, contract.Attribution] = field(default_factory=dict)

    @property
    def degraded_reason(self) -> contract.DegradedReason | None:
        """The reason why events are missing or old; None unless a fetch failed."""
        failed = self.status in {"stale", "unavailable"}
        return self.reason or ("provider_unavailable" if failed else None)


class EventProvider(ABC):
    """A source of events: `name` and `fetch_events` are required.

    For a provider behind HTTP, `HttpEventProvider` is an easier base. A query calls all providers
    in parallel, and their events are merged. A package registers its class in the entry-point group
    `location_context.event_providers`.

    Attributes:
        name: its code in `coverage`, `sources` and `/v1/status`, and the name of its entry point.
        order: its position in lists of providers; the lowest number comes first.
        attribution: the notice to show with its events; None if its terms require none.
    """

    name: str
    order: int = DEFAULT_ORDER
    attribution: contract.Attribution | None = None

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        """Return the provider, built from the objects in `context` that it needs.

        By default the constructor is called without arguments.
        """
        del context
        return cls()

    @abstractmethod
    async def fetch_events(self, query: contract.Query, deadline: Deadline) -> ProviderResult:
        """Return the events around the query's point during its stay.

        Return at least 0.3 s before the deadline, since composing the answer takes time. The result
        may have too many events: `selection` removes those that are too far away or on other dates,
        and holidays of other regions. A failure is reported in `status`, not raised.
        """

    def state(self) -> contract.ProviderState:
        """Return the provider's present state for `/v1/status`; by default always operational."""
        return contract.ProviderState(
            name=self.name,
            status="operational",
            last_success_at=None,
            last_error_code=None,
            breaker=None,
        )

    @classmethod
    def label(cls, language: Language) -> str:
        """Return the name that guests read in the widget; empty to leave the provider unnamed."""
        del language
        return cls.attribution.name if cls.attribution else ""

    async def dataset(self) -> contract.DatasetState | None:
        """Return the state of the provider's imported data, such as calendars; None without any."""
        return None

    async def dataset_changed(self) -> bool:
        """Return True if the imported data changed since the last call.

        The section calls this every two seconds, to drop outdated answers.
        """
        return False

    def warnings(self) -> Sequence[str]:
        """Return warnings for the operator, each a sentence."""
        return ()

    async def close(self) -> None:  # noqa: B027  most providers have nothing to close
        """Cancel running fetches, at shutdown."""


class HttpEventProvider(EventProvider):
    """The base class of a provider over HTTP: a subclass sets its URL, parameters and fields.

    This class handles cache, call budget, deadline, retries and circuit breaker. Pages that come
    after the deadline are cached for later requests. `name`, `url`, `params` and `fields` are
    enough for a provider that answers in one page. Override `fetch_pages` for several pages, and
    `parse_event` if paths in `fields` cannot describe the rows.

    If `by_tile` is True, a result has all events of a tile (see `Grid`) in a week, and serves every
    point and stay in them. The query that `params`, `fetch_pages` and `parse_event` receive then
    has the tile's centre as its point, in the request's time zone, and the week as its stay.

    Attributes:
        by_tile: True to query a tile and a week; False to query the request's own point and stay.
        url: the URL to call. To read it from settings, override `configured_url`. This
            package's settings are `context.settings`; for those that your own package declares in
            a `Table`, call `context.settings_of(Table)`.
        budget: the largest number of calls in a time window, by the window's length in seconds.
            Public (widget) traffic may use half of it. The providers of this package use settings
            instead (`Settings.limits`).
        fresh: the time for which a result is used before it is fetched again.
        stale: the age up to which a result may be used if no newer one is available.
        is_sharable: True if the provider's terms allow storing its results in the database. If
            False, running processes share results only through Redis.
        rows: the path of the list of rows in the body, such as `_embedded.events`.
        fields: the path of each field in a row; see `event_from_row`.

    Every instance has `client` (a `ProviderClient`), `clock` and `radius` (the radius in whole km
    to search around the query's point).

    Errors: `get_json` raises a `ProviderError` if the call fails or the body has another shape;
    `fetch_pages` should do the same. Pages received before the error are used. A row without an id,
    a title or a start is left out.

    Example:
        >>> from location_context.sections.contract import Attribution
        >>> class Harbour(HttpEventProvider):
        ...     name = "harbour"
        ...     url = "https://harbour.example/api/events"
        ...     budget = {MINUTE: 30, DAY: 1000}
        ...     attribution = Attribution(
        ...         name="Harbour", url="https://harbour.example/", license="CC BY 4.0",
        ...         text="Events by the harbour",
        ...     )
        ...     rows = "items"
        ...     fields = {
        ...         "id": "id", "title": "name", "category": "kind", "start": "begins",
        ...         "end": "ends", "venue": "pier.name", "lat": "pier.at.0", "lng": "pier.at.1",
        ...     }
        ...     def params(self, query):
        ...         lat, lng = rounded_point(query)
        ...         return {
        ...             "near": f"{lat},{lng}", "km": f"{self.radius:.0f}",
        ...             "from": f"{query.stay.start}", "to": f"{query.stay.end}",
        ...         }
        >>> row = {
        ...     "id": 7, "name": "Regatta", "kind": "sports", "begins": "2026-07-04T14:00",
        ...     "pier": {"name": "West pier", "at": [53.54, 9.97]},
        ... }
        >>> from zoneinfo import ZoneInfo
        >>> event = event_from_row(row, Harbour.fields, ZoneInfo("Europe/Berlin"), source="harbour")
        >>> event.title, event.category, event.start.at.isoformat(), event.place.name
        ('Regatta', 'sport', '2026-07-04T14:00:00+02:00', 'West pier')
    """

    by_tile: bool = True
    url: str = ""
    budget: Mapping[float, float] = {MINUTE: 60, DAY: 1000}
    fresh: timedelta = timedelta(hours=3)
    stale: timedelta = timedelta(days=2)
    is_sharable: bool = False
    rows: str = ""
    fields: Mapping[str, str] = {}

    def __init__(self, context: SectionContext) -> None:
        self.clock = context.clock
        self.grid = Grid(context.settings.events_radius)
        self.radius = self.grid.reach
        self.client = ProviderClient(
            self.name,
            self.configured_url(context),
            context.client,
            context.clock,
            host=context.host(self.name, self.budget),
        )
        self.cache: Cached[Hashable, Page] = Cached(
            context.clock,
            fresh=self.fresh,
            stale=self.stale,
            max_size=MAX_CACHED_EVENTS,
            size_of=lambda page: len(page.events) + 1,
            merge=Page.joined,
            sharing=Sharing(
                context.shared_cache(),
                name=lambda key: (self.name, repr(key)),
                pack=pack,
                unpack=unpack,
                stored=self.is_sharable,
            ),
        )

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        return cls(context)

    def configured_url(self, context: SectionContext) -> str:
        """Return the URL to call; empty if the provider is not configured (has no key)."""
        del context
        return self.url

    def covers(self, query: contract.Query) -> bool:
        """Return True if the provider has events at this point; if not, it is not called."""
        del query
        return True

    def cache_key(self, query: contract.Query) -> Hashable:
        """Return the key under which a result is cached.

        By default it is the rounded point, its time zone and the dates.
        """
        return rounded_point(query), query.point.timezone, query.stay

    def params(self, query: contract.Query) -> Mapping[str, str]:
        """Return the URL parameters of the call that the default `fetch_pages` makes."""
        raise NotImplementedError

    def headers(self) -> Mapping[str, str]:
        """Return the HTTP headers to send besides User-Agent, such as one with an API key."""
        return {}

    async def fetch_pages(self, query: contract.Query) -> AsyncIterator[Page]:
        """Yield the provider's events for the query, page by page; by default a single page.

        If the provider has more events, which are not read, the last page is `truncated`.

        Raises:
            ProviderError: a page could not be fetched.
        """
        rows = await self.get_json(query, self.params(query), self.read_rows)
        yield Page(self.parse_events(rows, query))

    def read_rows(self, body: Any) -> list[Any]:
        """Return the list of rows (one per event) in the JSON body of an answer.

        If this raises an error, the call to the provider counts as failed.
        """
        return msgspec.convert(value_at(body, self.rows) if self.rows else body, list[Any])

    def parse_events(self, rows: Iterable[Any], query: contract.Query) -> list[ProviderEvent]:
        """Return the event of each row; rows that `parse_event` cannot read are left out."""
        return list(parse_rows(rows, lambda row: self.parse_event(row, query)))

    def parse_event(self, row: Any, query: contract.Query) -> ProviderEvent | None:
        """Return the event in a row of the provider's answer; None to leave the row out.

        Raises:
            ValueError, KeyError, TypeError: the row lacks a required field; it is then left out.
        """
        return event_from_row(row, self.fields, query.point.zone, source=self.name)

    async def get_json(
        self,
        query: contract.Query,
        params: Mapping[str, str],
        parse: Callable[[Any], Body],
        path: str = "",
    ) -> Body:
        """Call the provider once, and return the result of `parse` for the JSON of its answer.

        `path` is added to the URL. If `query` is `public`, the call may use only half of the
        provider's budget.

        Raises:
            ProviderError: the call failed or the answer is unusable.
        """
        return await self.client.get_json(
            params, parse, path=path, headers=self.headers(), public=query.public
        )

    async def fetch_events(self, query: contract.Query, deadline: Deadline) -> ProviderResult:
        """Return the query's events: cached, or fetched before the deadline."""
        if not self.client.configured:
            return ProviderResult("not_configured")
        if not self.covers(query):
            return ProviderResult("not_covered")
        parts, by = self._parts(query), deadline.earlier(ANSWER_RESERVE)
        found = await asyncio.gather(*(self._entry(*part, by) for part in parts))
        errors = (one.error if isinstance(one, Entry) else one for one in found)
        reason = contract.foremost(contract.degraded_by(error) for error in errors if error)
        if not (entries := [one for one in found if isinstance(one, Entry)]):
            return ProviderResult("unavailable", reason=reason)
        stale = any(self.clock() >= entry.fresh_until for entry in entries)
        less = (not entry.complete or entry.value.truncated for entry in entries)
        partial = len(entries) < len(parts) or any(less)
        status: CoverageStatus = "stale" if stale else "partial" if partial else "ok"
        events = unique(event for entry in entries for event in entry.value.events)
        as_of = min(entry.fetched_at for entry in entries)
        return ProviderResult(status, events, as_of, reason)

    def _parts(self, query: contract.Query) -> list[tuple[contract.Query, Hashable]]:
        """Return the queries to make, each with its cache key.

        If `by_tile` is True, there is a query for each week of the stay, at the centre of the
        point's tile. Otherwise the only query is the request's own.
        """
        if not self.by_tile:
            return [(query, self.cache_key(query))]
        lat, lng = self.grid.centre(query.point.lat, query.point.lng)
        centre = msgspec.structs.replace(query.point, lat=lat, lng=lng)
        parts = [replace(query, point=centre, stay=week) for week in weeks_of(query.dates)]
        return [(part, self.cache_key(part)) for part in parts]

    async def _entry(
        self, part: contract.Query, key: Hashable, deadline: Deadline
    ) -> Entry[Page] | Exception:
        """Return the events for the query `part`, cached or fetched, or the error of that fetch."""
        try:
            return await self.cache.get(
                key, lambda: self._pages(part), deadline, public=part.public
            )
        except (ProviderError, TimeoutError) as error:
            return error

    async def _pages(self, part: contract.Query) -> AsyncIterator[Page]:
        empty = True
        async for page in self.fetch_pages(part):
            empty = False
            yield page
        if empty:  # no page means that the provider has no events
            yield Page()

    def state(self) -> contract.ProviderState:
        return provider_state(self.client)

    async def close(self) -> None:
        await self.cache.close()


def rounded_point(query: contract.Query) -> tuple[float, float]:
    """Return the query's coordinates rounded to 0.01°, so that nearby points share a result."""
    return round(query.point.lat, 2), round(query.point.lng, 2)
