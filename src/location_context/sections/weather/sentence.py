"""The stay in one plain sentence, built from numbers and translatable as a whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from babel.numbers import get_decimal_symbol, get_minus_sign_symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.localisation.language import Language
    from location_context.sections.units import Measure


class Sentence:
    """Writes the sentence in a language and a system of units; numbers come in metric units."""

    def __init__(self, language: Language, measure: Measure) -> None:
        self._language = language
        self._measure = measure

    def forecast(self, high: float, low: float, wet: float, days: int) -> str:
        gettext = self._language.gettext
        if not math.isfinite(high + low):
            return gettext("Little is known of these dates yet.")
        if not math.isfinite(wet):
            text = gettext("Highs around {high}, lows around {low}.")
        elif days == 1:
            text = gettext("A high of {high} and a low of {low}, {chance} chance of rain.")
        elif wet < 0.5:
            text = gettext("Highs around {high}, lows around {low}, mostly dry.")
        else:
            text = gettext(
                "Highs around {high}, lows around {low}, rain on about {wet} of {days} days."
            )
        return text.format(**self._numbers(high, low, wet, days))

    def climatology(
        self, high: float, low: float, wet: float, days: int, *, years: Sequence[int]
    ) -> str:
        """What is typical; says which years, and how many."""
        gettext = self._language.gettext
        if not math.isfinite(high + low):
            return gettext("Little is known of these dates.")
        if not math.isfinite(wet):
            text = gettext(
                "Typical of {first}–{last} ({count} years): highs around {high}, lows around {low}."
            )
        elif days == 1:
            text = gettext(
                "Typical of {first}–{last} ({count} years): a high of {high} and a low of {low}, "
                "{chance} chance of rain."
            )
        elif wet < 0.5:
            text = gettext(
                "Typical of {first}–{last} ({count} years): highs around {high}, "
                "lows around {low}, mostly dry."
            )
        else:
            text = gettext(
                "Typical of {first}–{last} ({count} years): highs around {high}, "
                "lows around {low}, rain on about {wet} of {days} days."
            )
        numbers = self._numbers(high, low, wet, days)
        count = self._number(len(years))
        return text.format(**numbers, first=years[0], last=years[-1], count=count)

    def monthly_mean(self, mean: float, rain: float, days: int) -> str:
        text = self._language.ngettext(
            "Monthly average: around {mean}, with about {rain} of precipitation on {days} day.",
            "Monthly average: around {mean}, with about {rain} of precipitation over {days} days.",
            days,
        )
        measure = self._measure
        amount = measure.precipitation(rain) or 0.0
        digits = 0 if measure.system == "metric" else 1
        shown = f"{self._number(amount, digits)} {measure.body.precipitation}"
        return text.format(mean=self._degrees(mean), rain=shown, days=self._number(days))

    def _numbers(self, high: float, low: float, wet: float, days: int) -> dict[str, str]:
        known = math.isfinite(wet)
        return {
            "high": self._degrees(high),
            "low": self._degrees(low),
            "wet": self._number(wet) if known else "",
            "days": self._number(days),
            "chance": f"{self._number(100 * wet)} %" if known else "",
        }

    def _degrees(self, celsius: float) -> str:
        value = self._measure.temperature(celsius)
        return f"{self._number(value or 0.0)} {self._measure.body.temperature}"

    def _number(self, value: float, digits: int = 0) -> str:
        """Small numbers need no grouping: CLDR's signs are enough, and far quicker."""
        locale = self._language.locale
        text = f"{round(value, digits) + 0.0:.{digits}f}"
        text = text.replace(".", get_decimal_symbol(locale))
        return text.replace("-", get_minus_sign_symbol(locale))
