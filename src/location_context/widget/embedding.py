"""Embedding: a widget's address and height, the two lines of its snippet, and `/v1/embed.js`.

The iframe has its height reserved, so that nothing below it moves while it loads, and is sandboxed:
its script runs without this host's origin, and its links open in new tabs. Absolute addresses are
made from the setting PUBLIC_URL alone.

The script keeps every widget on a host's page as tall as its content. It accepts a message only
from the window of an iframe whose address is the widget on the script's own origin, and only a
height from 1 to 20,000 px: the height of the content, to which the iframe's padding and border are
added. It does not resize an iframe that is hidden or has no width yet. It asks for the height again
with `{"type":"pulse:measure","version":1}`: widgets that sent it before the script loaded or before
they had a width, and all widgets when the host's window is resized (browsers suspend those that are
out of sight).
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from html import escape
from itertools import groupby, pairwise
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.responses import Response

from location_context.exchange import Exchange, Route
from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Language
from location_context.parameters import DEFAULT_ACCENT, Parameters
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Applicable, Query
from location_context.sections.section import Section
from location_context.service import Service, chosen
from location_context.settings import Settings
from location_context.stay import Stay, horizon
from location_context.widget.render import read_file, read_unindented
from location_context.widget.static_card import WIDTH

SCRIPT_HEADERS = {
    "Cache-Control": "public, max-age=86400, stale-while-revalidate=60, stale-if-error=3600",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors *",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}
SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox"
DEFAULT_WIDTH = 720  # px, a usual column
ONE_ROW = 10  # days that a card shows side by side; more are rows of weeks
# in px: widths between which straight lines are near the heights, in three ranges without a jump
FULL_RANGES = ((280, 360, 559), (560, 639), (640, 720, 1200))
COMPACT_RANGES = ((280, 320, 367), (368, 420, 463), (464, 560, 900))
SIDE_BY_SIDE = 464  # px from which a compact page has cards of half the width side by side
FEW_DAYS = 4  # columns that a narrow compact page has in one row
MEASURED = 4  # sections of the measured pages
BRIEF_HEIGHT = 80  # px of a section on a compact page that was not measured


def script_routes() -> list[Route]:
    body = read_unindented("location_context.widget:embed.js")

    async def embed(_request: Exchange) -> Response:
        return Response(body, headers=SCRIPT_HEADERS, media_type="text/javascript")

    return [Route("/v1/embed.js", embed, access="open")]  # fixed bytes


def public_url(settings: Settings, path: str) -> str:
    """The absolute address of a path of this service, such as `/v1/pulse`."""
    return settings.public_url.rstrip("/") + path


def widget_query(parameters: Parameters) -> str:
    """The query string of a widget: required parameters, and those that differ from defaults."""
    pairs = [("lat", degrees(parameters.lat)), ("lng", degrees(parameters.lng))]
    if parameters.stay is not None:
        pairs += [("start", f"{parameters.stay.start}"), ("end", f"{parameters.stay.end}")]
    if parameters.place:
        pairs.append(("place", parameters.place))
    if parameters.theme != "light":
        pairs.append(("theme", parameters.theme))
    if parameters.accent.lower() != DEFAULT_ACCENT:
        pairs.append(("accent", parameters.accent))
    if parameters.units != "metric":
        pairs.append(("units", parameters.units))
    if parameters.language is not None:
        pairs.append(("lang", parameters.language.tag))
    if parameters.sections:
        pairs.append(("sections", ",".join(parameters.sections)))
    if parameters.layout:
        pairs.append(("layout", parameters.layout))
    return query(dict(pairs))


def full_address(settings: Settings, parameters: Parameters) -> str:
    """The full widget of a compact one."""
    return public_url(settings, f"/v1/pulse?{widget_query(replace(parameters, layout=None))}")


def query(fields: Mapping[str, str]) -> str:
    """A query string of the fields that are not empty, with blanks as %20, commas as they are."""
    given = {name: text for name, text in fields.items() if text}
    return urlencode(given, quote_via=quote, safe=",")


def degrees(value: float) -> str:
    """A coordinate with up to four decimals, never with an exponent."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def topics(sections: Iterable[CachedSection], language: Language) -> str:
    """What the sections are about, as a list inside a sentence."""
    return Formatter(language).join_list([cached.section.label(language) for cached in sections])


def title(sections: Iterable[CachedSection], place: str | None, language: Language) -> str:
    """The title of the iframe, which screen readers announce."""
    names = Formatter.capitalise(topics(sections, language))
    if place is None:
        return names
    return Formatter(language).gettext("{sections} in {place}").format(sections=names, place=place)


def snippet(
    settings: Settings, parameters: Parameters, frame_title: str, reserved: "Reserved", strict: bool
) -> str:
    """The first line: the widget, as wide as its container, its height reserved by its width.

    The container is one by which `cqi` is measured, and is 300 px wide, as an iframe is, where its
    own container takes its width from it. A `strict` one has no style, for hosts whose policy
    refuses it: embed.js takes the height from `data-reserve`.
    """
    if strict:
        given = f'height="{reserved.height}" data-reserve="{reserved.css}"'
        return iframe(settings, parameters, frame_title, given)
    given = f'height="{reserved.height}" style="border:0;width:100%;height:{reserved.css}"'
    container = "container-type:inline-size;contain-intrinsic-width:300px;width:100%"
    line = iframe(settings, parameters, frame_title, given)
    return f'<div style="{container}">{line}</div>'


def mail_snippet(settings: Settings, parameters: Parameters, text: str, height: int) -> str:
    """A link to the full widget around the static card, with the card's text; in px.

    `height:auto` keeps its shape on narrow screens, and its text whole where it is not shown.
    """
    assert parameters.language is not None, "mail programs' servers ask for no language"
    language = parameters.language
    direction = ' dir="rtl"' if language.direction == "rtl" else ""
    picture = widget_query(replace(parameters, layout=None))
    return (
        f'<a href="{escape(full_address(settings, parameters))}" lang="{language.tag}"{direction}>'
        f'<img src="{escape(public_url(settings, f"/v1/pulse.svg?{picture}"))}" '
        f'alt="{escape(text)}" width="{WIDTH}" height="{height}" '
        'style="border:0;max-width:100%;height:auto"></a>'
    )


def iframe(settings: Settings, parameters: Parameters, frame_title: str, given: str) -> str:
    """The widget, with or without JavaScript on the host's page; `given` are more attributes."""
    address = public_url(settings, f"/v1/pulse?{widget_query(parameters)}")
    return (
        f'<iframe src="{escape(address)}" title="{escape(frame_title)}" {given} '
        f'loading="lazy" sandbox="{SANDBOX}"></iframe>'
    )


def script(settings: Settings) -> str:
    """The second line: keeps every widget of the page as tall as its content."""
    return f'<script src="{escape(public_url(settings, "/v1/embed.js"))}" async></script>'


@dataclass(frozen=True)
class Reserved:
    """The height to reserve until embed.js sets the true one.

    Attributes:
        height: px at the usual width.
        css: at any width of the container, as a length in `px` and `cqi`.
    """

    height: int
    css: str


def reserved(service: Service, parameters: Parameters) -> Reserved:
    """The heights to reserve where the width is not known.

    The layout changes at two widths; in each of the three ranges between them the height is the
    highest of one or two lines through measured heights.
    """
    ranges: Sequence[Sequence[int]] = FULL_RANGES
    measured = _measured()[0]
    if parameters.layout == "compact":
        measured, ranges = _compact_measured(), COMPACT_RANGES
    widths = {*measured["widths"], DEFAULT_WIDTH}
    at = {width: reserved_height(service, parameters, width) for width in sorted(widths)}
    narrow, middle, wide = (_lines(at, *widths) for widths in ranges)
    first, second = ranges[1][0], ranges[2][0]
    # a range's lines are cut off by one so steep that it is crossed within a pixel
    css = (
        f"max(min(max({narrow}),({first}px - 100cqi)*1e4),"
        f"min(max({middle}),({second}px - 100cqi)*1e4,(100cqi - {first - 1}px)*1e4),"
        f"min(max({wide},{at[ranges[2][-1]]}px),(100cqi - {second - 1}px)*1e4))"
    )
    return Reserved(at[DEFAULT_WIDTH], css)


def _lines(at: Mapping[int, int], *widths: int) -> str:
    """The straight lines between heights at neighbouring widths, as CSS lengths.

    They are lowered by half of the most by which they exceed the heights in between.
    """
    slopes = [(at[right] - at[left]) / (right - left) for left, right in pairwise(widths)]
    lines = [(at[left] - slope * left, slope) for left, slope in zip(widths, slopes, strict=False)]
    within = (width for width in at if widths[0] <= width <= widths[-1])
    excess = max(max(a + slope * one for a, slope in lines) - at[one] for one in within) / 2
    return ",".join(  # `cqi` is a hundredth of the width
        f"{a - excess:.0f}px {'-' if slope < 0 else '+'} {abs(slope) * 100:.0f}cqi"
        for a, slope in lines
    )


def reserved_height(service: Service, parameters: Parameters, width: int = DEFAULT_WIDTH) -> int:
    """The height in px to reserve at a width in px.

    The sum of the widget's parts, each interpolated between the widths and lengths of stay at which
    scripts/measure_heights.py measured it. A cached result for this very widget tells whether a
    section is not applicable, and the rows of its card; no section is read to find out.
    """
    point = service.gazetteer.point(parameters.lat, parameters.lng)
    language = parameters.language or service.languages.english
    query = Query(point, parameters.stay, parameters.units, language, public=True)
    today = point.today(service.clock())
    sections = chosen(service.sections, parameters.sections)
    shown = [cached for cached in sections if _is_shown(cached, query, today)]
    if parameters.layout == "compact":
        return _compact_height([cached.section for cached in shown], parameters.stay, width)
    days = parameters.stay.days if parameters.stay else 1
    parts = [_card_height(cached, query, today, width) for cached in shown]
    names = {cached.name for cached in shown}
    return 10 * round((sum(parts) + _frame_height(names, days, width)) / 10)


def _frame_height(shown: Collection[str], days: int, width: int) -> float:
    """The height in px of all around the cards, without what others than those shown add to it.

    It was measured with all sections and with each alone.
    """
    whole = _height("frame", days, 0, width)
    alone = {
        part.partition(".")[2]: _height(part, days, 0, width)
        for part in _measured()[1]
        if part.startswith("frame.")
    }
    common = (sum(alone.values()) - whole) / (len(alone) - 1)
    return whole - sum(height - common for name, height in alone.items() if name not in shown)


def _card_height(cached: CachedSection, query: Query, today: date, width: int) -> float:
    """The height of a card in px: that of a long list, or of as many rows as are known."""
    section, axes = cached.section, _measured()[0]
    part, days = _part(section, query.stay, today)
    height = _height(part, days, section.card_height, width)
    result = cached.peek(query)
    body = result.body if result else None
    rows = section.rows(body) if isinstance(body, Applicable) else None
    if rows is None or part not in axes["rows"]:
        return height
    short = _height(f"{part}.short", days, height, width)
    return float(np.interp(rows, axes["rows"][part], [short, height]))


def _compact_height(shown: Sequence[Section[Any]], stay: Stay | None, width: int) -> int:
    """The height of a compact page, which is lower for stays of few days."""
    measured = _compact_measured()

    def height(name: str, default: float = 0) -> float:
        return (
            float(np.interp(width, measured["widths"], measured[name]))
            if name in measured
            else default
        )

    # more than two sections name more sources
    total = float(np.interp(len(shown), (2, MEASURED), (height("frame.alone"), height("frame"))))
    for is_half, row in groupby(shown, key=lambda section: f"{section.name}.alone" in measured):
        names = [section.name for section in row]
        if is_half and len(names) > 1:
            heights = [height(name, BRIEF_HEIGHT) for name in names]
            pairs = [heights[place : place + 2] for place in range(0, len(heights), 2)]
            total += sum(map(max, pairs)) if width >= SIDE_BY_SIDE else sum(heights)
        else:
            other = "alone" if is_half else "short" if stay and stay.days <= FEW_DAYS else ""
            total += sum(height(f"{name}.{other}", height(name, BRIEF_HEIGHT)) for name in names)
    return 10 * round(total / 10)


@cache
def _compact_measured() -> dict[str, Any]:
    """The widths, and the parts of a compact page at each of them."""
    parts: dict[str, Any] = json.loads(read_file("location_context.widget:compact_heights.json"))
    return parts


def _part(section: Section[Any], stay: Stay | None, today: date) -> tuple[str, float]:
    """The measured part that a card is like, and the days to look up in it."""
    days = stay.days if stay else 1
    if not (section.splits_at_horizon and stay):
        return section.name, days
    near = max(0, min((horizon(today) - stay.start).days + 1, days))
    if near >= days:
        return f"{section.name}.near", days
    if near == 0:
        return f"{section.name}.far", days
    # stays that cross the horizon were measured with `split_near_days` days within it, in one week
    alike = days - near + _measured()[0]["split_near_days"]
    if days <= ONE_ROW:
        return f"{section.name}.split", max(days, alike)
    return f"{section.name}.split", max(ONE_ROW + 1, alike + 7 * ((near - 1) // 7))


def _height(part: str, days: float, default: float, width: int) -> float:
    """The height of a part in px; `default` for one that was not measured."""
    axes, parts = _measured()
    if part not in parts:
        return default
    by_days = [np.interp(width, axes["widths"], heights) for heights in parts[part]]
    return float(np.interp(days, axes["days"], by_days))


@cache
def _measured() -> tuple[dict[str, Any], dict[str, Any]]:
    """The axes of the measured heights, and the parts: each width of each number of days.

    A part that is a list was measured with one entry too, as `.short`; the axis `rows` has the
    numbers of rows of both.
    """
    parts = json.loads(read_file("location_context.widget:heights.json"))
    return {axis: parts.pop(axis) for axis in ("widths", "days", "split_near_days", "rows")}, parts


def _is_shown(cached: CachedSection, query: Query, today: date) -> bool:
    """Whether a section is applicable, as far as is known without reading it."""
    if query.stay and query.stay.is_past(today) and not cached.section.answers_past:
        return False
    result = cached.peek(query)
    return result is None or isinstance(result.body, Applicable)
