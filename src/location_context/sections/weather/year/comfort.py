"""The rule that decides whether a month is comfortable, and sentences on the result.

The highs of a comfortable month average 20 to 30 °C (exactly 68 to 86 °F), and at most 12 of its
days (two in five) are wet. If only mean temperatures are known, they must be 15 to 25 °C (59 to 77
°F), five kelvin below the limits for highs. At most 100 mm of rain may then fall in the month.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from location_context.localisation.formatter import EN_DASH, NO_BREAK, Formatter
from location_context.sections.units import Measure
from location_context.sections.weather.records import Columns, Floats

LONG_RUN = 3  # months, shown as the first and the last


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The limits of temperature and rain that make a month comfortable.

    Attributes:
        warmth: the name of the temperature's column.
        between: the lowest and the highest comfortable temperature in °C.
        rain: the name of the rain's column.
        at_most: the most rain, in the unit of that column (days or mm).
        weight: the excess over `at_most` that is as bad as a temperature 1 K outside `between`.
    """

    warmth: str
    between: tuple[float, float]
    rain: str
    at_most: float
    weight: float

    def distance(self, columns: Columns) -> Floats:
        """Return how far each month is from comfortable, in kelvin.

        The distance is 0 for a comfortable month, and NaN if unknown. An excess of rain is
        converted to kelvin.
        """
        warmth, rain = np.round(columns[self.warmth], 1), np.round(columns[self.rain], 1)
        off = np.maximum(self.between[0] - warmth, warmth - self.between[1])
        return np.maximum(off, 0) + np.maximum(rain - self.at_most, 0) / self.weight

    def text(self, measure: Measure, fmt: Formatter) -> str:
        """Return the rule of comfort as a sentence in the requested units."""
        low, high = (fmt.number(measure.temperature(limit) or 0) for limit in self.between)
        degrees = f"{low}{EN_DASH}{high}{NO_BREAK}{measure.body.temperature}"
        degrees = fmt.bidi_isolate(degrees)
        if self is BY_DAY:
            text = fmt.gettext(
                "Comfortable: average highs of {range} and at most {count} wet days a month."
            )
            return text.format(range=degrees, count=fmt.number(self.at_most))
        unit, amount = measure.body.precipitation, measure.precipitation(self.at_most) or 0
        text = fmt.gettext(
            "Comfortable: an average of {range}, day and night, and at most {amount} of rain or "
            "snow a month."
        )
        return text.format(range=degrees, amount=fmt.measure(amount, unit, int(unit != "mm")))


BY_DAY = Rule(warmth="temperature_max", between=(20, 30), rain="wet_days", at_most=12, weight=2)
BY_MEAN = Rule(
    warmth="temperature_mean", between=(15, 25), rain="precipitation_total", at_most=100, weight=20
)


def sentence(months: Collection[int], closest: int | None, fmt: Formatter) -> str:
    """Return a sentence that names the comfortable months.

    If there are none, it names `closest`, the month that comes closest. Months are 1 to 12.
    """
    if len(months) == 12:
        return fmt.gettext("Comfortable all year round.")
    if months:
        text = fmt.gettext("Most comfortable: {months}.")
        return text.format(months=fmt.join_list(in_words(months, fmt)))
    if closest is None:
        return fmt.gettext("It is not known which months are comfortable.")
    text = fmt.gettext("No month is comfortable by this rule; {month} comes closest.")
    return text.format(month=fmt.month_long(date(2027, closest, 1)))


def in_words(months: Collection[int], fmt: Formatter) -> list[str]:
    """Return the names of months (1 to 12).

    Three or more consecutive months become one text, such as `May to September`.
    """
    found = list[str]()
    for run in runs(months):
        names = [fmt.month_long(date(2027, month, 1)) for month in run]
        text = fmt.gettext("{first} to {last}")
        found += names if len(run) < LONG_RUN else [text.format(first=names[0], last=names[-1])]
    return found


def runs(months: Collection[int]) -> Sequence[Sequence[int]]:
    """Group months (1 to 12) into runs of consecutive months, ordered by first month.

    A run can cross the end of the year: January follows December.
    """
    found = list[list[int]]()
    for first in sorted(months):
        if (first - 2) % 12 + 1 not in months:
            found.append([first])
            while (after := found[-1][-1] % 12 + 1) in months:
                found[-1].append(after)
    return found
