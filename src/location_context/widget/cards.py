"""Cards: every section read concurrently under one deadline, and its part of the page.

For a stay that crosses the forecast horizon, sections that split there (weather) are read twice:
for the whole stay and for the days within the horizon, which can be shown as a forecast.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog

from location_context.localisation.formatter import Formatter
from location_context.sections.contract import Applicable, Query, SectionResult
from location_context.sections.section import Card, CardContext, Section
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
        """The section's answer for the days within the horizon, if it was read for them."""
        result = self.forecast_parts.get(section)
        return result.body if result and isinstance(result.body, Applicable) else None

    def bodies_of(self, section: Section[Any]) -> list[Applicable]:
        """The section's applicable answers, the forecast part first."""
        result = self.by_section[section]
        bodies = [self.forecast_part(section), result.body if result else None]
        return [body for body in bodies if isinstance(body, Applicable)]

    @property
    def bodies(self) -> list[Applicable]:
        """The applicable answers of all sections."""
        return [body for section in self.by_section for body in self.bodies_of(section)]

    def cache_control(self, now: datetime) -> str:
        """As long as every result is fresh; a minute if one is missing or incomplete."""
        results = [r for r in (*self.by_section.values(), *self.forecast_parts.values()) if r]
        if None in self.by_section.values() or not all(result.complete for result in results):
            return f"public, max-age={INCOMPLETE_MAX_AGE}"
        fresh_until = min((result.fresh_until for result in results), default=now)
        max_age = max(0, int((fresh_until - now).total_seconds()))
        return f"public, max-age={max_age}, stale-while-revalidate=60, stale-if-error=3600"


async def read(service: Service, query: Query, deadline: Deadline) -> SectionResults:
    """All sections, and the forecast part of a stay that crosses the horizon."""
    part_query = _forecast_part_query(query, service.clock())
    split = [s for s in service.sections if part_query and s.section.splits_at_horizon]
    whole, parts = await asyncio.gather(
        read_all(service.sections, query, deadline), read_all(split, part_query or query, deadline)
    )
    return SectionResults(
        {cached.section: whole[cached.name] for cached in service.sections},
        {cached.section: parts[cached.name] for cached in split},
    )


def _forecast_part_query(query: Query, now: datetime) -> Query | None:
    """The query for the days within the horizon if other days of the stay lie beyond it."""
    stay, today = query.stay, query.point.today(now)
    if stay is None or stay.within_horizon(today) or stay.start > horizon(today):
        return None
    return replace(query, stay=Stay(stay.start, horizon(today)))


@dataclass(frozen=True)
class CardView:
    """A card with its section's name."""

    name: str
    card: Card


def rows(results: SectionResults, fmt: Formatter, now: datetime) -> list[list[CardView]]:
    """The cards by row; those of half the width are side by side at the end."""
    whole, half = list[list[CardView]](), list[CardView]()
    for section, result in results.by_section.items():
        forecast_part = results.forecast_part(section)
        body = result.body if result else forecast_part
        if not isinstance(body, Applicable):
            continue
        context = CardContext(fmt=fmt, now=now, forecast_part=forecast_part)
        if card := _card(section, body, context):
            view = CardView(section.name, card)
            half.append(view) if section.half_width else whole.append([view])
    return [*whole, half] if half else whole


def page_data(results: SectionResults) -> dict[str, str]:
    """The `data-` attributes of the page, from every section."""
    attributes = dict[str, str]()
    for section in results.by_section:
        attributes |= section.page_data(results.bodies_of(section))
    return attributes


def _card(section: Section[Any], body: Applicable, context: CardContext) -> Card | None:
    """The section's card; None if it has none or fails, so that the others are still shown."""
    try:
        return section.card(body, context)
    except Exception:  # noqa: BLE001  one broken card must not blank the guest's page
        structlog.get_logger().exception("card_failed", section=section.name)
        return None
