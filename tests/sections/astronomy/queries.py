"""Read the section, and the moments and distances in its answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.astronomy.response import AstronomyBody, Day, Highlight
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.local_days import local_days
from location_context.sections.contract import Query
from location_context.stay import LONGEST_DAYS, Stay

ENGLISH = Languages.load().english


def query(
    lat: float, lng: float, zone: str, start: date, end: date | None = None, *, lang: str = "en"
) -> Query:
    language = Languages.load().choose(lang) if lang != "en" else ENGLISH
    return Query(Point(lat, lng, zone), Stay(start, end or start), "metric", language)


@dataclass(frozen=True)
class SectionReader:
    """Reads the section in the test's own thread."""

    section: Astronomy

    def body(self, *where_and_when) -> AstronomyBody:
        """Read the body of a `query` with the same arguments."""
        wanted = query(*where_and_when)
        return self.section.answer(wanted, local_days(wanted.stay, wanted.point.zone))

    def day(self, *where_and_when) -> Day:
        return self.body(*where_and_when).days[0]

    def days(self, lat: float, lng: float, zone: str, start: date, end: date) -> Iterator[Day]:
        """Read more days than one stay holds."""
        while start <= end:
            last = min(end, start + timedelta(days=LONGEST_DAYS - 1))
            yield from self.body(lat, lng, zone, start, last).days
            start = last + timedelta(days=1)

    def highlights(self, *where_and_when, kind: str = "") -> list[Highlight]:
        """Read the highlights, of one type if `kind` is given."""
        found = self.body(*where_and_when).highlights
        return [highlight for highlight in found if kind in {"", highlight.type}]


def utc(text: str) -> datetime:
    """Parse a moment of a table, `2026-01-02T03:04Z`."""
    return datetime.fromisoformat(text)


def seconds_apart(one: datetime, other: datetime) -> float:
    return abs((one - other).total_seconds())


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)
