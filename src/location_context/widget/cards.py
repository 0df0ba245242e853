"""Cards: which view model and template show each section, in display order.

A card is named after its section; a new section adds its line here and its `card.py` and
`card.html` in its folder `card`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from location_context.localisation.formats import Formats
from location_context.sections.astronomy.card import card as astronomy
from location_context.sections.astronomy.response import AstronomyBody
from location_context.sections.contract import Applicable, foremost
from location_context.sections.events.card import card as events
from location_context.sections.events.response import EventsBody
from location_context.sections.guide.card import card as guide
from location_context.sections.guide.response import GuideBody
from location_context.sections.weather.card import card as weather
from location_context.sections.weather.response import WeatherBody
from location_context.widget.section_results import FORECASTING, SectionResults

SIDE_BY_SIDE = {"guide", "events"}


@dataclass(frozen=True)
class CardView:
    """A card with its section's name and its template."""

    name: str
    card: Any

    @property
    def template(self) -> str:
        return f"sections/{self.name}/card/card.html"


def rows(results: SectionResults, words: Formats, now: datetime) -> list[list[CardView]]:
    """The cards by row: restaurants and events stand side by side when both are there."""
    found = []
    for name, reading in results.by_section.items():
        body = reading.body if reading else results.forecast_part if name == FORECASTING else None
        if isinstance(body, Applicable):
            card = _shown(name, body, results.forecast_part, words, now)
            found += [CardView(name, card)] if card else []
    return _paired(found)


def weather_shown(results: SectionResults) -> dict[str, str]:
    """Which weather the page shows: its kinds in their order, and why it is less than was due."""
    parts = [body for body in results.bodies if isinstance(body, WeatherBody)]
    shown = parts if parts and parts[0].mode == "forecast" else parts[-1:]
    kinds = dict.fromkeys(body.basis.kind for body in shown)
    reason = foremost(body.degraded_reason for body in parts)
    return {"weather": "_".join(kinds), "reason": reason or ""}


def _shown(
    name: str, body: Applicable, forecast_part: Applicable | None, words: Formats, now: datetime
) -> Any:
    """The section's card; None when it has none or it breaks, so that the others still show."""
    try:
        return _card(body, forecast_part, words, now)
    except Exception:  # noqa: BLE001  one broken card must not blank the guest's page
        structlog.get_logger().exception("card_failed", section=name)
        return None


def _card(body: Applicable, forecast_part: Applicable | None, words: Formats, now: datetime) -> Any:
    match body:
        case WeatherBody():
            return weather.card(
                body, forecast_part if isinstance(forecast_part, WeatherBody) else None, words, now
            )
        case AstronomyBody():
            return astronomy.card(body, words)
        case GuideBody():
            return guide.card(body, words)
        case EventsBody():
            return events.card(body, words)
    return None


def _paired(found: Sequence[CardView]) -> list[list[CardView]]:
    side = [one for one in found if one.name in SIDE_BY_SIDE]
    result = [[one] for one in found if one.name not in SIDE_BY_SIDE]
    return [*result, side] if side else result
