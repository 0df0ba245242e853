"""Section results: every section for a widget, read concurrently under one deadline.

For a stay that crosses the forecast horizon, weather is read twice: for the whole stay and for the
part within the horizon, so that the first days can be shown as a forecast.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from location_context.sections.contract import Applicable, Query, SectionResult
from location_context.sections.section import Section
from location_context.service import Service, read_all
from location_context.stay import Stay, horizon
from location_context.upstream.deadline import Deadline

INCOMPLETE_MAX_AGE = 60


@dataclass(frozen=True)
class SectionResults:
    """Results by section in display order, None for a section without an answer.

    `forecast_parts` are those for the days within the horizon when the stay crosses it.
    """

    by_section: Mapping[Section[Any], SectionResult | None]
    forecast_parts: Mapping[Section[Any], SectionResult | None]

    def forecast_part(self, section: Section[Any]) -> Applicable | None:
        """The section's answer for the days within the horizon, where it was asked for them."""
        result = self.forecast_parts.get(section)
        return result.body if result and isinstance(result.body, Applicable) else None

    def bodies_of(self, section: Section[Any]) -> list[Applicable]:
        """What is applicable of a section, the forecast part first."""
        result = self.by_section[section]
        found = [self.forecast_part(section), result.body if result else None]
        return [body for body in found if isinstance(body, Applicable)]

    @property
    def bodies(self) -> list[Applicable]:
        """What is applicable of all sections."""
        return [body for section in self.by_section for body in self.bodies_of(section)]

    def cache_control(self, now: datetime) -> str:
        """The least freshness of all; a minute when anything is missing or lacks something."""
        known = [*self.by_section.values(), *self.forecast_parts.values()]
        parts = [one for one in known if one is not None]
        if None in self.by_section.values() or not all(one.complete for one in parts):
            return f"public, max-age={INCOMPLETE_MAX_AGE}"
        until = min((one.fresh_until for one in parts), default=now)
        left = max(0, int((until - now).total_seconds()))
        return f"public, max-age={left}, stale-while-revalidate=60, stale-if-error=3600"


async def read(service: Service, query: Query, deadline: Deadline) -> SectionResults:
    """All sections, and the near part of a straddling stay."""
    near = _near_part(query, service.clock())
    split = [one for one in service.sections if near and one.section.splits_at_horizon]
    whole, parts = await asyncio.gather(
        read_all(service.sections, query, deadline), read_all(split, near or query, deadline)
    )
    return SectionResults(
        {one.section: whole[one.name] for one in service.sections},
        {one.section: parts[one.name] for one in split},
    )


def _near_part(query: Query, now: datetime) -> Query | None:
    """The query for the days within the horizon, when others lie beyond it."""
    stay, today = query.stay, query.point.today(now)
    if stay is None or stay.within_horizon(today) or stay.start > horizon(today):
        return None
    return replace(query, stay=Stay(stay.start, horizon(today)))
