"""Embedding: a widget's URL and height, its snippet of two lines, and `/v1/embed.js`.

The snippet's first line describes the widget in `data-` attributes; the second loads the script,
which creates the iframe. The height is reserved, so that the page does not move while it loads. The
iframe is sandboxed: its script has no access to our origin, and links open in new tabs. Pages
without scripts use one line with the iframe itself. Only PUBLIC_URL determines absolute URLs.

The script resizes every widget on a page to its content. It accepts messages only from iframes that
show a widget of the script's origin, and only heights of the content from 1 to 20,000 px; it adds
the iframe's padding and border. It does not resize an iframe that is hidden or has no width yet. A
height that a widget sent too early (before the script loaded or the iframe had a width) is
requested again with `{"type":"pulse:measure","version":1}`. When the window is resized, the script
requests the heights of all widgets, since browsers suspend widgets that are out of sight.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from html import escape
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np
from starlette.responses import Response

from location_context.exchange import Exchange, Route
from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Language
from location_context.parameters import (
    ACCENT,
    BACKGROUND,
    FONT,
    GUIDE,
    PLACE,
    RADIUS,
    THEME,
    TITLE,
    UNITS,
    Parameters,
)
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Applicable, Query
from location_context.service import Service, chosen
from location_context.settings import Settings
from location_context.stay import horizon
from location_context.widget.render import read_file, read_unindented
from location_context.widget.static_card import WIDTH, StaticCard

SCRIPT_HEADERS = {
    "Cache-Control": "public, max-age=86400, stale-while-revalidate=60, stale-if-error=3600",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors *",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}
SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox"
DEFAULT_WIDTH = 720  # px, a usual column
ONE_ROW = 10  # up to this number of days, each has a row; longer stays have rows of weeks
TWO_CARDS, TWO_COLUMNS = 640, 880  # widths in px from which cards are side by side


def script_routes() -> list[Route]:
    body = read_unindented("location_context.widget:embed.js")
    body = body.replace("HEIGHTS", json.dumps(_heights())).replace("SANDBOX", SANDBOX)

    async def embed(_request: Exchange) -> Response:
        return Response(body, headers=SCRIPT_HEADERS, media_type="text/javascript")

    return [Route("/v1/embed.js", embed, access="open")]  # constant, so it needs no limit


def public_url(settings: Settings, path: str) -> str:
    """Return the absolute URL of a path of this service, such as `/v1/pulse`."""
    return settings.public_url.rstrip("/") + path


def widget_query(parameters: Parameters) -> str:
    """Return a widget's query string, without parameters that have their default value."""
    given = {"lat": degrees(parameters.lat), "lng": degrees(parameters.lng)}
    if parameters.days:
        given["days"] = f"{parameters.days}"
    elif parameters.stay:
        given |= {"start": f"{parameters.stay.start}", "end": f"{parameters.stay.end}"}
    for one in (PLACE, THEME, ACCENT, UNITS, BACKGROUND, FONT, RADIUS, TITLE, GUIDE):
        if (value := getattr(parameters, one.name)) and value != one.default:
            given[one.name] = f"{value}"
    if parameters.radius == 0:
        given["radius"] = "0"
    given["lang"] = parameters.language.tag if parameters.language else ""
    given |= {"sections": ",".join(parameters.sections), "layout": parameters.layout or ""}
    return query(given)


def full_address(settings: Settings, parameters: Parameters) -> str:
    """Return the URL of the widget with these parameters, but always in the full layout."""
    return public_url(settings, f"/v1/pulse?{widget_query(replace(parameters, layout=None))}")


def query(fields: Mapping[str, str]) -> str:
    """Return a query string of the fields that are not empty; spaces are %20, commas unescaped."""
    given = {name: text for name, text in fields.items() if text}
    return urlencode(given, quote_via=quote, safe=",")


def degrees(value: float) -> str:
    """Return a coordinate as text with up to four decimals, without an exponent."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def topics(sections: Iterable[CachedSection], language: Language) -> str:
    """Return the sections' labels as a list for use in a sentence."""
    return Formatter(language).join_list([cached.section.label(language) for cached in sections])


def title(sections: Iterable[CachedSection], place: str | None, language: Language) -> str:
    """Return the title of the iframe for screen readers: the sections and the place."""
    names = Formatter.capitalise(topics(sections, language))
    if place is None:
        return names
    return Formatter(language).gettext("{sections} in {place}").format(sections=names, place=place)


def snippet(settings: Settings, parameters: Parameters, height: int) -> list[str]:
    """Return the two lines to put into a page: the widget's description, and the script.

    An empty SVG reserves `height` px (the height on a phone) until the script has loaded, which
    sets the height for the actual width. A CSP that forbids inline styles allows the SVG.
    """
    given = dict(parse_qsl(widget_query(parameters)))
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in given.items())
    room = f'<svg width="1" height="{height}"></svg>'
    return [f"<div data-location-context{data}>{room}</div>", script(settings)]


def mail_snippet(settings: Settings, parameters: Parameters, card: StaticCard) -> str:
    """Return HTML for an e-mail: the static card as a picture that links to the full widget.

    The picture is a PNG if fonts for the card's language are installed, else an SVG. `height:auto`
    keeps its proportions on narrow screens, and shows the whole `alt` text of a blocked picture.
    """
    assert parameters.language is not None, "mail programs' servers ask for no language"
    language = parameters.language
    direction = ' dir="rtl"' if language.direction == "rtl" else ""
    picture = widget_query(replace(parameters, layout=None))
    kind = "png" if card.typeface else "svg"
    return (
        f'<a href="{escape(full_address(settings, parameters))}" lang="{language.tag}"{direction}>'
        f'<img src="{escape(public_url(settings, f"/v1/pulse.{kind}?{picture}"))}" '
        f'alt="{escape(card.text)}" width="{WIDTH}" height="{card.height}" '
        'style="border:0;max-width:100%;height:auto"></a>'
    )


def iframe(settings: Settings, parameters: Parameters, frame_title: str, given: str) -> str:
    """Return the HTML of the widget's iframe; `given` are additional attributes."""
    address = public_url(settings, f"/v1/pulse?{widget_query(parameters)}")
    return (
        f'<iframe src="{escape(address)}" title="{escape(frame_title)}" {given} '
        f'loading="lazy" sandbox="{SANDBOX}"></iframe>'
    )


def script(settings: Settings) -> str:
    """Return the script element of the snippet; the script resizes the page's widgets."""
    return f'<script src="{escape(public_url(settings, "/v1/embed.js"))}" async></script>'


def reserved_height(service: Service, parameters: Parameters, width: int = DEFAULT_WIDTH) -> int:
    """Return the height in px to reserve for a widget at a width in px.

    The height is the sum of the usual heights of the widget's parts, measured in `heights.json`.
    embed.js makes a similar estimate, but counts all sections, even those without a card.
    """
    table = _heights()

    def at(name: str, default: float = 0.0) -> float:
        measured = table.get(name)
        return float(np.interp(width, table["widths"], measured)) if measured else default

    if parameters.layout == "compact":
        return round(at("compact"))
    point = service.gazetteer.point(parameters.lat, parameters.lng)
    language = parameters.language or service.languages.english
    today = point.today(service.clock())
    stay = parameters.stay_from(today)
    query = Query(point, stay, parameters.units, language, parameters.guide, public=True)
    sections = chosen(service.sections, parameters.sections)
    shown = {cached.name: cached for cached in sections if _is_shown(cached, query, today)}
    cards = [
        at(name, cached.section.card_height)
        for name, cached in shown.items()
        if name not in {"weather", "events"}
    ]
    days = stay.days if stay else 1
    if "weather" in shown and (days > ONE_ROW or (stay and stay.start <= horizon(today))):
        rows = -(-days // 7) if days > ONE_ROW else days
        cards.insert(0, at("stay") + rows * at("row" if "events" in shown else "bare"))
    elif shown.keys() & {"weather", "events"}:
        cards.insert(0, at("typical"))
    return round(at("frame") + _arranged(cards, width))


def _arranged(cards: Sequence[float], width: int) -> float:
    """Return the height in px of all cards in as many columns as fit into `width`."""
    if width < TWO_CARDS or len(cards) < 2:
        return sum(cards)
    if width < TWO_COLUMNS:
        return cards[0] + max(cards[1:]) if len(cards) > 2 else sum(cards)
    return min(max(sum(cards[:n]), sum(cards[n:])) for n in range(1, len(cards)))


@cache
def _heights() -> dict[str, list[float]]:
    """Return, for each part of a widget, its heights in px at the widths in the entry `widths`."""
    table: dict[str, list[float]] = json.loads(read_file("location_context.widget:heights.json"))
    return table


def _is_shown(cached: CachedSection, query: Query, today: date) -> bool:
    """Return False if it is already certain that a section will have no card.

    This is certain if the section's cached result is not applicable, or if the stay is past and the
    section has no answers for the past.
    """
    if query.stay and query.stay.is_past(today) and not cached.section.answers_past:
        return False
    result = cached.peek(query)
    return result is None or isinstance(result.body, Applicable)
