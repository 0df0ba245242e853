"""The sentence of the sky card: daylight, sunset and how dark the nights are, from the days."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.localisation.formats import Formats
    from location_context.sections.astronomy.response import AstronomyBody, Day

LITTLE_MOON = 0.25


def lead(body: AstronomyBody, words: Formats) -> str:
    """One sentence, true of every day of the stay."""
    days = body.days
    if change := _change(days, words):
        return change
    if days[0].sun.status == "polar_day":
        return words.gettext("The Sun does not set during this stay.")
    if days[0].sun.status == "polar_night":
        return words.gettext("The Sun does not rise during this stay; {nights}.").format(
            nights=_nights(days, words)
        )
    middle = days[(len(days) - 1) // 2].sun
    text = words.gettext("{duration} of daylight; {nights}.")
    if middle.sunset is not None:
        text = words.gettext("{duration} of daylight, sunset near {time}; {nights}.")
    time = words.time(middle.sunset) if middle.sunset else ""
    return text.format(duration=_daylight(days, words), time=time, nights=_nights(days, words))


def _daylight(days: Sequence[Day], words: Formats) -> str:
    """To the hour when the stay's days all round to it, else hours and minutes from to."""
    hours = [round(day.sun.day_length_seconds / 3600) for day in days]
    if min(hours) < max(hours):
        text = words.ngettext("{low} to {high} hour", "{low} to {high} hours", max(hours))
        return text.format(low=min(hours), high=max(hours))
    return words.ngettext("{hours} hour", "{hours} hours", hours[0]).format(hours=hours[0])


def _nights(days: Sequence[Day], words: Formats) -> str:
    """How dark the nights of the stay are, not the last date's."""
    nights = days[:-1] or days
    hours = [day.night.dark_hours for day in nights]
    if max(hours) < 0.05:
        if all(_never_dark(day) for day in nights):
            return words.gettext("the nights are never fully dark")
        return words.gettext("the Moon or twilight lights every night")
    if min(hours) > 2 and all(day.moon.illumination <= LITTLE_MOON for day in nights):
        return words.gettext("dark nights with little Moon")
    most = max(1, round(max(hours)))
    text = words.ngettext(
        "up to {hours} hour of dark, moonless sky a night",
        "up to {hours} hours of dark, moonless sky a night",
        most,
    )
    return text.format(hours=most)


def _never_dark(day: Day) -> bool:
    sun = day.sun
    deep = sun.noon_altitude is not None and sun.noon_altitude < -18
    return sun.astronomical_dusk is None and sun.astronomical_dawn is None and not deep


def _change(days: Sequence[Day], words: Formats) -> str:
    """Where the Sun begins or ceases to rise or set within the stay."""
    for before, after in pairwise(days):
        if before.sun.status == after.sun.status:
            continue
        date = words.date_short(after.date)
        if after.sun.status == "polar_day":
            return words.gettext("From {date} the Sun no longer sets.").format(date=date)
        if after.sun.status == "polar_night":
            return words.gettext("From {date} the Sun no longer rises.").format(date=date)
        if before.sun.status == "polar_day":
            return words.gettext("From {date} the Sun sets again.").format(date=date)
        return words.gettext("From {date} the Sun rises again.").format(date=date)
    return ""
