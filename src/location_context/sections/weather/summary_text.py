"""The weather of a stay in words: the answer's sentence, the card's headline, lines for a terminal.

The answer's sentence stands alone: it names its years and its units, and comes from numbers in
metric units. The headline stands in a card that shows the years and the numbers beside it, and is
built from the days so that it is true of them. The word for the warmth follows the mean of the
highs, in °C; a day is wet when rain or snow is more likely than not, or, where no chance is known,
when at least 1 mm falls.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from babel.numbers import get_decimal_symbol, get_minus_sign_symbol

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Language
from location_context.sections.section import UNKNOWN, TextTable
from location_context.sections.units import Measure
from location_context.sections.weather.response import Condition, Day, WeatherBody

_SNOWY = {"snow", "heavy_snow"}
WET_PERCENT, DRY_PERCENT = 50, 30  # a day is wet from, all are dry under
MAX_DATES_NAMED = 2
_TERMINAL = {  # the columns of the terminal's table by field: heading and kind of unit
    "temperature_max": ("max", "temperature"),
    "temperature_min": ("min", "temperature"),
    "temperature_mean": ("mean", "temperature"),
    "precipitation_sum": ("rain", "precipitation"),
    "precipitation_probability": ("chance", "probability"),
    "wind_speed_max": ("wind", "wind_speed"),
}


class SummaryText:
    """Writes the answer's sentence in a language and a system of units; numbers come metric."""

    def __init__(self, language: Language, measure: Measure) -> None:
        self._language = language
        self._measure = measure

    def daily(self, high: float, low: float, wet: float, days: int, years: Sequence[int]) -> str:
        """Of a forecast; or of what is typical, where it says which years, and how many."""
        gettext = self._language.gettext
        if not math.isfinite(high + low):
            little = gettext("Little is known of these dates yet.")
            return gettext("Little is known of these dates.") if years else little
        if not math.isfinite(wet):
            forecast = gettext("Highs around {high}, lows around {low}.")
            typical = gettext(
                "Typical of {first}–{last} ({count} years): highs around {high}, lows around {low}."
            )
        elif days == 1:
            forecast = gettext("A high of {high} and a low of {low}, {chance} chance of rain.")
            typical = gettext(
                "Typical of {first}–{last} ({count} years): a high of {high} and a low of {low}, "
                "{chance} chance of rain."
            )
        elif wet < 0.5:
            forecast = gettext("Highs around {high}, lows around {low}, mostly dry.")
            typical = gettext(
                "Typical of {first}–{last} ({count} years): highs around {high}, "
                "lows around {low}, mostly dry."
            )
        else:
            forecast = gettext(
                "Highs around {high}, lows around {low}, rain on about {wet} of {days} days."
            )
            typical = gettext(
                "Typical of {first}–{last} ({count} years): highs around {high}, "
                "lows around {low}, rain on about {wet} of {days} days."
            )
        known = math.isfinite(wet)
        numbers = {
            "high": self._degrees(high),
            "low": self._degrees(low),
            "wet": self._number(wet) if known else "",
            "days": self._number(days),
            "chance": f"{self._number(100 * wet)} %" if known else "",
        }
        if not years:
            return forecast.format(**numbers)
        count = self._number(len(years))
        return typical.format(**numbers, first=years[0], last=years[-1], count=count)

    def departure(self, kelvin: float, days: int) -> str:
        """How much warmer or cooler than usual; nothing where that rounds to no degree."""
        degrees = abs(self._measure.temperature_difference(kelvin) or 0.0)
        if round(degrees) == 0:
            return ""
        difference = f"{self._number(degrees)} {self._measure.body.temperature}"
        return departure_text(self._language, difference, days, warmer=kelvin > 0)

    def join(self, *sentences: str) -> str:
        return self._language.word_separator.join(one for one in sentences if one)

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

    def _degrees(self, celsius: float) -> str:
        value = self._measure.temperature(celsius)
        return f"{self._number(value or 0.0)} {self._measure.body.temperature}"

    def _number(self, value: float, digits: int = 0) -> str:
        """Small numbers need no grouping: CLDR's signs are enough, and far quicker."""
        locale = self._language.locale
        text = f"{round(value, digits) + 0.0:.{digits}f}"
        text = text.replace(".", get_decimal_symbol(locale))
        return text.replace("-", get_minus_sign_symbol(locale))


def departure_text(language: Language, difference: str, days: int, *, warmer: bool) -> str:
    """How much warmer or cooler than usual a stay is."""
    text = language.ngettext(
        "About {difference} cooler than usual for this date.",
        "About {difference} cooler than usual for these dates.",
        days,
    )
    if warmer:
        text = language.ngettext(
            "About {difference} warmer than usual for this date.",
            "About {difference} warmer than usual for these dates.",
            days,
        )
    return text.format(difference=difference)


def forecast_headline(body: WeatherBody, fmt: Formatter) -> str:
    """How warm by day, and on which days it rains, without an end mark of its own clause."""
    highs = [day.temperature_max for day in body.days if day.temperature_max is not None]
    if not highs:
        return fmt.gettext("Little is known of these dates yet.")
    temperature = fmt.gettext("{warm}, {range} by day").format(
        warm=warmth(sum(highs) / len(highs), body, fmt),
        range=fmt.temperatures(min(highs), max(highs)),
    )
    return _join(temperature, _wet_days(body.days, fmt), fmt)


def typical_headline(body: WeatherBody, fmt: Formatter) -> str:
    """What is typical by day, at night, and of rain."""
    high, low = body.summary.temperature_max_mean, body.summary.temperature_min_mean
    if body.basis.kind == "monthly_mean" or high is None or low is None:
        return _monthly_headline(body, fmt)
    temperature = fmt.gettext("Typically {warm}, {high} by day and {low} at night").format(
        warm=warmth(high, body, fmt, lower=True),
        high=fmt.temperature(high),
        low=fmt.temperature(low),
    )
    return _join(temperature, _expected(body, fmt), fmt)


def _monthly_headline(body: WeatherBody, fmt: Formatter) -> str:
    middle = mean(day.temperature_mean for day in body.days)
    if middle is None:
        return fmt.gettext("Little is known of these dates.")
    text = fmt.gettext("About {temperature} on average, day and night, at this time of year.")
    return text.format(temperature=fmt.temperature(middle))


def _join(temperature: str, rain: str, fmt: Formatter) -> str:
    if not rain:
        return fmt.gettext("{sentence}.").format(sentence=temperature)
    return fmt.gettext("{first}; {second}.").format(first=temperature, second=rain)


def warmth(high: float, body: WeatherBody, fmt: Formatter, *, lower: bool = False) -> str:
    """A word for the mean of the highs."""
    celsius = (high - 32) / 1.8 if body.units.temperature == "°F" else high
    steps = (
        (-10, fmt.gettext("Bitterly cold"), fmt.gettext("bitterly cold")),
        (1, fmt.gettext("Freezing"), fmt.gettext("freezing")),
        (8, fmt.gettext("Cold"), fmt.gettext("cold")),
        (15, fmt.gettext("Cool"), fmt.gettext("cool")),
        (21, fmt.gettext("Mild"), fmt.gettext("mild")),
        (27, fmt.gettext("Warm"), fmt.gettext("warm")),
        (34, fmt.gettext("Hot"), fmt.gettext("hot")),
        (99, fmt.gettext("Very hot"), fmt.gettext("very hot")),
    )
    return next(pair[lower] for limit, *pair in steps if celsius < limit)


def _expected(body: WeatherBody, fmt: Formatter) -> str:
    """The wet days to expect, of all."""
    expected, days = body.summary.expected_wet_days, len(body.days)
    if expected is None:
        return ""
    if days == 1:
        chance = fmt.percent(100 * expected)
        return fmt.gettext("rain or snow in {percent} of years").format(percent=chance)
    if expected < 0.5:
        return fmt.gettext("rain is rare")
    count = round(expected)
    text = fmt.ngettext(
        "rain on about {count} of {days} days", "rain on about {count} of {days} days", count
    )
    if any(day.condition in _SNOWY for day in body.days):
        text = fmt.ngettext(
            "rain or snow on about {count} of {days} days",
            "rain or snow on about {count} of {days} days",
            count,
        )
    return text.format(count=fmt.number(count), days=days)


def _wet_days(days: Sequence[Day], fmt: Formatter) -> str:
    """What falls and when: on every day, on so many, or on one or two that are named."""
    wet = [day for day in days if _is_wet(day)]
    if not wet:
        return _dry(days, fmt)
    what = int(any(day.condition in _SNOWY or day.condition == "sleet" for day in wet))
    what += all(day.condition in _SNOWY for day in wet)  # 0: rain, 1: both, 2: snow
    if len(wet) == len(days) > 1:
        every = (
            fmt.gettext("rain every day"),
            fmt.gettext("rain or snow every day"),
            fmt.gettext("snow every day"),
        )
        return every[what]
    if len(wet) > MAX_DATES_NAMED:
        counted = (
            fmt.gettext("rain on {count} of {days} days"),
            fmt.gettext("rain or snow on {count} of {days} days"),
            fmt.gettext("snow on {count} of {days} days"),
        )
        return counted[what].format(count=len(wet), days=len(days))
    named = (
        fmt.gettext("rain on {dates}"),
        fmt.gettext("rain or snow on {dates}"),
        fmt.gettext("snow on {dates}"),
    )
    return named[what].format(dates=fmt.join_list([fmt.day(day.date) for day in wet]))


def _dry(days: Iterable[Day], fmt: Formatter) -> str:
    """Dry only where every day's chance is known."""
    chances = [day.precipitation_probability for day in days]
    known = [chance for chance in chances if chance is not None]
    if len(known) < len(chances) or not known:
        return ""
    if max(known) < DRY_PERCENT:
        return fmt.gettext("dry throughout")
    return fmt.gettext("mostly dry")


def _is_wet(day: Day) -> bool:
    if day.precipitation_probability is not None:
        return day.precipitation_probability >= WET_PERCENT
    return (day.precipitation_sum or 0) >= 1


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def terminal_lines(body: WeatherBody) -> Iterator[str | TextTable]:
    """As `location-context read` prints it: the source, the summary, and a line for each day."""
    basis = body.basis
    years = f", {basis.years[0]} to {basis.years[-1]}" if basis.years else ""
    model = f" {basis.model}" if basis.model else ""
    yield f"{body.mode} ({basis.provider}{model}{years})"
    yield body.summary.text
    headings = [f"{heading} {getattr(body.units, unit)}" for heading, unit in _TERMINAL.values()]
    rows = []
    for day in body.days:
        values = [getattr(day, name) for name in _TERMINAL]
        numbers = [UNKNOWN if value is None else f"{value:g}" for value in values]
        rows.append([str(day.date), day.summary or "", *numbers])
    yield TextTable(columns=("date", "", *headings), rows=rows)


def condition_text(condition: Condition, language: Language) -> str:
    """The condition in words."""
    gettext = language.gettext
    return {
        "clear": gettext("Clear"),
        "partly_cloudy": gettext("Partly cloudy"),
        "cloudy": gettext("Cloudy"),
        "fog": gettext("Fog"),
        "drizzle": gettext("Drizzle"),
        "rain": gettext("Rain"),
        "heavy_rain": gettext("Heavy rain"),
        "sleet": gettext("Sleet"),
        "snow": gettext("Snow"),
        "heavy_snow": gettext("Heavy snow"),
        "thunderstorm": gettext("Thunderstorm"),
    }[condition]
