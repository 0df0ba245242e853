"""The JSON endpoint of a section: parameters, result, bytes."""

from starlette.responses import Response

from location_context.exchange import Exchange, Route
from location_context.freshness import Freshness
from location_context.parameters import DATED_SECTION, UNDATED_SECTION, parse
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Query
from location_context.service import Service
from location_context.upstream.deadline import Deadline
from location_context.web.error_responses import JSON


def section_route(service: Service, section: CachedSection) -> Route:
    """Return the route `/v1/pulse/<section>`."""
    names = DATED_SECTION if section.dated else UNDATED_SECTION
    english = service.languages.english

    async def handle(request: Exchange) -> Response:
        given = parse(request.query, names, service.languages)
        language = given.language or english
        point = service.gazetteer.point(given.lat, given.lng)
        request.near = f"{point.lat:.1f},{point.lng:.1f}"
        query = Query(point, given.stay, given.units, language)
        deadline = Deadline(request.arrived_at + service.settings.json_deadline)
        result = await section.read(query, deadline)
        request.mode = getattr(result.body, "mode", None)
        request.cache, request.digest = query.read_as, result.digest
        request.freshness = Freshness.of([result], "private")
        headers = {"Content-Language": language.tag, "Vary": "Authorization"}
        return Response(result.payload, 200, headers, media_type=JSON)

    return Route(f"/v1/pulse/{section.name}", handle, access="key", sections=[section.section])
