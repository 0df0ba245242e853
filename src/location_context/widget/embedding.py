"""Embedding: the address of a widget, the two lines of its snippet, and the script `/v1/embed.js`.

The iframe comes with its height reserved, so that nothing below it jumps while it loads, and is
sandboxed: its script runs without this host's origin, and its links open in tabs of their own.
Absolute addresses come from the setting PUBLIC_URL alone.

The script keeps every widget on a host's page as tall as its content. It accepts a message only
from the window of an iframe whose address is the widget on the script's own origin, and only a
height from 1 to 20,000 px: the height of the content, to which the iframe's padding and border are
added. A hidden iframe, or one without a width yet, is left alone. Widgets that sent their height
before the script loaded or before they had a width, and all widgets after a resize of the host's
window (browsers suspend those out of sight), are asked for it again with
`{"type":"pulse:measure","version":1}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.localisation.formats import Formats
from location_context.localisation.language import Language
from location_context.parameters import DEFAULT_ACCENT, Parameters
from location_context.sections.cached_section import CachedSection
from location_context.settings import Settings
from location_context.widget.assets import squeezed

SCRIPT_HEADERS = {
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


def script_routes() -> list[Route]:
    body = source()

    async def embed(_request: Request) -> Response:
        return Response(body, headers=SCRIPT_HEADERS, media_type="text/javascript")

    return [Route("/v1/embed.js", embed)]


SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox"


def public_url(settings: Settings, path: str) -> str:
    """The absolute address of a path of this service, such as `/v1/pulse`."""
    return settings.public_url.rstrip("/") + path


def widget_query(given: Parameters) -> str:
    """The query string of a widget: what is required, and what differs from the defaults."""
    pairs = [("lat", degrees(given.lat)), ("lng", degrees(given.lng))]
    if given.stay is not None:
        pairs += [("start", f"{given.stay.start}"), ("end", f"{given.stay.end}")]
    if given.place:
        pairs.append(("place", given.place))
    if given.theme != "light":
        pairs.append(("theme", given.theme))
    if given.accent.lower() != DEFAULT_ACCENT:
        pairs.append(("accent", given.accent))
    if given.units != "metric":
        pairs.append(("units", given.units))
    if given.language is not None:
        pairs.append(("lang", given.language.tag))
    return query(dict(pairs))


def query(fields: Mapping[str, str]) -> str:
    """A query string of the fields that are not empty, with blanks as %20."""
    return urlencode({name: text for name, text in fields.items() if text}, quote_via=quote)


def degrees(value: float) -> str:
    """A coordinate with up to four decimals, never with an exponent."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def topics(sections: Iterable[CachedSection], language: Language) -> str:
    """What the sections are about, as a list inside a sentence."""
    return Formats(language).together([one.section.label(language) for one in sections])


def title(sections: Iterable[CachedSection], place: str | None, language: Language) -> str:
    """What the iframe shows, as a screen reader says it."""
    shown = Formats.begun(topics(sections, language))
    if place is None:
        return shown
    words = language.gettext("{sections} in {place}").replace("{sections}", shown)
    return words.replace("{place}", place)


def iframe(settings: Settings, given: Parameters, words: str, height: int, width: int = 0) -> str:
    """The first line: the widget, with or without JavaScript on the host's page.

    As wide as its place, or at most `width` px of it.
    """
    address = public_url(settings, f"/v1/pulse?{widget_query(given)}")
    wide = f'width="{width}" ' if width else ""
    bound = "max-width" if width else "width"
    return (
        f'<iframe src="{escape(address)}" title="{escape(words)}" {wide}height="{height}" '
        f'style="border:0;{bound}:100%" loading="lazy" sandbox="{SANDBOX}"></iframe>'
    )


def script(settings: Settings) -> str:
    """The second line: keeps every widget of the page as tall as its content."""
    return f'<script src="{escape(public_url(settings, "/v1/embed.js"))}" async></script>'
