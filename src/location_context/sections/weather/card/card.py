"""The weather card: what the widget says and draws of a stay's weather.

A straddling stay comes as two answers: the near part as a forecast, the whole as climatology; its
days are the forecast's, then the typical ones. Bars stand on one scale for the stay, from the
lowest value less a degree to the highest and a degree; their geometry is `style`, as custom
properties in per cent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from location_context.localisation.formatter import Formatter
from location_context.sections.weather import summary_text
from location_context.sections.weather.card.strips import (
    DayView,
    Scale,
    Years,
    day_views,
    mean,
    years,
)
from location_context.sections.weather.response import Day, WeatherBody

MAX_COLUMNS = 10


@dataclass(frozen=True, kw_only=True)
class Group:
    """Days of one kind; `label` only when there are two kinds."""

    kind: str
    label: str
    detail: str
    days: Sequence[DayView]


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the template shows."""

    badge: str
    lead: str
    note: str
    stale: str
    groups: Sequence[Group]
    columns: int
    side: bool
    weeks: bool
    monthly: bool
    spread: bool
    snow: bool
    years: Years | None
    style: str


def card(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter, now: datetime) -> Card:
    """The card of the whole stay, and of its near part when that alone is a forecast."""
    near = near if near and near.mode == "forecast" and whole.mode == "climatology" else None
    parts = _parts(whole, near)
    days = [day for _, found in parts for day in found]
    scale, unit = Scale.over(days), whole.units.precipitation
    shown = [(kind, day_views(kind, found, scale, unit, fmt)) for kind, found in parts]
    numbered = _number(shown)
    count = sum(len(views) for _, views in numbered)
    ten = years(whole, fmt)
    newest = near or whole
    return Card(
        badge=badge(whole, near, fmt) + age(newest, fmt, now),
        lead=headline(whole, near, fmt),
        note=note(whole, near, fmt),
        stale=stale_line(newest, fmt) if newest.stale else "",
        groups=[_group(whole, kind, views, len(parts) > 1, fmt) for kind, views in numbered],
        columns=_columns(count),
        side=len(parts) > 1 and count <= MAX_COLUMNS,
        weeks=count < len(days),
        monthly=whole.basis.kind == "monthly_mean",
        spread=any(view.spread for _, views in numbered for view in views),
        snow=any((day.snowfall_sum or 0) > 0 for day in days),
        years=ten,
        style=_style(numbered) + (ten.style if ten else ""),
    )


def _parts(whole: WeatherBody, near: WeatherBody | None) -> list[tuple[str, list[Day]]]:
    """Days by kind: `forecast`, `typical` or both in turn."""
    if near is None:
        kind = "forecast" if whole.mode == "forecast" else "typical"
        return [(kind, list(whole.days))]
    last = near.stay.end
    far = [day for day in whole.days if day.date > last]
    return [("forecast", list(near.days)), ("typical", far)]


def _number(
    shown: Iterable[tuple[str, Sequence[DayView]]],
) -> list[tuple[str, list[DayView]]]:
    """Every day with its number on the page, by which the style block knows it."""
    result, at = [], 0
    for kind, views in shown:
        result.append((kind, [view.at(at + n) for n, view in enumerate(views)]))
        at += len(views)
    return result


def _columns(shown: int) -> int:
    return shown if shown <= MAX_COLUMNS else 7


def _group(
    whole: WeatherBody, kind: str, views: Sequence[DayView], labelled: bool, fmt: Formatter
) -> Group:
    label = detail = ""
    if labelled and kind == "forecast":
        label = fmt.gettext("Forecast")
        detail = fmt.gettext("to {date}").format(date=fmt.day(_last(views)))
    elif labelled:
        label = fmt.gettext("Typical")
        detail = fmt.gettext("from {date}").format(date=fmt.day(_first(views)))
        if whole.basis.years:
            detail += f", {fmt.years(whole.basis.years)}"
    return Group(kind=kind, label=label, detail=detail, days=views)


def _first(views: Sequence[DayView]) -> date:
    return views[0].first


def _last(views: Sequence[DayView]) -> date:
    return views[-1].last


def _style(groups: Sequence[tuple[str, Sequence[DayView]]]) -> str:
    rules = [f"#w{view.number}{{{view.bar}}}" for _, views in groups for view in views if view.bar]
    sizes = [len(views) for _, views in groups]
    if len(sizes) > 1 and sum(sizes) <= MAX_COLUMNS:
        rules += [f".g{n}{{--k:{size}}}" for n, size in enumerate(sizes)]
    return "".join(rules)


def badge(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter) -> str:
    """What kind of numbers these are; "typical" is never called a forecast."""
    if near is not None:
        return fmt.gettext("Forecast, then typical")
    if whole.mode == "forecast":
        return fmt.gettext("Forecast")
    years = whole.basis.years
    if whole.basis.kind == "monthly_mean" or not years:
        return fmt.gettext("Monthly average")
    return fmt.gettext("Typical · {years}").format(years=fmt.years(years))


def age(body: WeatherBody, fmt: Formatter, now: datetime) -> str:
    """How old a stale answer is, to follow the badge."""
    if not body.stale or body.as_of is None or body.mode != "forecast":
        return ""
    hours = max(1, round((now - body.as_of).total_seconds() / 3600))
    return " · " + fmt.gettext("{hours} h old").format(hours=hours)


def stale_line(body: WeatherBody, fmt: Formatter) -> str:
    if body.as_of is None or body.mode != "forecast":
        return fmt.gettext("The newest data could not be fetched.")
    local = body.as_of.astimezone(_zone(body))
    text = fmt.gettext("The newest forecast could not be fetched; this one is from {moment}.")
    return text.format(moment=fmt.moment(local))


def _zone(body: WeatherBody) -> ZoneInfo:
    return ZoneInfo(body.point.timezone)


def headline(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter) -> str:
    """One sentence; two for a straddling stay, one for each half."""
    if near is None:
        if whole.mode == "forecast":
            return summary_text.forecast_headline(whole, fmt)
        return summary_text.typical_headline(whole, fmt)
    first = summary_text.forecast_headline(near, fmt)
    far = [day for day in whole.days if day.date > near.stay.end]
    high, low = mean(d.temperature_max for d in far), mean(d.temperature_min for d in far)
    if high is None or low is None:
        return first
    text = fmt.gettext("From {date}, typically {high} by day and {low} at night.")
    second = text.format(
        date=fmt.day(far[0].date), high=fmt.temperature(high), low=fmt.temperature(low)
    )
    return fmt.join_sentences([first, second])


def note(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter) -> str:
    """Sun, rain, wind and spread in numbers."""
    if near is not None:
        text = fmt.gettext(
            "The forecast reaches {date}; later days show what past years were like."
        )
        return text.format(date=fmt.date_short(near.stay.end))
    if whole.basis.kind == "monthly_mean":
        return fmt.join_sentences([_rain(whole, fmt), _monthly(fmt)])
    said = [_sun(whole, fmt), _rain(whole, fmt)]
    if whole.mode == "climatology":
        said += [_spread(whole, fmt), _few_years(whole, fmt)]
    else:
        said += [_wind(whole, fmt), _uv(whole.days, fmt)]
    return fmt.join_sentences(said)


def _sun(body: WeatherBody, fmt: Formatter) -> str:
    known = [day.sunshine_hours for day in body.days if day.sunshine_hours is not None]
    if not known:
        return ""
    hours = round(sum(known) / len(known))
    if not hours:
        return fmt.gettext("Hardly any sun.")
    text = fmt.ngettext(
        "About {hours} hour of sun a day.", "About {hours} hours of sun a day.", hours
    )
    return text.format(hours=hours)


def _rain(body: WeatherBody, fmt: Formatter) -> str:
    total = body.summary.precipitation_total
    if total is None:
        return ""
    unit = body.units.precipitation
    digits = 0 if unit == "mm" else 1
    if round(total, digits) == 0:
        return fmt.gettext("Hardly any rain or snow in all.")
    amount = fmt.measure(total, unit, digits)
    if any((day.snowfall_sum or 0) > 0 for day in body.days) or _near_frost(body):
        return fmt.gettext("{amount} of rain and melted snow in all.").format(amount=amount)
    return fmt.gettext("{amount} of rain in all.").format(amount=amount)


def _near_frost(body: WeatherBody) -> bool:
    """Whether part of what falls may be snow although nothing says so."""
    freezing = 0.0 if body.units.temperature == "°C" else 32.0
    means = [day.temperature_mean for day in body.days if day.temperature_mean is not None]
    unknown = all(day.snowfall_sum is None for day in body.days)
    return unknown and bool(means) and min(means) < freezing + 2


def _spread(body: WeatherBody, fmt: Formatter) -> str:
    low = mean(day.temperature_max_p10 for day in body.days)
    high = mean(day.temperature_max_p90 for day in body.days)
    if low is None or high is None or round(low) == round(high):
        return ""
    text = fmt.gettext("Afternoons reach {range} in 8 years of 10.")
    return text.format(range=fmt.temperatures(low, high))


def _few_years(body: WeatherBody, fmt: Formatter) -> str:
    count = len(body.basis.years)
    if count >= 10 or not count:
        return ""
    text = fmt.ngettext(
        "From the {count} year that is known.", "From the {count} years that are known.", count
    )
    return text.format(count=count)


def _wind(body: WeatherBody, fmt: Formatter) -> str:
    gusts = [(d.wind_gusts_max, d.date) for d in body.days if d.wind_gusts_max is not None]
    if not gusts:
        return ""
    gust, when = max(gusts)
    text = fmt.gettext("Strongest gusts on {date}, {speed}.")
    speed = fmt.measure(gust, body.units.wind_speed)
    return text.format(date=fmt.day(when), speed=speed)


def _uv(days: Sequence[Day], fmt: Formatter) -> str:
    known = [day.uv_index_max for day in days if day.uv_index_max is not None]
    if not known or round(max(known)) < 3:
        return ""
    return fmt.gettext("UV index up to {index}.").format(index=round(max(known)))


def _monthly(fmt: Formatter) -> str:
    return fmt.gettext("Long-term averages of the month; no daily records are at hand.")
