"""The highlights of a stay: what is special on its dates at the point, in time order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from location_context.localisation.language import Language
from location_context.point import Point
from location_context.sections.astronomy.highlights.eclipse_geometry import AROUND, SeenEclipse
from location_context.sections.astronomy.highlights.eclipses import (
    lunar_eclipse,
    solar_eclipse,
    visible_lunar_eclipse,
    visible_solar_eclipse,
)
from location_context.sections.astronomy.highlights.meteor_showers import best_moment
from location_context.sections.astronomy.response import (
    Details,
    EclipseKind,
    Highlight,
    HighlightType,
)
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.astronomy.sky.local_days import LocalDay
from location_context.sections.astronomy.sky.sky_events import SHOWERS, SkyEvent


def moment_title(kind: HighlightType, language: Language) -> str:
    """The words for a phase, an equinox or a solstice."""
    words = {
        "new_moon": language.gettext("New Moon"),
        "first_quarter": language.gettext("First quarter"),
        "full_moon": language.gettext("Full Moon"),
        "last_quarter": language.gettext("Last quarter"),
        "march_equinox": language.gettext("March equinox"),
        "june_solstice": language.gettext("June solstice"),
        "september_equinox": language.gettext("September equinox"),
        "december_solstice": language.gettext("December solstice"),
    }
    return words[kind]


def solar_eclipse_title(kind: EclipseKind, language: Language) -> str:
    """The words for a solar eclipse as seen from the point."""
    words = {
        "partial": language.gettext("Partial eclipse of the Sun"),
        "annular": language.gettext("Annular eclipse of the Sun"),
        "total": language.gettext("Total eclipse of the Sun"),
    }
    return words[kind]


def lunar_eclipse_title(kind: EclipseKind, language: Language) -> str:
    """The words for a lunar eclipse as seen from the point."""
    words = {
        "penumbral": language.gettext("Penumbral eclipse of the Moon"),
        "partial": language.gettext("Partial eclipse of the Moon"),
        "total": language.gettext("Total eclipse of the Moon"),
    }
    return words[kind]


def clock_change_title(forward: bool, language: Language) -> str:
    """The words for a clock put forward or back."""
    if forward:
        return language.gettext("Clocks go forward")
    return language.gettext("Clocks go back")


def shower_title(name: str, language: Language) -> str:
    """The name of a meteor shower."""
    words = {
        "quadrantids": language.gettext("Quadrantid meteors"),
        "lyrids": language.gettext("Lyrid meteors"),
        "eta_aquariids": language.gettext("Eta Aquariid meteors"),
        "southern_delta_aquariids": language.gettext("Southern Delta Aquariid meteors"),
        "alpha_capricornids": language.gettext("Alpha Capricornid meteors"),
        "perseids": language.gettext("Perseid meteors"),
        "draconids": language.gettext("Draconid meteors"),
        "orionids": language.gettext("Orionid meteors"),
        "southern_taurids": language.gettext("Southern Taurid meteors"),
        "northern_taurids": language.gettext("Northern Taurid meteors"),
        "leonids": language.gettext("Leonid meteors"),
        "geminids": language.gettext("Geminid meteors"),
        "ursids": language.gettext("Ursid meteors"),
    }
    return words[name]


_PROBE = 43200  # seconds; two changes are never closer


class ClockChange(NamedTuple):
    """The instant of a change (unix seconds) and by how much the clock is put forward."""

    at: int
    forward: timedelta


def clock_changes(days: Sequence[LocalDay]) -> list[ClockChange]:
    """Every change on the dates, those at their first midnight included."""
    zone = days[0].zone
    start, end = days[0].start - 1, days[-1].end - 1
    probes = [*range(start, end, _PROBE), end]
    offsets = [_offset(probe, zone) for probe in probes]
    return [
        ClockChange(_instant(a, b, zone), after - before)
        for a, b, before, after in zip(probes, probes[1:], offsets, offsets[1:], strict=False)
        if before != after
    ]


def _offset(seconds: int, zone: ZoneInfo) -> timedelta:
    return datetime.fromtimestamp(seconds, zone).utcoffset() or timedelta()


def _instant(before: int, after: int, zone: ZoneInfo) -> int:
    """The first second with the new offset."""
    new = _offset(after, zone)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(middle, zone) == new:
            after = middle
        else:
            before = middle
    return after


_HALF_DAY = 43200


@dataclass(frozen=True, slots=True)
class Highlights:
    """What makes the highlights of one stay at one point."""

    days: Sequence[LocalDay]
    point: Point
    ephemeris: Ephemeris
    language: Language

    def all(self) -> list[Highlight]:
        """Everything from the first midnight to the last, in time order."""
        start, end = self.days[0].start, self.days[-1].end
        around = self.ephemeris.sky_events(start - _HALF_DAY, end + _HALF_DAY)
        inside = [moment for moment in around if start <= moment.at < end]
        near = [moment for moment in around if start - AROUND <= moment.at < end + AROUND]
        found = [
            *self._moments(inside),
            *self._clock_changes(),
            *self._solar_eclipses(near),
            *self._lunar_eclipses(near),
            *self._showers(around),
        ]
        dates = {day.date for day in self.days}
        kept = [highlight for highlight in found if highlight.at.date() in dates]
        return sorted(kept, key=lambda highlight: (highlight.at, highlight.type))

    def _moments(self, inside: Sequence[SkyEvent]) -> Iterator[Highlight]:
        for moment in inside:
            if moment.type != "meteor_shower":
                title = moment_title(moment.type, self.language)
                at = self.days[0].moment(moment.at)
                yield Highlight(type=moment.type, at=at, title=title, details=None)

    def _clock_changes(self) -> Iterator[Highlight]:
        for change in clock_changes(self.days):
            minutes = round(change.forward.total_seconds() / 60)
            yield Highlight(
                type="clock_change",
                at=self.days[0].moment(change.at),
                title=clock_change_title(minutes > 0, self.language),
                details=Details(shift_minutes=minutes),
            )

    def _solar_eclipses(self, near: Sequence[SkyEvent]) -> Iterator[Highlight]:
        for moment in near:
            if moment.type == "new_moon":
                eclipse = solar_eclipse(self.ephemeris, moment.at)
                seen = eclipse and visible_solar_eclipse(eclipse, self.point.lat, self.point.lng)
                if seen:
                    yield self._eclipse("solar_eclipse", seen, solar_eclipse_title)

    def _lunar_eclipses(self, near: Sequence[SkyEvent]) -> Iterator[Highlight]:
        for moment in near:
            if moment.type == "full_moon":
                eclipse = lunar_eclipse(self.ephemeris, moment.at)
                seen = eclipse and visible_lunar_eclipse(eclipse, self.point.lat, self.point.lng)
                if seen:
                    yield self._eclipse("lunar_eclipse", seen, lunar_eclipse_title)

    def _eclipse(
        self,
        kind: Literal["solar_eclipse", "lunar_eclipse"],
        seen: SeenEclipse,
        title: Callable[[EclipseKind, Language], str],
    ) -> Highlight:
        moment = self.days[0].moment
        covered = None if seen.obscuration is None else round(seen.obscuration, 3)
        return Highlight(
            type=kind,
            at=moment(seen.maximum),
            title=title(seen.kind, self.language),
            details=Details(
                kind=seen.kind,
                start=moment(seen.start),
                maximum=moment(seen.maximum),
                end=moment(seen.end),
                magnitude=round(seen.magnitude, 3),
                obscuration=covered,
            ),
        )

    def _showers(self, around: Sequence[SkyEvent]) -> Iterator[Highlight]:
        for moment in around:
            if moment.type != "meteor_shower":
                continue
            shower = SHOWERS[moment.shower]
            best = best_moment(shower, moment.at, self.point, self.ephemeris)
            if best is not None:
                yield Highlight(
                    type="meteor_shower",
                    at=self.days[0].moment(best.at),
                    title=shower_title(shower.name, self.language),
                    details=Details(
                        rate=shower.rate,
                        moonlight=round(best.moonlight, 2),
                        radiant_height=round(best.height, 1),
                    ),
                )
