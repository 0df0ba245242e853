"""ResponseCache: finished responses, given again to an equal request at next to no cost.

Two requests are equal if their path, their raw query string and what the headers ask of coding and
language are the same (RFC 9111 section 4.1). Key and quota are still checked for each; the
request's id, the quota and the freshness that is left are written anew. A response is kept for as
long as its data are fresh and whole, and dropped when a section says that they have changed.
"""

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from location_context.freshness import Freshness
from location_context.lru import LRUCache
from location_context.sections.cached_section import CachedSection
from location_context.stay import Clock
from location_context.web.caching import ON_304, Headers, choose_coding, etag_matches
from location_context.web.logs import AccessLogger
from location_context.web.middleware import Admit, RequestIds, is_host

MAX_BYTES = 8_000_000  # of one path; plain bodies are shared with the section's own cache
ENTRY_BYTES = 1500  # what an entry takes besides its body and its query
NOSNIFF = (b"x-content-type-options", b"nosniff")
_OF_ONE_REQUEST = {b"x-request-id", b"ratelimit", b"ratelimit-policy", b"cache-control"}
_IN_304 = ON_304 | {b"etag", b"vary", NOSNIFF[0]}

Key = tuple[bytes, str | None, bytes | None]  # query, coding, Accept-Language where it matters


class CachedResponse:
    """A response to an equal request, without the headers that are one request's own."""

    __slots__ = (
        "_control",
        "_freshness",
        "_headers",
        "_on_304",
        "body",
        "etag",
        "fresh_until",
        "near",
    )

    def __init__(
        self, headers: Headers, body: bytes, freshness: Freshness, near: str | None
    ) -> None:
        self._headers = [pair for pair in headers if pair[0] not in _OF_ONE_REQUEST]
        self._on_304 = [pair for pair in self._headers if pair[0] in _IN_304]
        self._freshness = freshness
        self.fresh_until = freshness.fresh_until
        self._control = (-1, (b"cache-control", b""))
        self.etag = dict(headers)[b"etag"]
        self.body = body
        self.near = near

    def start(self, status: int, seconds_left: int, own: Headers) -> Message:
        """The start of the response, with the headers that are this request's own."""
        if self._control[0] != seconds_left:
            control = self._freshness.cache_control(seconds_left).encode()
            self._control = (seconds_left, (b"cache-control", control))
        headers = self._headers if status == 200 else self._on_304
        return {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, self._control[1], *own],
        }


class CachedRoute(Route):
    """A route whose responses may be given again, until one of `sections` changes.

    Attributes:
        admit: counts a request, and may refuse it.
        generation: how often the sections have changed.
        responses: by query, coding and, where it matters, the language asked for.
    """

    def __init__(
        self, path: str, handle: Any, admit: Admit, sections: Iterable[CachedSection]
    ) -> None:
        super().__init__(path, handle, methods=["GET"])
        self.admit = admit
        self.generation = 0
        self.responses = LRUCache[Key, CachedResponse](MAX_BYTES, _size)
        for cached in sections:
            cached.section.on_change(self.clear)

    def store(
        self, query: bytes, headers: Mapping[bytes, bytes], vary: bytes, response: CachedResponse
    ) -> None:
        coding = choose_coding(headers.get(b"accept-encoding", b""))
        varies = b"accept-language" in vary.lower()
        language = headers.get(b"accept-language", b"") if varies else None
        self.responses.put((query, coding, language), response)

    def clear(self) -> None:
        """Drop every response; those being made are not stored either."""
        self.generation += 1
        self.responses.clear()


def _size(response: CachedResponse) -> int:
    return ENTRY_BYTES + len(response.body)


class ResponseCache:
    """The outermost middleware: what it has is answered here, all else goes its long way.

    While it is `paused`, everything goes its long way. What `admit` refuses is handed to `refuse`,
    as `scope["state"]["refused"]`.
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
        self._clock = clock
        self._request_ids = request_ids
        self._log = log
        self.paused = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes.get(scope["path"])
        headers = dict(scope["headers"])
        single = len(headers) == len(scope["headers"])  # a header given twice is checked elsewhere
        if route is None or not single or scope["method"] != "GET" or self.paused:
            await self._app(scope, receive, send)
            return
        now, query = self._clock(), scope["query_string"]
        coding = choose_coding(headers.get(b"accept-encoding", b""))
        found = route.responses.get((query, coding, None))
        if found is None:
            language = headers.get(b"accept-language", b"")
            found = route.responses.get((query, coding, language))
        left = math.floor(found.fresh_until - now.timestamp()) if found is not None else -1
        if found is None or left < 0 or not is_host(headers.get(b"host", b"")):
            await self._app(scope, receive, self._storing(route, scope, headers, send))
            return
        began = time.perf_counter()
        try:
            grant = await route.admit(scope)
        except Exception as error:  # noqa: BLE001  whatever it is, `refuse` logs and answers it
            scope["state"]["refused"] = error
            await self._refuse(scope, receive, send)
            return
        request_id = self._request_ids.next()
        own = [(b"x-request-id", request_id.encode())]
        if grant is not None:
            own += grant.headers
        status, body = 200, found.body
        if_none_match = headers.get(b"if-none-match")
        if if_none_match is not None and etag_matches(if_none_match, found.etag):
            status, body = 304, b""
        await send(found.start(status, left, own))
        await send({"type": "http.response.body", "body": body})
        key_id = grant.key_id if grant else None
        self._log.answered(request_id, "GET", route.path, status, began, found.near, key_id)

    def _storing(
        self, route: CachedRoute, scope: Scope, asked: Mapping[bytes, bytes], send: Send
    ) -> Send:
        """`send` that stores the response on its way, if its handler says that it is fresh."""
        generation, start = route.generation, dict[bytes, bytes]()

        async def send_and_store(message: Message) -> None:
            state = scope["state"]
            if message["type"] == "http.response.start":
                if message["status"] == 200 and "freshness" in state:
                    start.update(message["headers"])
            elif start and state["freshness"].complete and generation == route.generation:
                response = CachedResponse(
                    list(start.items()), message["body"], state["freshness"], state.get("near")
                )
                vary = start.get(b"vary", b"")
                route.store(scope["query_string"], asked, vary, response)
            await send(message)

        return send_and_store
