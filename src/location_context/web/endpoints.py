"""The JSON endpoint of a section: key and quota, parameters, result, bytes."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from location_context.access.address import TrustedProxies
from location_context.access.authenticator import Admitted, Authenticator, Grant, Headers, refusal
from location_context.errors import AuthenticationError
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

    async def handle(request: Request) -> Response:
        scope = request.scope
        given = parse(scope["query_string"], names, service.languages)
        language = given.language or english
        point = service.gazetteer.point(given.lat, given.lng)
        scope["state"]["near"] = f"{point.lat:.1f},{point.lng:.1f}"
        query = Query(point, given.stay, given.units, language)
        deadline = Deadline(scope["state"]["arrived_at"] + service.settings.json_deadline)
        result = await section.read(query, deadline)
        scope["state"]["mode"] = getattr(result.body, "mode", None)
        scope["state"]["cache"] = query.read_as
        freshness = scope["state"]["freshness"] = Freshness.of([result], "private")
        scope["state"]["digest"] = result.digest
        left = freshness.seconds_left(service.clock().timestamp())
        headers = {
            "Cache-Control": freshness.cache_control(left),
            "Content-Language": language.tag,
            "Vary": "Authorization",
        }
        return Response(result.payload, 200, headers, media_type=JSON)

    gate = KeyGate(service.authenticator, service.proxies)
    path = f"/v1/pulse/{section.name}"
    return CachedRoute(path, handle, gate, [section])


class KeyGate:
    """Requests with an API key, each counted under the key's quota."""

    public = False

    def __init__(self, authenticator: Authenticator, proxies: TrustedProxies) -> None:
        self._authenticator = authenticator
        self._proxies = proxies

    async def admit(self, scope: Mapping[str, Any]) -> Grant:
        """Check the key of a request and count it.

        Raises:
            MissingApiKey, InvalidApiKey, RateLimitExceeded, ServiceOverloaded: see `Authenticator`.
        """
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) == 1 and (grant := await self._authenticator.authenticate_known(given[0])):
            return grant
        in_query = not given and key_in_query(scope["query_string"])
        client = self._proxies.client_of(scope)
        headers = [value.decode("latin-1") for value in given]
        return await self._authenticator.authenticate(headers, in_query, client)

    def admit_now(self, _: Mapping[str, Any], headers: Headers) -> Admitted | None:
        """Count a request whose key was checked a moment ago.

        Raises:
            RateLimitExceeded: its quota is used up.
        """
        if (header := headers.get(b"authorization")) is None:
            return None
        if (admitted := self._authenticator.authenticate_again(header)) is not None:
            return admitted
        grant = self._authenticator.authenticate_now(header)
        return None if grant is None else (grant.key_id, grant.headers)

    def refusal(self, scope: Mapping[str, Any], headers: Headers) -> AuthenticationError | None:
        """The error for what is not a key; a query that may hold one is looked into first."""
        if _may_hold_key(scope["query_string"]):
            return None
        return refusal(headers.get(b"authorization"))


def _may_hold_key(query: bytes) -> bool:
    """Whether a query, or what is wrong with it, must be looked into."""
    query = query.lower()
    odd = not query.isascii() or b"%" in query or b"\0" in query
    return odd or b"key" in query or b"token" in query or _KEY_PREFIX.encode() in query


def key_in_query(query: bytes) -> bool:
    """Whether somebody put a key into the URL."""
    return any(
        name.lower() in _KEY_PARAMETERS or value.startswith(_KEY_PREFIX)
        for name, value in decode(query)
    )
