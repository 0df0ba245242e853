"""The sky as `location-context read` prints it."""

from collections.abc import Iterator
from datetime import datetime

from location_context.sections.astronomy.response import AstronomyBody
from location_context.sections.section import UNKNOWN, TextTable

_COLUMNS = ("date", "Sun", "rise", "set", "Moon", "rise", "set", "lit", "dark hours")


def text(body: AstronomyBody) -> Iterator[str | TextTable]:
    """A line for each day, then the highlights."""
    rows = []
    for day in body.days:
        sun, moon = day.sun, day.moon
        rows.append([
            str(day.date), sun.status.replace("_", " "), _clock(sun.sunrise), _clock(sun.sunset),
            moon.phase.replace("_", " "), _clock(moon.moonrise), _clock(moon.moonset),
            f"{moon.illumination:.0%}", f"{day.night.dark_hours:g}",
        ])  # fmt: skip
    yield TextTable(columns=_COLUMNS, rows=rows)
    for highlight in body.highlights:
        yield f"{highlight.at:%Y-%m-%d %H:%M}  {highlight.title}"


def _clock(moment: datetime | None) -> str:
    return f"{moment:%H:%M}" if moment else UNKNOWN
