"""The highlights of a stay: what is special on its dates at the point, in time order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.astronomy.clock_changes import clock_changes
from location_context.sections.astronomy.response import Details, Highlight
from location_context.sections.astronomy.wording import clock_change_title, moment_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from location_context.localisation.language import Language
    from location_context.sections.astronomy.ephemeris import Ephemeris
    from location_context.sections.astronomy.local_days import LocalDay


def highlights(
    days: Sequence[LocalDay], ephemeris: Ephemeris, language: Language
) -> list[Highlight]:
    """Everything between the first midnight and the last."""
    found = [*_moments(days, ephemeris, language), *_clock_changes(days, language)]
    return sorted(found, key=lambda highlight: (highlight.at, highlight.type))


def _moments(
    days: Sequence[LocalDay], ephemeris: Ephemeris, language: Language
) -> Iterator[Highlight]:
    for moment in ephemeris.moments(days[0].start, days[-1].end):
        if moment.type != "meteor_shower":
            title = moment_title(moment.type, language)
            at = days[0].moment(moment.at)
            yield Highlight(type=moment.type, at=at, title=title, details=None)


def _clock_changes(days: Sequence[LocalDay], language: Language) -> Iterator[Highlight]:
    for change in clock_changes(days):
        minutes = round(change.forward.total_seconds() / 60)
        yield Highlight(
            type="clock_change",
            at=days[0].moment(change.at),
            title=clock_change_title(minutes > 0, language),
            details=Details(shift_minutes=minutes),
        )
