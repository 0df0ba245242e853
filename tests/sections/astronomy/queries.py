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

    def body(
        self, lat: float, lng: float, zone: str, start: date, end: date | None = None
    ) -> AstronomyBody:
        wanted = query(lat, lng, zone, start, end)
        assert wanted.stay is not None
        return self.section.answer(wanted, local_days(wanted.stay, wanted.point.zone))

    def day(self, lat: float, lng: float, zone: str, on: date) -> Day:
        return self.body(lat, lng, zone, on).days[0]

    def days(self, lat: float, lng: float, zone: str, start: date, end: date) -> Iterator[Day]:
        """More days than one stay holds."""
        while start <= end:
            last = min(end, start + timedelta(days=LONGEST_DAYS - 1))
            yield from self.body(lat, lng, zone, start, last).days
            start = last + timedelta(days=1)

    def highlights(
        self, lat: float, lng: float, zone: str, start: date, end: date
    ) -> list[Highlight]:
        return self.body(lat, lng, zone, start, end).highlights


def utc(text: str) -> datetime:
    """A moment of a table, `2026-01-02T03:04Z`."""
    return datetime.fromisoformat(text)


def seconds_apart(one: datetime, other: datetime) -> float:
    return abs((one - other).total_seconds())


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]  # year, month, day, …
