"""The words of the weather card: badge, sentence, the line of numbers below it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from location_context.sections.weather.card import lead as card_lead

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from location_context.localisation.formats import Formats
    from location_context.sections.weather.response import Day, WeatherBody


def badge(whole: WeatherBody, near: WeatherBody | None, words: Formats) -> str:
    """What kind of numbers these are; "typical" is never called a forecast."""
    if near is not None:
        return words.gettext("Forecast, then typical")
    if whole.mode == "forecast":
        return words.gettext("Forecast")
    years = whole.basis.years
    if whole.basis.kind == "monthly_mean" or not years:
        return words.gettext("Monthly average")
    return words.gettext("Typical · {years}").format(years=words.years(years))


def age(body: WeatherBody, words: Formats, now: datetime) -> str:
    """How old a stale answer is, to follow the badge."""
    if not body.stale or body.as_of is None or body.mode != "forecast":
        return ""
    hours = max(1, round((now - body.as_of).total_seconds() / 3600))
    return " · " + words.gettext("{hours} h old").format(hours=hours)


def stale_line(body: WeatherBody, words: Formats) -> str:
    if body.as_of is None or body.mode != "forecast":
        return words.gettext("The newest data could not be fetched.")
    local = body.as_of.astimezone(_zone(body))
    text = words.gettext("The newest forecast could not be fetched; this one is from {moment}.")
    return text.format(moment=words.moment(local))


def _zone(body: WeatherBody) -> ZoneInfo:
    return ZoneInfo(body.point.timezone)


def lead(whole: WeatherBody, near: WeatherBody | None, words: Formats) -> str:
    """One sentence; two for a straddling stay, one for each half."""
    if near is None:
        said = card_lead.forecast if whole.mode == "forecast" else card_lead.typical
        return said(whole, words)
    first = card_lead.forecast(near, words)
    far = [day for day in whole.days if day.date > near.stay.end]
    high, low = _mean(d.temperature_max for d in far), _mean(d.temperature_min for d in far)
    if high is None or low is None:
        return first
    text = words.gettext("From {date}, typically {high} by day and {low} at night.")
    second = text.format(
        date=words.day(far[0].date), high=words.temperature(high), low=words.temperature(low)
    )
    return words.sentences([first, second])


def note(whole: WeatherBody, near: WeatherBody | None, words: Formats) -> str:
    """Sun, rain, wind and spread in numbers."""
    if near is not None:
        text = words.gettext(
            "The forecast reaches {date}; later days show what past years were like."
        )
        return text.format(date=words.date_short(near.stay.end))
    if whole.basis.kind == "monthly_mean":
        return words.sentences([_rain(whole, words), _monthly(words)])
    said = [_sun(whole, words), _rain(whole, words)]
    if whole.mode == "climatology":
        said += [_spread(whole, words), _few_years(whole, words)]
    else:
        said += [_wind(whole, words), _uv(whole.days, words)]
    return words.sentences(said)


def _sun(body: WeatherBody, words: Formats) -> str:
    known = [day.sunshine_hours for day in body.days if day.sunshine_hours is not None]
    if not known:
        return ""
    hours = round(sum(known) / len(known))
    if not hours:
        return words.gettext("Hardly any sun.")
    text = words.ngettext(
        "About {hours} hour of sun a day.", "About {hours} hours of sun a day.", hours
    )
    return text.format(hours=hours)


def _rain(body: WeatherBody, words: Formats) -> str:
    total = body.summary.precipitation_total
    if total is None:
        return ""
    unit = body.units.precipitation
    digits = 0 if unit == "mm" else 1
    if round(total, digits) == 0:
        return words.gettext("Hardly any rain or snow in all.")
    amount = words.measure(total, unit, digits)
    if any((day.snowfall_sum or 0) > 0 for day in body.days) or _near_frost(body):
        return words.gettext("{amount} of rain and melted snow in all.").format(amount=amount)
    return words.gettext("{amount} of rain in all.").format(amount=amount)


def _near_frost(body: WeatherBody) -> bool:
    """Whether part of what falls may be snow although nothing says so."""
    freezing = 0.0 if body.units.temperature == "°C" else 32.0
    means = [day.temperature_mean for day in body.days if day.temperature_mean is not None]
    unknown = all(day.snowfall_sum is None for day in body.days)
    return unknown and bool(means) and min(means) < freezing + 2


def _spread(body: WeatherBody, words: Formats) -> str:
    low = _mean(day.temperature_max_p10 for day in body.days)
    high = _mean(day.temperature_max_p90 for day in body.days)
    if low is None or high is None or round(low) == round(high):
        return ""
    text = words.gettext("Afternoons reach {range} in 8 years of 10.")
    return text.format(range=words.temperatures(low, high))


def _few_years(body: WeatherBody, words: Formats) -> str:
    count = len(body.basis.years)
    if count >= 10 or not count:
        return ""
    text = words.ngettext(
        "From the {count} year that is known.", "From the {count} years that are known.", count
    )
    return text.format(count=count)


def _wind(body: WeatherBody, words: Formats) -> str:
    gusts = [(d.wind_gusts_max, d.date) for d in body.days if d.wind_gusts_max is not None]
    if not gusts:
        return ""
    gust, when = max(gusts)
    text = words.gettext("Strongest gusts on {date}, {speed}.")
    speed = words.measure(gust, body.units.wind_speed)
    return text.format(date=words.day(when), speed=speed)


def _uv(days: Sequence[Day], words: Formats) -> str:
    known = [day.uv_index_max for day in days if day.uv_index_max is not None]
    if not known or round(max(known)) < 3:
        return ""
    return words.gettext("UV index up to {index}.").format(index=round(max(known)))


def _monthly(words: Formats) -> str:
    return words.gettext("Long-term averages of the month; no daily records are at hand.")


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
