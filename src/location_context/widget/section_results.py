"""Section results: every section for a widget, read concurrently under one deadline.

For a stay that crosses the forecast horizon, weather is read twice: for the whole stay and for the
part within the horizon, so that the first days can be shown as a forecast.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from location_context.sections.contract import Applicable, Query, SectionResult
from location_context.service import Service, read_all
from location_context.stay import Stay, horizon
from location_context.upstream.deadline import Deadline

FORECASTING = "weather"
INCOMPLETE_MAX_AGE = 60


@dataclass(frozen=True)
class SectionResults:
    """Results by section, None for a section without an answer.

    `forecast_part` is the weather of the days within the horizon when the stay crosses it.
    """

    by_section: Mapping[str, SectionResult | None]
    forecast_part_result: SectionResult | None

    @property
    def forecast_part(self) -> Applicable | None:
        body = self.forecast_part_result.body if self.forecast_part_result else None
        return body if isinstance(body, Applicable) else None

    @property
    def bodies(self) -> list[Applicable]:
        """What is applicable, the near part of the weather first."""
        found = [reading.body for reading in self.by_section.values() if reading]
        near = [self.forecast_part] if self.forecast_part else []
        return near + [body for body in found if isinstance(body, Applicable)]

    def cache_control(self, now: datetime) -> str:
        """The least freshness of all; a minute when anything is missing or lacks something."""
        known: Iterable[SectionResult | None] = [*self.by_section.values()]
        parts = [one for one in [*known, self.forecast_part_result] if one is not None]
        if None in self.by_section.values() or not all(one.complete for one in parts):
            return f"public, max-age={INCOMPLETE_MAX_AGE}"
        until = min((one.fresh_until for one in parts), default=now)
        left = max(0, int((until - now).total_seconds()))
        return f"public, max-age={left}, stale-while-revalidate=60, stale-if-error=3600"


async def read(service: Service, query: Query, deadline: Deadline) -> SectionResults:
    """All sections, and the near part of a straddling stay."""
    near = _near_part(query, service.clock())
    if near is None:
        return SectionResults(await read_all(service.sections, query, deadline), None)
    forecasting = [one for one in service.sections if one.name == FORECASTING]
    readings, part = await asyncio.gather(
        read_all(service.sections, query, deadline), read_all(forecasting, near, deadline)
    )
    return SectionResults(readings, part.get(FORECASTING))


def _near_part(query: Query, now: datetime) -> Query | None:
    """The query for the days within the horizon, when others lie beyond it."""
    stay, today = query.stay, query.point.today(now)
    if stay is None or stay.within_horizon(today) or stay.start > horizon(today):
        return None
    return replace(query, stay=Stay(stay.start, horizon(today)))
