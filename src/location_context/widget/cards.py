"""Cards: the part that each section has in the page, in display order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from location_context.localisation.formats import Formats
from location_context.sections.contract import Applicable
from location_context.sections.section import Card, CardContext, Section
from location_context.widget.section_results import SectionResults


@dataclass(frozen=True)
class CardView:
    """A card with its section's name."""

    name: str
    card: Card


def rows(results: SectionResults, words: Formats, now: datetime) -> list[list[CardView]]:
    """The cards by row; those of half the width stand side by side at the end."""
    whole, half = list[list[CardView]](), list[CardView]()
    for section, result in results.by_section.items():
        forecast_part = results.forecast_part(section)
        body = result.body if result else forecast_part
        if not isinstance(body, Applicable):
            continue
        context = CardContext(fmt=words, now=now, forecast_part=forecast_part)
        if card := _card(section, body, context):
            view = CardView(section.name, card)
            half.append(view) if section.half_width else whole.append([view])
    return [*whole, half] if half else whole


def page_data(results: SectionResults) -> dict[str, str]:
    """The `data-` attributes of the page, from every section."""
    found = dict[str, str]()
    for section in results.by_section:
        found |= section.page_data(results.bodies_of(section))
    return found


def _card(section: Section[Any], body: Applicable, context: CardContext) -> Card | None:
    """The section's card; None when it has none or it breaks, so that the others still show."""
    try:
        return section.card(body, context)
    except Exception:  # noqa: BLE001  one broken card must not blank the guest's page
        structlog.get_logger().exception("card_failed", section=section.name)
        return None
