"""The strips of the weather card: its days (or the weeks of a long stay), and the ten years."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Self

from location_context.localisation.formatter import Formatter
from location_context.sections.weather.response import Day, WeatherBody, YearBody
from location_context.sections.weather.summary_text import mean

LIKELY_PERCENT = 50
MAX_DAYS = 35  # shown one by one; beyond, by weeks
MAX_DOTS = 16
_DROP_LEVELS = (20, 40, 65)  # percent of chance for one, two and three drops


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The one scale of all bars."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float | None]) -> Self:
        known = [value for value in values if value is not None] or [0.5]
        return cls(low=min(known) - 1, high=max(known) + 1)

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


def day_views(
    kind: str, days: Sequence[Day], scale: Scale, unit: str, fmt: Formatter
) -> list[DayView]:
    """Each day, or each week when there are too many days."""
    length = 1 if len(days) <= MAX_DAYS else 7
    shown = [days[n : n + length] for n in range(0, len(days), length)]
    return [_view(kind, some, scale, unit, fmt) for some in shown]


def _view(kind: str, days: Sequence[Day], scale: Scale, unit: str, fmt: Formatter) -> DayView:
    """One day, or the mean of several."""
    high, low = mean(d.temperature_max for d in days), mean(d.temperature_min for d in days)
    chance = mean(d.precipitation_probability for d in days)
    tails = (
        mean(d.temperature_min_p10 for d in days),
        mean(d.temperature_max_p90 for d in days),
    )
    first, last = days[0].date, days[-1].date
    week = len(days) > 1
    if high is None and low is None:
        high = mean(d.temperature_mean for d in days)
    rain = _rain(days, chance, unit, fmt)
    return DayView(
        first=first,
        last=last,
        weekday="" if week else fmt.weekday(first),
        day=fmt.date_range(first, last) if week else str(first.day),
        icon=_condition(days) or "unknown",
        high="" if high is None else fmt.temperature(high),
        low="" if low is None else fmt.temperature(low),
        chance=rain,
        drop=sum((chance or 0) >= level for level in _DROP_LEVELS),
        likely=(chance or 0) >= LIKELY_PERCENT,
        spread=kind == "typical" and None not in tails,
        bar=_bar(scale, (low, high), tails if kind == "typical" else (None, None)),
        spoken=_spoken(days, (high, low), rain, fmt),
    )


def _rain(days: Sequence[Day], chance: float | None, unit: str, fmt: Formatter) -> str:
    """The chance of rain; the amount where only that is known."""
    amount = mean(day.precipitation_sum for day in days)
    if chance is not None:
        return fmt.percent(chance)
    return "" if amount is None else fmt.measure(amount, unit, 0 if unit == "mm" else 2)


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
    days: Sequence[Day], values: tuple[float | None, float | None], rain: str, fmt: Formatter
) -> str:
    """The day as one sentence."""
    high, low = ("" if value is None else fmt.temperature(value) for value in values)
    unknown = fmt.gettext("not known")
    facts = [days[0].summary] if len(days) == 1 and days[0].summary else []
    facts += [
        fmt.gettext("high {temperature}").format(temperature=high or unknown),
        fmt.gettext("low {temperature}").format(temperature=low or unknown),
    ]
    if rain and all(day.precipitation_probability is None for day in days):
        facts.append(fmt.gettext("rain {amount}").format(amount=rain))
    else:
        facts.append(fmt.gettext("chance of rain {percent}").format(percent=rain or unknown))
    when = fmt.date_long(days[0].date)
    if len(days) > 1:
        when = fmt.dates(days[0].date, days[-1].date)
    return fmt.gettext("{date}: {facts}.").format(date=when, facts=fmt.join_list(facts))


def _condition(days: Sequence[Day]) -> str | None:
    """The most frequent condition, the earliest of equals."""
    known = [day.condition for day in days if day.condition]
    return Counter(known).most_common(1)[0][0] if known else None


@dataclass(frozen=True, kw_only=True)
class YearView:
    """One year as it is shown."""

    year: str
    high: str
    dots: int
    wet: str
    spoken: str


@dataclass(frozen=True, kw_only=True)
class Years:
    """The strip, and one line on its extremes."""

    line: str
    years: Sequence[YearView]
    style: str


def years(body: WeatherBody, fmt: Formatter) -> Years | None:
    """The strip; None when there is no history."""
    known = [
        year
        for year in body.history
        if year.temperature_max_mean is not None and year.temperature_min_mean is not None
    ]
    if not known:
        return None
    lows = [year.temperature_min_mean or 0.0 for year in known]
    highs = [year.temperature_max_mean or 0.0 for year in known]
    scale = Scale.over([*lows, *highs])
    rules = []
    for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
        start, length = scale.span(low, high)
        rules.append(f"#y{number}{{--a:{start:g}%;--b:{length:g}%}}")
    views = [_year_view(year, high, fmt) for year, high in zip(known, highs, strict=True)]
    return Years(line=_extremes(known, highs, fmt), years=views, style="".join(rules))


def _year_view(year: YearBody, high: float, fmt: Formatter) -> YearView:
    facts = [fmt.gettext("average high {temperature}").format(temperature=fmt.temperature(high))]
    if year.wet_days is not None:
        text = fmt.ngettext("{count} wet day", "{count} wet days", year.wet_days)
        facts.append(text.format(count=year.wet_days))
    few = year.wet_days is not None and year.wet_days <= MAX_DOTS
    return YearView(
        year=str(year.year),
        high=fmt.temperature(high),
        dots=year.wet_days or 0 if few else 0,
        wet="" if few else ("–" if year.wet_days is None else str(year.wet_days)),
        spoken=fmt.gettext("{date}: {facts}.").format(date=year.year, facts=fmt.join_list(facts)),
    )


def _extremes(known: Sequence[YearBody], highs: Sequence[float], fmt: Formatter) -> str:
    """The coolest and the warmest year, each with its wet days."""
    cool, warm = (min(highs), max(highs))
    if round(cool) == round(warm):
        return fmt.gettext("Afternoons averaged {temperature} in each of them.").format(
            temperature=fmt.temperature(cool)
        )
    text = fmt.gettext("Afternoons averaged from {low} ({low_year}) to {high} ({high_year}).")
    return text.format(
        low=fmt.temperature(cool),
        low_year=known[highs.index(cool)].year,
        high=fmt.temperature(warm),
        high_year=known[highs.index(warm)].year,
    )
