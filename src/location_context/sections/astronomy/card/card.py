"""The sky card: what the widget says and draws of Sun, Moon and night.

The sentence comes from the days themselves. The middle day of the stay stands for the Sun's path;
each night shows the Moon as it is lit, and when the sky is dark with the Moon down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from location_context.localisation.formatter import Formatter
from location_context.sections.astronomy.card.highlights import HighlightView, highlight_views
from location_context.sections.astronomy.card.nights import (
    NightView,
    PlanetsView,
    night_views,
    planet_views,
)
from location_context.sections.astronomy.card.sun import SunPath, sun_path
from location_context.sections.astronomy.response import AstronomyBody, Day

LITTLE_MOON = 0.25


def lead(body: AstronomyBody, fmt: Formatter) -> str:
    """One sentence, true of every day of the stay."""
    days = body.days
    if change := _change(days, fmt):
        return change
    if days[0].sun.status == "polar_day":
        return fmt.gettext("The Sun does not set during this stay.")
    if days[0].sun.status == "polar_night":
        return fmt.gettext("The Sun does not rise during this stay; {nights}.").format(
            nights=_nights(days, fmt)
        )
    middle = days[(len(days) - 1) // 2].sun
    text = fmt.gettext("{duration} of daylight; {nights}.")
    if middle.sunset is not None:
        text = fmt.gettext("{duration} of daylight, sunset near {time}; {nights}.")
    time = fmt.time(middle.sunset) if middle.sunset else ""
    return text.format(duration=_daylight(days, fmt), time=time, nights=_nights(days, fmt))


def _daylight(days: Sequence[Day], fmt: Formatter) -> str:
    """To the hour when the stay's days all round to it, else hours and minutes from to."""
    hours = [round(day.sun.day_length_seconds / 3600) for day in days]
    if min(hours) < max(hours):
        text = fmt.ngettext("{low} to {high} hour", "{low} to {high} hours", max(hours))
        return text.format(low=min(hours), high=max(hours))
    return fmt.ngettext("{hours} hour", "{hours} hours", hours[0]).format(hours=hours[0])


def _nights(days: Sequence[Day], fmt: Formatter) -> str:
    """How dark the nights of the stay are, not the last date's."""
    nights = days[:-1] or days
    hours = [day.night.dark_hours for day in nights]
    if max(hours) < 0.05:
        if all(_never_dark(day) for day in nights):
            return fmt.gettext("the nights are never fully dark")
        return fmt.gettext("the Moon or twilight lights every night")
    if min(hours) > 2 and all(day.moon.illumination <= LITTLE_MOON for day in nights):
        return fmt.gettext("dark nights with little Moon")
    most = max(1, round(max(hours)))
    text = fmt.ngettext(
        "up to {hours} hour of dark, moonless sky a night",
        "up to {hours} hours of dark, moonless sky a night",
        most,
    )
    return text.format(hours=most)


def _never_dark(day: Day) -> bool:
    sun = day.sun
    deep = sun.noon_altitude is not None and sun.noon_altitude < -18
    return sun.astronomical_dusk is None and sun.astronomical_dawn is None and not deep


def _change(days: Sequence[Day], fmt: Formatter) -> str:
    """Where the Sun begins or ceases to rise or set within the stay."""
    for before, after in pairwise(days):
        if before.sun.status == after.sun.status:
            continue
        date = fmt.date_short(after.date)
        if after.sun.status == "polar_day":
            return fmt.gettext("From {date} the Sun no longer sets.").format(date=date)
        if after.sun.status == "polar_night":
            return fmt.gettext("From {date} the Sun no longer rises.").format(date=date)
        if before.sun.status == "polar_day":
            return fmt.gettext("From {date} the Sun sets again.").format(date=date)
        return fmt.gettext("From {date} the Sun rises again.").format(date=date)
    return ""


NIGHTS_AT_MOST = 35


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A quiet label and what it says; `detail` follows at once."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the template shows."""

    lead: str
    highlights: Sequence[HighlightView]
    path: SunPath | None
    facts: Sequence[Fact]
    drift: str
    nights: Sequence[NightView]
    columns: int
    long: bool
    planets: Sequence[PlanetsView]


def card(body: AstronomyBody, fmt: Formatter) -> Card:
    """The card of an answer."""
    middle = body.days[(len(body.days) - 1) // 2]
    nights = body.days[:-1] or body.days
    if len(nights) > NIGHTS_AT_MOST:
        nights = nights[::7]
    shown = night_views(nights, body.point, fmt)
    return Card(
        lead=lead(body, fmt),
        highlights=highlight_views(body, fmt),
        path=sun_path(middle, body.point.lat, fmt),
        facts=_facts(middle, fmt),
        drift=_drift(body, middle, fmt),
        nights=shown,
        columns=len(nights) if len(nights) <= 10 else 7,
        long=any(night.long for night in shown),
        planets=planet_views(nights, fmt),
    )


def _facts(day: Day, fmt: Formatter) -> list[Fact]:
    sun = day.sun
    facts = [Fact(label=fmt.gettext("Daylight"), value=fmt.duration(sun.day_length_seconds))]
    if sun.solar_noon is not None and sun.noon_altitude is not None:
        facts.append(_highest(sun.solar_noon, sun.noon_altitude, fmt))
    for label, span in (
        (fmt.gettext("Golden hour, morning"), sun.golden_hour_morning),
        (fmt.gettext("Golden hour, evening"), sun.golden_hour_evening),
    ):
        if span is not None:
            facts.append(Fact(label=label, value=fmt.times(span.start, span.end)))
    return facts


def _highest(noon: datetime, altitude: float, fmt: Formatter) -> Fact:
    """When and how high, or how far below the horizon in the polar night."""
    before, text = " ", fmt.gettext("at {degrees}°")
    if altitude <= -0.5:
        before, text = fmt.comma, fmt.gettext("{degrees}° below the horizon")
    return Fact(
        label=fmt.gettext("Sun at its highest"),
        value=fmt.time(noon),
        detail=before + text.format(degrees=fmt.number(abs(altitude))),
    )


def _drift(body: AstronomyBody, middle: Day, fmt: Formatter) -> str:
    """Which day the Sun is shown for, and how sunset moves over the stay."""
    day = fmt.gettext("Shown for {date}.").format(date=fmt.date_short(middle.date))
    first, last = body.days[0].sun.sunset, body.days[-1].sun.sunset
    if len(body.days) < 2:
        return ""
    if first is None or last is None or fmt.time(first) == fmt.time(last):
        return day
    moves = fmt.gettext("Sunset moves from {first} to {last} over the stay.")
    moved = moves.format(first=fmt.time(first), last=fmt.time(last))
    return fmt.join_sentences([day, moved])
