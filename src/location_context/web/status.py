"""`/v1/health`, `/v1/ready` and `/v1/status`: the state of this process and its providers."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta
from starlette.responses import Response

from location_context import __version__
from location_context.errors import StorageError
from location_context.exchange import Exchange, Route
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import DatasetState, Moment, ProviderState, Text
from location_context.sections.section import Section
from location_context.service import Service
from location_context.web.error_responses import JSON

HEALTH_PATH, READY_PATH, STATUS_PATH = "/v1/health", "/v1/ready", "/v1/status"
PROBES = frozenset({HEALTH_PATH, READY_PATH})  # called every few seconds, so logged at debug
Overall = Literal["operational", "degraded", "outage"]
_HEADERS = {"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"}
DATABASE_TIMEOUT = 1.0  # seconds
DATASETS_TTL, FAILURE_TTL = 30.0, 2.0  # seconds


class HealthBody(msgspec.Struct, frozen=True, kw_only=True):
    """The health of this process: `ok` if it accepts requests."""

    status: Annotated[
        Literal["ok", "draining"], Meta(description="`draining` while the process ends.")
    ]


class ReadyBody(msgspec.Struct, frozen=True, kw_only=True):
    """The readiness of this process for requests."""

    status: Annotated[
        Literal["ready", "waiting", "draining"],
        Meta(description="`draining` while the process ends; `waiting`: see `awaited`."),
    ]
    awaited: Annotated[
        list[Text],
        Meta(
            description=(
                "The parts that the process waits for: `keys` and sections that are not loaded "
                "yet; `database` if it has not answered for a minute."
            )
        ),
    ]


class SectionState(msgspec.Struct, frozen=True, kw_only=True):
    """A section and its providers."""

    status: Annotated[
        Overall,
        Meta(description="`outage`: the section has no data; `degraded`: a provider failed."),
    ]
    providers: Annotated[list[ProviderState], Meta(description="Each provider it uses.")]


Datasets: TypeAlias = dict[str, DatasetState | None]


class StatusBody(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the service."""

    status: Annotated[Overall, Meta(description="The worst state that clients notice.")]
    version: Annotated[Text, Meta(description="The service's version.")]
    started_at: Annotated[Moment, Meta(description="When this process started, UTC.")]
    notices: Annotated[list[Text], Meta(description="Sentences for the operator.")]
    sections: Annotated[dict[str, SectionState], Meta(description="Each section by its name.")]
    datasets: Annotated[Datasets, Meta(description="The imported datasets.")]


def health_route(is_draining: Callable[[], bool]) -> Route:
    """Return the route of `/v1/health`: 503 if the process is draining, else 200."""
    ok = msgspec.json.encode(HealthBody(status="ok"))
    ending = msgspec.json.encode(HealthBody(status="draining"))

    async def handle(_: Exchange) -> Response:
        if is_draining():
            return Response(ending, 503, _HEADERS, media_type=JSON)
        return Response(ok, 200, _HEADERS, media_type=JSON)

    return Route(HEALTH_PATH, handle, access="open", limited=False)


def ready_route(service: Service, is_draining: Callable[[], bool]) -> Route:
    """Return the route `/v1/ready`: 200 if data are loaded and the database answers, else 503."""

    async def handle(_: Exchange) -> Response:
        body = readiness(service, draining=is_draining())
        status = 200 if body.status == "ready" else 503
        return Response(msgspec.json.encode(body), status, _HEADERS, media_type=JSON)

    return Route(READY_PATH, handle, access="open", limited=False)


def readiness(service: Service, *, draining: bool) -> ReadyBody:
    """Return whether this process is ready for requests, and which parts it is waiting for."""
    if draining:
        return ReadyBody(status="draining", awaited=[])
    sections = [one.section for one in service.sections]
    awaited = [section.name for section in sections if not section.is_ready]
    if (access := service.authenticator.key_cache.awaited) is not None:
        awaited.insert(0, access)
    return ReadyBody(status="waiting" if awaited else "ready", awaited=awaited)


def status_route(service: Service) -> Route:
    """Return the route of `/v1/status`, which needs no key and has no rate limit."""
    datasets = DatasetCache(service)

    async def handle(_: Exchange) -> Response:
        body = msgspec.json.encode(await status(service, datasets))
        return Response(body, 200, _HEADERS, media_type=JSON)

    return Route(STATUS_PATH, handle, access="open")  # several monitors may share an address


class DatasetCache:
    """The state of imported datasets, at most 30 s old; concurrent requests share one query."""

    def __init__(self, service: Service, now: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._now = now
        self._lock = asyncio.Lock()
        self._found: Datasets | None = None
        self._until = float("-inf")

    async def read(self) -> Datasets | None:
        """Return the datasets' states by name; None while the database does not answer."""
        async with self._lock:
            if self._now() >= self._until:
                self._found = await _datasets(self._service)
                self._until = self._now() + (DATASETS_TTL if self._found else FAILURE_TTL)
            return self._found


async def status(service: Service, cache: DatasetCache | None = None) -> StatusBody:
    """Return the state of the service now."""
    sections = {section.name: section_state(section) for section in service.sections}
    datasets = await (cache or DatasetCache(service)).read()
    warnings = operator_warnings(service)
    if datasets is None:
        warnings.append("The database does not answer")
    degraded = service.authenticator.degraded or datasets is None
    return StatusBody(
        status=_overall([s.status for s in sections.values()], degraded=degraded),
        version=__version__,
        started_at=service.started_at,
        notices=warnings,
        sections=sections,
        datasets=datasets or dict.fromkeys(_dataset_names(service)),
    )


def documented_status(sections: Sequence[Section[Any]]) -> type[msgspec.Struct]:
    """Return a `StatusBody` class for the API reference; `datasets` in it has a field for each."""
    fields = [
        (info.name, Annotated[DatasetState | None, Meta(description=info.description)], None)
        for section in sections
        if (info := section.dataset_info)
    ]
    said = {"__doc__": "The imported datasets; null where nothing was imported."}
    datasets = msgspec.defstruct("Datasets", fields, namespace=said)
    field = ("datasets", Annotated[datasets, Meta(description="The imported datasets.")])
    return msgspec.defstruct(
        "StatusBody", [field], bases=(StatusBody,), kw_only=True,
        namespace={"__doc__": StatusBody.__doc__},
    )  # fmt: skip


def _dataset_names(service: Service) -> list[str]:
    infos = (cached.section.dataset_info for cached in service.sections)
    return [info.name for info in infos if info]


async def _datasets(service: Service) -> Datasets | None:
    """Read the datasets' states by name; return None if the database fails or is slow."""
    sections = [cached.section for cached in service.sections if cached.section.dataset_info]
    try:
        async with asyncio.timeout(DATABASE_TIMEOUT):
            states = await asyncio.gather(*(section.dataset() for section in sections))
    except (StorageError, TimeoutError):
        return None
    return dict(zip(_dataset_names(service), states, strict=True))


def operator_warnings(service: Service) -> list[str]:
    """Return the warnings for the operator from sections, authentication and proxies, each once."""
    found = [warning for one in service.sections for warning in one.section.warnings()]
    found += service.authenticator.warnings()
    if service.proxies.warning:
        found.append(service.proxies.warning)
    return list(dict.fromkeys(found))


def section_state(cached: CachedSection) -> SectionState:
    """Return a section's state: `outage` after a failed read, `degraded` if a provider fails."""
    providers = list(cached.section.providers())
    troubled = any(p.status in {"degraded", "outage"} for p in providers)
    status: Overall = "degraded" if troubled else "operational"
    if cached.last_read_failed:
        status = "outage"
    return SectionState(status=status, providers=providers)


def _overall(statuses: Sequence[Overall], *, degraded: bool) -> Overall:
    if statuses and all(status == "outage" for status in statuses):
        return "outage"
    whole = all(status == "operational" for status in statuses)
    return "operational" if whole and not degraded else "degraded"
