"""Exchange: an HTTP request with values for its response and log line; Route: a path's handler."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from starlette.responses import Response
from starlette.types import Receive, Scope

from location_context.access.quota import RateLimitResult
from location_context.errors import PublicError
from location_context.freshness import Freshness
from location_context.sections.section import Section


class Exchange:
    """One request, with values that its handler sets for the response and the log line.

    Attributes:
        scope, receive: ASGI's scope, and its function that reads the body.
        id: `req_` and 24 hexadecimal digits.
        method, path, query: from the request line; the query is not decoded.
        arrived_at: arrival in seconds of the monotonic clock; deadlines begin then.
        given: the request's headers by lower-case name; the last value of a repeated header.
        counted: the state of the API key's quotas after this request; None without a key.
        test: True if the key is a test key, which receives made-up answers.
        near: the requested point, rounded to one decimal for the log.
        mode: the weather's mode in the answer, `forecast` or `climatology`; None without weather.
        cache: for the log; `response` if the response was cached. Otherwise, how its sections were
            read: the `ReadKind` (such as `miss`) of the one that was read in the worst way.
        code: the code of the error in the response; None without an error.
        freshness: how long the response may be cached; None if it may not be cached.
    """

    counted: RateLimitResult | None = None
    test: bool = False
    near: str | None = None
    mode: str | None = None
    cache: str | None = None
    code: str | None = None
    freshness: Freshness | None = None

    def __init__(self, scope: Scope, receive: Receive, request_id: str) -> None:
        self.scope, self.receive = scope, receive
        self.id = request_id
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.arrived_at = time.monotonic()
        self.given: dict[bytes, bytes] = dict(scope["headers"])
        self._none_repeated = len(self.given) == len(scope["headers"])

    def values(self, header: bytes) -> Sequence[bytes]:
        """Return the values of all headers with this lower-case name, in order."""
        if self._none_repeated:
            return (self.given[header],) if header in self.given else ()
        return [value for name, value in self.scope["headers"] if name == header]

    @property
    def client(self) -> str:
        """The address of the connected peer; empty for a connection without one."""
        peer = self.scope.get("client")
        return peer[0] if peer else ""

    @property
    def accept_language(self) -> str:
        """The value of the header Accept-Language; empty if it is missing."""
        return self.given.get(b"accept-language", b"").decode("latin-1")


Handler: TypeAlias = Callable[[Exchange], Awaitable[Response]]
ErrorResponse: TypeAlias = Callable[[PublicError, Exchange], Response]


@dataclass(frozen=True)
class Route:
    """A path and its handler.

    Attributes:
        path: the whole path; paths have no parameters.
        handle: returns the response.
        access: `key` requires an API key and counts against its quota; `address` counts against
            the limit of the client's address; `open` counts nothing.
        sections: the sections that the response contains. A response is cached until it is stale
            or the data of its sections change; without sections, it is not cached.
        error_response: returns the response to an error; None for the JSON envelope.
        methods: the accepted HTTP methods.
        limited: True if requests are rejected while too many are in flight.
        cost: returns how much of its key's quota a request uses, for example 2 if it is for two
            sections. If `cost` is None, each request uses 1.
    """

    path: str
    handle: Handler
    access: Literal["key", "address", "open"] = "address"
    sections: Sequence[Section[Any]] = ()
    error_response: ErrorResponse | None = None
    methods: Sequence[str] = ("GET", "HEAD")
    limited: bool = True
    cost: Callable[[Exchange], int] | None = None
