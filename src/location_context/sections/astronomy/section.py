"""The section `astronomy`: Sun, Moon, night and planets for any point and stay, without a network.

Everything is computed from an installed ephemeris (tables of the positions of Sun, Moon and
planets). A stay of at most 14 days whose months are in memory is computed in the event loop; a week
takes about a millisecond. Other stays are computed on the section's worker thread, so that the
event loop is not blocked.
"""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import cached_property
from typing import ClassVar, Self

from location_context.localisation.language import Language
from location_context.sections import contract, section
from location_context.sections.astronomy import card
from location_context.sections.astronomy.day_records import day_records, required_span
from location_context.sections.astronomy.highlight_views import entries
from location_context.sections.astronomy.highlights.eclipses import cached_eclipses
from location_context.sections.astronomy.highlights.highlights import Highlights, titles
from location_context.sections.astronomy.response import AstronomyBody
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.astronomy.sky.local_days import LocalDay, local_days
from location_context.sections.card import Card, CardContext, Entry
from location_context.sections.units import Measure
from location_context.stay import Clock
from location_context.upstream.deadline import Deadline

_FRESH = timedelta(days=1)
_AT_ONCE_DAYS = 14  # longer stays are left to the worker
_COLUMNS = ("date", "Sun", "rise", "set", "Moon", "rise", "set", "lit", "dark hours")
ATTRIBUTION = [
    contract.Attribution(
        name="NASA JPL DE421",
        url="https://ssd.jpl.nasa.gov/planets/eph_export.html",
        license="Public domain",
        text="Positions from the JPL ephemeris DE421, computed with Skyfield",
    ),
]


class Astronomy(section.Section[AstronomyBody]):
    """The section `astronomy`: the sky above a point on each date of a stay."""

    name = "astronomy"
    dated = True
    response = AstronomyBody
    order = 200
    title = "Astronomy: Sun, Moon, darkness and planets for each day"
    description = (
        "Computed for the point at sea level with standard refraction. Highlights are sky events "
        "during the stay that are visible from the point."
    )
    samples: ClassVar[section.Samples] = {
        "applicable": {**section.PARIS, "start": "2026-12-01", "end": "2026-12-01"}
    }

    def __init__(self, ephemeris: Ephemeris, clock: Clock) -> None:
        self._ephemeris = ephemeris
        self._eclipse_at = cached_eclipses(ephemeris)
        self._clock = clock
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="astronomy")

    @classmethod
    def build(cls, context: section.SectionContext) -> Self:
        return cls(Ephemeris(), context.clock)

    @cached_property
    def _ephemeris(self) -> Ephemeris:
        """The ephemeris; if a conformance check has skipped `__init__`, it is created here."""
        return Ephemeris()

    async def fixed(
        self, query: contract.Query, deadline: Deadline, now: datetime, *, failing: bool
    ) -> contract.Applicable | contract.NotApplicable:
        """Return the answer for a test key: the same as from `read`; ignore `now` and `failing`."""
        del now, failing
        return (await self.read(query, deadline)).body

    async def read(self, query: contract.Query, deadline: Deadline) -> contract.SectionResult:
        """Return the sky of each date of the stay.

        Raises:
            TimeoutError: the worker thread needed longer than the deadline.
        """
        days = local_days(query.dates, query.point.zone)
        if len(days) <= _AT_ONCE_DAYS and self._ephemeris.holds(*required_span(days)):
            body = self.answer(query, days)
        else:
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(deadline.left()):
                body = await loop.run_in_executor(self._worker, self.answer, query, days)
        return contract.SectionResult(body, self._clock() + _FRESH)

    def answer(self, query: contract.Query, days: Sequence[LocalDay]) -> AstronomyBody:
        """Compute the body of the answer in the calling thread."""
        point, stay = query.point, query.dates
        return AstronomyBody(
            point=contract.point_body(point),
            stay=contract.StayBody(start=stay.start, end=stay.end),
            units=Measure(query.units).body,
            as_of=None,
            stale=False,
            attribution=[*ATTRIBUTION, *contract.point_notices(point)],
            days=day_records(days, point, self._ephemeris),
            highlights=Highlights(
                days, point, self._ephemeris, self._eclipse_at, titles(query.language)
            ).all(),
        )

    def label(self, language: Language) -> str:
        return language.pgettext("section", "sky")

    def summary(self, language: Language) -> str:
        return language.gettext("sun, moon, sky")

    def calendar(self, body: AstronomyBody, context: CardContext) -> Sequence[Entry]:
        return entries(body, context.fmt)

    def card(self, body: AstronomyBody, context: CardContext) -> Card:
        today = context.today(body.point.timezone)
        return card.card(body, self._ephemeris, context.fmt, today)

    def text(self, body: AstronomyBody) -> Iterator[str | section.TextTable]:
        """Yield a table with a row for each day, then a line for each highlight."""
        rows = []
        for day in body.days:
            sun, moon = day.sun, day.moon
            rows.append([
                str(day.date),
                sun.status.replace("_", " "), _clock(sun.sunrise), _clock(sun.sunset),
                moon.phase.replace("_", " "), _clock(moon.moonrise), _clock(moon.moonset),
                f"{moon.illumination:.0%}", f"{day.night.dark_hours:g}",
            ])  # fmt: skip
        yield section.TextTable(columns=_COLUMNS, rows=rows)
        for highlight in body.highlights:
            yield f"{highlight.at:%Y-%m-%d %H:%M}  {highlight.title}"


def _clock(moment: datetime | None) -> str:
    return f"{moment:%H:%M}" if moment else section.UNKNOWN
