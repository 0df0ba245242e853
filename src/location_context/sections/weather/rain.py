"""Rules that describe the rain of a stay in a few words, for the API, the widget and pictures.

Each day has a chance p to be wet. The product of all 1 − p is the chance of a dry stay; the sum of
all p is the expected number of wet days. Days are treated as independent, which is cautious, since
wet days come in spells. A claim is a statement such as "mostly dry"; `claim` returns the first
whose rule the chances fulfil. `research.forecast_spread` measures how often each claim comes true.
Past days are ignored.

If the chance of a day is unknown, the text makes no claim and states the number of wet days
instead. A forecast day with an unknown chance counts as wet if its amount of rain is 1 mm or more.
The text names rain, snow or both, by each day's condition and temperature. "Mostly dry" needs three
days: a stay with one wet day of two is not mostly dry.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from location_context.localisation.formatter import EN_DASH, Formatter, Message
from location_context.sections.contract import UnitsBody
from location_context.sections.units import celsius
from location_context.sections.weather.response import Day
from location_context.stay import horizon

Claim = Literal[
    "dry", "very_likely_dry", "probably_dry", "one_day", "possible", "mostly_dry", "most_days",
    "counted",
]  # fmt: skip
NEAR_LEAD = 3  # days ahead up to which the text is "dry", not "very likely dry"
DRY, PROBABLY_DRY, MOSTLY_DRY = 0.90, 0.75, 0.40  # least chance of a dry stay
LIKELY, OTHERS_DRY = 0.50, 0.60  # least chance of the one wet day, and that the others are dry
MOST_DAYS = 0.80  # least mean chance of a day
ROW_DRY = 0.05  # chance of rain up to which a day's row may be labelled "dry"
WET_DAY = {"mm": 1.0, "inch": 0.04}  # the amount that makes a day wet if it has no chance
RAIN, EITHER, SNOW = 0, 1, 2  # what falls; an index into messages
_LITTLE = 0.1  # largest share of snow, or of rain, that is not mentioned
_SNOW_BELOW, _RAIN_FROM = -2.0, 2.0  # °C, a day's mean; between them it may be either
_RAINY = {"drizzle", "rain", "heavy_rain", "thunderstorm"}
_SNOWY = {"snow", "heavy_snow"}


@dataclass(frozen=True, kw_only=True)
class Rain:
    """The rain of a stay in words: a short `value`, and a `caption` to show below it."""

    value: str
    caption: str

    def sentence(self, fmt: Formatter) -> str:
        text = fmt.comma.join(part for part in (self.value, self.caption) if part)
        return fmt.gettext("{sentence}.").format(sentence=text)


def claim(chances: Sequence[float], last: int) -> Claim:
    """Return the claim on the stay, such as `probably_dry`: the first whose rule is fulfilled.

    `chances` are the days' chances of rain (0 to 1). `last` says how many days ahead the last day
    is. If `last` is more than `NEAR_LEAD`, a stay is called "very likely dry" instead of "dry".
    """
    dry, wet = math.prod(1 - p for p in chances), sum(chances)
    if dry >= DRY:
        return "dry" if last <= NEAR_LEAD else "very_likely_dry"
    if dry >= PROBABLY_DRY:
        return "probably_dry"
    *others, highest = sorted(chances)
    if highest >= LIKELY and math.prod(1 - p for p in others) >= OTHERS_DRY:
        return "one_day"
    if dry >= MOSTLY_DRY and wet < 1:
        return "mostly_dry" if len(chances) > 2 else "possible"
    return "most_days" if wet / len(chances) >= MOST_DAYS else "counted"


def rain(days: Sequence[Day], today: date, units: UnitsBody, fmt: Formatter) -> Rain | None:
    """Describe the forecast rain of a stay from `today` on; return None if data do not suffice."""
    left = [day for day in days if day.date >= today]
    pairs = [(day, _chance(day, today, units)) for day in left]
    known = [(day, p) for day, p in pairs if p is not None]
    if not known:
        return None
    chances, kind = [p for _, p in known], falls(known, units)
    if any(day.precipitation_probability is None for day in left):
        if round(sum(chances)) == 0:  # amounts, or only some of the days, do not prove a dry stay
            return None
        return Rain(value=_counted(chances, kind, fmt), caption=_likeliest(known, fmt))
    said = claim(chances, (left[-1].date - today).days)
    caption: str = _over(chances, kind, fmt, whole=len(left) == len(days))
    if said == "mostly_dry":
        caption = fmt.gettext("perhaps one wet day")
    elif said in {"most_days", "counted"}:
        caption = _likeliest(known, fmt) or caption
    value = {
        "dry": fmt.gettext("Dry"),
        "very_likely_dry": fmt.gettext("Very likely dry"),
        "probably_dry": fmt.gettext("Probably dry"),
        "one_day": _one_day(known, units, fmt),
        "possible": (
            fmt.gettext("Rain possible"),
            fmt.gettext("Rain or snow possible"),
            fmt.gettext("Snow possible"),
        )[kind],
        "mostly_dry": fmt.gettext("Mostly dry"),
        "most_days": (
            fmt.gettext("Rain most days"),
            fmt.gettext("Rain or snow most days"),
            fmt.gettext("Snow most days"),
        )[kind],
        "counted": _counted(chances, kind, fmt),
    }[said]
    return Rain(value=value, caption=caption)


def _chance(day: Day, today: date, units: UnitsBody) -> float | None:
    """Return the chance (0 to 1) that a day is wet; None if unknown.

    If a day within the forecast horizon has an amount of rain but no known chance, the result is 1
    if the amount makes the day wet, else 0.
    """
    if day.precipitation_probability is not None:
        return day.precipitation_probability / 100
    if day.precipitation_sum is None or day.date > horizon(today):
        return None
    return float(day.precipitation_sum >= WET_DAY[units.precipitation])


def _over(chances: Sequence[float], kind: int, fmt: Formatter, *, whole: bool) -> str:
    """Return a text with the chance that it rains or snows on at least one of the days.

    `kind` is what falls: `RAIN`, `SNOW` or `EITHER`. `whole` is True if the days are the whole
    stay; the text then says so.
    """
    count = len(chances)
    text = (
        fmt.ngettext(
            "{percent} chance of rain over {count} day",
            "{percent} chance of rain over {count} days",
            count,
        ),
        fmt.ngettext(
            "{percent} chance of rain or snow over {count} day",
            "{percent} chance of rain or snow over {count} days",
            count,
        ),
        fmt.ngettext(
            "{percent} chance of snow over {count} day",
            "{percent} chance of snow over {count} days",
            count,
        ),
    )[kind]
    if count == 1:
        text = chance_of(kind, fmt)
    elif whole:
        text = (
            fmt.gettext("{percent} chance of rain over the stay"),
            fmt.gettext("{percent} chance of rain or snow over the stay"),
            fmt.gettext("{percent} chance of snow over the stay"),
        )[kind]
    percent = fmt.percent(100 * (1 - math.prod(1 - p for p in chances)))
    return text.format(percent=percent, count=fmt.number(count))


def chance_of(kind: int, fmt: Formatter) -> Message:
    """Return the message with one day's chance of rain or snow, with `{percent}` to fill in.

    `kind` is what falls: `RAIN`, `SNOW` or `EITHER`.
    """
    return (
        fmt.gettext("chance of rain {percent}"),
        fmt.gettext("chance of rain or snow {percent}"),
        fmt.gettext("chance of snow {percent}"),
    )[kind]


def _one_day(known: Sequence[tuple[Day, float]], units: UnitsBody, fmt: Formatter) -> str:
    """Return a text on the day with the highest chance of rain, such as "Rain on Friday"."""
    wettest = max(known, key=lambda one: one[1])
    text = (
        fmt.gettext("Rain on {date}"),
        fmt.gettext("Rain or snow on {date}"),
        fmt.gettext("Snow on {date}"),
    )[falls([wettest], units)]
    return text.format(date=fmt.day(wettest[0].date))


def _likeliest(known: Sequence[tuple[Day, float]], fmt: Formatter) -> str:
    """Return a text that names the day with the highest chance of rain, or the two that share it.

    If more than two days share it, the text names the one with the most rain. If several of these
    have the most rain, the text is empty.
    """
    highest = max(round(100 * p) for _, p in known)
    days = [day for day, p in known if round(100 * p) == highest]
    if len(days) <= 2:
        dates = fmt.join_list([fmt.day(day.date) for day in days])
        return fmt.gettext("most likely on {date}").format(date=dates)
    *_, second, most = sorted(days, key=lambda day: day.precipitation_sum or 0.0)
    if (second.precipitation_sum or 0.0) == (most.precipitation_sum or 0.0):
        return ""
    return fmt.gettext("wettest on {date}").format(date=fmt.day(most.date))


def _counted(chances: Sequence[float], kind: int, fmt: Formatter) -> str:
    """Return a text with the expected number of wet days, such as "2–3 wet days of 7".

    `kind` is what falls: `RAIN`, `SNOW` or `EITHER`.
    """
    wet, count = sum(chances), len(chances)
    whole = math.floor(wet)
    if 0.25 <= wet - whole <= 0.75 and whole >= 1:
        high = min(count, whole + 1)
        number = f"{fmt.number(whole)}{EN_DASH}{fmt.number(high)}"
    else:
        high = max(1, round(wet))
        number = fmt.number(high)
    text = fmt.ngettext("{number} wet day of {count}", "{number} wet days of {count}", high)
    if kind == SNOW:
        text = fmt.ngettext("{number} snowy day of {count}", "{number} snowy days of {count}", high)
    return text.format(number=number, count=fmt.number(count))


def usual_rain(days: Sequence[Day], today: date, units: UnitsBody, fmt: Formatter) -> Rain | None:
    """Describe the usual rain of the days from `today` on, such as "3 wet days in 10".

    Return None if the chance of rain is unknown for all these days.
    """
    known = [
        (day, day.precipitation_probability / 100)
        for day in days
        if day.date >= today and day.precipitation_probability is not None
    ]
    if not known:
        return None
    count, expected = len(known), sum(p for _, p in known)
    tenths, wet = round(10 * expected / count), round(expected)
    text = fmt.ngettext("{count} wet day in 10", "{count} wet days in 10", tenths)
    if falls(known, units) == SNOW:
        text = fmt.ngettext("{count} snowy day in 10", "{count} snowy days in 10", tenths)
    value = text.format(count=fmt.number(tenths)) if tenths else fmt.gettext("Hardly ever wet")
    caption: str = fmt.gettext("at this time of year")
    if count > 1 and wet:
        mine = fmt.gettext("about {wet} of your {count} days")
        caption = mine.format(wet=fmt.number(wet), count=fmt.number(count))
    return Rain(value=value, caption=caption)


def falls(known: Iterable[tuple[Day, float]], units: UnitsBody) -> int:
    """Return what falls on these days: `RAIN`, `SNOW` or `EITHER`.

    `known` has pairs of a day and the chance of rain, by which the day is weighted.
    """
    pairs = list(known)
    wet = sum(p for _, p in pairs)
    snow = sum(p * _snow_share(day, units) for day, p in pairs)
    if snow <= _LITTLE * wet:
        return RAIN
    return SNOW if snow >= (1 - _LITTLE) * wet else EITHER


def _snow_share(day: Day, units: UnitsBody) -> float:
    """Return which share (0 to 1) of a day's rain is snow, by its condition and temperature."""
    if day.condition in _SNOWY:
        return 1.0
    if day.condition == "sleet":
        return 0.5
    middle, high, low = day.temperature_mean, day.temperature_max, day.temperature_min
    if middle is None and high is not None and low is not None:
        middle = (high + low) / 2
    if middle is None:
        return 0.0
    degrees = celsius(middle, units)
    if degrees < _SNOW_BELOW:  # even if the condition says rain: an estimate may be colder
        return 1.0
    return 0.5 if degrees < _RAIN_FROM and day.condition not in _RAINY else 0.0


def dry_rows(days: Sequence[Day]) -> frozenset[date]:
    """Return the dates that may be labelled "dry" in the list of days.

    Each of these dates has a chance of rain of at most 5 %. If the chance that all of them stay dry
    is below 75 %, no date is returned.
    """
    dry = {
        day.date: day.precipitation_probability / 100
        for day in days
        if day.precipitation_probability is not None
        and day.precipitation_probability <= 100 * ROW_DRY
    }
    if math.prod(1 - p for p in dry.values()) < PROBABLY_DRY:
        return frozenset()
    return frozenset(dry)
