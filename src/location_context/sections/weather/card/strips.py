"""The strips of the weather card: its days (or the weeks of a long stay), and the ten years."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Self

from location_context.localisation.formatter import NO_BREAK, Formatter
from location_context.sections.contract import UnitsBody
from location_context.sections.weather.response import Day, WeatherBody, YearBody
from location_context.sections.weather.summary_text import mean

LIKELY_PERCENT = 50
MAX_DAYS = 35  # shown one by one; beyond, by weeks
MAX_DOTS = 16
_FIRM, _VAGUE = 4.0, 11.0  # kelvin from p10 to p90: of tomorrow's forecast, of a temperate climate
_PALEST = 0.9  # of the bar's inside; its outline keeps the full colour
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
    """One day as it is shown.

    Attributes:
        range: where its high lies 8 days in 10, in words; empty when unknown.
        bar: the custom properties of what is drawn, empty when unknown.
    """

    first: date
    last: date
    weekday: str
    day: str
    icon: str
    high: str
    range: str
    low: str
    chance: str
    drop: int
    likely: bool
    bar: str
    spoken: str


def day_views(days: Sequence[Day], scale: Scale, units: UnitsBody, fmt: Formatter) -> list[DayView]:
    """Each day, or each week when there are too many days."""
    length = 1 if len(days) <= MAX_DAYS else 7
    shown = [days[n : n + length] for n in range(0, len(days), length)]
    return [view(some, scale, units, fmt) for some in shown]


def view(days: Sequence[Day], scale: Scale, units: UnitsBody, fmt: Formatter) -> DayView:
    """One day, or the mean of several."""
    high, low = mean(d.temperature_max for d in days), mean(d.temperature_min for d in days)
    chance = mean(d.precipitation_probability for d in days)
    tenths = None if high is None else high_tenths(days)
    first, last = days[0].date, days[-1].date
    week = len(days) > 1
    if high is None and low is None:
        high = mean(d.temperature_mean for d in days)
    rain = _rain(days, chance, units.precipitation, fmt)
    span = fmt.temperatures_in_words(*tenths) if tenths else ""
    values = ["" if value is None else fmt.temperature(value) for value in (high, low)]
    return DayView(
        first=first,
        last=last,
        weekday="" if week else fmt.weekday(first),
        day=fmt.date_range(first, last) if week else str(first.day),
        icon=_condition(days) or "unknown",
        high=values[0],
        range=" ".join(span.rsplit(NO_BREAK, 1)),  # a narrow column breaks it once
        low=values[1],
        chance=rain,
        drop=sum((chance or 0) >= level for level in _DROP_LEVELS),
        likely=(chance or 0) >= LIKELY_PERCENT,
        bar=_bar(scale, (low, high), tenths, units),
        spoken=_spoken(days, values, span, rain, fmt),
    )


def high_tenths(days: Iterable[Day]) -> tuple[float, float] | None:
    """The mean p10 and p90 of the highs; None where they are not known."""
    known = [
        (day.temperature_max_p10, day.temperature_max_p90)
        for day in days
        if day.temperature_max_p10 is not None and day.temperature_max_p90 is not None
    ]
    if not known:
        return None
    lows, highs = zip(*known, strict=True)
    return sum(lows) / len(known), sum(highs) / len(known)


def _rain(days: Sequence[Day], chance: float | None, unit: str, fmt: Formatter) -> str:
    """The chance of rain; the amount where only that is known."""
    amount = mean(day.precipitation_sum for day in days)
    if chance is not None:
        return fmt.percent(chance)
    return "" if amount is None else fmt.measure(amount, unit, 0 if unit == "mm" else 2)


def _bar(
    scale: Scale,
    solid: tuple[float | None, float | None],
    tenths: tuple[float, float] | None,
    units: UnitsBody,
) -> str:
    """The bar from low to high; the dots of the high's range, and how pale it makes the bar."""
    low, high = solid
    if low is None or high is None:
        return ""
    start, length = scale.span(low, high)
    text = f"--a:{start:g}%;--b:{length:g}%"
    if tenths is None:
        return text
    start, length = scale.span(*tenths)
    return f"{text};--c:{start:g}%;--d:{length:g}%;--f:{_paleness(tenths, units):g}"


def _paleness(tenths: tuple[float, float], units: UnitsBody) -> float:
    """0 for a range that is as good as known, up to `_PALEST`."""
    kelvin = (tenths[1] - tenths[0]) / (1.8 if units.temperature == "°F" else 1)
    return round(min(1.0, max(0.0, (kelvin - _FIRM) / (_VAGUE - _FIRM))) * _PALEST, 2)


def _spoken(
    days: Sequence[Day], values: Sequence[str], span: str, rain: str, fmt: Formatter
) -> str:
    """The day as one sentence; `values` are its high and low."""
    high, low = (value or fmt.gettext("not known") for value in values)
    facts = [days[0].summary] if len(days) == 1 and days[0].summary else []
    if span:
        text = fmt.gettext("high {temperature} ({range}, 8 days in 10)")
        facts.append(text.format(temperature=high, range=span))
    else:
        facts.append(fmt.gettext("high {temperature}").format(temperature=high))
    facts.append(fmt.gettext("low {temperature}").format(temperature=low))
    if rain and all(day.precipitation_probability is None for day in days):
        facts.append(fmt.gettext("rain {amount}").format(amount=rain))
    else:
        chance = rain or fmt.gettext("not known")
        facts.append(fmt.gettext("chance of rain {percent}").format(percent=chance))
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
