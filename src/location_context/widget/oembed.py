"""`/v1/oembed`: the widget for content systems that turn a pasted URL into an embed.

The answer follows oEmbed 1.0 (oembed.com), with type `rich` and only as JSON. Any other `format`
receives 501, as section 2.3.3 requires. Only URLs of PUBLIC_URL/v1/pulse are accepted; the
snippet is made from their parameters, without a fetch. WordPress resizes the iframe with its own
script only if a link in a `blockquote` precedes it; WordPress shows the link until the iframe has
sent a message. If the full widget exceeds `maxheight`, the compact one is returned if it fits, else
the full one with this height. `discovery` returns the link for the head of the widget's page.
"""

from dataclasses import replace
from html import escape
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

import msgspec
from markupsafe import Markup
from msgspec import Meta
from starlette.responses import Response

from location_context import errors
from location_context.exchange import Exchange, Route
from location_context.parameters import WIDGET, Parameters, parse, shown, values
from location_context.sections.contract import Text, WebAddress
from location_context.service import Service, chosen
from location_context.settings import Settings
from location_context.widget import embedding

NAMES = ("url", "maxwidth", "maxheight", "format")
PROVIDER = "Location Context"
CACHE_AGE = 86_400  # seconds
MAX_PIXELS = 20_000
HEADERS = {
    "Cache-Control": f"public, max-age={CACHE_AGE}, stale-while-revalidate=60, stale-if-error=3600",
    "X-Robots-Tag": "noindex",
}


class OEmbed(msgspec.Struct, frozen=True, kw_only=True):
    """The oEmbed answer for one widget."""

    type: Annotated[Literal["rich"], Meta(description="The kind of embed: `rich` means HTML.")] = (
        "rich"
    )
    version: Annotated[Literal["1.0"], Meta(description="The version of oEmbed.")] = "1.0"
    title: Annotated[Text, Meta(description="The widget's title.")]
    provider_name: Annotated[Text, Meta(description="This service.")] = PROVIDER
    provider_url: Annotated[WebAddress, Meta(description="The page at / of this service.")]
    cache_age: Annotated[
        int, Meta(ge=0, description="Seconds for which the answer may be cached.")
    ] = CACHE_AGE
    html: Annotated[Text, Meta(description="The two lines to put into the page.")]
    width: Annotated[int, Meta(ge=1, description="Width in px.")]
    height: Annotated[int, Meta(ge=1, description="Height in px reserved for the widget.")]


def routes(service: Service) -> list[Route]:
    async def oembed(request: Exchange) -> Response:
        answer = read(service, request.query)
        return Response(msgspec.json.encode(answer), headers=HEADERS, media_type="application/json")

    return [Route("/v1/oembed", oembed)]


def read(service: Service, query: bytes) -> OEmbed:
    """Return the oEmbed answer for a query string.

    Raises:
        InvalidRequest: `url` is missing or not one of our widgets, a size is not a number, or
            `format` is not json.
    """
    request = _request(query)
    widget = _widget(service, request["url"])
    width = min(embedding.DEFAULT_WIDTH, _pixels(request, "maxwidth"))
    most = _pixels(request, "maxheight")
    widget, true_height = _fitting(service, widget, width, most)
    height = min(true_height, most)
    language = widget.language or service.languages.english
    widget = replace(widget, language=language)  # so that a CDN caches one page for all browsers
    sections = chosen(service.sections, widget.sections)
    title = embedding.title(sections, widget.place, language)
    # `hidden` prevents a page from showing both; WordPress strips it and swaps the two itself
    link = f'<blockquote hidden><a href="{escape(request["url"])}">{escape(title)}</a></blockquote>'
    # content systems that remove `style` keep `frameborder`
    given = f'width="{width}" frameborder="0" height="{height}" style="border:0;max-width:100%"'
    lines = [link, embedding.iframe(service.settings, widget, title, given)]
    if height == true_height:  # otherwise the script would exceed maxheight
        lines.append(embedding.script(service.settings))
    return OEmbed(
        title=title,
        provider_url=embedding.public_url(service.settings, "/"),
        html="\n".join(lines),
        width=width,
        height=height,
    )


def _fitting(service: Service, widget: Parameters, width: int, most: int) -> tuple[Parameters, int]:
    """Return parameters and height: the compact layout's if only that is at most `most` px high."""
    height = embedding.reserved_height(service, widget, width)
    if height <= most or widget.layout:
        return widget, height
    low = replace(widget, layout="compact")
    low_height = embedding.reserved_height(service, low, width)
    return (low, low_height) if low_height <= most else (widget, height)


def discovery(settings: Settings, parameters: Parameters, title: str) -> Markup:
    """Return the `<link>` by which content systems find this endpoint from a widget's page."""
    address = embedding.public_url(settings, f"/v1/pulse?{embedding.widget_query(parameters)}")
    endpoint = embedding.public_url(settings, f"/v1/oembed?url={quote(address, safe='')}")
    return Markup(
        '<link rel="alternate" type="application/json+oembed" href="{}" title="{}">'
    ).format(endpoint, title)


def _request(query: bytes) -> dict[str, str]:
    """Return oEmbed's parameters; reject a missing `url` and an unsupported `format`."""
    request = values(query, NAMES)
    if (form := request.get("format")) and form != "json":
        raise errors.FormatNotImplemented(f"format is {shown(form)}; accepted: json.")
    if not request.get("url"):
        raise errors.MissingParameter("url is missing or empty; it is required.")
    return request


def _widget(service: Service, address: str) -> Parameters:
    """Return the checked parameters in the URL of a widget; reject any other URL."""
    root = embedding.public_url(service.settings, "/v1/pulse")
    try:
        parts = urlsplit(address)
        is_ours = _identity(address) == _identity(root)
    except ValueError:
        is_ours = False
    if not is_ours:
        raise errors.NotFound(f"url is {shown(address)}; accepted: an address under {root}.")
    try:
        return parse(parts.query.encode(), WIDGET, service.languages, service.choices)
    except errors.InvalidRequest as error:
        raise errors.NotFound(f"url is not a valid widget: {error.message}") from None


def _identity(address: str) -> tuple[str, str | None, int | None, str, bool]:
    """Return a URL's (scheme, host, port, path, True if it has a user name), to compare URLs."""
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port, parts.path, "@" in parts.netloc


def _pixels(request: dict[str, str], name: str) -> int:
    """Return the value of a size parameter in px; `MAX_PIXELS` if it is missing."""
    text = request.get(name, "")
    if not text:
        return MAX_PIXELS
    if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1:
        return int(text)
    raise errors.MalformedRequest(
        f"{name} is {shown(text)}; accepted: a whole number of px, 1 or more."
    )
