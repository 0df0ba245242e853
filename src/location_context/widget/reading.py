"""Reading: every section for a widget, side by side under one deadline.

Of a stay that reaches over the forecast's horizon weather is asked twice, for the whole and for
the near part, so that its first days can be shown as a forecast.
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
LESS_THAN_WHOLE = 60


@dataclass(frozen=True)
class Read:
    """Readings by section, None for one that held nothing; `near` is the forecast's part."""

    readings: Mapping[str, SectionResult | None]
    near_reading: SectionResult | None

    @property
    def near(self) -> Applicable | None:
        body = self.near_reading.body if self.near_reading else None
        return body if isinstance(body, Applicable) else None

    @property
    def bodies(self) -> list[Applicable]:
        """What is applicable, the near part of the weather first."""
        found = [reading.body for reading in self.readings.values() if reading]
        near = [self.near] if self.near else []
        return near + [body for body in found if isinstance(body, Applicable)]

    def cache_control(self, now: datetime) -> str:
        """The least freshness of all; a minute when anything is missing or lacks something."""
        known: Iterable[SectionResult | None] = [*self.readings.values()]
        parts = [one for one in [*known, self.near_reading] if one is not None]
        if None in self.readings.values() or not all(one.complete for one in parts):
            return f"public, max-age={LESS_THAN_WHOLE}"
        until = min((one.fresh_until for one in parts), default=now)
        left = max(0, int((until - now).total_seconds()))
        return f"public, max-age={left}, stale-while-revalidate=60, stale-if-error=3600"


async def read(service: Service, query: Query, deadline: Deadline) -> Read:
    """All sections, and the near part of a straddling stay."""
    near = _near_part(query, service.clock())
    if near is None:
        return Read(await read_all(service.sections, query, deadline), None)
    forecasting = [one for one in service.sections if one.name == FORECASTING]
    readings, part = await asyncio.gather(
        read_all(service.sections, query, deadline), read_all(forecasting, near, deadline)
    )
    return Read(readings, part.get(FORECASTING))


def _near_part(query: Query, now: datetime) -> Query | None:
    """The query for the days within the horizon, when others lie beyond it."""
    stay, today = query.stay, query.point.today(now)
    if stay is None or stay.within_horizon(today) or stay.start > horizon(today):
        return None
    return replace(query, stay=Stay(stay.start, horizon(today)))
