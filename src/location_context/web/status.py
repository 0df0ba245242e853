"""Health and status: whether the process serves, and how the sections and their providers are."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from location_context import __version__
from location_context.sections.contract import DatasetState, ProviderState
from location_context.web.endpoint import Endpoint
from location_context.web.problems import JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from location_context.sections.contract import Section
    from location_context.service import Service

Overall = Literal["operational", "degraded", "outage"]
_HEADERS = {"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"}
_DATASET_NAMES = {"weather": "climate"}


class HealthBody(msgspec.Struct, frozen=True, kw_only=True):
    """Whether this process takes requests."""

    status: Literal["ok", "draining"]


class SectionState(msgspec.Struct, frozen=True, kw_only=True):
    """One section and its providers."""

    status: Overall
    providers: list[ProviderState]


class Datasets(msgspec.Struct, frozen=True, kw_only=True):
    """What was imported; null where nothing was."""

    guide: DatasetState | None = None
    events: DatasetState | None = None
    climate: DatasetState | None = None


class StatusBody(msgspec.Struct, frozen=True, kw_only=True):
    """How the service is."""

    status: Annotated[Overall, Meta(description="The worst that a client would notice.")]
    version: str
    started_at: datetime
    notices: Annotated[list[str], Meta(description="Sentences for the operator.")]
    sections: dict[str, SectionState]
    datasets: Datasets


def health_endpoint(draining: Callable[[], bool]) -> Endpoint:
    """`/v1/health`, which touches nothing."""
    ok = msgspec.json.encode(HealthBody(status="ok"))
    ending = msgspec.json.encode(HealthBody(status="draining"))

    async def handle(_: Request) -> Response:
        if draining():
            return Response(ending, 503, _HEADERS, media_type=JSON)
        return Response(ok, 200, _HEADERS, media_type=JSON)

    return Endpoint("/v1/health", handle, guarded=False)


def status_endpoint(service: Service) -> Endpoint:
    """`/v1/status`."""

    async def handle(_: Request) -> Response:
        body = msgspec.json.encode(await status(service))
        return Response(body, 200, _HEADERS, media_type=JSON)

    return Endpoint("/v1/status", handle)


async def status(service: Service) -> StatusBody:
    """How the service is now."""
    sections = {section.name: section_state(section) for section in service.sections}
    datasets = {
        _DATASET_NAMES.get(section.name, section.name): await section.dataset()
        for section in service.sections
    }
    known = {name: value for name, value in datasets.items() if name in Datasets.__struct_fields__}
    return StatusBody(
        status=_overall([s.status for s in sections.values()], degraded=service.gate.degraded),
        version=__version__,
        started_at=service.started_at,
        notices=[notice for section in service.sections for notice in section.notices()],
        sections=sections,
        datasets=Datasets(**known),
    )


def section_state(section: Section) -> SectionState:
    """`outage` when it held nothing last time, `degraded` when a provider is in trouble."""
    providers = list(section.providers())
    troubled = any(p.status in {"degraded", "outage"} for p in providers)
    said: Overall = "degraded" if troubled else "operational"
    if getattr(section, "held_nothing", False):
        said = "outage"
    return SectionState(status=said, providers=providers)


def _overall(statuses: Sequence[Overall], *, degraded: bool) -> Overall:
    if statuses and all(status == "outage" for status in statuses):
        return "outage"
    whole = all(status == "operational" for status in statuses)
    return "operational" if whole and not degraded else "degraded"
