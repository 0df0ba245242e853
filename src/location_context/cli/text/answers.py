"""Answers of the sections as a person reads them in a terminal: sentences and tables.

What is shown is the part of an answer that is read first; `--json` has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Column, Table

from location_context.sections.astronomy.response import AstronomyBody
from location_context.sections.contract import Applicable, NotApplicable
from location_context.sections.events.response import Event, EventsBody
from location_context.sections.guide.response import GuideBody
from location_context.sections.weather.response import Day, WeatherBody

NOTHING = "–"


def shown(name: str, body: Applicable | NotApplicable | None) -> Iterator[RenderableType]:
    """One section's answer; None is a section that held nothing."""
    yield f"[bold]{name}[/bold]"
    if body is None:
        yield "The section could not be read in time and holds nothing."
    elif isinstance(body, NotApplicable):
        yield escape(body.message)
    else:
        yield _place(body)
        yield from _section(body)
        if body.degraded_reason:
            yield f"Less than was due: {body.degraded_reason}"
        for notice in body.attribution:
            yield f"[dim]{escape(notice.text)}[/dim]"


def _section(body: Applicable) -> Iterator[RenderableType]:
    if isinstance(body, WeatherBody):
        yield from _weather(body)
    elif isinstance(body, AstronomyBody):
        yield from _astronomy(body)
    elif isinstance(body, GuideBody):
        yield from _guide(body)
    elif isinstance(body, EventsBody):
        yield from _events(body)


def _place(body: Applicable) -> str:
    point = body.point
    told = [f"{point.lat}, {point.lng}", point.timezone, point.region or point.country]
    return " · ".join(escape(part) for part in told if part)


def _weather(body: WeatherBody) -> Iterator[RenderableType]:
    basis = body.basis
    years = f", {basis.years[0]} to {basis.years[-1]}" if basis.years else ""
    model = f" {basis.model}" if basis.model else ""
    yield escape(f"{body.mode} ({basis.provider}{model}{years})")
    yield escape(body.summary.text)
    degrees, depth, speed = (
        body.units.temperature,
        body.units.precipitation,
        body.units.wind_speed,
    )
    table = _table(
        "date", "", f"max {degrees}", f"min {degrees}", f"mean {degrees}", f"rain {depth}",
        "chance %", f"wind {speed}",
    )  # fmt: skip
    for day in body.days:
        table.add_row(str(day.date), escape(day.summary or ""), *_numbers(day))
    yield table


def _numbers(day: Day) -> list[str]:
    values = (
        day.temperature_max,
        day.temperature_min,
        day.temperature_mean,
        day.precipitation_sum,
        day.precipitation_probability,
        day.wind_speed_max,
    )
    return [NOTHING if value is None else f"{value:g}" for value in values]


def _astronomy(body: AstronomyBody) -> Iterator[RenderableType]:
    table = _table("date", "Sun", "rise", "set", "Moon", "rise", "set", "lit", "dark hours")
    for day in body.days:
        sun, moon = day.sun, day.moon
        table.add_row(
            str(day.date), _words(sun.status), _clock(sun.sunrise), _clock(sun.sunset),
            _words(moon.phase), _clock(moon.moonrise), _clock(moon.moonset),
            f"{moon.illumination:.0%}", f"{day.night.dark_hours:g}",
        )  # fmt: skip
    yield table
    for highlight in body.highlights:
        yield f"{highlight.at:%Y-%m-%d %H:%M}  {escape(highlight.title)}"


def _guide(body: GuideBody) -> Iterator[RenderableType]:
    table = _table("tier", "restaurant", "away", "way", "cuisine", "city")
    for one in body.restaurants:
        about = "about " if one.travel.estimated else ""
        table.add_row(
            escape(one.label), escape(one.name), f"{one.distance:g} {body.units.distance}",
            f"{one.travel.kind}, {about}{one.travel.minutes} min",
            escape(", ".join(one.cuisine)), escape(one.city or ""),
        )  # fmt: skip
    yield table
    yield f"{len(body.restaurants)} of {body.total} restaurants"


def _events(body: EventsBody) -> Iterator[RenderableType]:
    table = _table("start", "event", "category", "venue", "away", "source")
    for event in body.events:
        venue = event.venue
        away = f"{venue.distance:g} {body.units.distance}" if venue and venue.distance else ""
        table.add_row(
            _start(event), escape(event.title), event.category,
            escape(venue.name or "") if venue else "", away, escape(", ".join(event.sources)),
        )  # fmt: skip
    yield table
    if body.omitted:
        yield f"{sum(body.omitted.values())} more did not fit"
    asked = (f"{one.provider}: {_words(one.status)}" for one in body.coverage)
    yield f"Asked: {', '.join(asked)}"


def _start(event: Event) -> str:
    return event.start[:16].replace("T", " ")


def _clock(moment: datetime | None) -> str:
    return f"{moment:%H:%M}" if moment else NOTHING


def _words(code: str) -> str:
    return code.replace("_", " ")


def _table(*names: str) -> Table:
    return Table(*(Column(name, overflow="fold") for name in names), box=None, pad_edge=False)
