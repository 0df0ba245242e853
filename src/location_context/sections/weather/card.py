"""The weather card: what the widget says and draws of a stay's weather.

A straddling stay comes as two answers: the near part as a forecast, the whole as climatology; its
days are the forecast's, then the typical ones. Bars stand on one scale for the stay, from the
lowest value less a degree to the highest and a degree; their geometry is `style`, as custom
properties in per cent.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import Self
from zoneinfo import ZoneInfo

from location_context.localisation.formatter import NO_BREAK, Formatter
from location_context.sections.card import Brief, BriefColumn
from location_context.sections.contract import UnitsBody
from location_context.sections.weather import summary_text
from location_context.sections.weather.response import Day, WeatherBody, YearBody
from location_context.sections.weather.summary_text import mean

MAX_COLUMNS = 10
MAX_BRIEF_COLUMNS = 8
WEEK = 7
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
    rain = _rain_text(days, chance, units.precipitation, fmt)
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


def _rain_text(days: Sequence[Day], chance: float | None, unit: str, fmt: Formatter) -> str:
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


@dataclass(frozen=True, kw_only=True)
class Group:
    """Days of one kind.

    Attributes:
        label, detail: empty when there is one kind only.
        first: the number of its first day on the page, by which the style block knows it.
    """

    kind: str
    label: str
    detail: str
    first: int
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
    ranges: bool
    snow: bool
    years: Years | None
    style: str


def card(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter, now: datetime) -> Card:
    """The card of the whole stay, and of its near part when that alone is a forecast."""
    near = _straddling(whole, near)
    parts = _parts(whole, near)
    days = [day for _, found in parts for day in found]
    bounds = ("temperature_max", "temperature_min", "temperature_max_p10", "temperature_max_p90")
    scale = Scale.over(getattr(day, name) for day in days for name in bounds)
    groups: list[Group] = []
    for kind, found in parts:
        shown = day_views(found, scale, whole.units, fmt)
        label, detail = _label(whole, kind, shown, fmt) if len(parts) > 1 else ("", "")
        first = sum(len(group.days) for group in groups)
        groups.append(Group(kind=kind, label=label, detail=detail, first=first, days=shown))
    views = [view for group in groups for view in group.days]
    ten = years(whole, fmt)
    newest = near or whole
    return Card(
        badge=badge(whole, near, fmt) + age(newest, fmt, now),
        lead=headline(whole, near, fmt),
        note=note(whole, near, fmt),
        stale=stale_line(newest, fmt) if newest.stale else "",
        groups=groups,
        columns=len(views) if len(views) <= MAX_COLUMNS else 7,
        side=len(parts) > 1 and len(views) <= MAX_COLUMNS,
        weeks=len(views) < len(days),
        monthly=whole.basis.kind == "monthly_mean",
        ranges=any(view.range for view in views),
        snow=any((day.snowfall_sum or 0) > 0 for day in days),
        years=ten,
        style=_style(groups, views) + (ten.style if ten else ""),
    )


def _straddling(whole: WeatherBody, near: WeatherBody | None) -> WeatherBody | None:
    """The near part if it alone is a forecast."""
    return near if near and near.mode == "forecast" and whole.mode == "climatology" else None


def brief(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter, now: datetime) -> Brief:
    """The same of a stay in few words: its days, else its weeks, else its months."""
    near = _straddling(whole, near)
    newest = near or whole
    columns, caption = _brief_columns(_parts(whole, near), whole, fmt)
    monthly = whole.basis.kind == "monthly_mean"
    last = near.days if near else whole.days if whole.mode == "forecast" else ()
    sure = _typical_range(whole.days, fmt) if whole.mode == "climatology" and not near else ""
    remark = stale_line(newest, fmt) if newest.stale else sure or _forecast_range(last, fmt)
    if monthly and not newest.stale:
        remark = fmt.gettext("Long-term averages of the month; no daily records are at hand.")
    return Brief(
        heading=fmt.gettext("Weather"),
        note=badge(whole, near, fmt) + age(newest, fmt, now),
        lead=headline(whole, near, fmt),
        remark=remark,
        columns=columns,
        caption=caption,
    )


def _brief_columns(
    parts: Sequence[tuple[str, list[Day]]], whole: WeatherBody, fmt: Formatter
) -> tuple[list[BriefColumn], str]:
    """At most eight columns, and what they are averages of: days of one kind alone."""
    label: Callable[[Formatter, date], str] = _weekday_and_day
    caption = ""
    steps = {kind: [[day] for day in days] for kind, days in parts}
    if sum(map(len, steps.values())) > MAX_BRIEF_COLUMNS:
        label, caption = (
            Formatter.date_without_weekday,
            fmt.gettext("Averages of weeks, from each date on."),
        )
        steps = {
            kind: [days[n : n + WEEK] for n in range(0, len(days), WEEK)] for kind, days in parts
        }
    if sum(map(len, steps.values())) > MAX_BRIEF_COLUMNS:
        label, caption = (
            Formatter.month,
            fmt.gettext("Averages of the stay’s days in each month."),
        )
        steps = {kind: [list(few) for _, few in groupby(days, key=_month)] for kind, days in parts}
    return [
        _brief_column(
            days, label(fmt, days[0].date), whole, fmt, usual=len(parts) > 1 and kind == "typical"
        )
        for kind, several in steps.items()
        for days in several
    ], caption


def _brief_column(
    days: Sequence[Day], label: str, whole: WeatherBody, fmt: Formatter, *, usual: bool
) -> BriefColumn:
    shown = view(days, Scale(low=0, high=1), whole.units, fmt)  # without bars
    rain = (f"drop{shown.drop}" if shown.chance else "", shown.chance or "–")
    return BriefColumn(
        label=label,
        spoken=shown.spoken,
        icon="" if whole.basis.kind == "monthly_mean" else shown.icon,
        value=shown.high or "–",
        quiet=[("", shown.low), rain] if shown.low else [rain],
        usual=usual,
    )


def _weekday_and_day(fmt: Formatter, day: date) -> str:
    return f"{fmt.weekday(day)} {day.day}"


def _month(day: Day) -> tuple[int, int]:
    return day.date.year, day.date.month


def _parts(whole: WeatherBody, near: WeatherBody | None) -> list[tuple[str, list[Day]]]:
    """Days by kind: `forecast`, `typical` or both in turn."""
    if near is None:
        kind = "forecast" if whole.mode == "forecast" else "typical"
        return [(kind, list(whole.days))]
    last = near.stay.end
    far = [day for day in whole.days if day.date > last]
    return [("forecast", list(near.days)), ("typical", far)]


def _label(
    whole: WeatherBody, kind: str, views: Sequence[DayView], fmt: Formatter
) -> tuple[str, str]:
    """What a group is called, and how far it reaches."""
    if kind == "forecast":
        last = fmt.day(views[-1].last)
        return fmt.gettext("Forecast"), fmt.gettext("to {date}").format(date=last)
    detail = fmt.gettext("from {date}").format(date=fmt.day(views[0].first))
    if whole.basis.years:
        detail += f", {fmt.years(whole.basis.years)}"
    return fmt.gettext("Typical"), detail


def _style(groups: Sequence[Group], views: Sequence[DayView]) -> str:
    rules = [f"#w{number}{{{view.bar}}}" for number, view in enumerate(views) if view.bar]
    if len(groups) > 1 and len(views) <= MAX_COLUMNS:
        rules += [f".g{number}{{--k:{len(group.days)}}}" for number, group in enumerate(groups)]
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
    local = body.as_of.astimezone(ZoneInfo(body.point.timezone))
    text = fmt.gettext("The newest forecast could not be fetched; this one is from {moment}.")
    return text.format(moment=fmt.moment(local))


def headline(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter) -> str:
    """Return the stay's sentence; for a straddling stay the near part's and what is typical."""
    if near is None:
        return summary_text.stay_text(whole, fmt)
    first = summary_text.stay_text(near, fmt)
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
        reach = text.format(date=fmt.date_short(near.stay.end))
        return fmt.join_sentences([reach, _forecast_range(near.days, fmt)])
    if whole.basis.kind == "monthly_mean":
        averages = fmt.gettext("Long-term averages of the month; no daily records are at hand.")
        return fmt.join_sentences([_rain(whole, fmt), averages])
    said = [_sun(whole, fmt), _rain(whole, fmt)]
    if whole.mode == "climatology":
        said.append(_typical_range(whole.days, fmt))
    else:
        said += [_wind(whole, fmt), _uv(whole.days, fmt), _forecast_range(whole.days, fmt)]
    return fmt.join_sentences(said)


def _sun(body: WeatherBody, fmt: Formatter) -> str:
    average = mean(day.sunshine_hours for day in body.days)
    if average is None:
        return ""
    if not (hours := round(average)):
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


def _typical_range(days: Sequence[Day], fmt: Formatter) -> str:
    """Where the highs lie, on the mean of the days."""
    tenths = high_tenths(days)
    if tenths is None or round(tenths[0]) == round(tenths[1]):
        return ""
    text = fmt.gettext("Highs of {range}, 8 days in 10.")
    return text.format(range=fmt.temperatures_in_words(*tenths))


def _forecast_range(days: Sequence[Day], fmt: Formatter) -> str:
    """Where the high of the last day lies, of which the least is known."""
    tenths = high_tenths(days[-1:])
    if tenths is None:
        return ""
    text = fmt.gettext("High on {date}: {range}, 8 days in 10.")
    return text.format(date=fmt.day(days[-1].date), range=fmt.temperatures_in_words(*tenths))


def _wind(body: WeatherBody, fmt: Formatter) -> str:
    gusts = [(d.wind_gusts_max, d.date) for d in body.days if d.wind_gusts_max is not None]
    if not gusts:
        return ""
    gust, when = max(gusts)
    text = fmt.gettext("Strongest gusts on {date}, {speed}.")
    speed = fmt.measure(gust, body.units.wind_speed)
    return text.format(date=fmt.day(when), speed=speed)


def _uv(days: Iterable[Day], fmt: Formatter) -> str:
    highest = round(max((day.uv_index_max or 0.0 for day in days), default=0.0))
    return "" if highest < 3 else fmt.gettext("UV index up to {index}.").format(index=highest)
