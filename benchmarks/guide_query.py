"""The guide's query beside the same query on SQLite's R*Tree and on scipy's k-d tree.

    python benchmarks/guide_query.py [dataset.csv | number of made-up restaurants]
                                     [--rounds 5] [--json]

All answer every tier: how many are inside its radius, the first 50 in order, and the nearest beyond
for an empty tier. The R*Tree has the tier as a dimension and what is answered in its own columns;
there is a k-d tree of unit vectors for each tier. First it is checked that all give the same
answers. Microseconds of a query at restaurants and anywhere: the median of 300 points, each the
least of the rounds.
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

import numpy as np
from scipy.spatial import cKDTree

from location_context.point import EARTH_RADIUS_KM, distance_km
from location_context.sections.guide.imports.formats import RowError, read_table
from location_context.sections.guide.imports.reading import installed_formats
from location_context.sections.guide.imports.validation import RowValidator
from location_context.sections.guide.records import TIERS, Restaurant
from location_context.sections.guide.restaurant_index import RestaurantIndex

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above

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


def vectors(lats: "Sequence[float]", lngs: "Sequence[float]") -> np.ndarray:
    """Unit vectors, a row for each point."""
    phi, turn = np.radians(lats), np.radians(lngs)
    return np.stack([np.cos(phi) * np.cos(turn), np.cos(phi) * np.sin(turn), np.sin(phi)], axis=1)


class KDTree:
    """A k-d tree for each tier, whose distances are chords of the unit sphere."""

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


def timed(
    queries: Sequence[Query], points: list[tuple[float, float]], rounds: int
) -> list[list[float]]:
    """Microseconds of each query at each point, taken in turns; the least of the rounds."""
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


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("restaurants", nargs="?", default="7000")
    given = parser.parse_args()
    restaurants = read(given.restaurants)
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
        a, b, c = (statistics.median(spent) for spent in timed(queries, points, given.rounds))
        found[name] = {"us": round(a, 1), "rtree_us": round(b, 1), "kdtree_us": round(c, 1)}
        found[name] |= {"times_rtree": round(b / a, 1), "times_kdtree": round(c / a, 1)}
    columns = {
        "us": "ours us", "rtree_us": "R*Tree us", "kdtree_us": "k-d tree us",
        "times_rtree": "times R*Tree", "times_kdtree": "times k-d tree",
    }  # fmt: skip
    figures.table(found, columns, given)


if __name__ == "__main__":
    main()
