"""Exchange: one HTTP request with its facts for answer and log; Route: a path and its handler."""

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
    """One request, with what its answer and its line in the log need.

    Attributes:
        scope, receive: the request in ASGI's terms; only handlers of POST read its body.
        id: `req_` and 24 hexadecimal digits.
        method, path, query: from the request line; the query is unchanged.
        arrived_at: on the monotonic clock; deadlines count from it.
        given: the headers by lower-case name; a repeated header has its last value.
        counted: the quota's count for its API key; None without a key.
        test: True with a test key, which receives fixed answers.
        near: the point, rounded to one decimal.
        mode: `mode` of the weather.
        cache: `response` for a cached response, else the worst of its sections' `ReadKind`s.
        code: the error's code.
        freshness: the time for which the response may be cached; None if it may not.
        digest: the digest of the body, if the handler knows one.
    """

    counted: RateLimitResult | None = None
    test: bool = False
    near: str | None = None
    mode: str | None = None
    cache: str | None = None
    code: str | None = None
    freshness: Freshness | None = None
    digest: str | None = None

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
        """Return the value of each header of this lower-case name, in order."""
        if self._none_repeated:
            return (self.given[header],) if header in self.given else ()
        return [value for name, value in self.scope["headers"] if name == header]

    @property
    def client(self) -> str:
        """The address that the connection comes from; empty if it has none."""
        peer = self.scope.get("client")
        return peer[0] if peer else ""

    @property
    def accept_language(self) -> str:
        """The value of Accept-Language; empty if there is none."""
        return self.given.get(b"accept-language", b"").decode("latin-1")


Handler: TypeAlias = Callable[[Exchange], Awaitable[Response]]
ErrorResponse: TypeAlias = Callable[[PublicError, Exchange], Response]


@dataclass(frozen=True)
class Route:
    """A path and its handler.

    Attributes:
        path: the whole path; there are no parameters in paths.
        handle: makes the response.
        access: `key` needs an API key and counts under its quota; `address` counts by the client's
            address; `open` counts nothing.
        sections: the sections that its responses are made of; a response may be cached until one
            of them changes.
        error_response: makes the response to an error; None for the JSON envelope.
        methods: those that it accepts.
        limited: True if the route is refused while too many requests are in flight.
        cost: the number of requests that one counts as under the quota of its key; None: one.
    """

    path: str
    handle: Handler
    access: Literal["key", "address", "open"] = "address"
    sections: Sequence[Section[Any]] = ()
    error_response: ErrorResponse | None = None
    methods: Sequence[str] = ("GET", "HEAD")
    limited: bool = True
    cost: Callable[[Exchange], int] | None = None
