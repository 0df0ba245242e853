"""The weather of a stay in words: sentences for the answer, and lines for a terminal.

A word such as "Mild" is chosen by the mean of the highs; `rain.py` makes the words for the rain.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from location_context.localisation.formatter import NO_BREAK, Formatter
from location_context.localisation.language import Language
from location_context.sections.section import UNKNOWN, TextTable
from location_context.sections.units import celsius
from location_context.sections.weather.estimate import unusual
from location_context.sections.weather.rain import rain, usual_rain
from location_context.sections.weather.response import Condition, Day, WeatherBody

ALL_YEARS = 10
_TERMINAL = {  # the columns of the table for a terminal: heading and kind of unit by field
    "temperature_max": ("max", "temperature"),
    "temperature_min": ("min", "temperature"),
    "temperature_mean": ("mean", "temperature"),
    "precipitation_sum": ("rain", "precipitation"),
    "precipitation_probability": ("chance", "probability"),
    "wind_speed_max": ("wind", "wind_speed"),
}


def stay_text(body: WeatherBody, today: date, fmt: Formatter) -> str:
    """Return sentences on how warm and how wet the days from today on are.

    Another sentence follows if a forecast is unusually warm or cool, or if typical values come from
    few years.
    """
    if body.mode == "forecast":
        said = rain(body.days, today, body.units, fmt)
        departure = "" if body.stay.start < today else _departure(body, fmt)
    else:
        said = usual_rain(body.days, today, body.units, fmt)
        departure = _few_years(body, fmt)
    wetness = said.sentence(fmt) if said else ""
    return fmt.join_sentences([_warmth_text(body, today, fmt), wetness, departure])


def _warmth_text(body: WeatherBody, today: date, fmt: Formatter) -> str:
    """Return a sentence on how warm the days from today on are.

    If the answer is typical weather (climatology), the sentence also says how warm the nights are.
    """
    left = [day for day in body.days if day.date >= today]
    highs = [day.temperature_max for day in left if day.temperature_max is not None]
    lows = [day.temperature_min for day in left if day.temperature_min is not None]
    if body.mode == "forecast" and not highs:
        return fmt.gettext("Little is known about these dates yet.")
    if body.mode == "forecast":
        text = fmt.gettext("{warm}, {range} by day").format(
            warm=warmth(sum(highs) / len(highs), body, fmt),
            range=_degrees(fmt.temperatures(min(highs), max(highs)), body),
        )
        return fmt.gettext("{sentence}.").format(sentence=text)
    if body.basis.kind == "monthly_mean" or not highs or not lows:
        return _monthly(left, body, fmt)
    high, low = sum(highs) / len(highs), sum(lows) / len(lows)
    text = fmt.gettext("Typically {warm}, {high} by day and {low} at night").format(
        warm=warmth(high, body, fmt, lower=True),
        high=_degrees(fmt.temperature(high), body),
        low=_degrees(fmt.temperature(low), body),
    )
    return fmt.gettext("{sentence}.").format(sentence=text)


def _monthly(days: Sequence[Day], body: WeatherBody, fmt: Formatter) -> str:
    middle = mean(day.temperature_mean for day in days)
    if middle is None:
        return fmt.gettext("Little is known about these dates.")
    text = fmt.gettext("About {temperature} on average, day and night, at this time of year.")
    return text.format(temperature=_degrees(fmt.temperature(middle), body))


def _degrees(text: str, body: WeatherBody) -> str:
    """Return a temperature text with the unit added: `24–28°` becomes `24–28 °C`."""
    return text.replace("°", "") + NO_BREAK + body.units.temperature


def _departure(body: WeatherBody, fmt: Formatter) -> str:
    """Return a sentence on how much warmer or cooler than usual the forecast is.

    Empty if the difference is within the usual range.
    """
    highs = [day.temperature_max for day in body.days]
    usual = mean(day.typical.temperature_max if day.typical else None for day in body.days)
    average = mean(highs)
    if average is None or usual is None or None in highs:
        return ""
    cell = body.basis.representativeness
    warmer = unusual(average, usual, body.history, cell.temperature_max if cell else 0.0)
    if warmer is None or round(warmer) == 0:
        return ""
    text = fmt.ngettext(
        "About {difference} cooler than usual for this date.",
        "About {difference} cooler than usual for these dates.",
        len(highs),
    )
    if warmer > 0:
        text = fmt.ngettext(
            "About {difference} warmer than usual for this date.",
            "About {difference} warmer than usual for these dates.",
            len(highs),
        )
    return text.format(difference=_degrees(fmt.temperature(abs(warmer)), body))


def _few_years(body: WeatherBody, fmt: Formatter) -> str:
    count = len(body.basis.years)
    if count >= ALL_YEARS or not count:
        return ""
    text = fmt.ngettext("Based on {count} year of data.", "Based on {count} years of data.", count)
    return text.format(count=count)


def warmth(high: float, body: WeatherBody, fmt: Formatter, *, lower: bool = False) -> str:
    """Return the word for a mean high, such as "Mild", or "mild" if `lower`."""
    degrees = celsius(high, body.units)
    steps = (
        (-10, fmt.gettext("Bitterly cold"), fmt.gettext("bitterly cold")),
        (1, fmt.gettext("Freezing"), fmt.gettext("freezing")),
        (8, fmt.gettext("Cold"), fmt.gettext("cold")),
        (15, fmt.gettext("Cool"), fmt.gettext("cool")),
        (21, fmt.gettext("Mild"), fmt.gettext("mild")),
        (27, fmt.gettext("Warm"), fmt.gettext("warm")),
        (34, fmt.gettext("Hot"), fmt.gettext("hot")),
        (math.inf, fmt.gettext("Very hot"), fmt.gettext("very hot")),
    )
    return next(pair[lower] for limit, *pair in steps if degrees < limit)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def terminal_lines(body: WeatherBody) -> Iterator[str | TextTable]:
    """Yield lines for the terminal: the source, the summary, and a table of days.

    The command `location-context read` prints them.
    """
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
    """Return the localised name of a weather condition."""
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
