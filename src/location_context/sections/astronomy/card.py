"""The sky card: what the widget says and draws of Sun, Moon and night.

The sentence comes from the days themselves. The middle day of the stay stands for the Sun's path;
each night shows the Moon as it is lit, and when the sky is dark with the Moon down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from location_context.localisation.formatter import EN_DASH, Formatter
from location_context.sections.astronomy.drawing import SunPath, lit_part, sun_path, turns
from location_context.sections.astronomy.highlight_views import HighlightView, highlight_views
from location_context.sections.astronomy.response import AstronomyBody, Day, Planet
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.card import Brief, BriefItem

LITTLE_MOON = 0.25
LITTLE_DRIFT, TOLD_DRIFT = 20, 10  # minutes of sunset: one time stands for all; worth a sentence
NIGHTS_AT_MOST = 35
FAINTEST = 1.5  # magnitude: as bright as the brightest score of stars
ONE_LINE = 12  # characters of a window that stand on one line of a column


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
    sunsets = sorted((day.sun.sunset for day in days if day.sun.sunset), key=_minutes)
    text, times = fmt.gettext("{duration} of daylight; {nights}."), dict[str, str]()
    if sunsets and _minutes(sunsets[-1]) - _minutes(sunsets[0]) > LITTLE_DRIFT:
        text = fmt.gettext("{duration} of daylight, sunset from {first} to {last}; {nights}.")
        times = {"first": fmt.time(sunsets[0]), "last": fmt.time(sunsets[-1])}
    elif sunsets:
        text = fmt.gettext("{duration} of daylight, sunset near {time}; {nights}.")
        times = {"time": fmt.time(sunsets[len(sunsets) // 2])}
    return text.format(duration=_daylight(days, fmt), nights=_nights(days, fmt), **times)


def _minutes(sunset: datetime) -> int:
    """Of the local clock after noon, so that a sunset after midnight is a late one."""
    return (sunset.hour * 60 + sunset.minute - 720) % 1440


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


@dataclass(frozen=True, kw_only=True)
class NightView:
    """One night as it is shown; `lit` is path data around the centre, empty at new moon.

    `windows` are the dark windows' first and last times, each with what follows it; `why` stands
    where there is none.
    """

    weekday: str
    day: str
    lit: str
    turn: int
    percent: str
    windows: Sequence[tuple[str, str]]
    why: str
    long: bool
    spoken: str


def _night(day: Day, turn: int, fmt: Formatter) -> NightView:
    percent = fmt.percent(100 * day.moon.illumination)
    spans = day.night.dark_windows
    times = [(fmt.time(span.start), fmt.time(span.end)) for span in spans]
    why = "" if times else _no_window(day, fmt)
    said = fmt.comma.join(f"{start}{EN_DASH}{end}" for start, end in times)
    text = fmt.gettext("Night of {date}: Moon {percent} lit; dark with the Moon down: {window}.")
    return NightView(
        weekday=fmt.weekday(day.date),
        day=str(day.date.day),
        lit=lit_part(day.moon.phase_angle, day.moon.illumination),
        turn=turn,
        percent=percent,
        windows=[
            (start + "–", end + (fmt.comma.strip() if number < len(times) else ""))
            for number, (start, end) in enumerate(times, 1)
        ],
        why=why,
        long=any(len(start + end) >= ONE_LINE for start, end in times),
        spoken=text.format(date=fmt.date_long(day.date), percent=percent, window=said or why),
    )


def _no_window(day: Day, fmt: Formatter) -> str:
    """Why there is no dark window: the Sun is not deep enough, or the Moon is up."""
    if _never_dark(day):
        return fmt.gettext("Never fully dark")
    return fmt.gettext("Moon up all night")


@dataclass(frozen=True, kw_only=True)
class PlanetsView:
    """When to look, and which planets stand out then."""

    when: str
    names: str


def planet_views(nights: Sequence[Day], fmt: Formatter) -> list[PlanetsView]:
    """Evening, morning and all night, as far as something stands out on every night."""
    labels = {
        "evening": fmt.gettext("Planets in the evening"),
        "all_night": fmt.gettext("Planets all night"),
        "morning": fmt.gettext("Planets before dawn"),
    }
    bright = sorted(nights[len(nights) // 2].planets, key=_magnitude)
    whens = {planet.name: _when(planet.name, nights) for planet in bright}
    names = {
        "mercury": fmt.gettext("Mercury"),
        "venus": fmt.gettext("Venus"),
        "mars": fmt.gettext("Mars"),
        "jupiter": fmt.gettext("Jupiter"),
        "saturn": fmt.gettext("Saturn"),
    }
    return [
        PlanetsView(when=label, names=fmt.join_list(found))
        for when, label in labels.items()
        if (found := [names[name] for name, seen in whens.items() if seen == when])
    ]


def _when(name: str, nights: Sequence[Day]) -> str:
    """When it stands out on every night of all; empty when it does not."""
    found = [planet for night in nights for planet in night.planets if planet.name == name]
    ways = {planet.visible for planet in found}
    if "none" in ways or any(_magnitude(planet) > FAINTEST for planet in found):
        return ""
    if len(ways) > 1:
        ways.discard("all_night")  # which is the evening and the morning too
    return ways.pop() if len(ways) == 1 else ""


def _magnitude(planet: Planet) -> float:
    return 99.0 if planet.magnitude is None else planet.magnitude


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


def card(body: AstronomyBody, ephemeris: Ephemeris, fmt: Formatter) -> Card:
    """Return the card; the ephemeris tells how the Moon leans."""
    middle = body.days[(len(body.days) - 1) // 2]
    nights = body.days[:-1] or body.days
    if len(nights) > NIGHTS_AT_MOST:
        nights = nights[::7]
    leans = turns(ephemeris, body.point, [night.date for night in nights])
    shown = [_night(night, turn, fmt) for night, turn in zip(nights, leans, strict=True)]
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


def brief(body: AstronomyBody, fmt: Formatter) -> Brief:
    """The sentence and the highlights, the weightiest of them first to stay."""
    return Brief(
        heading=fmt.gettext("Sky"),
        lead=lead(body, fmt),
        items=[
            BriefItem(name=one.title, details=[one.text], icon=one.icon, weight=one.weight)
            for one in highlight_views(body, fmt)
        ],
    )


def _facts(day: Day, fmt: Formatter) -> list[Fact]:
    sun = day.sun
    facts = [Fact(label=fmt.gettext("Daylight"), value=fmt.duration(sun.day_length_seconds))]
    if sun.solar_noon is not None and sun.noon_altitude is not None:
        facts.append(_highest(sun.solar_noon, sun.noon_altitude, fmt))
    if sun.status == "polar_night":  # the Sun lights nothing golden, but the sky for hours
        if sun.civil_dawn and sun.civil_dusk and sun.civil_dawn < sun.civil_dusk:
            times = fmt.times(sun.civil_dawn, sun.civil_dusk)
            facts.append(Fact(label=fmt.gettext("Twilight"), value=times))
        return facts
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
    if first is None or last is None or abs(_minutes(first) - _minutes(last)) < TOLD_DRIFT:
        return day
    moves = fmt.gettext("Sunset moves from {first} to {last} over the stay.")
    moved = moves.format(first=fmt.time(first), last=fmt.time(last))
    return fmt.join_sentences([day, moved])
