"""Heights: an estimate of a widget's height, reserved until embed.js sets the true one.

The sum of its parts, each interpolated between the widths and lengths of stay at which
scripts/measure_heights.py measured it. A section is left out if a cached result for this very
widget says that it is not applicable; no section is read to find out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

import numpy as np

from location_context.parameters import Parameters
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Applicable, Query
from location_context.sections.section import Section
from location_context.service import Service
from location_context.stay import Stay, horizon
from location_context.widget.assets import read_file

DEFAULT_WIDTH = 720  # px, a usual column


def reserved(service: Service, parameters: Parameters, width: int = DEFAULT_WIDTH) -> int:
    """The height in px to reserve at a width in px."""
    point = service.gazetteer.point(parameters.lat, parameters.lng)
    language = parameters.language or service.languages.english
    query = Query(point, parameters.stay, parameters.units, language, public=True)
    today = point.today(service.clock())
    shown = [c.section for c in service.sections if _is_shown(c, query, today)]
    table, days = _table(), parameters.stay.days if parameters.stay else 1
    parts = [
        table.at(*_part(section, parameters.stay, today, table), section.card_height, width)
        for section in shown
        if not section.half_width
    ]
    half = [section for section in shown if section.half_width]
    side_by_side = "+".join(section.name for section in half)
    if len(half) > 1 and side_by_side in table.parts:
        parts.append(table.at(side_by_side, days, 0, width))
    else:
        parts.append(table.at("frame", days, 0, width))
        parts += [table.at(section.name, days, section.card_height, width) for section in half]
    return 10 * round(sum(parts) / 10)


def _part(
    section: Section[Any], stay: Stay | None, today: date, table: "_Table"
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
    # stays that cross the horizon were measured with `split_near_days` days within it
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
    parts = json.loads(read_file("location_context.widget:heights.json"))
    return _Table(parts.pop("widths"), parts.pop("days"), parts.pop("split_near_days"), parts)


def _is_shown(cached: CachedSection, query: Query, today: date) -> bool:
    """Whether a section is applicable, as far as is known without reading it."""
    if query.stay and query.stay.is_past(today) and not cached.section.answers_past:
        return False
    result = cached.peek(query)
    return result is None or isinstance(result.body, Applicable)
