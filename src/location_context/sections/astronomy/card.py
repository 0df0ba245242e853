"""The sky card: the widget's text and drawing of Sun, Moon and night.

The drawing shows the Sun's path today, or on the stay's first day if that is later. The Sun's disc
is drawn in the middle of the evening's golden hour. The best night has the most dark, moonless
hours; for a night with a meteor shower, its hours are multiplied by (1 + meteors per hour).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise

from location_context.localisation.formatter import Formatter
from location_context.sections.astronomy.drawing import SunPath, lit_part, sun_path, turns
from location_context.sections.astronomy.highlight_views import HighlightView, highlight_views
from location_context.sections.astronomy.response import AstronomyBody, Day, Planet
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.card import Brief, Card, Fact, Moment

TEMPLATE = "location_context.sections.astronomy:card.html"
NOTABLE_DRIFT = 10  # minutes by which the sunset moves before the text mentions it
NIGHTS_AT_MOST = 35
MONTH = 28  # days within which "Wed 12" can mean only one date
FAINTEST = 1.5  # magnitude of the faintest planet listed; twenty stars are as bright
FEWEST_HOURS = 1.0  # of dark, moonless sky in a good night
MOONLESS = 0.03  # share of the disc whose light is too weak to mention
AURORA = 62.0  # degrees of geomagnetic latitude from which it is seen on many dark nights
DIPOLE = (80.8, -72.7)  # the dipole's northern pole, IGRF-14 for 2025
RARE, SEEN = 5, 2  # least weight of a highlight to be a fact of the page, and to be in its row


def light(days: Sequence[Day], fmt: Formatter) -> str:
    """Return one sentence on the Sun for all `days`, such as "The Sun does not set"."""
    sun = days[0].sun
    if change := _change(days, fmt):
        return change
    if sun.status == "polar_day":
        return fmt.gettext("The Sun does not set")
    if sun.status == "polar_night":
        span = _twilight(days[0])
        text = fmt.gettext("The Sun does not rise; twilight {times}")
        return text.format(times=fmt.times(*span)) if span else fmt.gettext("The Sun does not rise")
    if sun.sunset is None:
        text = fmt.gettext("The Sun is up for {duration}")
        return text.format(duration=fmt.duration(sun.day_length_seconds))
    return _sunset(days, sun.sunset, fmt)


def _sunset(days: Sequence[Day], sunset: datetime, fmt: Formatter) -> str:
    """Return a sentence with the first day's sunset.

    If the last day's sunset is 10 minutes or more earlier or later, the sentence adds it.
    Otherwise the sentence adds the golden hour of the first day.
    """
    last, golden = days[-1].sun.sunset, days[0].sun.golden_hour_evening
    if last and abs(_minutes(sunset) - _minutes(last)) >= NOTABLE_DRIFT:
        day = fmt.day(days[-1].date) if len(days) < MONTH else fmt.date_short(days[-1].date)
        text = fmt.gettext("Sunset {first}, {last} by {date}")
        return text.format(first=fmt.time(sunset), date=day, last=fmt.time(last))
    if golden is None:
        return fmt.gettext("Sunset {time}").format(time=fmt.time(sunset))
    text = fmt.gettext("Sunset {time}, best light {times}")
    return text.format(time=fmt.time(sunset), times=fmt.times(golden.start, golden.end))


def _twilight(day: Day) -> tuple[datetime, datetime] | None:
    """Return begin and end of civil twilight on a day without sunrise; None without twilight."""
    dawn, dusk = day.sun.civil_dawn, day.sun.civil_dusk
    return (dawn, dusk) if dawn and dusk and dawn < dusk else None


def _minutes(sunset: datetime) -> int:
    """Return the minutes from 12:00 to a sunset; a sunset at 00:30 is 750, not -690."""
    return (sunset.hour * 60 + sunset.minute - 720) % 1440


def _never_dark(day: Day) -> bool:
    sun = day.sun
    deep = sun.noon_altitude is not None and sun.noon_altitude < -18
    return sun.astronomical_dusk is None and sun.astronomical_dawn is None and not deep


def _change(days: Sequence[Day], fmt: Formatter) -> str:
    """Return a sentence on the first date on which polar day or night begins or ends, or ""."""
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
    """One night as the template shows it.

    `lit` is the outline of the Moon's lit part: SVG path data around (0, 0), empty at new Moon.
    The template rotates the outline by `turn` degrees clockwise. `spoken` is for screen readers.
    """

    dates: str
    lit: str
    turn: int
    percent: str
    dark: str
    spoken: str


def _night(day: Day, turn: int, dates: str, fmt: Formatter) -> NightView:
    percent = fmt.percent(100 * day.moon.illumination)
    spans = [fmt.times(span.start, span.end) for span in day.night.dark_windows]
    dark = fmt.comma.join(spans) or _no_window(day, fmt)
    text = fmt.gettext("Night of {date}: Moon {percent} lit; dark and moonless: {window}.")
    return NightView(
        dates=dates,
        lit=lit_part(day.moon.phase_angle, day.moon.illumination),
        turn=turn,
        percent=percent,
        dark=dark,
        spoken=text.format(date=dates, percent=percent, window=dark),
    )


def _night_of(evening: date, days: Sequence[Day], fmt: Formatter) -> str:
    """Return both dates of a night: "Wed 12 to Thu 13", but with the month in long stays."""
    name = fmt.day if len(days) < MONTH else fmt.date_short
    text = fmt.gettext("{first} to {second}")
    return text.format(first=name(evening), second=name(evening + timedelta(days=1)))


def _no_window(day: Day, fmt: Formatter) -> str:
    """Return the text for a night without a dark window.

    Either the Sun stays above -18°, or the Moon is up during all dark hours.
    """
    if _never_dark(day):
        return fmt.gettext("Never fully dark")
    return fmt.gettext("Moon up all night")


def _best(nights: Sequence[Day], found: Sequence[HighlightView]) -> int | None:
    """Return the index of the night that is best to see stars, and meteors of showers in `found`.

    Return None if that night has less than one dark hour.
    """
    meteors = {one.day: one.meteors for one in found if one.icon == "meteor_shower"}
    hours = [night.night.dark_hours * (1 + meteors.get(night.date, 0.0)) for night in nights]
    best = max(range(len(nights)), key=lambda n: hours[n])
    return best if nights[best].night.dark_hours >= FEWEST_HOURS else None


def _best_text(
    night: Day, body: AstronomyBody, found: Sequence[HighlightView], fmt: Formatter
) -> str:
    """Return a text on the night's meteor shower if notable, else on the longest dark window."""
    for one in found:
        if one.icon == "meteor_shower" and one.day == night.date and one.weight >= SEEN:
            return f"{one.title}{fmt.comma}{one.text}"
    span = max(night.night.dark_windows, key=lambda one: one.end - one.start)
    text = fmt.gettext("Dark {times}, no moonlight")
    if night.moon.illumination <= MOONLESS:
        text = fmt.gettext("Dark {times}, no Moon")
    said = text.format(times=fmt.times(span.start, span.end))
    if geomagnetic_latitude(body.point.lat, body.point.lng) < AURORA:
        return said
    return fmt.comma.join([said, str(fmt.gettext("aurora season"))])


def geomagnetic_latitude(lat: float, lng: float) -> float:
    """Return a point's geomagnetic latitude without sign: 0 to 90 degrees.

    The aurora is seen often where this latitude is 62 degrees or more.
    """
    (pole, phi), turn = (map(math.radians, (DIPOLE[0], lat))), math.radians(lng - DIPOLE[1])
    sine = math.sin(phi) * math.sin(pole) + math.cos(phi) * math.cos(pole) * math.cos(turn)
    return abs(math.degrees(math.asin(sine)))


@dataclass(frozen=True, kw_only=True)
class PlanetsView:
    """A time of night, and the planets that are bright and easy to see at that time."""

    when: str
    names: str


def planet_views(nights: Sequence[Day], fmt: Formatter) -> list[PlanetsView]:
    """Return the planets that are bright and visible on every night of the stay.

    The planets are grouped by time of night: evening, all night, morning.
    """
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
    """Return the time of night at which a planet is visible on every night, such as `evening`.

    Return "" if the planet is faint or invisible on any night, or if no time fits all nights.
    """
    found = [planet for night in nights for planet in night.planets if planet.name == name]
    ways = {planet.visible for planet in found}
    if "none" in ways or any(_magnitude(planet) > FAINTEST for planet in found):
        return ""
    if len(ways) > 1:
        ways.discard("all_night")  # includes the evening and the morning
    return ways.pop() if len(ways) == 1 else ""


def _magnitude(planet: Planet) -> float:
    return 99.0 if planet.magnitude is None else planet.magnitude


@dataclass(frozen=True, kw_only=True)
class View:
    """The input of the card's template.

    `light` is the sentence on the Sun's light, `best` the best night with its title and text,
    `nights` the other nights.
    """

    light: str
    path: SunPath | None
    times: Sequence[tuple[str, str]]
    best: tuple[NightView, str, str] | None
    nights: Sequence[NightView]
    planets: Sequence[PlanetsView]


def card(body: AstronomyBody, ephemeris: Ephemeris, fmt: Formatter, today: date) -> Card:
    """Return the sky card for the dates of an answer from `today` on.

    The ephemeris is needed to draw the Moon as it is tilted in the sky.
    """
    days = [day for day in body.days if day.date >= today] or body.days[-1:]
    nights = days[:-1] or days
    found = highlight_views(body, fmt, today)
    best = _best(nights, found)
    shown = nights[::7] if len(nights) > NIGHTS_AT_MOST else nights
    drawn = shown if best is None else [*shown, nights[best]]
    leans = turns(ephemeris, body.point, [night.date for night in drawn])
    views = [
        _night(night, turn, _night_of(night.date, days, fmt), fmt)
        for night, turn in zip(drawn, leans, strict=True)
    ]
    chosen = None
    if best is not None:
        title = fmt.gettext("Best night: {dates}").format(dates=views[-1].dates)
        chosen = (views.pop(), title, _best_text(nights[best], body, found, fmt))
    view = View(
        light=light(days, fmt),
        path=sun_path(days[0], body.point.lat, fmt),
        times=_times(days[0], fmt),
        best=chosen,
        nights=views,
        planets=planet_views(nights, fmt),
    )
    return Card(
        template=TEMPLATE,
        view=view,
        lines=13,
        moments=moments(found, fmt),
        facts=_facts(days, found, fmt),
        brief=_brief(view, fmt),
    )


def _brief(view: View, fmt: Formatter) -> Brief:
    """Return the card's short form: the sentence on the Sun, and the best night to see stars."""
    night, title, text = view.best or (None, "", "")
    remark = f"{title}\u00a0· {text}" if night else ""
    drawing = ""
    if night:
        lit = f'<path d="{night.lit}" transform="rotate({night.turn})"/>' if night.lit else ""
        drawing = f'<circle r="15"/>{lit}'
    heading = fmt.gettext("Sun and night sky")
    return Brief(heading=heading, lead=view.light, remark=remark, drawing=drawing)


def moments(found: Sequence[HighlightView], fmt: Formatter) -> list[Moment]:
    """Return a `Moment` of the page for each highlight; leave out those with little to see."""
    return [
        Moment(
            day=one.day,
            title=one.title,
            text=f"{one.text}{fmt.comma}{_night_to(one.to, fmt)}" if one.to else one.text,
            icon=one.icon,
            kind="sky",
            weight=one.weight,
        )
        for one in found
        if one.weight >= SEEN
    ]


def _night_to(day: date, fmt: Formatter) -> str:
    """Return a note such as "night before Thu 13" for a highlight in the first hours of `day`.

    The page lists such a highlight under the day before `day`, here Wednesday the 12th.
    """
    return fmt.gettext("night before {date}").format(date=fmt.day(day))


def _facts(days: Sequence[Day], found: Sequence[HighlightView], fmt: Formatter) -> list[Fact]:
    """Return facts for the top of the page: a rare event, and sunset, polar day or polar night."""
    facts, sun = list[Fact](), days[0].sun
    rare = max(found, key=lambda one: one.weight, default=None)
    if rare is not None and rare.weight >= RARE:
        night = fmt.gettext("night of {dates}").format(dates=_night_of(rare.day, days, fmt))
        name = fmt.day if len(days) < MONTH else fmt.date_short
        by_day = f"{name(rare.day)}{fmt.comma}{rare.text}"
        caption = by_day if rare.icon == "solar_eclipse" else night
        facts.append(
            Fact(value=rare.title, caption=caption, icon=rare.icon, tone="dusk", weight=70)
        )
    if sun.status == "polar_night" and (span := _twilight(days[0])):
        caption = fmt.gettext("twilight; the Sun does not rise")
        value = fmt.times(*span)
        facts.append(Fact(value=value, caption=caption, icon="sunset", tone="dusk", weight=60))
    elif sun.status == "polar_night":
        value, caption = fmt.gettext("Polar night"), fmt.gettext("the Sun does not rise")
        facts.append(Fact(value=value, caption=caption, icon="sunset", tone="dusk", weight=60))
    elif sun.status == "polar_day":
        value, caption = fmt.gettext("Midnight sun"), fmt.gettext("the Sun does not set")
        facts.append(Fact(value=value, caption=caption, icon="sunset", tone="sun", weight=60))
    elif sun.sunset is not None:
        text = fmt.gettext("sunset, {duration} of daylight")
        hours = fmt.ngettext("{hours} hour", "{hours} hours", round(sun.day_length_seconds / 3600))
        caption = text.format(
            duration=hours.format(hours=fmt.number(round(sun.day_length_seconds / 3600)))
        )
        value = fmt.time(sun.sunset)
        facts.append(Fact(value=value, caption=caption, icon="sunset", tone="sun", weight=40))
    return facts


def _times(day: Day, fmt: Formatter) -> list[tuple[str, str]]:
    """Return (value, label) pairs for the line under the drawing: sunrise, daylight, sunset.

    On a day without sunrise, the labels are first light, brightest and last light.
    """
    sun = day.sun
    if sun.sunrise and sun.sunset:
        begin, end = (sun.sunrise, fmt.gettext("sunrise")), (sun.sunset, fmt.gettext("sunset"))
        middle = (fmt.duration(sun.day_length_seconds), fmt.gettext("daylight"))
        return [(fmt.time(begin[0]), begin[1]), middle, (fmt.time(end[0]), end[1])]
    if span := _twilight(day):
        found = [(fmt.time(span[0]), fmt.gettext("first light"))]
        if sun.solar_noon:
            found.append((fmt.time(sun.solar_noon), fmt.gettext("brightest")))
        return [*found, (fmt.time(span[1]), fmt.gettext("last light"))]
    return []
