"""The sentence of the weather card, built from the days so that it is true of them.

The word for the warmth follows the mean of the highs, in °C; a day is wet when rain or snow is
more likely than not, or, where no chance is known, when at least 1 mm falls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from location_context.localisation.formats import Formats
    from location_context.sections.weather.response import Day, WeatherBody

_SNOWY = {"snow", "heavy_snow"}
_WET_FROM, _DRY_UNDER = 50, 30
_NAMED_AT_MOST = 2


def forecast(body: WeatherBody, words: Formats) -> str:
    """How warm by day, and on which days it rains, without an end mark of its own clause."""
    highs = [day.temperature_max for day in body.days if day.temperature_max is not None]
    if not highs:
        return words.gettext("Little is known of these dates yet.")
    temperature = words.gettext("{warm}, {range} by day").format(
        warm=warmth(sum(highs) / len(highs), body, words),
        range=words.temperatures(min(highs), max(highs)),
    )
    return _joined(temperature, _wet_days(body.days, words), words)


def typical(body: WeatherBody, words: Formats) -> str:
    """What is typical by day, at night, and of rain."""
    high, low = body.summary.temperature_max_mean, body.summary.temperature_min_mean
    if body.basis.kind == "monthly_mean" or high is None or low is None:
        return _monthly(body, words)
    temperature = words.gettext("Typically {warm}, {high} by day and {low} at night").format(
        warm=warmth(high, body, words, lower=True),
        high=words.temperature(high),
        low=words.temperature(low),
    )
    return _joined(temperature, _expected(body, words), words)


def _monthly(body: WeatherBody, words: Formats) -> str:
    means = [day.temperature_mean for day in body.days if day.temperature_mean is not None]
    if not means:
        return words.gettext("Little is known of these dates.")
    text = words.gettext("About {temperature} on average, day and night, at this time of year.")
    return text.format(temperature=words.temperature(sum(means) / len(means)))


def _joined(temperature: str, rain: str, words: Formats) -> str:
    if not rain:
        return words.gettext("{sentence}.").format(sentence=temperature)
    return words.gettext("{first}; {second}.").format(first=temperature, second=rain)


def warmth(high: float, body: WeatherBody, words: Formats, *, lower: bool = False) -> str:
    """A word for the mean of the highs."""
    celsius = (high - 32) / 1.8 if body.units.temperature == "°F" else high
    steps = (
        (-10, words.gettext("Bitterly cold"), words.gettext("bitterly cold")),
        (1, words.gettext("Freezing"), words.gettext("freezing")),
        (8, words.gettext("Cold"), words.gettext("cold")),
        (15, words.gettext("Cool"), words.gettext("cool")),
        (21, words.gettext("Mild"), words.gettext("mild")),
        (27, words.gettext("Warm"), words.gettext("warm")),
        (34, words.gettext("Hot"), words.gettext("hot")),
        (99, words.gettext("Very hot"), words.gettext("very hot")),
    )
    return next(pair[lower] for limit, *pair in steps if celsius < limit)


def _expected(body: WeatherBody, words: Formats) -> str:
    """The wet days to expect, of all."""
    expected, days = body.summary.expected_wet_days, len(body.days)
    if expected is None:
        return ""
    if days == 1:
        chance = words.percent(100 * expected)
        return words.gettext("rain or snow in {percent} of years").format(percent=chance)
    if expected < 0.5:
        return words.gettext("rain is rare")
    snowy = any(day.condition in _SNOWY for day in body.days)
    count = round(expected)
    text = words.ngettext(
        "rain on about {count} of {days} days", "rain on about {count} of {days} days", count
    )
    if snowy:
        text = words.ngettext(
            "rain or snow on about {count} of {days} days",
            "rain or snow on about {count} of {days} days",
            count,
        )
    return text.format(count=words.number(count), days=days)


def _wet_days(days: Sequence[Day], words: Formats) -> str:
    wet = [day for day in days if _is_wet(day)]
    if not wet:
        return _dry(days, words)
    if len(wet) == len(days) > 1:
        return _every_day(wet, words)
    if len(wet) > _NAMED_AT_MOST:
        return _counted(wet, len(days), words)
    dates = words.together([words.day(day.date) for day in wet])
    if _all_snow(wet):
        return words.gettext("snow on {dates}").format(dates=dates)
    if _any_snow(wet):
        return words.gettext("rain or snow on {dates}").format(dates=dates)
    return words.gettext("rain on {dates}").format(dates=dates)


def _counted(wet: Sequence[Day], days: int, words: Formats) -> str:
    text = words.gettext("rain on {count} of {days} days")
    if _all_snow(wet):
        text = words.gettext("snow on {count} of {days} days")
    elif _any_snow(wet):
        text = words.gettext("rain or snow on {count} of {days} days")
    return text.format(count=len(wet), days=days)


def _every_day(wet: Sequence[Day], words: Formats) -> str:
    if _all_snow(wet):
        return words.gettext("snow every day")
    if _any_snow(wet):
        return words.gettext("rain or snow every day")
    return words.gettext("rain every day")


def _dry(days: Iterable[Day], words: Formats) -> str:
    """Dry only where every day's chance is known."""
    chances = [day.precipitation_probability for day in days]
    known = [chance for chance in chances if chance is not None]
    if len(known) < len(chances) or not known:
        return ""
    if max(known) < _DRY_UNDER:
        return words.gettext("dry throughout")
    return words.gettext("mostly dry")


def _is_wet(day: Day) -> bool:
    if day.precipitation_probability is not None:
        return day.precipitation_probability >= _WET_FROM
    return (day.precipitation_sum or 0) >= 1


def _all_snow(days: Iterable[Day]) -> bool:
    return all(day.condition in _SNOWY for day in days)


def _any_snow(days: Iterable[Day]) -> bool:
    return any(day.condition in _SNOWY or day.condition == "sleet" for day in days)
