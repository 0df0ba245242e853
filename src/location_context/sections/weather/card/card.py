"""The weather card: what the widget says and draws of a stay's weather.

A straddling stay comes as two answers: the near part as a forecast, the whole as climatology; its
days are the forecast's, then the typical ones. Bars stand on one scale for the stay, from the
lowest value less a degree to the highest and a degree; their geometry is `style`, as custom
properties in per cent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from location_context.localisation.formats import Formats
from location_context.sections.weather.card.strips import DayView, Scale, Years, day_views, years
from location_context.sections.weather.card.texts import age, badge, headline, note, stale_line
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


def card(whole: WeatherBody, near: WeatherBody | None, fmt: Formats, now: datetime) -> Card:
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
    whole: WeatherBody, kind: str, views: Sequence[DayView], labelled: bool, fmt: Formats
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
