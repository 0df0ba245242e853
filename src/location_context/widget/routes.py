"""Every route of the widget, the page that builds it and what embeds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.widget import embed, oembed
from location_context.widget.builder import page

if TYPE_CHECKING:
    from starlette.routing import Route

    from location_context.service import Service


def routes(service: Service) -> list[Route]:
    """`/`, `/v1/places`, `/v1/embed.js` and `/v1/oembed`."""
    return [*page.routes(service), *embed.routes(service), *oembed.routes(service)]
