"""`/v1/oembed`: the widget for content systems that turn a pasted address into an embed.

oEmbed 1.0 (oembed.com), type `rich`, JSON alone: another `format` is 501 as its section 2.3.3 says.
It answers only for addresses under PUBLIC_URL/v1/pulse, makes the snippet from the checked
parameters, and fetches nothing. `discovery` is the link for the head of the widget's page.
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

import msgspec
from markupsafe import Markup
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.errors import (
    DuplicateParameter,
    FormatNotImplemented,
    InvalidRequest,
    MalformedRequest,
    MissingParameter,
    NotFound,
)
from location_context.parameters import WIDGET, Parameters, decode, parse, reject_misspelt, shown
from location_context.sections.contract import Text, WebAddress
from location_context.service import Service
from location_context.settings import Settings
from location_context.widget import embedding, heights

NAMES = ("url", "maxwidth", "maxheight", "format")
PROVIDER = "Location Context"
CACHE_AGE = 86_400
HEADERS = {
    "Cache-Control": f"public, max-age={CACHE_AGE}, stale-while-revalidate=60, stale-if-error=3600",
    "X-Robots-Tag": "noindex",
}


class OEmbed(msgspec.Struct, frozen=True, kw_only=True):
    """The oEmbed answer for one widget."""

    type: Annotated[Literal["rich"], Meta(description="The kind of embed: HTML.")] = "rich"
    version: Annotated[Literal["1.0"], Meta(description="The version of oEmbed.")] = "1.0"
    title: Annotated[Text, Meta(description="What the widget shows.")]
    provider_name: Annotated[Text, Meta(description="This service.")] = PROVIDER
    provider_url: Annotated[WebAddress, Meta(description="The page at / of this service.")]
    cache_age: Annotated[int, Meta(ge=0, description="Seconds that the answer may be kept.")] = (
        CACHE_AGE
    )
    html: Annotated[Text, Meta(description="The two lines to put into the page.")]
    width: Annotated[int, Meta(ge=1, description="Width in px.")]
    height: Annotated[int, Meta(ge=1, description="Height in px reserved for the widget.")]


def routes(service: Service) -> list[Route]:
    async def oembed(request: Request) -> Response:
        answer = read(service, request.scope["query_string"])
        return Response(msgspec.json.encode(answer), headers=HEADERS, media_type="application/json")

    return [Route("/v1/oembed", oembed)]


def read(service: Service, query: bytes) -> OEmbed:
    """The answer for a query string.

    Raises:
        InvalidRequest: `url` is missing or no widget of ours, a size is no number, or `format` is
            not json.
    """
    asked = _asked(query)
    given = _widget(service, asked["url"])
    width = min(heights.WIDTH, _pixels(asked, "maxwidth"))
    wanted = heights.reserved(service, given, width)
    height = min(wanted, _pixels(asked, "maxheight"))
    words = embedding.title(
        service.sections, given.place, given.language or service.languages.english
    )
    lines = [embedding.iframe(service.settings, given, words, height, width)]
    if height == wanted:  # the script would make it taller than it may be
        lines.append(embedding.script(service.settings))
    return OEmbed(
        title=words,
        provider_url=embedding.public_url(service.settings, "/"),
        html="\n".join(lines),
        width=width,
        height=height,
    )


def discovery(settings: Settings, given: Parameters, words: str) -> Markup:
    """The `<link>` by which content systems find this endpoint from a widget's page."""
    address = embedding.public_url(settings, f"/v1/pulse?{embedding.widget_query(given)}")
    endpoint = embedding.public_url(settings, f"/v1/oembed?url={quote(address, safe='')}")
    return Markup(
        '<link rel="alternate" type="application/json+oembed" href="{}" title="{}">'
    ).format(endpoint, words)


def _asked(query: bytes) -> dict[str, str]:
    """The parameters of oEmbed; `url` is there and `format` is one we have."""
    asked: dict[str, str] = {}
    pairs = decode(query)
    for name, value in pairs:
        if name in asked:
            raise DuplicateParameter(
                f"{name} was given more than once; accepted: each parameter once."
            )
        if name in NAMES:
            asked[name] = value
    reject_misspelt((name for name, _ in pairs), NAMES)
    if (form := asked.get("format")) and form != "json":
        raise FormatNotImplemented(f"format is {shown(form)}; accepted: json.")
    if not asked.get("url"):
        raise MissingParameter("url is missing or empty; it is required.")
    return asked


def _widget(service: Service, address: str) -> Parameters:
    """The checked parameters of a widget's address."""
    root = embedding.public_url(service.settings, "/v1/pulse")
    try:
        parts = urlsplit(address)
        ours = _place(address) == _place(root)
    except ValueError:
        ours = False
    if not ours:
        raise NotFound(f"url is {shown(address)}; accepted: an address under {root}.")
    try:
        return parse(parts.query.encode(), WIDGET, service.languages)
    except InvalidRequest as error:
        raise NotFound(f"url is no widget: {error.message}") from None


def _place(address: str) -> tuple[str, str | None, int | None, str, bool]:
    """What of an address must be equal: scheme, host, port, path, and no user name in it."""
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port, parts.path, "@" in parts.netloc


def _pixels(asked: dict[str, str], name: str) -> int:
    """A size in px; without one there is no bound."""
    text = asked.get(name, "")
    if not text:
        return 20_000
    if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1:
        return int(text)
    raise MalformedRequest(f"{name} is {shown(text)}; accepted: a whole number of px, 1 or more.")
