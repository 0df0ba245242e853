"""The guide's query against the same query on SQLite's R*Tree, in one run, on the same data.

Usage: python benchmarks/guide_query.py [dataset.csv | number of made-up restaurants]
Both answer every tier: how many are inside its radius, the first 50 in order, and the nearest
beyond for an empty tier. Prints the median time of a query at hotspots and anywhere; first it
checks that both give the same answers.
"""

import math
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from location_context.point import distance_km
from location_context.sections.guide.imports.formats import RowError, read_table
from location_context.sections.guide.imports.importer import installed_formats
from location_context.sections.guide.imports.validation import RowValidator
from location_context.sections.guide.records import TIERS, Restaurant
from location_context.sections.guide.restaurant_index import RestaurantIndex

Query = Callable[[float, float], object]
RADII = (80.0, 40.0, 15.0, 2.0, 1.0)
KM_PER_DEGREE = 111.19


class RTree:
    """One R*Tree in memory, the tier a dimension of it, what is answered in its own columns."""

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
        """All of a tier within `km`, nearest first, by way of boxes in degrees."""
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


def ours(index: RestaurantIndex, lat: float, lng: float) -> list[tuple[int, list[str], str | None]]:
    return [
        (
            tier.inside_radius,
            [one.id for _, _, one in tier.inside],
            tier.nearest_beyond[2].id if tier.nearest_beyond else None,
        )
        for tier in index.query(lat, lng, RADII)
    ]


def made_up(count: int) -> list[Restaurant]:
    """Crowded in 400 cities, with a guide's shares of the tiers."""
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
        return made_up(int(argument))
    validator = RowValidator(lambda _lat, _lng: None)
    found = []
    for row in read_table(Path(argument).read_bytes(), installed_formats()).rows:
        with suppress(RowError):
            found.append(validator.restaurant(row))
    return [
        Restaurant(id=f"{n:06}", name=r.name, tier=r.tier, lat=r.lat, lng=r.lng)
        for n, r in enumerate(found)
    ]


def timed(queries: Sequence[Query], points: list[tuple[float, float]]) -> list[list[float]]:
    """Microseconds of each query at each point, taken in turns; the least of five."""
    spent: list[list[float]] = [[] for _ in queries]
    for lat, lng in points:
        least = [math.inf] * len(queries)
        for _ in range(5):
            for n, query in enumerate(queries):
                start = time.perf_counter()
                query(lat, lng)
                least[n] = min(least[n], (time.perf_counter() - start) * 1e6)
        for n, time_taken in enumerate(least):
            spent[n].append(time_taken)
    return spent


def main() -> None:
    restaurants = read(sys.argv[1] if len(sys.argv) > 1 else "7000")
    index, tree = RestaurantIndex(restaurants), RTree(restaurants)
    chance = random.Random(3)
    hot = [(r.lat + 0.003, r.lng + 0.003) for r in chance.choices(restaurants, k=300)]
    anywhere = [(chance.uniform(-90, 90), chance.uniform(-180, 180)) for _ in range(300)]
    for lat, lng in hot + anywhere:
        assert ours(index, lat, lng) == tree.query(lat, lng), (lat, lng)
    print(f"{len(restaurants):,} restaurants; microseconds, median (99th percentile)")
    for name, points in (("at restaurants", hot), ("anywhere", anywhere)):
        a, b = timed((lambda lat, lng: index.query(lat, lng, RADII), tree.query), points)
        shown = [f"{statistics.median(t):9.1f} ({sorted(t)[-3]:9.1f})" for t in (a, b)]
        times = statistics.median(b) / statistics.median(a)
        print(f"{name:15} index {shown[0]}   R*Tree {shown[1]}   {times:6.1f} times faster")


if __name__ == "__main__":
    main()
