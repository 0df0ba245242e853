"""The highlights of the sky card: at most three, each with when it is and one fact of use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from location_context.localisation.formats import Formats
    from location_context.sections.astronomy.response import AstronomyBody, Details, Highlight

AT_MOST = 3
_SEASONS = {"march_equinox", "june_solstice", "september_equinox", "december_solstice"}
_WEIGHTS = {
    "solar_eclipse": 6,
    "lunar_eclipse": 5,
    "meteor_shower": 4,
    "clock_change": 4,
    "full_moon": 3,
    "new_moon": 3,
    **dict.fromkeys(_SEASONS, 2),
}


@dataclass(frozen=True, kw_only=True)
class HighlightView:
    """One highlight as it is shown."""

    icon: str
    title: str
    text: str


def highlight_views(body: AstronomyBody, words: Formats) -> list[HighlightView]:
    """The weightiest, in time order."""
    ranked = sorted(body.highlights, key=lambda one: -_WEIGHTS.get(one.type, 1))[:AT_MOST]
    shown: Sequence[Highlight] = sorted(ranked, key=lambda one: one.at)
    return [_view(one, words) for one in shown]


def _view(one: Highlight, words: Formats) -> HighlightView:
    icon: str = one.type
    if icon in _SEASONS:
        icon = "season"
    if icon == "clock_change":
        icon = "clock"
    return HighlightView(icon=icon, title=one.title, text=_text(one, words))


def _text(one: Highlight, words: Formats) -> str:
    when = words.gettext("{date}, {time}.").format(
        date=words.day(one.at.date()), time=words.time(one.at)
    )
    if one.details is not None and one.type in {"solar_eclipse", "lunar_eclipse"}:
        return _eclipse(one, one.details, words)
    if one.details is not None and one.type == "meteor_shower":
        return _shower(one, one.details, words)
    if one.details is not None and one.type == "clock_change":
        return _clock(one, one.details, words)
    facts = {
        "new_moon": words.gettext("Nights without moonlight."),
        "full_moon": words.gettext("The brightest night of the month."),
        "march_equinox": words.gettext("Day and night about equally long."),
        "september_equinox": words.gettext("Day and night about equally long."),
    }
    return words.sentences([when, facts.get(one.type, "")])


def _eclipse(one: Highlight, details: Details, words: Formats) -> str:
    start = _moment(details.start)
    first = words.day(one.at.date()) + (f", {words.times(start, details.end)}" if start else "")  # type: ignore[arg-type]  # an eclipse with a start has an end
    if one.type == "solar_eclipse" and isinstance(details.obscuration, float):
        text = words.gettext("{when}. At {time} the Moon covers {percent} of the Sun.")
        percent = _share(details.obscuration, words)
        return text.format(when=first, time=words.time(one.at), percent=percent)
    return words.gettext("{when}. Deepest at {time}.").format(when=first, time=words.time(one.at))


def _moment(value: object) -> datetime | None:
    return None if value is UNSET else value  # type: ignore[return-value]  # UNSET or a moment


def _share(share: float, words: Formats) -> str:
    """A share in per cent, with a decimal near the whole: 99.7 % is not 100 %."""
    percent = 100 * share
    if 99 <= percent < 100:
        whole = words.percent(99)
        return whole.replace(words.number(99), words.number(min(percent, 99.9), 1))
    return words.percent(percent)


def _shower(one: Highlight, details: Details, words: Formats) -> str:
    text = words.gettext("Best on {date} about {time}. Up to {rate} meteors an hour, {moonlight}.")
    light = details.moonlight if isinstance(details.moonlight, float | int) else 0.0
    moonlight: str = words.gettext("no moonlight")
    if light >= 0.03:
        moonlight = words.gettext("Moon {percent} lit").format(percent=words.percent(100 * light))
    rate = details.rate if isinstance(details.rate, int) else 0
    return text.format(
        date=words.day(one.at.date()), time=words.time(one.at), rate=rate, moonlight=moonlight
    )


def _clock(one: Highlight, details: Details, words: Formats) -> str:
    shift = details.shift_minutes if isinstance(details.shift_minutes, int) else 0
    if shift < 0:
        text = words.gettext("{date}, {time}: clocks go back by {minutes}.")
    else:
        text = words.gettext("{date}, {time}: clocks go forward by {minutes}.")
    return text.format(
        date=words.day(one.at.date()), time=words.time(one.at), minutes=words.minutes(abs(shift))
    )
