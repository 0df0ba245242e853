"""The JSON endpoint of a section: key and quota, parameters, result, bytes."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from location_context.access.address import TrustedProxies
from location_context.access.authenticator import Authenticator, Grant
from location_context.freshness import Freshness
from location_context.parameters import DATED_SECTION, UNDATED_SECTION, decode, parse
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Query
from location_context.service import Service
from location_context.upstream.deadline import Deadline
from location_context.web.error_responses import JSON
from location_context.web.response_cache import CachedRoute

_KEY_PARAMETERS = {"api_key", "apikey", "api-key", "key", "access_token", "token"}
_KEY_PREFIX = "lc_live_"


def section_route(service: Service, section: CachedSection) -> CachedRoute:
    """`/v1/pulse/<section>`."""
    names = DATED_SECTION if section.dated else UNDATED_SECTION
    english = service.languages.english

    async def admit(scope: Scope) -> Grant:
        return await authenticate(service.authenticator, service.proxies, scope)

    async def handle(request: Request) -> Response:
        scope = request.scope
        given = parse(scope["query_string"], names, service.languages)
        language = given.language or english
        point = service.gazetteer.point(given.lat, given.lng)
        scope["state"]["near"] = f"{point.lat:.1f},{point.lng:.1f}"
        query = Query(point, given.stay, given.units, language)
        result = await section.read(query, Deadline.after(service.settings.json_deadline))
        freshness = scope["state"]["freshness"] = Freshness.of([result], "private")
        scope["state"]["digest"] = result.digest
        left = freshness.seconds_left(service.clock().timestamp())
        headers = {
            "Cache-Control": freshness.cache_control(left),
            "Content-Language": language.tag,
            "Vary": "Authorization",
        }
        return Response(result.payload, 200, headers, media_type=JSON)

    return CachedRoute(f"/v1/pulse/{section.name}", handle, admit, [section])


async def authenticate(
    authenticator: Authenticator, proxies: TrustedProxies, scope: Scope
) -> Grant:
    """Check the key of a request and count it.

    Raises:
        MissingApiKey, InvalidApiKey, RateLimitExceeded, ServiceOverloaded: see `Authenticator`.
    """
    authorization = [
        value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"
    ]
    if len(authorization) == 1:
        grant = await authenticator.authenticate_known(authorization[0])
        if grant is not None:
            return grant
    in_query = not authorization and key_in_query(scope["query_string"])
    client = proxies.client_of(scope)
    return await authenticator.authenticate(authorization, in_query, client)


def key_in_query(query: bytes) -> bool:
    """Whether somebody put a key into the URL."""
    return any(
        name.lower() in _KEY_PARAMETERS or value.startswith(_KEY_PREFIX)
        for name, value in decode(query)
    )
