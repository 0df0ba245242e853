"""The day strip of the weather card: each day, or each week of a long stay, as it is shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from location_context.localisation.formats import Formats
    from location_context.sections.weather.response import Day

LIKELY, DAYS_AT_MOST = 50, 35
_DROP_LEVELS = (20, 40, 65)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The one scale of all bars."""

    low: float
    high: float

    @classmethod
    def over(cls, days: Iterable[Day]) -> Self:
        values = [value for day in days for value in _temperatures(day) if value is not None]
        if not values:
            return cls(low=0.0, high=1.0)
        return cls(low=min(values) - 1, high=max(values) + 1)

    def share(self, value: float) -> float:
        """Where a value lies, in per cent of the scale."""
        return round(100 * (value - self.low) / (self.high - self.low), 1)

    def span(self, low: float, high: float) -> tuple[float, float]:
        """Where a bar begins and how long it is, in per cent."""
        begin = self.share(low)
        return begin, round(max(0.0, self.share(high) - begin), 1)


@dataclass(frozen=True, kw_only=True)
class DayView:
    """One day as it is shown; `bar` are the custom properties of its bars, empty when unknown."""

    number: int = 0
    first: date
    last: date
    weekday: str
    day: str
    icon: str
    high: str
    low: str
    chance: str
    drop: int
    likely: bool
    spread: bool
    bar: str
    spoken: str

    def at(self, number: int) -> Self:
        return replace(self, number=number)


def day_views(
    kind: str, days: Sequence[Day], scale: Scale, unit: str, words: Formats
) -> list[DayView]:
    """Each day, or each week when there are too many days."""
    if len(days) <= DAYS_AT_MOST:
        return [_view(kind, [day], scale, unit, words) for day in days]
    weeks = [days[n : n + 7] for n in range(0, len(days), 7)]
    return [_view(kind, week, scale, unit, words) for week in weeks]


def _view(kind: str, days: Sequence[Day], scale: Scale, unit: str, words: Formats) -> DayView:
    """One day, or the mean of several."""
    high, low = _mean(d.temperature_max for d in days), _mean(d.temperature_min for d in days)
    middle = _mean(d.temperature_mean for d in days)
    chance = _mean(d.precipitation_probability for d in days)
    tails = (
        _mean(d.temperature_min_p10 for d in days),
        _mean(d.temperature_max_p90 for d in days),
    )
    first, last = days[0].date, days[-1].date
    week = len(days) > 1
    if high is None and low is None:
        high = middle
    return DayView(
        first=first,
        last=last,
        weekday="" if week else words.weekday(first),
        day=words.span(first, last) if week else str(first.day),
        icon=_condition(days) or "unknown",
        high="" if high is None else words.temperature(high),
        low="" if low is None else words.temperature(low),
        chance=_rain(days, chance, unit, words),
        drop=sum((chance or 0) >= level for level in _DROP_LEVELS),
        likely=(chance or 0) >= LIKELY,
        spread=kind == "typical" and None not in tails,
        bar=_bar(scale, (low, high), tails if kind == "typical" else (None, None)),
        spoken=_spoken(days, (high, low), _rain(days, chance, unit, words), words),
    )


def _rain(days: Sequence[Day], chance: float | None, unit: str, words: Formats) -> str:
    """The chance of rain; the amount where only that is known."""
    amount = _mean(day.precipitation_sum for day in days)
    if chance is not None:
        return words.percent(chance)
    return "" if amount is None else words.measure(amount, unit, 0 if unit == "mm" else 2)


def _bar(
    scale: Scale,
    solid: tuple[float | None, float | None],
    pale: tuple[float | None, float | None],
) -> str:
    text = ""
    for (low, high), (begin, size) in ((solid, "ab"), (pale, "cd")):
        if low is not None and high is not None:
            start, length = scale.span(low, high)
            text += f"--{begin}:{start:g}%;--{size}:{length:g}%;"
    return text.rstrip(";")


def _spoken(
    days: Sequence[Day], values: tuple[float | None, float | None], rain: str, words: Formats
) -> str:
    """The day as one sentence."""
    high, low = ("" if value is None else words.temperature(value) for value in values)
    unknown = words.gettext("not known")
    facts = [days[0].summary] if len(days) == 1 and days[0].summary else []
    facts += [
        words.gettext("high {temperature}").format(temperature=high or unknown),
        words.gettext("low {temperature}").format(temperature=low or unknown),
    ]
    if rain and all(day.precipitation_probability is None for day in days):
        facts.append(words.gettext("rain {amount}").format(amount=rain))
    else:
        facts.append(words.gettext("chance of rain {percent}").format(percent=rain or unknown))
    when = words.date_long(days[0].date)
    if len(days) > 1:
        when = words.dates(days[0].date, days[-1].date)
    return words.gettext("{date}: {facts}.").format(date=when, facts=words.together(facts))


def _condition(days: Sequence[Day]) -> str | None:
    """The most frequent condition, the earliest of equals."""
    known = [day.condition for day in days if day.condition]
    return Counter(known).most_common(1)[0][0] if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _temperatures(day: Day) -> tuple[float | None, ...]:
    return (
        day.temperature_max,
        day.temperature_min,
        day.temperature_max_p90,
        day.temperature_min_p10,
    )
