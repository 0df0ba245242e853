"""`/v1/pulse`: the widget, a page with all applicable sections for a point and stay.

An error is a page in the same style, with the requested theme, accent and language if they are
valid. It shows a sentence for guests. For developers, an HTML comment has the code, the request id
and the English message of the JSON API. Code and id are also in headers.
"""

import asyncio
import re
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

from starlette.responses import Response

from location_context.errors import InvalidRequest, PublicError
from location_context.exchange import Exchange, Route
from location_context.freshness import Freshness
from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Language, Languages
from location_context.lru import LRUCache
from location_context.parameters import (
    DATES,
    DEFAULT_ACCENT,
    POINT,
    WIDGET,
    Parameters,
    Theme,
    decode,
    parse,
)
from location_context.sections.cached_section import CachedSection
from location_context.sections.card import CardContext
from location_context.sections.contract import Query
from location_context.service import Service, chosen
from location_context.upstream.deadline import Deadline
from location_context.widget import calendar, content, embedding, oembed
from location_context.widget import stay as stay_card
from location_context.widget.builder import page as builder
from location_context.widget.png import Painter
from location_context.widget.render import FRAME_HEADERS, NEGOTIATED, Appearance, Page, Renderer
from location_context.widget.static_card import StaticCard, read_and_draw

PATH = "/v1/pulse"
PICTURE_PATH = "/v1/pulse.svg"
PNG_PATH = "/v1/pulse.png"
MAX_REFUSALS = 64
_ANY_ID = "req_" + "0" * 24
_ACCENT = re.compile(r"#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")


def routes(service: Service) -> list[Route]:
    """Return the routes of the widget, its pictures, the builder, the script and oEmbed."""
    painter = Painter()
    widget = Widget(service, Renderer(service.settings.embed_hosts), painter)
    sections = [cached.section for cached in service.sections]
    pages = [
        Route(path, widget.respond, sections=sections, error_response=widget.error_response)
        for path in (PATH, PICTURE_PATH, PNG_PATH)
    ]
    return [
        *pages,
        calendar.route(service),
        *builder.routes(service, painter),
        *embedding.script_routes(),
        *oembed.routes(service),
    ]


class Widget:
    """Handles requests for the widget."""

    def __init__(self, service: Service, renderer: Renderer, painter: Painter) -> None:
        self._service = service
        self._renderer = renderer
        self._painter = painter
        self._refusals = LRUCache[Hashable, Page](MAX_REFUSALS)  # `_ANY_ID` stands for the id

    async def respond(self, request: Exchange) -> Response:
        """Return the page or, for a path that ends with `.svg` or `.png`, the picture.

        Raises:
            PublicError: the request is invalid or cannot be answered; see `error_response`.
        """
        service = self._service
        parameters = parse(request.query, WIDGET, service.languages, service.choices)
        sections = chosen(service.sections, parameters.sections)
        language = parameters.language or service.languages.accept(request.accept_language)
        typeface = None
        if request.path == PNG_PATH:
            wanted = (language, service.languages.english)
            language, typeface = await self._painter.typeface(wanted)
        point = service.gazetteer.point(parameters.lat, parameters.lng)
        request.near = f"{point.lat:.1f},{point.lng:.1f}"
        now = service.clock()
        stay = parameters.stay_from(point.today(now))
        query = Query(point, stay, parameters.units, language, parameters.guide, public=True)
        deadline = Deadline(request.arrived_at + service.settings.widget_deadline)
        fmt = Formatter(language)
        if request.path != PATH:
            card, results = await read_and_draw(service, parameters, query, deadline, typeface)
            page = self._renderer.picture(card, Appearance.of(parameters))
            if typeface:
                drawn = await self._painter.draw(page.body, typeface)
                page = Page(drawn, "default-src 'none'", "image/png")
        else:
            found = await asyncio.gather(
                *(self._read_and_render(one, query, deadline, fmt, parameters) for one in sections)
            )
            results = content.joined(results for results, _ in found)
            page = self._page(parameters, query, results, [card for _, card in found], fmt)
        modes = (getattr(body, "mode", None) for body in results.bodies)
        request.mode = next((mode for mode in modes if mode), None)
        request.cache = query.read_as
        request.freshness = replace(Freshness.of(results.all, "public"), late=results.late)
        if parameters.days:
            midnight = point.next_midnight(now).timestamp()
            request.freshness = request.freshness.until(midnight)
        return _response(page, 200, language, {} if parameters.language else NEGOTIATED)

    def error_response(self, error: PublicError, request: Exchange) -> Response:
        """Return the error page or, for a path that ends with `.svg` or `.png`, an SVG."""
        raw: Mapping[str, str] = {}
        with suppress(PublicError):
            raw = dict(decode(request.query))
        language = _language(raw, request, self._service.languages)
        path, appearance = request.path, _appearance(raw)
        headers = {"Cache-Control": "no-store", "X-Error-Code": error.code, **error.headers}
        if isinstance(error, InvalidRequest):
            page = self._error_page(error, request.id, path, appearance, language)
            return _response(page, error.status, language, headers)
        # a flood of these errors must cost little, so all accents share a cached page
        appearance = replace(appearance, accent=DEFAULT_ACCENT)
        key = (error.code, path, appearance.theme, language.tag)
        if (drawn := self._refusals.get(key)) is None:
            drawn = self._error_page(error, _ANY_ID, path, appearance, language)
            self._refusals.put(key, drawn)
        page = replace(drawn, body=drawn.body.replace(_ANY_ID.encode(), request.id.encode()))
        return _response(page, error.status, language, headers)

    def _error_page(
        self,
        error: PublicError,
        request_id: str,
        path: str,
        appearance: Appearance,
        language: Language,
    ) -> Page:
        fmt = Formatter(language)
        view = content.ErrorView(
            label=fmt.gettext("Cannot show this stay"),
            sentence=error_sentence(error, fmt),
            comment=f"{error.code} {request_id}: {error.message}".replace("--", "- -"),
        )
        shown = content.Content(title=view.label, problem=view)
        if path == PATH:
            return self._renderer.page(shown, fmt, appearance)
        card = StaticCard(fmt)
        card.draw_error(view)
        return self._renderer.picture(card, appearance)

    async def _read_and_render(
        self,
        cached: CachedSection,
        query: Query,
        deadline: Deadline,
        fmt: Formatter,
        parameters: Parameters,
    ) -> tuple[content.SectionResults, content.RenderedCard | None]:
        """Read one section, and render its card without waiting for other sections."""
        results = await content.read(self._service, cached, query, deadline)
        card = content.card(cached.section, results, fmt, self._service.clock())
        render = self._renderer.brief if parameters.layout == "compact" else self._renderer.card
        return results, render(cached.name, card, fmt) if card else None

    def _page(
        self,
        parameters: Parameters,
        query: Query,
        results: content.SectionResults,
        cards: Sequence[content.RenderedCard | None],
        fmt: Formatter,
    ) -> Page:
        service = self._service
        sections = chosen(service.sections, parameters.sections)
        parameters = replace(parameters, language=query.language)  # for links on the page
        title = embedding.title(sections, parameters.place, query.language)
        rendered = [card for card in cards if card]
        offered = [(card.name, card.card) for card in rendered if card.card]
        now = service.clock()
        bodies = {
            one.name: found[-1] for one in results.by_section if (found := results.bodies_of(one))
        }
        listed = calendar.groups(sections, bodies, CardContext(fmt=fmt, now=now))
        today = query.point.today(now)
        room = stay_card.COMPACT if parameters.layout == "compact" else stay_card.FULL
        shown = content.Content(
            title=title,
            header=content.header(parameters, query.dates, query.point, fmt),
            facts=stay_card.facts(offered),
            stay=stay_card.joined(offered, query.dates, today, fmt, room),
            cards=rendered,
            whole=embedding.full_address(service.settings, parameters)
            if parameters.layout == "compact"
            else "",
            late=results.late,
            sentence="" if rendered else fmt.gettext("Nothing to show for these dates."),
            footer=content.footer(results, query.point, fmt, now),
            calendar=calendar.address(
                service.settings, replace(parameters, stay=query.stay, days=None)
            )
            if any(one.entries for one in listed)
            else "",
            structured=calendar.structured(listed),
            data=content.page_data(results),
            discovery=oembed.discovery(service.settings, parameters, title),
        )
        return self._renderer.page(shown, fmt, Appearance.of(parameters))


def _response(page: Page, status: int, language: Language, headers: Mapping[str, str]) -> Response:
    common = {
        "Content-Language": language.tag,
        "Content-Security-Policy": page.policy,
        **FRAME_HEADERS,
    }
    return Response(page.body, status, {**common, **headers}, media_type=page.media_type)


def _appearance(raw: Mapping[str, str]) -> Appearance:
    theme, accent = raw.get("theme", ""), raw.get("accent", "")
    return Appearance(
        theme=cast("Theme", theme if theme in {"light", "dark", "auto"} else "light"),
        accent=accent if _ACCENT.fullmatch(accent) else DEFAULT_ACCENT,
    )


def _language(raw: Mapping[str, str], request: Exchange, languages: Languages) -> Language:
    with suppress(PublicError):
        if tag := raw.get("lang"):
            return languages.choose(tag)
    return languages.accept(request.accept_language)


def error_sentence(error: PublicError, fmt: Formatter) -> str:
    """Return a translated sentence for guests about the error."""
    if isinstance(error, InvalidRequest):
        name = error.message.partition(" ")[0]  # messages begin with the parameter's name
        if name in POINT:
            return fmt.gettext("The place is missing.")
        if name in DATES:
            return fmt.gettext("Choose the dates of your stay.")
        return fmt.gettext("This part of the page is not set up correctly.")
    if error.code in {"rate_limit_exceeded", "service_overloaded"}:
        return fmt.gettext("Too many visitors right now; try again in a moment.")
    return fmt.gettext("Something went wrong on our side.")
