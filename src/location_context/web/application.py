"""Application: the ASGI application, which admits, answers and finishes every request.

`_respond` checks the syntax and the key of a request, counts it, and returns a cached response or
calls the route's handler. Any error becomes a response. `_finish` adds the headers that all
responses have, sends the response and writes the log line.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from location_context import errors
from location_context.exchange import Exchange, Route
from location_context.freshness import Freshness
from location_context.parameters import names_of, parse
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Query
from location_context.service import Service
from location_context.settings import Settings
from location_context.stay import Clock, posix_seconds
from location_context.upstream.deadline import Deadline
from location_context.web import docs, openapi, pulse, status
from location_context.web.access_log import AccessLogger
from location_context.web.admission import Admission, ConcurrencyLimiter, check_form, check_path
from location_context.web.error_responses import JSON, json_error, rpc_error
from location_context.web.fixed_answers import FixedAnswers, refuse_test_headers
from location_context.web.response_cache import FinishedResponse, Headers, ResponseCache

# Without this pause, programs that repeat rejected requests immediately would fill the event loop.
REFUSAL_SECONDS = 0.25  # before a 401 or a 429 is sent
LARGE = 300_000  # bytes; larger responses are compressed in a thread
MCP = "/mcp"
NO_SNIFFING = (b"x-content-type-options", b"nosniff")
OF_TEST_KEY = (b"x-test", b"true")
Answer = tuple[int, Headers, bytes]  # status, headers, body


class Application:
    """The ASGI application; `serve` sets its routes when the service is ready to answer.

    Attributes:
        limiter: limits and counts the running requests.
        log: the access log.
        draining: True during shutdown: health checks receive 503, and connections are closed.
        last_request_at: arrival of the last request, in seconds of the monotonic clock.
        failure: the exception if startup or shutdown failed.
        routes: the routes by path.
        lifespan: context manager that opens the service for this application and closes it.
    """

    def __init__(
        self,
        lifespan: "Callable[[Application], AbstractAsyncContextManager[None]]",
        settings: Settings,
        clock: Clock,
    ) -> None:
        self.limiter = ConcurrencyLimiter(settings.max_in_flight)
        self.log = AccessLogger(settings, status.PROBES)
        self.draining = False
        self.last_request_at = time.monotonic()
        self.failure: BaseException | None = None
        self.routes: dict[str, Route] = {}
        self.lifespan = lifespan
        self._now = posix_seconds(clock)
        self._admission: Admission | None = None
        self._fixed: FixedAnswers | None = None
        self._responses: dict[str, ResponseCache] = {}

    def serve(self, routes: Iterable[Route], admission: Admission, fixed: FixedAnswers) -> None:
        """Start to answer requests with these routes; `fixed` answers those with a test key."""
        self._admission, self._fixed = admission, fixed
        for route in routes:
            self.routes[route.path] = route
            if route.sections:
                self._responses[route.path] = ResponseCache(route.sections)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request, or handle startup and shutdown of the server (ASGI lifespan)."""
        if scope["type"] == "http":
            number = random.getrandbits(96)
            return self._answer(Exchange(scope, receive, f"req_{number:024x}"), send)
        if scope["type"] == "lifespan":
            return self._live(receive, send)
        return send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Keep the service open from the server's start to its end.

        A failure is logged here, because the server would print the whole traceback.
        """
        event = "startup"
        await receive()
        try:
            async with self.lifespan(self):
                await send({"type": "lifespan.startup.complete"})
                event = "shutdown"
                await receive()
        except Exception as error:
            self.failure = error
            structlog.get_logger().exception("not_started")
            await send({"type": f"lifespan.{event}.failed"})
            raise
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, request: Exchange, send: Send) -> None:
        self.last_request_at = request.arrived_at
        route = self.routes.get(request.path)
        try:
            answer = await self._respond(request, route)
        except errors.PublicError as error:
            answer = self._error(error, request, route)
            refused = isinstance(error, errors.AuthenticationError | errors.RateLimitExceeded)
            if refused and not self.draining:
                await asyncio.sleep(REFUSAL_SECONDS)
        except Exception:  # noqa: BLE001  any error must result in a response
            structlog.get_logger().exception("request_failed", request_id=request.id)
            failure = errors.InternalError("Something went wrong on our side.")
            answer = self._error(failure, request, route)
        await self._finish(request, answer, send)

    async def _respond(self, request: Exchange, route: Route | None) -> Answer:
        """Admit a request, and return a cached response or call the route's handler.

        Raises:
            PublicError: the request is rejected or cannot be answered.
        """
        check_form(request)
        if route is None or self._admission is None:
            check_path(request)
            raise errors.NotFound("Nothing exists at this path; see /v1/docs.")
        if request.method not in route.methods:
            raise errors.MethodNotAllowed(", ".join(route.methods))
        await self._admission.admit(request, route)
        if request.test and self._fixed is not None:
            return await self._fixed_answer(request, self._fixed)
        if request.counted is not None:
            refuse_test_headers(request)
        responses, now = self._responses.get(route.path), self._now()
        if responses is not None and (cached := responses.find(request, now)) is not None:
            cached.describe(request)
            return cached.answer(request, now)
        generation = responses.generation if responses is not None else 0
        public = route.access != "key"
        async with self.limiter.turn(public=public) if route.limited else nullcontext():
            made = await route.handle(request)
        if _is_final(made):
            return made.status_code, made.raw_headers, bytes(made.body)
        now = self._now()
        if len(made.body) > LARGE:  # compressing would block the event loop for some 20 ms
            finished = await asyncio.to_thread(FinishedResponse, request, made, now)
        else:
            finished = FinishedResponse(request, made, now)
        outdated = request.cache == "revalidating"  # made from old data while new are fetched
        if responses is not None and generation == responses.generation and not outdated:
            responses.store(request, finished)
        return finished.answer(request, now)

    async def _fixed_answer(self, request: Exchange, fixed: FixedAnswers) -> Answer:
        """Answer a request with a test key, without any cache."""
        async with self.limiter.turn(public=False):
            made, now = await fixed.answer(request)
        if _is_final(made):
            return made.status_code, made.raw_headers, bytes(made.body)
        return FinishedResponse(request, made, now).answer(request, now)

    @staticmethod
    def _error(error: errors.PublicError, request: Exchange, route: Route | None) -> Answer:
        """Return the route's own response to an error, or the JSON envelope if it has none."""
        request.code = error.code
        page = route.error_response if route is not None else None
        try:
            response = (page or json_error)(error, request)
        except Exception:  # noqa: BLE001  a bug in the error page must not hide the error
            structlog.get_logger().exception("error_page_failed", request_id=request.id)
            response = json_error(error, request)
        return response.status_code, response.raw_headers, bytes(response.body)

    async def _finish(self, request: Exchange, answer: Answer, send: Send) -> None:
        """Add the headers that all responses have, send the response, and write its log line.

        Responses to requests with a key have quota headers. A 5xx does not count against the quota.
        """
        status_code, headers, body = answer
        headers.append((b"x-request-id", request.id.encode()))
        headers.append(NO_SNIFFING)
        if request.test:
            headers.append(OF_TEST_KEY)
        if request.counted is not None and status_code < 500:
            headers += request.counted.headers
        elif request.counted is not None and self._admission is not None:
            await self._admission.refund(request)
        if self.draining:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status_code, "headers": headers})
        body = b"" if request.method == "HEAD" else body
        await send({"type": "http.response.body", "body": body})
        # unknown paths may contain anything, so they are not logged
        path = request.path if request.path in self.routes else "other"
        self.log.answered(request, path, status_code)


def _is_final(response: Response) -> bool:
    """Return True if a response is sent as it is, without compression and ETag."""
    return response.status_code != 200 or "no-store" in response.headers.get("cache-control", "")


def json_routes(service: Service, app: Application, oembed: type) -> list[Route]:
    """Return the routes of the JSON API and its docs; `oembed` is the Struct of oEmbed answers."""
    sections = [cached.section for cached in service.sections]
    public_url = service.settings.public_url
    pages = docs.all_pages(public_url, sections)
    document = cache(lambda: openapi.document(public_url, sections, oembed, pages))
    keyed = keyed_routes(service)
    mcp = any(route.path == MCP for route in keyed)
    return [
        *keyed,
        status.health_route(lambda: app.draining),
        status.ready_route(service, lambda: app.draining),
        status.status_route(service),
        openapi.route(document),
        *docs.routes(document, pages),
        docs.llms_route(public_url, document, pages, mcp=mcp),
    ]


def keyed_routes(service: Service) -> list[Route]:
    """Return the routes that need an API key."""
    sections = [section_route(service, section) for section in service.sections]
    return [pulse.route(service), *sections, *agents_routes(service)]


def agents_routes(service: Service) -> list[Route]:
    """Return the route `/mcp` for agents; an empty list if the extra `mcp` is not installed."""
    if find_spec("mcp") is None:
        return []

    async def handle(request: Exchange) -> Response:
        mcp = await asyncio.to_thread(import_module, "location_context.web.mcp")  # 0.4 s, once
        response: Response = await mcp.answer(service, request)
        return response

    return [
        Route(
            MCP,
            handle,
            access="key",
            methods=("POST",),
            error_response=rpc_error,
            cost=lambda _: 0,  # connecting and listing are free; each tool counts its reads
        )
    ]


def section_route(service: Service, section: CachedSection) -> Route:
    """Return the route `/v1/pulse/<section>`."""
    names = names_of(section.section)
    english = service.languages.english

    async def handle(request: Exchange) -> Response:
        given = parse(request.query, names, service.languages, service.choices)
        language = given.language or english
        point = service.gazetteer.point(given.lat, given.lng)
        request.near = f"{point.lat:.1f},{point.lng:.1f}"
        query = Query(point, given.stay, given.units, language, given.guide)
        deadline = Deadline(request.arrived_at + service.settings.json_deadline)
        result = await section.read(query, deadline)
        request.mode = getattr(result.body, "mode", None)
        request.cache = query.read_as
        request.freshness = Freshness.of([result], "private")
        headers = {"Content-Language": language.tag, "Vary": "Authorization"}
        return Response(result.payload, 200, headers, media_type=JSON)

    return Route(f"/v1/pulse/{section.name}", handle, access="key", sections=[section.section])
