"""Snippet: the address of a widget and the two lines that embed it, for the builder and oEmbed.

The iframe comes with its height reserved, so that nothing below it jumps while it loads, and is
sandboxed: its script runs without this host's origin, and its links open in tabs of their own.
Absolute addresses come from the setting PUBLIC_URL alone.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import numpy as np

from location_context.parameters import DEFAULT_ACCENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from location_context.localisation.language import Language
    from location_context.parameters import Parameters
    from location_context.settings import Settings

# measured heights for stays of so many days, where the width is at least so many px
_MEASURED_DAYS = (1, 8, 15, 22, 35, 36)
_HEIGHTS = (
    (640, (2000, 2290, 3150, 3650, 4000, 3000)),
    (560, (2700, 3170, 4050, 4550, 4900, 4000)),
    (360, (2900, 3700, 4570, 5230, 5900, 4700)),
    (0, (3400, 4300, 5150, 5830, 6500, 5100)),
)

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


def title(place: str | None, language: Language) -> str:
    """What the iframe shows, as a screen reader says it."""
    if place is None:
        return language.gettext("Weather, sky, restaurants and events")
    words = language.gettext("Weather, sky, restaurants and events in {place}")
    return words.replace("{place}", place)


def reserved_height(given: Parameters, width: int = 720) -> int:
    """About the height in px of the widget with every section, at a width in px.

    Between the lengths of stay measured on full widgets; it holds the place until embed.js gives
    the true height. Beyond 35 days the widget draws weeks and is shorter again.
    """
    days = given.stay.days if given.stay else 1
    heights = next(heights for least, heights in _HEIGHTS if width >= least)
    return 10 * round(float(np.interp(days, _MEASURED_DAYS, heights)) / 10)


def iframe(settings: Settings, given: Parameters, words: str, width: str, height: int) -> str:
    """The first line: the widget, with or without JavaScript on the host's page."""
    address = public_url(settings, f"/v1/pulse?{widget_query(given)}")
    return (
        f'<iframe src="{escape(address)}" title="{escape(words)}" width="{width}" '
        f'height="{height}" style="border:0" loading="lazy" sandbox="{SANDBOX}"></iframe>'
    )


def script(settings: Settings) -> str:
    """The second line: keeps every widget of the page as tall as its content."""
    return f'<script src="{escape(public_url(settings, "/v1/embed.js"))}" async></script>'
