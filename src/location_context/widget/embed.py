"""`/v1/embed.js`: the script on a host's page that keeps every widget as tall as its content.

It believes a message only when it comes from the window of an iframe whose address is the widget
on the script's own origin, and only a height from 1 to 20,000 px. That is the height of the
content: padding and border that the host gives the iframe come on top. An iframe that is hidden or
has no width yet is left as it is. Widgets that spoke before the script came or before they had a
width, and all when the host's window changes its size (browsers let those out of sight sleep), are
asked to repeat themselves with `{"type":"pulse:measure","version":1}`.
"""

from __future__ import annotations

from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.service import Service
from location_context.widget.assets import squeezed

HEADERS = {
    "Cache-Control": "public, max-age=86400, stale-while-revalidate=60, stale-if-error=3600",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors *",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}


def source() -> str:
    """The script, as small as it is sent."""
    file = resources.files("location_context.widget").joinpath("embed.js")
    return squeezed(file.read_text("utf-8"), "\n")


def routes(_service: Service) -> list[Route]:
    body = source()

    async def embed(_request: Request) -> Response:
        return Response(body, headers=HEADERS, media_type="text/javascript")

    return [Route("/v1/embed.js", embed)]
