"""The front: the ASGI application around every endpoint.

It gives each request an id, refuses what is malformed, finds the endpoint, guards against
overload, turns every error into an answer, adds quota headers, and packs and logs the answer.
Every path is fixed, so that a dictionary finds the endpoint.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import structlog
from starlette.requests import Request

from location_context.errors import InternalError, MethodNotAllowed, NotFound, PublicError
from location_context.web import caching, logs, wellformed
from location_context.web.coding import Packed
from location_context.web.guard import Guard
from location_context.web.problems import envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from location_context.access.authenticator import Grant
    from location_context.web.endpoint import Endpoint


class Front:
    """The ASGI application. `serve` gives it its endpoints; `drain` begins its end."""

    def __init__(
        self, lifespan: Callable[[], AbstractAsyncContextManager[None]], max_in_flight: int
    ) -> None:
        self.guard = Guard(max_in_flight)
        self.draining = False
        self.failure: Exception | None = None
        self.last_request_at = time.monotonic()
        self._lifespan = lifespan
        self._endpoints: dict[str, Endpoint] = {}
        self._packed = Packed()

    def serve(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints = {endpoint.path: endpoint for endpoint in endpoints}

    def drain(self) -> None:
        """Go on answering, but ask every client to close its connection."""
        self.draining = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open everything when the server starts, and close it when it ends."""
        await receive()
        try:
            async with self._lifespan():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception as error:
            self.failure = error
            structlog.get_logger().exception("not_started")
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, request_id = time.perf_counter(), f"req_{secrets.token_hex(12)}"
        self.last_request_at = time.monotonic()
        endpoint = self._endpoints.get(scope["path"])
        request = Request(scope, receive)
        response = await self._answer(endpoint, request, request_id)
        headers = response.raw_headers
        headers.append((b"x-request-id", request_id.encode()))
        headers.append((b"x-content-type-options", b"nosniff"))
        await self._quota(request, response)
        if self.draining:
            headers.append((b"connection", b"close"))
        await send(
            {
                "type": "http.response.start",
                "status": response.status_code,
                "headers": headers,
            }
        )
        body = b"" if scope["method"] == "HEAD" else response.body
        await send({"type": "http.response.body", "body": body})
        logs.answered(request, endpoint, response, request_id, time.perf_counter() - began)

    async def _answer(
        self, endpoint: Endpoint | None, request: Request, request_id: str
    ) -> Response:
        """The answer of the endpoint, or the one for what went wrong."""
        problem = endpoint.problem if endpoint else envelope
        try:
            response = await self._handle(_checked(endpoint, request), request)
            return self._finish(request, response)
        except PublicError as error:
            return problem(error, request_id, request)
        except Exception:  # noqa: BLE001  the last resort: whatever it is, it is answered
            structlog.get_logger().exception("request_failed", request_id=request_id)
            said = InternalError("Something went wrong on our side.")
            return problem(said, request_id, request)

    async def _handle(self, endpoint: Endpoint, request: Request) -> Response:
        if not endpoint.guarded:
            return await endpoint.handle(request)
        await self.guard.enter()
        try:
            return await endpoint.handle(request)
        finally:
            self.guard.leave()

    def _finish(self, request: Request, response: Response) -> Response:
        if response.status_code != 200:
            return response
        digest = request.scope["state"].get("digest")
        return caching.finish(response, dict(request.scope["headers"]), self._packed, digest)

    @staticmethod
    async def _quota(request: Request, response: Response) -> None:
        """Quota headers on what counts; a 5xx is uncounted."""
        grant: Grant | None = request.scope["state"].get("grant")
        if grant is None:
            return
        if response.status_code >= 500:
            await grant.refund()
            return
        response.raw_headers.extend(
            (name.lower().encode(), value.encode()) for name, value in grant.headers.items()
        )


def _checked(endpoint: Endpoint | None, request: Request) -> Endpoint:
    """The endpoint, if the request is well-formed and its method allowed."""
    wellformed.check(request.scope)
    if endpoint is None:
        raise NotFound("There is nothing at this path; see /v1/docs.")
    if request.method not in {"GET", "HEAD"}:
        raise MethodNotAllowed("This method is not allowed; accepted: GET, HEAD.")
    return endpoint
