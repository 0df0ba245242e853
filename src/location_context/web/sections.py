"""The JSON endpoint of a section: key and quota, parameters, reading, bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from location_context.parameters import DATED_SECTION, UNDATED_SECTION, parse
from location_context.sections.contract import Query
from location_context.upstream.deadline import Deadline
from location_context.web import auth
from location_context.web.caching import cache_control
from location_context.web.endpoint import Endpoint
from location_context.web.problems import JSON

if TYPE_CHECKING:
    from starlette.requests import Request

    from location_context.sections.cached_section import CachedSection
    from location_context.service import Service


def section_endpoint(service: Service, section: CachedSection) -> Endpoint:
    """`/v1/pulse/<section>`."""
    names = DATED_SECTION if section.dated else UNDATED_SECTION
    english = service.languages.english

    async def handle(request: Request) -> Response:
        await auth.authenticate(service.authenticator, service.proxies, request)
        given = parse(request.scope["query_string"], names, service.languages)
        language = given.language or english
        point = service.gazetteer.point(given.lat, given.lng)
        request.state.near = f"{point.lat:.1f},{point.lng:.1f}"
        query = Query(point, given.stay, given.units, language)
        reading = await section.read(query, Deadline.after(service.settings.json_deadline))
        request.state.digest = reading.digest
        headers = {
            "Cache-Control": cache_control(reading, service.clock()),
            "Content-Language": language.tag,
            "Vary": "Authorization",
        }
        return Response(reading.payload, 200, headers, media_type=JSON)

    return Endpoint(f"/v1/pulse/{section.name}", handle)
