"""The weather of a stay in words: one sentence for the answer and the card; lines for a terminal.

The word for the warmth follows the mean of the highs, in °C. Of rain and snow nothing is stated
flatly that is less likely than `SURE`: neither a dry stay, nor rain on every day, nor on a date.
Days count as independent, which is on the careful side: wet days come in spells. All else is the
expected number of wet days, with "about". `benchmarks/forecast_spread.py` measures both.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from location_context.localisation.formatter import NO_BREAK, Formatter, Message
from location_context.localisation.language import Language
from location_context.sections.contract import UnitsBody
from location_context.sections.section import UNKNOWN, TextTable
from location_context.sections.weather.estimate import unusual
from location_context.sections.weather.response import Condition, Day, WeatherBody

Claim = Literal["dry", "mostly_dry", "dated", "counted", "daily"]
SURE = 0.7  # probability from which something is said without "about"
MAX_DATES_NAMED = 2
WET_DAY = {"mm": 1.0, "inch": 0.04}  # the amount that makes a day wet if it has no chance
ALL_YEARS = 10
_SNOW_BELOW, _RAIN_FROM = -2.0, 2.0  # °C, a day's mean; between them it may be either
_RAINY = {"drizzle", "rain", "heavy_rain", "thunderstorm"}
_SNOWY = {"snow", "heavy_snow"}
_TERMINAL = {  # the columns of the terminal's table by field: heading and kind of unit
    "temperature_max": ("max", "temperature"),
    "temperature_min": ("min", "temperature"),
    "temperature_mean": ("mean", "temperature"),
    "precipitation_sum": ("rain", "precipitation"),
    "precipitation_probability": ("chance", "probability"),
    "wind_speed_max": ("wind", "wind_speed"),
}


def stay_text(body: WeatherBody, fmt: Formatter) -> str:
    """Return the stay in a sentence, and what is unusual of it or how few years it rests on.

    The card shows it as it is, `summary.text` in plain characters.
    """
    if body.mode == "forecast":
        return fmt.join_sentences([_forecast(body, fmt), _departure(body, fmt)])
    return fmt.join_sentences([_typical(body, fmt), _few_years(body, fmt)])


def _forecast(body: WeatherBody, fmt: Formatter) -> str:
    """Say how warm it is by day, and how wet."""
    highs = [day.temperature_max for day in body.days if day.temperature_max is not None]
    if not highs:
        return fmt.gettext("Little is known of these dates yet.")
    temperature = fmt.gettext("{warm}, {range} by day").format(
        warm=warmth(sum(highs) / len(highs), body, fmt),
        range=_degrees(fmt.temperatures(min(highs), max(highs)), body),
    )
    return _join(temperature, _rain(body, fmt), fmt)


def _typical(body: WeatherBody, fmt: Formatter) -> str:
    """Say what is typical by day, at night, and of rain."""
    high, low = body.summary.temperature_max_mean, body.summary.temperature_min_mean
    if body.basis.kind == "monthly_mean" or high is None or low is None:
        return _monthly(body, fmt)
    temperature = fmt.gettext("Typically {warm}, {high} by day and {low} at night").format(
        warm=warmth(high, body, fmt, lower=True),
        high=_degrees(fmt.temperature(high), body),
        low=_degrees(fmt.temperature(low), body),
    )
    return _join(temperature, _rain(body, fmt), fmt)


def _monthly(body: WeatherBody, fmt: Formatter) -> str:
    middle = mean(day.temperature_mean for day in body.days)
    if middle is None:
        return fmt.gettext("Little is known of these dates.")
    text = fmt.gettext("About {temperature} on average, day and night, at this time of year.")
    return text.format(temperature=_degrees(fmt.temperature(middle), body))


def _degrees(text: str, body: WeatherBody) -> str:
    """Name the scale of a temperature or a range: `24–28 °C`."""
    return text.replace("°", "") + NO_BREAK + body.units.temperature


def _join(temperature: str, rain: str, fmt: Formatter) -> str:
    if not rain:
        return fmt.gettext("{sentence}.").format(sentence=temperature)
    return fmt.gettext("{first}; {second}.").format(first=temperature, second=rain)


def _departure(body: WeatherBody, fmt: Formatter) -> str:
    """Say how much warmer or cooler than usual a forecast is; nothing if that is within reason."""
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
    text = fmt.ngettext(
        "From the {count} year that is known.", "From the {count} years that are known.", count
    )
    return text.format(count=count)


def warmth(high: float, body: WeatherBody, fmt: Formatter, *, lower: bool = False) -> str:
    """A word for the mean of the highs."""
    celsius = _celsius(high, body.units)
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
    return next(pair[lower] for limit, *pair in steps if celsius < limit)


def rain_claim(chances: Sequence[float]) -> Claim:
    """Return what the chances (0 to 1) of a stay's days allow to be said of rain.

    `dry` and `daily` are true of the whole stay with at least the probability `SURE`, `dated` of
    all dates from that chance on, if they are few and no further wet day is expected.
    """
    likely = [chance for chance in chances if chance >= SURE]
    count = expected_days(chances)
    if math.prod(1 - chance for chance in chances) >= SURE:
        return "dry"
    if math.prod(chances) >= SURE:
        return "daily"
    if count == 0:
        return "mostly_dry"
    if len(likely) == count <= MAX_DATES_NAMED and math.prod(likely) >= SURE:
        return "dated"
    return "counted"


def expected_days(chances: Sequence[float]) -> int:
    """Return the expected number of wet days, halves rounded up."""
    return math.floor(sum(chances) + 0.5)


def _rain(body: WeatherBody, fmt: Formatter) -> str:
    """Say how wet it will be; nothing where too little is known."""
    known = [(day, c) for day in body.days if (c := _chance(day, body.units)) is not None]
    if not known:
        return ""
    chances = [chance for _, chance in known]
    what = _what_falls(known, body.units)
    if len(body.days) == 1:
        text = (
            fmt.gettext("chance of rain {percent}"),
            fmt.gettext("chance of rain or snow {percent}"),
            fmt.gettext("chance of snow {percent}"),
        )[what]
        return text.format(percent=fmt.percent(100 * chances[0]))
    claim = rain_claim(chances)
    if any(day.precipitation_probability is None for day in body.days):
        claim = "counted"  # nothing is sure of amounts, or of some days only
    if claim == "counted":
        return _counted(what, expected_days(chances), len(known), fmt)
    dates = [fmt.day(day.date) for day, chance in known if chance >= SURE]
    return _claimed(claim, what, fmt).format(dates=fmt.join_list(dates))


def _claimed(claim: Claim, what: int, fmt: Formatter) -> Message:
    if claim == "dry":
        return fmt.gettext("dry throughout")
    if claim == "mostly_dry":
        return fmt.gettext("mostly dry")
    if claim == "daily":
        return (
            fmt.gettext("rain every day"),
            fmt.gettext("rain or snow every day"),
            fmt.gettext("snow every day"),
        )[what]
    return (
        fmt.gettext("rain on {dates}"),
        fmt.gettext("rain or snow on {dates}"),
        fmt.gettext("snow on {dates}"),
    )[what]


def _counted(what: int, count: int, days: int, fmt: Formatter) -> str:
    if count == 0:
        return ""
    text = (
        fmt.ngettext(
            "rain on about {count} of {days} days", "rain on about {count} of {days} days", count
        ),
        fmt.ngettext(
            "rain or snow on about {count} of {days} days",
            "rain or snow on about {count} of {days} days",
            count,
        ),
        fmt.ngettext(
            "snow on about {count} of {days} days", "snow on about {count} of {days} days", count
        ),
    )[what]
    return text.format(count=fmt.number(count), days=days)


def _chance(day: Day, units: UnitsBody) -> float | None:
    """Return the chance of a wet day, 0 to 1; without one the amount decides."""
    if day.precipitation_probability is not None:
        return day.precipitation_probability / 100
    if day.precipitation_sum is None:
        return None
    return float(day.precipitation_sum >= WET_DAY[units.precipitation])


def _what_falls(known: Sequence[tuple[Day, float]], units: UnitsBody) -> int:
    """Return 0 for rain, 2 for snow, 1 for either, weighed by the days' chances."""
    wet = sum(chance for _, chance in known)
    snow = sum(chance * _snow_share(day, units) for day, chance in known)
    if snow <= 0.1 * wet:
        return 0
    return 2 if snow >= 0.9 * wet else 1


def _snow_share(day: Day, units: UnitsBody) -> float:
    """Return how much of what falls is snow, from the condition and the day's mean temperature."""
    if day.condition in _SNOWY:
        return 1.0
    if day.condition == "sleet":
        return 0.5
    middle = day.temperature_mean
    if middle is None:
        middle = mean((day.temperature_max, day.temperature_min))
    if middle is None:
        return 0.0
    celsius = _celsius(middle, units)
    if celsius < _SNOW_BELOW:  # an estimate is often colder than the forecast with its condition
        return 1.0
    return 0.5 if celsius < _RAIN_FROM and day.condition not in _RAINY else 0.0


def _celsius(value: float, units: UnitsBody) -> float:
    return (value - 32) / 1.8 if units.temperature == "°F" else value


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
