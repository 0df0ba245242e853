"""ResponseCache: finished responses, given again to an equal request at next to no cost.

Two requests are equal if their path, their raw query string and what the headers ask of coding and
language are the same (RFC 9111 section 4.1). Key and quota are still checked for each; the
request's id, the quota and the freshness that is left are written anew. A response is kept for as
long as its data are fresh, for a moment if it lacks something, until what it awaits has come; it is
dropped when a section says that its data have changed.
"""

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from location_context.access.authenticator import Gate
from location_context.errors import PublicError
from location_context.freshness import Freshness
from location_context.lru import LRUCache
from location_context.sections.cached_section import CachedSection
from location_context.stay import Clock, posix_seconds
from location_context.web.caching import ON_304, Headers, choose_coding, etag_matches
from location_context.web.error_responses import PreparedErrors
from location_context.web.logs import AccessLogger, Facts
from location_context.web.middleware import RequestIds, is_host

MAX_BYTES = 8_000_000  # of one path; plain bodies are shared with the section's own cache
ENTRY_BYTES = 1500  # what an entry takes besides its body and its key
MAX_KEY_BYTES = 2000  # of query and Accept-Language; what is longer is not kept
START, BODY = "http.response.start", "http.response.body"
NOSNIFF = (b"x-content-type-options", b"nosniff")
_OF_ONE_REQUEST = {b"x-request-id", b"ratelimit", b"ratelimit-policy", b"cache-control"}
_IN_304 = ON_304 | {b"etag", b"vary", NOSNIFF[0]}

Key = tuple[bytes, str | None, bytes | None]  # query, coding, Accept-Language where it matters


class CachedResponse:
    """A response to an equal request, without the headers that are one request's own."""

    __slots__ = (
        "_control",
        "_freshness",
        "body",
        "etag",
        "facts",
        "fresh_until",
        "headers",
        "kept_until",
        "on_304",
        "size",
    )

    def __init__(self, headers: Headers, body: bytes, state: Mapping[str, Any], now: float) -> None:
        """`state`: of the request that it answers."""
        freshness: Freshness = state["freshness"]
        self.headers = [pair for pair in headers if pair[0] not in _OF_ONE_REQUEST]
        self.headers.append(NOSNIFF)
        self.on_304 = [pair for pair in self.headers if pair[0] in _IN_304]
        self.fresh_until = freshness.fresh_until
        self.kept_until = freshness.kept_until(now)
        self.etag = dict(headers)[b"etag"]
        self.body = body
        self.size = ENTRY_BYTES + len(body)
        self.facts = Facts(cache="response", mode=state.get("mode"), near=state.get("near"))
        self._freshness = freshness
        self._control = (-1, (b"cache-control", b""))

    def serves(self, now: float) -> bool:
        """Whether it may still be given."""
        return now < self.kept_until and not self._freshness.superseded

    def control(self, seconds_left: int) -> tuple[bytes, bytes]:
        """The Cache-Control header, made once a second."""
        if self._control[0] != seconds_left:
            control = self._freshness.cache_control(seconds_left).encode()
            self._control = (seconds_left, (b"cache-control", control))
        return self._control[1]


class CachedRoute(Route):
    """A route whose responses may be given again, until one of `sections` changes.

    Attributes:
        gate: who may ask, and what counts.
        generation: how often the sections have changed.
        responses: by query, coding and, where it matters, the language asked for.
    """

    def __init__(
        self, path: str, handle: Any, gate: Gate, sections: Iterable[CachedSection]
    ) -> None:
        super().__init__(path, handle, methods=["GET"])
        self.gate = gate
        self.generation = 0
        self.responses = LRUCache[Key, CachedResponse](MAX_BYTES, lambda response: response.size)
        for cached in sections:
            cached.section.on_change(self.clear)

    def store(self, query: bytes, headers: Mapping[bytes, bytes], response: CachedResponse) -> None:
        """Keep the response to a request of this query and these headers."""
        coding = choose_coding(headers.get(b"accept-encoding", b""))
        varies = b"accept-language" in dict(response.headers)[b"vary"].lower()
        language = headers.get(b"accept-language", b"") if varies else None
        key_bytes = len(query) + len(language or b"")
        if key_bytes <= MAX_KEY_BYTES:
            response.size += key_bytes
            self.responses.put((query, coding, language), response)

    def clear(self) -> None:
        """Drop every response; those being made are not stored either."""
        self.generation += 1
        self.responses.clear()


class ResponseCache:
    """The outermost middleware: what it has is answered here, all else goes its long way.

    So is a request without a key that needs one. While it is `paused`, everything goes its long
    way. What a gate refuses is handed to `refuse`, as `scope["state"]["refused"]`.

    Attributes:
        last_request_at: when the last request began, on `time.perf_counter`.
    """

    def __init__(  # noqa: PLR0913, PLR0917  what an answer is made of
        self,
        app: ASGIApp,
        refuse: ASGIApp,
        routes: Mapping[str, CachedRoute],
        clock: Clock,
        request_ids: RequestIds,
        log: AccessLogger,
    ) -> None:
        self._app = app
        self._refuse = refuse
        self._routes = routes
        self._now = posix_seconds(clock)
        self._request_ids = request_ids
        self._log = log
        self._errors = PreparedErrors()
        self._refused: dict[str, Facts] = {}  # by the error's code
        self.paused = False
        self.last_request_at = time.perf_counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = self.last_request_at = time.perf_counter()
        route = self._routes.get(scope["path"])
        headers = dict(scope["headers"])
        trace = headers.get(b"traceparent")
        single = len(headers) == len(scope["headers"])  # a header given twice is checked elsewhere
        asked = route is not None and single and scope["method"] == "GET" and not self.paused
        if route is None or not asked or not is_host(headers.get(b"host", b"")):
            await self._app(scope, receive, send)
            return
        if b"authorization" not in headers and (error := route.gate.refusal(scope, headers)):
            await self._answer(error, route, began, trace, send)
            return
        query, coding = scope["query_string"], choose_coding(headers.get(b"accept-encoding", b""))
        found = route.responses.get((query, coding, None))
        if found is None:
            language = headers.get(b"accept-language", b"")
            found = route.responses.get((query, coding, language))
        now = self._now()
        if found is None or not found.serves(now):
            if (error := route.gate.refusal(scope, headers)) is None:
                await self._app(scope, receive, self._storing(route, scope, headers, send))
            else:
                await self._answer(error, route, began, trace, send)
            return
        try:
            admitted = route.gate.admit_now(scope, headers)
            if admitted is None:
                if (refused := route.gate.refusal(scope, headers)) is not None:
                    await self._answer(refused, route, began, trace, send)
                    return
                grant = await route.gate.admit(scope)
                admitted = (grant.key_id, grant.headers) if grant else (None, [])
        except Exception as error:  # noqa: BLE001  whatever it is, `refuse` logs and answers it
            scope["state"]["refused"] = error
            await self._refuse(scope, receive, send)
            return
        key_id, quota = admitted
        request_id = self._request_ids.next()
        own = (
            found.control(math.floor(found.fresh_until - now)),
            (b"x-request-id", request_id.encode()),
        )
        if_none_match = headers.get(b"if-none-match")
        if if_none_match is None or not etag_matches(if_none_match, found.etag):
            status, kept, body = 200, found.headers, found.body
        else:
            status, kept, body = 304, found.on_304, b""
        start = {"type": START, "status": status, "headers": [*kept, *own, *quota]}
        await send(start)
        await send({"type": BODY, "body": body})
        self._log.answered(request_id, "GET", route.path, status, began, found.facts, key_id, trace)

    async def _answer(
        self,
        error: PublicError,
        route: CachedRoute,
        began: float,
        trace: bytes | None,
        send: Send,
    ) -> None:
        """The answer that the long way would give."""
        request_id = self._request_ids.next()
        headers, body = self._errors.response(error, request_id.encode())
        own = (b"x-request-id", request_id.encode())
        await send({"type": START, "status": error.status, "headers": [*headers, own, NOSNIFF]})
        await send({"type": BODY, "body": body})
        if (facts := self._refused.get(error.code)) is None:
            facts = self._refused[error.code] = Facts(code=error.code)
        self._log.answered(request_id, "GET", route.path, error.status, began, facts, None, trace)

    def _storing(
        self, route: CachedRoute, scope: Scope, asked: Mapping[bytes, bytes], send: Send
    ) -> Send:
        """`send` that stores the response on its way, if its handler says how fresh it is.

        One that shows old data while new ones are read is not stored.
        """
        generation = route.generation

        async def send_and_store(message: Message) -> None:
            state = scope["state"]
            if "whole" in state and message["type"] == BODY:
                headers, body = state["whole"]
                outdated = state.get("cache") == "revalidating"
                if generation == route.generation and not outdated:
                    response = CachedResponse(headers, body, state, self._now())
                    route.store(scope["query_string"], asked, response)
            await send(message)

        return send_and_store
