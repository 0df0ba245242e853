"""The rain of a stay in a few words: the chance of the whole stay, and what to expect of its days.

One function for the page, the compact card and the picture. Each day has a chance p; D is the
product of all 1 − p, the chance of a dry stay, E the sum of p, the number of wet days to expect.
Days count as independent, which is on the careful side: wet days come in spells. Of the rules the
first that fits is said. Where snow falls on most of the wet days, the words are of snow.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from location_context.localisation.formatter import EN_DASH, Formatter
from location_context.sections.weather.response import Day

NEAR_LEAD = 3  # days ahead up to which "dry" needs no "very likely"
DRY, PROBABLY_DRY, MOSTLY_DRY = 0.90, 0.75, 0.40  # chances of a dry stay
LIKELY, OTHERS_DRY = 0.50, 0.60  # of one wet day, and that all others are dry
MOST_DAYS = 0.80  # mean chance of a day
ROW_DRY = 0.05  # chance up to which a row may say "dry"
_SNOWY = {"snow", "heavy_snow"}


@dataclass(frozen=True, kw_only=True)
class Rain:
    """What is said: the value, and a quiet caption below it."""

    value: str
    caption: str


@dataclass(frozen=True)
class _Chances:
    """The chances of the days whose chance is known, 0 to 1."""

    days: Sequence[Day]
    of: Sequence[float]

    @classmethod
    def among(cls, days: Sequence[Day]) -> "_Chances":
        known = [day for day in days if day.precipitation_probability is not None]
        return cls(known, [(day.precipitation_probability or 0.0) / 100 for day in known])

    @property
    def dry(self) -> float:
        return math.prod(1 - p for p in self.of)

    @property
    def wet_days(self) -> float:
        return sum(self.of)

    @property
    def wettest(self) -> Day:
        return max(zip(self.of, self.days, strict=True), key=lambda one: one[0])[1]

    @property
    def snowy(self) -> bool:
        """Whether snow falls on most of the days that are rather wet."""
        wet = [day for day, p in zip(self.days, self.of, strict=True) if p >= LIKELY]
        snow = [day for day in wet if day.condition in _SNOWY]
        return bool(wet) and 2 * len(snow) > len(wet)


def rain(days: Sequence[Day], today: date, fmt: Formatter) -> Rain | None:
    """The rain of days that are forecast, or partly so; None where no chance is known."""
    chances = _Chances.among(days)
    if not chances.of:
        return None
    over = fmt.gettext("{percent} chance of rain over the stay")
    if chances.snowy:
        over = fmt.gettext("{percent} chance of snow over the stay")
    percent = fmt.percent(100 * (1 - chances.dry))
    if value := _dry(chances, today, fmt) or _one_day(chances, fmt):
        return Rain(value=value, caption=over.format(percent=percent))
    wet, snowy = chances.wet_days, chances.snowy
    if chances.dry >= MOSTLY_DRY and wet < 1:
        return Rain(value=fmt.gettext("Mostly dry"), caption=fmt.gettext("perhaps one wet day"))
    value = _counted(wet, len(chances.of), snowy=snowy, fmt=fmt)
    if wet / len(chances.of) >= MOST_DAYS:
        value = fmt.gettext("Snow most days") if snowy else fmt.gettext("Rain most days")
    worst = fmt.gettext("most likely on {date}")
    return Rain(value=value, caption=worst.format(date=fmt.day(chances.wettest.date)))


def _dry(chances: _Chances, today: date, fmt: Formatter) -> str:
    if chances.dry >= DRY:
        if (chances.days[-1].date - today).days <= NEAR_LEAD:
            return fmt.gettext("Dry")
        return fmt.gettext("Very likely dry")
    return fmt.gettext("Probably dry") if chances.dry >= PROBABLY_DRY else ""


def _one_day(chances: _Chances, fmt: Formatter) -> str:
    """The one day on which it is likely, where the others are rather dry."""
    wettest = chances.wettest
    others = math.prod(
        1 - p for day, p in zip(chances.days, chances.of, strict=True) if day is not wettest
    )
    if max(chances.of) < LIKELY or others < OTHERS_DRY:
        return ""
    text = fmt.gettext("Snow on {date}") if chances.snowy else fmt.gettext("Rain on {date}")
    return text.format(date=fmt.day(wettest.date))


def _counted(wet: float, count: int, *, snowy: bool, fmt: Formatter) -> str:
    """How many of the days are wet, as a range where either number is as good."""
    whole = math.floor(wet)
    if 0.25 <= wet - whole <= 0.75 and whole >= 1:
        high = min(count, whole + 1)
        number = f"{fmt.number(whole)}{EN_DASH}{fmt.number(high)}"
    else:
        high = max(1, round(wet))
        number = fmt.number(high)
    text = fmt.ngettext("{number} wet day of {count}", "{number} wet days of {count}", high)
    if snowy:
        text = fmt.ngettext("{number} snowy day of {count}", "{number} snowy days of {count}", high)
    return text.format(number=number, count=fmt.number(count))


def usual_rain(days: Sequence[Day], fmt: Formatter) -> Rain | None:
    """The rain of typical days, by wet days in ten; None where no chance is known."""
    chances = _Chances.among(days)
    if not chances.of:
        return None
    count = len(chances.of)
    tenths, wet = round(10 * chances.wet_days / count), round(chances.wet_days)
    text = fmt.ngettext("{count} wet day in 10", "{count} wet days in 10", tenths)
    value = text.format(count=fmt.number(tenths))
    if not tenths:
        value = fmt.gettext("Hardly ever wet")
    mine = fmt.gettext("about {wet} of your {count}")
    return Rain(
        value=value,
        caption=mine.format(wet=fmt.number(wet), count=fmt.number(count))
        if count > 1
        else fmt.gettext("at this time of year"),
    )


def dry_rows(days: Sequence[Day]) -> frozenset[date]:
    """The days whose row may say "dry": each almost surely, and probably all of them."""
    chances = _Chances.among(days)
    dry = [(p, day.date) for day, p in zip(chances.days, chances.of, strict=True) if p <= ROW_DRY]
    if math.prod(1 - p for p, _ in dry) < PROBABLY_DRY:
        return frozenset()
    return frozenset(day for _, day in dry)
