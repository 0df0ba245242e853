"""The highlights of a stay: what is special on its dates at the point, in time order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from location_context.sections.astronomy.highlights import lunar_eclipses, solar_eclipses
from location_context.sections.astronomy.highlights.clock_changes import clock_changes
from location_context.sections.astronomy.highlights.meteors import best_night
from location_context.sections.astronomy.highlights.shadows import AROUND
from location_context.sections.astronomy.highlights.wording import (
    clock_change_title,
    lunar_eclipse_title,
    moment_title,
    shower_title,
    solar_eclipse_title,
)
from location_context.sections.astronomy.response import Details, Highlight
from location_context.sections.astronomy.sky.showers import SHOWERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from location_context.localisation.language import Language
    from location_context.point import Point
    from location_context.sections.astronomy.highlights.shadows import SeenEclipse
    from location_context.sections.astronomy.response import EclipseKind
    from location_context.sections.astronomy.sky.ephemeris import Ephemeris
    from location_context.sections.astronomy.sky.local_days import LocalDay
    from location_context.sections.astronomy.sky.moments import Moment

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
        around = self.ephemeris.moments(start - _HALF_DAY, end + _HALF_DAY)
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

    def _moments(self, inside: Sequence[Moment]) -> Iterator[Highlight]:
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

    def _solar_eclipses(self, near: Sequence[Moment]) -> Iterator[Highlight]:
        for moment in near:
            if moment.type == "new_moon":
                eclipse = solar_eclipses.solar_eclipse(self.ephemeris, moment.at)
                seen = eclipse and solar_eclipses.seen_from(eclipse, self.point.lat, self.point.lng)
                if seen:
                    yield self._eclipse("solar_eclipse", seen, solar_eclipse_title)

    def _lunar_eclipses(self, near: Sequence[Moment]) -> Iterator[Highlight]:
        for moment in near:
            if moment.type == "full_moon":
                eclipse = lunar_eclipses.lunar_eclipse(self.ephemeris, moment.at)
                seen = eclipse and lunar_eclipses.seen_from(eclipse, self.point.lat, self.point.lng)
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

    def _showers(self, around: Sequence[Moment]) -> Iterator[Highlight]:
        for moment in around:
            if moment.type != "meteor_shower":
                continue
            shower = SHOWERS[moment.shower]
            best = best_night(shower, moment.at, self.point, self.ephemeris)
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
