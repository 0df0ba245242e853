"""Application: the Starlette application around every endpoint, and the order of its middleware."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Any, TypeAlias

import structlog
from starlette.applications import Starlette
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from location_context.access.authenticator import Gate
from location_context.errors import NotFound
from location_context.service import Service
from location_context.settings import Settings
from location_context.stay import Clock
from location_context.web import docs, middleware, openapi, status
from location_context.web.caching import ConditionalResponses
from location_context.web.endpoints import section_route
from location_context.web.error_responses import ErrorResponse, json_error
from location_context.web.logs import AccessLogger
from location_context.web.response_cache import CachedRoute, ResponseCache

# status is for monitors, which may share an address; the script of embeds is fixed bytes
UNCOUNTED = status.PROBES | {status.STATUS_PATH, "/v1/embed.js"}
Handle: TypeAlias = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]


class FixedPathRouter(Router):
    """Starlette's router for paths without parameters: one look-up instead of a regex a route."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.by_path: dict[str, Route] = {}

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.lifespan(scope, receive, send)
        elif scope["type"] == "http":
            if (route := self.by_path.get(scope["path"])) is None:
                raise NotFound("There is nothing at this path; see /v1/docs.")
            await route.handle(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})


class Application(Starlette):
    """The ASGI application; `serve` gives it its routes once the service is open.

    Attributes:
        limiter: counts the requests in flight.
        log: the access log.
        failure: why the lifespan ended, if it failed.
    """

    def __init__(
        self,
        lifespan: "Callable[[Application], AbstractAsyncContextManager[None]]",
        settings: Settings,
        clock: Clock,
    ) -> None:
        super().__init__()
        self.router = self._paths = FixedPathRouter(lifespan=lifespan)
        self.limiter = middleware.ConcurrencyLimiter(settings.max_in_flight)
        self.failure: BaseException | None = None
        self._error_pages: dict[str, ErrorResponse] = {}
        self._cached_routes: dict[str, CachedRoute] = {}
        self.log = AccessLogger(settings, status.PROBES)
        self._request_ids = middleware.RequestIds()
        self._responses = ResponseCache(
            super().__call__,
            refuse=self._answering(middleware.raise_refusal),
            routes=self._cached_routes,
            clock=clock,
            request_ids=self._request_ids,
            log=self.log,
        )

    @property
    def draining(self) -> bool:
        """Whether clients are asked to close their connections and probes answer 503."""
        return self._responses.paused

    @draining.setter
    def draining(self, value: bool) -> None:
        self._responses.paused = value

    @property
    def last_request_at(self) -> float:
        """When the last request began, on `time.perf_counter`."""
        return self._responses.last_request_at

    def serve(
        self,
        routes: Iterable[Route],
        error_pages: Mapping[str, ErrorResponse] | None = None,
        public: Gate | None = None,
    ) -> None:
        """Serve these routes; `error_pages` has the paths whose errors are not the JSON envelope.

        All but probes are refused when too many requests are in flight. `public` counts those of
        pages that need no key, by address.
        """
        for route in routes:
            limiter = None if route.path in status.PROBES else self.limiter
            gate = None if route.path in UNCOUNTED else public
            if isinstance(route, CachedRoute):
                self._cached_routes[route.path] = route
                gate = route.gate
            endpoint = middleware.Endpoint(
                route.endpoint,
                limiter,
                gate.admit if gate else None,
                public=gate is None or gate.public,
            )
            self._paths.by_path[route.path] = Route(route.path, endpoint, methods=["GET"])
        self._error_pages |= error_pages or {}

    def build_middleware_stack(self) -> ASGIApp:
        """Our own middleware; `ErrorResponses` stands for Starlette's two."""
        return self._answering(ConditionalResponses(middleware.RequestValidation(self.router)))

    def _answering(self, app: ASGIApp) -> ASGIApp:
        """What every answer passes, that of an error too; the outermost comes last."""
        app = middleware.ErrorResponses(app, self._error_pages, json_error)
        app = middleware.RateLimitHeaders(app)
        app = middleware.AccessLog(app, self._paths.by_path, self.log)
        return middleware.RequestId(app, self._request_ids, lambda: self.draining)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        """Answer; what comes over HTTP without another coroutine between."""
        other = scope["type"] != "http"
        return (self._other if other else self._responses)(scope, receive, send)

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_without_trace(message: Message) -> None:
            """Starlette sends the whole traceback, which the server would print."""
            await send({k: v for k, v in message.items() if k != "message"})

        scope["app"] = self
        try:
            await self.router(scope, receive, send_without_trace)
        except Exception as error:
            self.failure = error
            structlog.get_logger().exception("not_started")
            raise


def json_routes(service: Service, app: Application, oembed: type) -> list[Route]:
    """The routes of the JSON service; `oembed` is the Struct that `/v1/oembed` answers."""
    sections = [cached.section for cached in service.sections]
    public_url = service.settings.public_url
    pages = docs.all_pages(public_url, sections)
    document = cache(lambda: openapi.document(public_url, sections, oembed, pages))
    return [
        *(section_route(service, section) for section in service.sections),
        status.health_route(lambda: app.draining),
        status.ready_route(service, lambda: app.draining),
        status.status_route(service),
        openapi.route(document),
        *docs.routes(document, pages),
    ]
