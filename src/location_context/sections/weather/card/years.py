"""The ten years of the weather card: the same dates in each year, on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from location_context.sections.weather.card.days import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.localisation.formats import Formats
    from location_context.sections.weather.response import WeatherBody, YearBody

DOTS_AT_MOST = 16


@dataclass(frozen=True, kw_only=True)
class YearView:
    """One year as it is shown."""

    year: str
    short: str
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


def years(body: WeatherBody, words: Formats) -> Years | None:
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
    scale = Scale(low=min(lows) - 1, high=max(highs) + 1)
    rules = []
    for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
        start, length = scale.span(low, high)
        rules.append(f"#y{number}{{--a:{start:g}%;--b:{length:g}%}}")
    views = [_view(year, high, words) for year, high in zip(known, highs, strict=True)]
    return Years(line=_line(known, highs, words), years=views, style="".join(rules))


def _view(year: YearBody, high: float, words: Formats) -> YearView:
    facts = [
        words.gettext("average high {temperature}").format(temperature=words.temperature(high))
    ]
    if year.wet_days is not None:
        text = words.ngettext("{count} wet day", "{count} wet days", year.wet_days)
        facts.append(text.format(count=year.wet_days))
    few = year.wet_days is not None and year.wet_days <= DOTS_AT_MOST
    return YearView(
        year=str(year.year),
        short=f"{year.year % 100:02}",
        high=words.temperature(high),
        dots=year.wet_days or 0 if few else 0,
        wet="" if few else ("–" if year.wet_days is None else str(year.wet_days)),
        spoken=words.gettext("{date}: {facts}.").format(
            date=year.year, facts=words.together(facts)
        ),
    )


def _line(known: Sequence[YearBody], highs: Sequence[float], words: Formats) -> str:
    """The coolest and the warmest year, each with its wet days."""
    cool, warm = (min(highs), max(highs))
    if round(cool) == round(warm):
        return words.gettext("Afternoons averaged {temperature} in each of them.").format(
            temperature=words.temperature(cool)
        )
    text = words.gettext("Afternoons averaged from {low} ({low_year}) to {high} ({high_year}).")
    return text.format(
        low=words.temperature(cool),
        low_year=known[highs.index(cool)].year,
        high=words.temperature(warm),
        high_year=known[highs.index(warm)].year,
    )
