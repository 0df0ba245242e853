"""`/v1/pulse`: the widget, every applicable section for a point and stay on one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.errors import PublicError
from location_context.localisation.formats import Formats
from location_context.parameters import WIDGET, Parameters, parse
from location_context.sections.contract import Query
from location_context.service import Service
from location_context.upstream.deadline import Deadline
from location_context.widget import embedding, oembed
from location_context.widget.builder import page
from location_context.widget.cards import page_data, rows
from location_context.widget.error_page import FRAME_HEADERS, problem
from location_context.widget.footer import footer
from location_context.widget.header import header
from location_context.widget.render import Appearance, Content, Page, Renderer
from location_context.widget.section_results import SectionResults, read

PATH = "/v1/pulse"


class Widget:
    """Answers requests for the widget."""

    def __init__(self, service: Service, renderer: Renderer) -> None:
        self._service = service
        self._renderer = renderer

    def routes(self) -> list[Route]:
        return [Route(PATH, self.handle)]

    async def handle(self, request: Request) -> Response:
        """The page.

        Raises:
            PublicError: as the contract says; `problem` makes a page of it.
        """
        service = self._service
        await service.authenticator.limit_widget(self._client(request))
        given = parse(request.scope["query_string"], WIDGET, service.languages)
        language = given.language or service.languages.accept(
            request.headers.get("accept-language", "")
        )
        words = Formats(language)
        point = service.gazetteer.point(given.lat, given.lng)
        request.state.near = f"{point.lat:.1f},{point.lng:.1f}"
        query = Query(point, given.stay, given.units, language, public=True)
        results = await read(service, query, Deadline.after(service.settings.widget_deadline))
        page = self._page(given, query, results, words)
        headers = {
            "Cache-Control": results.cache_control(service.clock()),
            "Content-Language": language.tag,
            "Content-Security-Policy": page.policy,
            **FRAME_HEADERS,
            **({} if given.language else {"Vary": "Accept-Language"}),
        }
        return Response(page.html, 200, headers, media_type="text/html")

    def _page(
        self, given: Parameters, query: Query, results: SectionResults, words: Formats
    ) -> Page:
        service = self._service
        title = embedding.title(service.sections, given.place, query.language)
        assert query.stay is not None
        cards = rows(results, words, service.clock())
        content = Content(
            title=title,
            header=header(given, query.stay, query.point, service.gazetteer, words),
            rows=cards,
            sentence="" if cards else words.gettext("There is nothing to show for these dates."),
            footer=footer(results, words),
            described=page_data(results),
            discovery=oembed.discovery(service.settings, given, title),
        )
        return self._renderer.page(
            content, words, Appearance(theme=given.theme, accent=given.accent)
        )

    def _client(self, request: Request) -> str:
        peer = request.client.host if request.client else ""
        return self._service.proxies.client(peer, request.headers.getlist("x-forwarded-for"))


@dataclass(frozen=True)
class Routes:
    """`pages` answer errors with `problem`, a page; `others` with the contract's JSON."""

    pages: Sequence[Route]
    others: Sequence[Route]
    problem: Callable[[PublicError, str, Request], Response]


def routes(service: Service) -> Routes:
    """`/v1/pulse`; `/`, `/v1/places`, `/v1/embed.js` and `/v1/oembed`."""
    renderer = Renderer()
    others = [*page.routes(service), *embedding.script_routes(), *oembed.routes(service)]
    widget = Widget(service, renderer)
    return Routes(widget.routes(), others, problem(renderer, service.languages))
