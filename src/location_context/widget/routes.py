"""Every route of the widget, the page that builds it and what embeds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.errors import PublicError
from location_context.service import Service
from location_context.widget import embed, oembed
from location_context.widget.builder import page
from location_context.widget.problem import problem
from location_context.widget.pulse import Widget
from location_context.widget.render import Renderer


@dataclass(frozen=True)
class Routes:
    """`pages` answer errors with `problem`, a page; `others` with the contract's JSON."""

    pages: Sequence[Route]
    others: Sequence[Route]
    problem: Callable[[PublicError, str, Request], Response]


def routes(service: Service) -> Routes:
    """`/v1/pulse`; `/`, `/v1/places`, `/v1/embed.js` and `/v1/oembed`."""
    renderer = Renderer()
    others = [*page.routes(service), *embed.routes(service), *oembed.routes(service)]
    widget = Widget(service, renderer)
    return Routes(widget.routes(), others, problem(renderer, service.languages))
