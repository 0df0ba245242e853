"""Section: the base class of everything that answers at `/v1/pulse/<name>`.

A section describes itself. Its endpoint, API keys and quotas, cache, API reference (OpenAPI),
status, widget card, footer and entry in the builder are derived from this description, and so is
its output in the commands `doctor` and `read`. No other file has to list the section.
A package registers its sections in the entry-point group `location_context.sections`; those of
this package are registered the same way.
"""

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import msgspec

from location_context.errors import UpstreamUnavailable
from location_context.localisation.language import Language
from location_context.sections import contract
from location_context.sections.card import Card, CardContext, Entry, PlainCard, facts
from location_context.settings import Settings, read_table
from location_context.stay import Clock
from location_context.upstream.client import ProviderClient
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Host, Hosts
from location_context.upstream.http import HttpClient
from location_context.upstream.shared_cache import SharedCache, SharedStore

Samples: TypeAlias = Mapping[str, Mapping[str, str]]
Choices: TypeAlias = Mapping[str, Collection[str]]  # accepted names by parameter
Table = TypeVar("Table", bound=msgspec.Struct)
Body = TypeVar("Body", bound=contract.Applicable)
DEFAULT_ORDER = 1000  # after the sections of this package
FOLLOW_SECONDS = 2.0  # between two checks whether another process has replaced a dataset
# points of the samples in the API reference
PARIS = {"lat": "48.8566", "lng": "2.3522"}
AT_SEA = {"lat": "-45", "lng": "-130"}
UNKNOWN = "–"  # stands for null in the tables of `location-context read`


@dataclass(frozen=True)
class SectionContext:
    """The objects that a section may be built from; `Section.build` takes those that it needs.

    Attributes:
        settings: the configuration of this process.
        clock: returns the current time; sections never use the system clock.
        client: the HTTP client that all providers share.
        stores: the database's stores by name: `climate`, `guide`, `events`, `accuracy`, and
            `answers` (answers of providers that the processes of one installation share).
        hosts: the providers' hosts; all clients of a host share its limits.
        unwritten: functions that return how many rows are not yet written to the database. Each
            component that delays its writes adds one function.
        environ: the environment variables, where other packages' settings are read.
        shared: the store (Redis) that processes of all machines share; None without Redis.
    """

    settings: Settings
    clock: Clock
    client: HttpClient
    stores: Mapping[str, Any] = field(default_factory=dict)
    hosts: Hosts = field(default_factory=Hosts)
    unwritten: list[Callable[[], int]] = field(default_factory=list)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    shared: SharedStore | None = None

    def settings_of(self, table: type[Table]) -> Table:
        """Return the settings that another package declares in `table`; see `settings/parsers.py`.

        Raises:
            OperatorError: a setting is not valid.
        """
        return read_table(table, self.environ)

    def host(self, name: str, limits: Mapping[float, float] | None = None) -> Host:
        """Return the host with this name, limited by the setting `<name>_budget` if there is one.

        If there is no such setting, `limits` applies (None: no limit): the units allowed in each
        time window, by the window's length in seconds.
        """
        settings = self.settings
        has_setting = f"{name}_budget" in settings.__struct_fields__  # an empty one: no limit
        given = settings.limits(name) if has_setting else limits or {}
        return self.hosts.get(name, given, share=settings.budget_share)

    def shared_cache(self) -> SharedCache:
        """Return a new cache of providers' answers, whose contents all processes share."""
        cache = SharedCache(self.stores.get("answers"), self.clock, self.shared)
        self.unwritten.append(lambda: len(cache.unwritten))
        return cache


@dataclass(frozen=True, kw_only=True)
class DocsPage:
    """A public page that a section adds beside the API reference, at `/v1/docs/<name>`.

    Attributes:
        name: the last part of its path.
        title: its name in the navigation.
        description: its content, for the API reference.
        template: the Jinja template of its main part, as `package:path`; its only variable is
            `page`. If it is empty, the main part is `page` itself, which must be Markup.
        read: returns the value of `page`; it may raise a StorageError.
        style: CSS rules, added to the page's style block; the page forbids `style` attributes.
    """

    name: str
    title: str
    description: str
    template: str
    read: Callable[[], Awaitable[Any]]
    style: str = ""


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """The texts about a section's imported dataset for `/v1/status` and `doctor`.

    Attributes:
        name: the dataset's key in `datasets` of `/v1/status`.
        description: the dataset's content, for the API reference.
        hint: the advice that `doctor` prints while the dataset is empty.
        required: True if an empty dataset is a warning to the operator.
    """

    name: str
    description: str
    hint: str
    required: bool = True


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """A table of texts that `location-context read` prints."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Section(ABC, Generic[Body]):
    """A section of the service. `name`, `dated`, `response` and `read` are required.

    Attributes:
        name: the last part of its path, `/v1/pulse/<name>`, and the name of its entry point.
        dated: True if it takes `start` and `end`; then `query.stay` is never None.
        parameters: names of further parameters it takes, each a field of `Query`.
        choices: the values that each of `parameters` accepts now, if they depend on the data.
        response: the Struct of its answers, tagged with `name` (`type` in the JSON).
        not_applicable_type: the Struct of an answer without data.
        order: its place on the page and in lists; the lowest comes first.
        title: one line for the API reference.
        description: notes for developers on its answers, for the API reference.
        samples: the examples of the API reference: the query parameters of each, by the example's
            name. The answers are stored in `sample.json` beside the section's module.
        dataset_info: the texts about its imported dataset; None if it has no dataset.
        answers_past: True if it has an answer for a stay that is over.
        shown_by_default: False if the widget shows it only when its parameter `sections` names it.
        splits_at_horizon: True if the widget reads it twice for a stay that extends beyond the
            forecast's horizon: for the whole stay, and for the days up to the horizon.
        card_height: the height in px to reserve for its card until it is drawn.

    Example:
        >>> from datetime import UTC, timedelta
        >>> from location_context.localisation.language import Languages
        >>> from location_context.point import Point
        >>> from location_context.sections.contract import Applicable, Query
        >>> from location_context.sections.contract import SectionResult, point_body, point_notices
        >>> from location_context.sections.units import Measure
        >>> class TidesBody(Applicable, frozen=True, kw_only=True, tag="tides"):
        ...     height: float
        >>> class Tides(Section[TidesBody]):
        ...     name, dated, response = "tides", False, TidesBody
        ...
        ...     async def read(self, query, deadline):
        ...         body = TidesBody(
        ...             point=point_body(query.point), units=Measure(query.units).body, as_of=None,
        ...             stale=False, attribution=point_notices(query.point), height=3.2,
        ...         )
        ...         until = datetime(2027, 2, 3, 12, tzinfo=UTC) + timedelta(hours=1)
        ...         return SectionResult(body, until)
        >>> import asyncio
        >>> english = Languages({}).english
        >>> tides = Tides.build(None)
        >>> query = Query(Point(48.65, -2.03, "Europe/Paris"), None, "metric", english)
        >>> result = asyncio.run(tides.read(query, Deadline.after(4)))
        >>> result.payload[:46]
        b'{"type":"tides","applicable":true,"point":{"la'
        >>> tides.label(english), list(tides.text(result.body))
        ('tides', ['Height: 3.2'])
    """

    name: str
    dated: bool
    response: type[Body]
    parameters: tuple[str, ...] = ()
    choices: Choices = MappingProxyType({})
    not_applicable_type: type[contract.NotApplicable] = contract.NotApplicable
    order: int = DEFAULT_ORDER
    title: str = ""
    description: str = ""
    samples: ClassVar[Samples] = {}
    dataset_info: DatasetInfo | None = None
    answers_past: bool = True
    shown_by_default: bool = True
    splits_at_horizon: bool = False
    card_height: int = 150
    _listeners: Sequence[Callable[[], None]] = ()

    @classmethod
    def build(cls, context: SectionContext) -> Self:
        """Build the section for this process, from the objects in `context` that it needs.

        By default the constructor is called without arguments.
        """
        del context
        return cls()

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        """Return the answers in `sample.json`, beside the class's module, by sample name."""
        file = Path(inspect.getfile(cls)).with_name("sample.json")
        samples: dict[str, Any] = msgspec.json.decode(file.read_bytes()) if file.is_file() else {}
        return samples

    @abstractmethod
    async def read(self, query: contract.Query, deadline: Deadline) -> contract.SectionResult:
        """Answer a query.

        The words of the body are in `query.language`, its numbers in `query.units`. The method must
        return at least 0.3 s before `deadline`. If a provider is late, use the best available data,
        and set `degraded_reason`.

        Raises:
            UpstreamUnavailable: no data are available.
        """

    def providers(self) -> Sequence[contract.ProviderState]:
        """Return the present state of each provider, for `/v1/status` and `doctor`."""
        return ()

    async def dataset(self) -> contract.DatasetState | None:
        """Return the state of the section's imported dataset; None if it has none.

        Raises:
            StorageError: the database does not answer.
        """
        return None

    def docs_pages(self) -> Sequence[DocsPage]:
        """Return the pages that the section adds beside the API reference."""
        return ()

    def warnings(self) -> Sequence[str]:
        """Return sentences that the operator should see at start, in status and in `doctor`."""
        return ()

    async def fixed(
        self, query: contract.Query, deadline: Deadline, now: datetime, *, failing: bool
    ) -> contract.Applicable | contract.NotApplicable:
        """Return the answer for a test key at the time `now`, without calling providers.

        Equal arguments give equal answers. By default the answer is the first applicable sample,
        whatever the arguments. `failing` is True if providers should seem to fail: a subclass may
        then answer as it does while its providers fail.

        Raises:
            UpstreamUnavailable: there is no sample.
        """
        del query, deadline, now, failing
        for sample in self.sample().values():
            if sample["applicable"]:
                return msgspec.convert(sample, self.response)
        raise UpstreamUnavailable(f"The {self.name} section has no sample for test keys.", 5)

    async def prepare(self) -> None:
        """Read the section's data, before the first request."""

    @property
    def is_ready(self) -> bool:
        """True once the section has read its data; `/v1/ready` returns 503 until then."""
        return True

    async def run(self) -> None:
        """Do background work while the server runs. It may return early; shutdown cancels it."""

    async def probe(self, query: contract.Query) -> None:
        """Call every configured provider once, for `doctor`; `providers` shows the outcome."""

    def on_change(self, listener: Callable[[], None]) -> None:
        """Register a function to call when the dataset has changed; it may clear a cache."""
        self._listeners = (*self._listeners, listener)

    def announce_change(self) -> None:
        """Call the functions that `on_change` registered, after the dataset changed."""
        for listener in self._listeners:
            listener()

    async def close(self) -> None:
        """Cancel the work that `read` left under way; write rows that are not yet in the store."""

    def label(self, language: Language) -> str:
        """Return the section's subject, for lists such as `weather, sky and restaurants`."""
        del language
        return self.name.replace("_", " ")

    def summary(self, language: Language) -> str:
        """Return what the section shows, in two or three words, for the widget's builder at `/`."""
        return self.label(language)

    def card(self, body: Body, context: CardContext) -> Card | None:
        """Return the section's card in the widget, by default of plain facts; None for no card."""
        heading = context.fmt.capitalise(self.label(context.fmt.language))
        return PlainCard(heading=heading, facts=facts(body)).card()

    def calendar(self, body: Body, context: CardContext) -> Sequence[Entry]:
        """Return entries for the guest's calendar, such as events; by default none."""
        del body, context
        return ()

    def rows(self, body: Body) -> int | None:
        """Return the number of rows in the card's list, to reserve height; None without a list."""
        del body
        return None

    def updated_at(self, body: Body) -> datetime | None:
        """Return when the data were last updated, by default `as_of`; None to show no time.

        The footer of the widget shows the latest time of all its sections as "Updated".
        """
        return body.as_of

    def page_data(self, bodies: Sequence[Body]) -> Mapping[str, str]:
        """Return `data-` attributes for the widget's page; its script sends them to the builder."""
        del bodies
        return {}

    def text(self, body: Body) -> Iterable[str | TextTable]:
        """Yield the answer as lines and tables, for `location-context read` and `/mcp`."""
        for label, value in facts(body):
            yield f"{label}: {value}"


def provider_state(client: ProviderClient) -> contract.ProviderState:
    """Return the state of a provider, as `/v1/status` shows it."""
    return contract.ProviderState(
        name=client.name,
        status=_status(client),
        last_success_at=client.last_success_at,
        last_error_code=client.last_error_code,
        last_error=client.last_error.message if client.last_error else None,
        breaker=client.breaker.state if client.configured else None,
        budgets=_budgets(client) if client.configured else [],
    )


def _budgets(client: ProviderClient) -> list[contract.BudgetState]:
    now = datetime.fromtimestamp(client.host.budget.now(), UTC)
    return [
        contract.BudgetState(
            window=one.window,
            limit=round(one.limit, 1),
            used=round(one.used, 1),
            free_at=now + timedelta(seconds=round(one.free_in)) if one.free_in else None,
        )
        for one in client.host.budget.states()
    ]


def _status(client: ProviderClient) -> contract.ProviderStatus:
    if not (client.configured and client.is_in_plan):
        return "not_configured"
    if not client.available:
        return "outage"
    if client.last_error_code is not None:
        return "degraded"
    return "operational" if client.last_success_at else "unknown"
