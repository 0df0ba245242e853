"""Heights: about how tall a widget is, to hold its place until embed.js gives the true height.

The sum of its parts, each between the widths and days at which scripts/measure_heights.py measured
it. Which sections there are is known where readings for this very widget are kept; nothing is read
for it, and a section that was not asked yet counts as there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from location_context.parameters import Parameters
from location_context.sections.contract import Applicable, Query
from location_context.service import Service
from location_context.stay import Stay, horizon

WIDTH = 720  # px of a page's column, where none is given
PAST = frozenset({"weather", "events"})  # what says nothing of a stay that is over


def reserved(service: Service, given: Parameters, width: int = WIDTH) -> int:
    """The height in px to reserve at a width in px."""
    point = service.gazetteer.point(given.lat, given.lng)
    language = given.language or service.languages.english
    query = Query(point, given.stay, given.units, language, public=True)
    today = point.today(service.clock())
    absent = _absent(service, query)
    if given.stay and given.stay.is_past(today):
        absent |= PAST
    table, days = _table(), given.stay.days if given.stay else 1
    parts = [] if "astronomy" in absent else [table.at("astronomy", days, width)]
    if "weather" not in absent and given.stay:
        near = _near_days(given.stay, (horizon(today) - given.stay.start).days + 1)
        kind = "forecast" if near >= days else "both" if near else "typical"
        # of stays over the horizon those with so many days beyond it were measured
        shown = days - near + table.straddles if kind == "both" else days
        parts.append(table.at(kind, shown, width))
    rest = {"guide", "events"} - absent
    if len(rest) > 1:
        parts.append(table.at("side_by_side", days, width))
    else:
        parts += [table.at(name, days, width) for name in ("frame", *rest)]
    return 10 * round(sum(parts) / 10)


@dataclass(frozen=True)
class _Table:
    """Heights in px by part, at each width of each number of days."""

    widths: tuple[int, ...]
    days: tuple[int, ...]
    straddles: int
    parts: Mapping[str, Any]

    def at(self, part: str, days: int, width: int) -> float:
        by_days = [np.interp(width, self.widths, heights) for heights in self.parts[part]]
        return float(np.interp(days, self.days, by_days))


@cache
def _table() -> _Table:
    text = resources.files("location_context.widget").joinpath("heights.json").read_text("utf-8")
    found = json.loads(text)
    return _Table(found.pop("widths"), found.pop("days"), found.pop("straddles"), found)


def _absent(service: Service, query: Query) -> frozenset[str]:
    """The sections known to say nothing for this query."""
    return frozenset(
        cached.name
        for cached in service.sections
        if (result := cached.peek(query)) is not None and not isinstance(result.body, Applicable)
    )


def _near_days(stay: Stay, left: int) -> int:
    """How many days of a stay lie within the horizon, which is so many days after its start."""
    return max(0, min(left, stay.days))
