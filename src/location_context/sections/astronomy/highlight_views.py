"""The highlights of the sky as the widget shows them, each with its day and a short useful text.

A highlight's weight says how much there is to see. For a meteor shower it depends on the meteors
per hour, for a lunar eclipse on its kind, for a solar eclipse on the covered share of the Sun.
"""

import math
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from location_context.localisation.formatter import Formatter
from location_context.sections.astronomy.highlights.highlights import LOST_TO_MOON
from location_context.sections.astronomy.response import AstronomyBody, Details, Highlight
from location_context.sections.card import Entry

DOZENS = 24  # meteors an hour from which the text says "dozens"
EQUAL = 3600  # seconds by which day and night may differ at an equinox
LITTLE_CHANGE = 1.0  # degrees from the equator, where all days are about equally long
_QUARTERS = {"first_quarter", "last_quarter"}
_SEASONS = {"march_equinox", "june_solstice", "september_equinox", "december_solstice"}
_WEIGHTS = {"clock_change": 4, "full_moon": 3, "new_moon": 3, **dict.fromkeys(_SEASONS, 2)}
_LUNAR = {"total": 6, "partial": 5, "penumbral": 1}


@dataclass(frozen=True, kw_only=True)
class HighlightView:
    """One highlight, listed under `day`; for an event at night that is the evening's date.

    `to` is the date after `day` if the highlight is best seen after midnight, else None. `meteors`
    is the number of meteors to see in an hour.
    """

    icon: str
    title: str
    text: str
    day: date
    to: date | None
    weight: int
    meteors: float = 0.0


def highlight_views(body: AstronomyBody, fmt: Formatter, today: date) -> list[HighlightView]:
    """Return the highlights from `today` on in time order, without the Moon's quarters."""
    first = max(today, body.stay.start)
    return [
        _view(one, body, fmt)
        for one in sorted(body.highlights, key=lambda one: one.at)
        if one.type not in _QUARTERS and first <= _day(one) <= body.stay.end
    ]


def entries(body: AstronomyBody, fmt: Formatter) -> list[Entry]:
    """Return calendar entries for the highlights, without the Moon's quarters.

    Entries of eclipses and meteor showers have a start and an end, other entries only a start.
    """
    found, numbers = list[Entry](), Counter[str]()
    for one in body.highlights:
        if one.type in _QUARTERS:
            continue
        key = f"{one.type}-{one.at.date()}"
        numbers[key] += 1  # two showers may peak in one night
        start, end = (one.details.start, one.details.end) if one.details else (None, None)
        found.append(
            Entry(
                id=key if numbers[key] == 1 else f"{key}-{numbers[key]}",
                title=one.title,
                start=start or one.at,
                end=end,
                text=_text(one, body, fmt),
            )
        )
    return found


def _view(one: Highlight, body: AstronomyBody, fmt: Formatter) -> HighlightView:
    icon: str = one.type
    if icon in _SEASONS:
        icon = "season"
    if icon == "clock_change":
        icon = "clock"
    day, last = _day(one), one.at.date()
    return HighlightView(
        icon=icon,
        title=one.title,
        text=_text(one, body, fmt),
        day=day,
        to=last if last > day and one.details else None,
        weight=_weight(one),
        meteors=_meteors(one.details) if one.details else 0.0,
    )


def _day(one: Highlight) -> date:
    """Return the date under which a highlight is listed.

    An event at night is listed under the evening's date. A clock change is listed under the date
    that clocks show just before it.
    """
    if one.type in _SEASONS or one.type in {"solar_eclipse", "new_moon"}:
        return one.at.date()
    if one.type == "clock_change":
        return _before_change(one).date()
    return (one.at - timedelta(hours=12)).date()


def _before_change(one: Highlight) -> datetime:
    """Return a clock change's time by the old offset: 02:00 if clocks go from 02:00 to 03:00."""
    shift = one.details.shift_minutes if one.details else 0
    return one.at - timedelta(minutes=shift or 0)


def _text(one: Highlight, body: AstronomyBody, fmt: Formatter) -> str:
    details, time = one.details, fmt.time(one.at)
    if details is None:
        return _fact(one, body, fmt).rstrip(".。")
    if one.type == "meteor_shower":
        start, end = details.start or one.at, details.end or one.at
        best = fmt.times(start, end) if start < end else fmt.time(start)
        text = fmt.gettext("best {times}")
        if _meteors(details) >= DOZENS:
            text = fmt.gettext("dozens an hour, best {times}")
        return text.format(times=best)
    if one.type == "clock_change":
        return fmt.gettext("at {time}").format(time=fmt.time(_before_change(one)))
    if details.obscuration is not None:
        text = fmt.gettext("{percent} of the Sun covered at {time}")
        return text.format(percent=_share(details.obscuration, fmt), time=time)
    return fmt.gettext("maximum at {time}").format(time=time)


def _weight(one: Highlight) -> int:
    details = one.details
    if details is None or one.type == "clock_change":
        return _WEIGHTS.get(one.type, 1)
    if one.type == "lunar_eclipse":
        return _LUNAR[details.kind or "penumbral"]
    if one.type == "solar_eclipse":
        covered = details.obscuration or 0.0
        return 7 if covered >= 0.5 else 5 if covered >= 0.1 else 1
    meteors = _meteors(details)
    return 5 if meteors >= 40 else 4 if meteors >= 15 else 2 if meteors >= 5 else 0


def _meteors(details: Details) -> float:
    """Return roughly how many meteors an hour are seen from a dark place at the best time."""
    height = math.sin(math.radians(details.radiant_height or 0.0))
    return (details.rate or 0) * height * (1 - LOST_TO_MOON * (details.moonlight or 0.0))


def _fact(one: Highlight, body: AstronomyBody, fmt: Formatter) -> str:
    """Return how a Moon phase, equinox or solstice affects nights or days: a sentence, or ""."""
    if one.type in {"june_solstice", "december_solstice"}:
        return _solstice(one, body, fmt)
    if one.type == "new_moon":
        return fmt.gettext("Nights without moonlight.")
    if one.type == "full_moon":
        return fmt.gettext("The brightest night of the month.")
    sun = next(day.sun for day in body.days if day.date == one.at.date())
    equal = abs(sun.day_length_seconds - 43200) <= EQUAL
    return fmt.gettext("Day and night about equally long.") if equal else ""


def _solstice(one: Highlight, body: AstronomyBody, fmt: Formatter) -> str:
    """Return "The longest day of the year." or "The shortest …"; "" near the equator or a pole."""
    status = next(day.sun.status for day in body.days if day.date == one.at.date())
    if status != "normal" or abs(body.point.lat) < LITTLE_CHANGE:
        return ""
    if (one.type == "june_solstice") == (body.point.lat > 0):
        return fmt.gettext("The longest day of the year.")
    return fmt.gettext("The shortest day of the year.")


def _share(share: float, fmt: Formatter) -> str:
    """Return a share (0 to 1) as percent; a share just below 1 is at most "99.9 %", not 100."""
    percent = 100 * share
    if 99 <= percent < 100:
        whole = fmt.percent(99)
        return whole.replace(fmt.number(99), fmt.number(min(percent, 99.9), 1))
    return fmt.percent(percent)
