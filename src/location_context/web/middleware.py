"""The middleware around every endpoint: small ASGI applications, each with one task.

`application.py` has their order. What one learns of a request stands in `scope["state"]`:
`request_id`, `arrived_at` (on the monotonic clock, from which deadlines count), `grant` (of the
authenticator), `digest` (of the body), and what its line in the log tells (`web.logs.Facts`):
`near`, `mode`, `cache` and the error's `code`.
"""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeAlias

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from location_context import errors
from location_context.access.authenticator import Grant
from location_context.parameters import decode
from location_context.web.error_responses import ErrorResponse
from location_context.web.logs import AccessLogger, Facts

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Admit: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Grant | None]]
LONG_PASS = 0.005  # seconds of one pass of the event loop
MAX_STARTS = 256
MAX_HOST = 255  # bytes
PUBLIC_SHARE = 0.75  # of the requests at once that may be without a key
_HOST = re.compile(rb"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})|%00|\x00")
_BYTES = re.compile(rb"%([0-9A-Fa-f]{2})")


class RequestIds:
    """Random ids; the system is asked for the randomness of many at once."""

    def __init__(self) -> None:
        self._ids: list[str] = []

    def next(self) -> str:
        """`req_` and 24 hexadecimal digits."""
        if not self._ids:
            digits = secrets.token_hex(12 * 256)
            self._ids = [f"req_{digits[at : at + 24]}" for at in range(0, len(digits), 24)]
        return self._ids.pop()


class RequestId:
    """Names each request and notes when it arrived; sets the headers that all answers have.

    A request with HEAD gets no body.
    """

    def __init__(
        self, app: ASGIApp, request_ids: RequestIds, is_draining: Callable[[], bool]
    ) -> None:
        self._app = app
        self._request_ids = request_ids
        self._is_draining = is_draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = scope["state"]["request_id"] = self._request_ids.next()
        scope["state"]["arrived_at"] = time.monotonic()

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                headers.append((b"x-request-id", request_id.encode()))
                headers.append((b"x-content-type-options", b"nosniff"))
                if self._is_draining():
                    headers.append((b"connection", b"close"))
            elif scope["method"] == "HEAD":
                message["body"] = b""
            await send(message)

        await self._app(scope, receive, send_named)


class AccessLog:
    """A line for each answer. A path that is not ours may hold anything, and is not shown."""

    def __init__(self, app: ASGIApp, known_paths: Collection[str], log: AccessLogger) -> None:
        self._app = app
        self._known_paths = known_paths
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 0

        async def send_logged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, send_logged)
        state, method, path = scope["state"], scope["method"], scope["path"]
        grant: Grant | None = state.get("grant")
        self._log.answered(
            state["request_id"],
            method if method.isalpha() and len(method) < 10 else "other",
            path if path in self._known_paths else "other",
            status,
            began,
            Facts(**{name: state.get(name) for name in ("code", "mode", "cache", "near")}),
            grant.key_id if grant else None,
            next((value for name, value in scope["headers"] if name == b"traceparent"), None),
        )


class RateLimitHeaders:
    """The quota's headers on answers to requests with a key; a 5xx is refunded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_quota(message: Message) -> None:
            grant: Grant | None = scope["state"].get("grant")
            if grant is not None and message["type"] == "http.response.start":
                if message["status"] >= 500:
                    await grant.refund()
                else:
                    message["headers"] += grant.headers
            await send(message)

        await self._app(scope, receive, send_with_quota)


class ErrorResponses:
    """Every error as an answer: `pages` by path, else `default`."""

    def __init__(
        self, app: ASGIApp, pages: Mapping[str, ErrorResponse], default: ErrorResponse
    ) -> None:
        self._app = app
        self._pages = pages
        self._default = default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error: errors.PublicError
        try:
            await self._app(scope, receive, send)
        except errors.PublicError as raised:
            error = raised.with_traceback(None)  # whose frames hold the request, and this error
        except HTTPException:  # the router's only one: the path is right, the method is not
            error = errors.MethodNotAllowed("This method is not allowed; accepted: GET, HEAD.")
        except Exception:  # noqa: BLE001  the last resort: whatever it is, it is answered
            request_id = scope["state"]["request_id"]
            structlog.get_logger().exception("request_failed", request_id=request_id)
            error = errors.InternalError("Something went wrong on our side.")
        else:
            return
        scope["state"]["code"] = error.code
        response = self._response(error, Request(scope, receive))
        await response(scope, receive, send)

    def _response(self, error: errors.PublicError, request: Request) -> Response:
        request_id = request.scope["state"]["request_id"]
        page = self._pages.get(request.scope["path"], self._default)
        try:
            return page(error, request_id, request)
        except Exception:  # noqa: BLE001  a page that cannot be drawn hides no error
            structlog.get_logger().exception("error_page_failed", request_id=request_id)
            return self._default(error, request_id, request)


async def raise_refusal(scope: Scope, receive: Receive, send: Send) -> None:
    """The application of a request that was refused before: raises `scope["state"]["refused"]`."""
    del receive, send
    raise scope["state"]["refused"]


class RequestValidation:
    """Refuses what the server's parser lets through and must not come further."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a bad Host, broken escapes, NUL and invalid UTF-8 in the path and the query.

        Raises:
            MalformedRequest: one of these.
        """
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        older = scope["http_version"] in {"1", "1.0"}  # needs no Host
        optional = older and hosts in ([], [b""])
        if not optional and (len(hosts) != 1 or not is_host(hosts[0])):
            raise errors.MalformedRequest("The Host header is missing, doubled or not a host name.")
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        if b"%" in path or not path.isascii():
            _check_path(path)
        query: bytes = scope["query_string"]
        if b"%" in query or not query.isascii():
            decode(query)
        await self._app(scope, receive, send)


def is_host(value: bytes) -> bool:
    """Whether this may be the value of a Host header."""
    return len(value) <= MAX_HOST and _HOST.fullmatch(value) is not None


def _check_path(path: bytes) -> None:
    if _BROKEN.search(path):
        raise errors.MalformedRequest("The path holds a broken or forbidden %-escape.")
    try:
        _BYTES.sub(lambda match: bytes([int(match[1], 16)]), path).decode("utf-8")
    except UnicodeDecodeError:
        raise errors.MalformedRequest("The path is not percent-encoded UTF-8.") from None


class ConcurrencyLimiter:
    """Bounds how many requests are worked on at once, so that admitted ones stay quick.

    Beyond `max_in_flight` a new one is refused at once, which costs next to nothing; a public one,
    which has no key, beyond three quarters of that. Those admitted
    start in turns: how many in one pass of the event loop is halved when a pass took longer than
    5 ms and grows by one when it did not, so that health and refusals never wait behind a queue of
    work.
    """

    def __init__(self, max_in_flight: int) -> None:
        self.in_flight = 0
        self._max_in_flight = max_in_flight
        self._max_public = max(1, int(max_in_flight * PUBLIC_SHARE))
        self._public = 0
        self._pass_began: float | None = None
        self._started = 0
        self._starts_per_pass = 16

    @asynccontextmanager
    async def turn(self, *, public: bool) -> AsyncIterator[None]:
        """Wait until one request may start, and count it until the block ends.

        Raises:
            ServiceOverloaded: too many are in flight.
        """
        if self.in_flight >= self._max_in_flight or (public and self._public >= self._max_public):
            raise errors.ServiceOverloaded("The service is overloaded; try again in a moment.", 1)
        self.in_flight += 1
        self._public += public
        try:
            while not self._may_start():  # noqa: ASYNC110  waiting for the loop's next pass
                await asyncio.sleep(0)
            yield
        finally:
            self.in_flight -= 1
            self._public -= public

    def _may_start(self) -> bool:
        if self._pass_began is None:
            self._pass_began, self._started = time.perf_counter(), 0
            asyncio.get_running_loop().call_soon(self._end_pass, self._pass_began)
        self._started += 1
        return self._started <= self._starts_per_pass

    def _end_pass(self, began: float) -> None:
        if time.perf_counter() - began > LONG_PASS:
            self._starts_per_pass = max(1, self._starts_per_pass // 2)
        else:
            self._starts_per_pass = min(MAX_STARTS, self._starts_per_pass + 1)
        self._pass_began = None


class Endpoint:
    """A handler as an ASGI application, under the limiter that all limited ones share, if any.

    `admit` counts a request, and may refuse it, before it takes a turn. `public`: it needs no key.

    It stands for Starlette's own wrapper, whose exception handlers `ErrorResponses` makes needless.
    """

    def __init__(
        self,
        handle: Handler,
        limiter: ConcurrencyLimiter | None,
        admit: Admit | None = None,
        *,
        public: bool = True,
    ) -> None:
        self._handle = handle
        self._limiter = limiter
        self._admit = admit
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._admit is not None:
            scope["state"]["grant"] = await self._admit(scope)
        turn = self._limiter.turn(public=self._public) if self._limiter else nullcontext()
        async with turn:
            response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)
