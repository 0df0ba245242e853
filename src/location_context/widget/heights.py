"""Heights: about how tall a widget is, to hold its place until embed.js gives the true height.

The sum of its parts, each between the widths and days at which scripts/measure_heights.py measured
it. Which sections there are is known where readings for this very widget are kept; nothing is read
for it, and a section that was not asked yet counts as there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from location_context.parameters import Parameters
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Applicable, Query
from location_context.sections.section import Section
from location_context.service import Service
from location_context.stay import Stay, horizon

WIDTH = 720  # px of a page's column, where none is given


def reserved(service: Service, given: Parameters, width: int = WIDTH) -> int:
    """The height in px to reserve at a width in px."""
    point = service.gazetteer.point(given.lat, given.lng)
    language = given.language or service.languages.english
    query = Query(point, given.stay, given.units, language, public=True)
    today = point.today(service.clock())
    shown = [one.section for one in service.sections if _is_shown(one, query, today)]
    table, days = _table(), given.stay.days if given.stay else 1
    parts = [
        table.at(*_part(one, given.stay, today, table), one.card_height, width)
        for one in shown
        if not one.half_width
    ]
    half = [one for one in shown if one.half_width]
    beside = "+".join(one.name for one in half)
    if len(half) > 1 and beside in table.parts:
        parts.append(table.at(beside, days, 0, width))
    else:
        parts.append(table.at("frame", days, 0, width))
        parts += [table.at(one.name, days, one.card_height, width) for one in half]
    return 10 * round(sum(parts) / 10)


def _part(
    section: Section[Any], stay: Stay | None, today: date, table: _Table
) -> tuple[str, float]:
    """The measured part that a card is like, and the days to look up in it."""
    days = stay.days if stay else 1
    if not (section.splits_at_horizon and stay):
        return section.name, days
    near = max(0, min((horizon(today) - stay.start).days + 1, days))
    if near >= days:
        return f"{section.name}.near", days
    if near == 0:
        return f"{section.name}.far", days
    # of stays over the horizon those with so many days before it were measured
    return f"{section.name}.split", days - near + table.split_near_days


@dataclass(frozen=True)
class _Table:
    """Heights in px by part, at each width of each number of days."""

    widths: tuple[int, ...]
    days: tuple[int, ...]
    split_near_days: int
    parts: Mapping[str, Any]

    def at(self, part: str, days: float, default: float, width: int) -> float:
        """The height of a part; `default` for one that was not measured."""
        if part not in self.parts:
            return default
        by_days = [np.interp(width, self.widths, heights) for heights in self.parts[part]]
        return float(np.interp(days, self.days, by_days))


@cache
def _table() -> _Table:
    text = resources.files("location_context.widget").joinpath("heights.json").read_text("utf-8")
    found = json.loads(text)
    return _Table(found.pop("widths"), found.pop("days"), found.pop("split_near_days"), found)


def _is_shown(cached: CachedSection, query: Query, today: date) -> bool:
    """Whether a section has something to say, as far as that is known without reading it."""
    if query.stay and query.stay.is_past(today) and not cached.section.answers_past:
        return False
    result = cached.peek(query)
    return result is None or isinstance(result.body, Applicable)
