"""A worker's memory while distinct points are asked for: it should come to an end of growing.

    python benchmarks/memory.py [--points 8000] [--json]
    python benchmarks/memory.py --redis [--points 400] [--json]

The guide is asked for at each point, the sky at every tenth and a widget's page at every fiftieth,
with stand-ins of the providers that answer at once. The worker's PSS is told after each fifth of
the points; `--points 1000000` takes an hour or so.

`--redis` tells what a Redis of its own holds instead: a page is asked for at each of the places,
and the four sections as JSON. By kind of key: how many a place, and bytes by MEMORY USAGE, the
median and the most; `in all` is by how much `used_memory` grows with a page, and with all five.
Then the tables that this filled in SQLite: rows, and bytes of a row with its indexes.
"""

import asyncio
import itertools
import random
import sqlite3
import statistics
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import redis

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.cold import CLIENTS, ask_all, places, prepare, start_stand_ins  # noqa: E402  likewise
from benchmarks.servers import Server, key_without_limit  # noqa: E402  likewise
from tests.databases import OwnRedis  # noqa: E402  likewise

from location_context.settings import Settings  # noqa: E402  likewise
from location_context.settings.data_dir import DATABASE_FILE  # noqa: E402  likewise
from location_context.stay import system_clock  # noqa: E402  likewise

PARTS = 5
AT_ONCE = 5000  # requests that are made up together
ENOUGH = 40  # rows, so that a page which is half empty counts for little
READ_AFTER = 20  # places: some of what Redis holds ends after seconds


def targets(first: int, last: int) -> list[str]:
    """What is asked for of these points, all over the world where people live."""
    start = system_clock().date() + timedelta(12)
    stay = f"start={start}&end={start + timedelta(6)}"
    made = []
    for number in range(first, last):
        chance = random.Random(number)
        point = f"lat={chance.uniform(-55, 70):.4f}&lng={chance.uniform(-180, 180):.4f}"
        made.append(f"/v1/pulse/guide?{point}")
        if number % 10 == 0:
            made.append(f"/v1/pulse/astronomy?{point}&{stay}")
        if number % 50 == 0:
            made.append(f"/v1/pulse?{point}&{stay}")
    return made


def ask(server: Server, asked: list[str], key: str) -> None:
    answers = asyncio.run(ask_all(server.port, asked, key, CLIENTS))
    if wrong := [status for status, _ in answers if status != 200]:
        raise SystemExit(f"{len(wrong)} were not answered, the first with {wrong[0]}")


def of_worker(server: Server, key: str, points: int) -> dict[str, Any]:
    """The worker's memory after so many points."""
    found = {}
    edges = [0, 1, *(points * part // PARTS for part in range(1, PARTS + 1))]
    for first, last in itertools.pairwise(edges):
        for begin in range(first, last, AT_ONCE):
            ask(server, targets(begin, min(begin + AT_ONCE, last)), key)
        _, *workers = server.megabytes()
        found[f"{last:,} points"] = {"worker_mb": round(max(workers), 1)}
    return found


def of_redis(server: Server, key: str, points: int, client: "redis.Redis") -> dict[str, Any]:
    """What Redis holds after so many places, by kind of key."""
    start = system_clock().date() + timedelta(12)
    stay = f"start={start}&end={start + timedelta(6)}"
    asked, sizes, by_pages = list(itertools.islice(places(), points)), dict[str, int](), 0
    kinds, empty = dict[str, str](), client.info("memory")["used_memory"]
    for some in (asked[first : first + READ_AFTER] for first in range(0, points, READ_AFTER)):
        before = client.info("memory")["used_memory"]
        for path in ("", "/weather", "/astronomy", "/guide", "/events"):
            dates = "" if path == "/guide" else f"&{stay}"
            lang = "" if path else "&lang=en"
            ask(server, [f"/v1/pulse{path}?{place}{dates}{lang}" for place in some], key)
            if not path:
                by_pages += client.info("memory")["used_memory"] - before
            for name in map(bytes.decode, client.scan_iter(count=1000)):
                kinds.setdefault(name, kind_of(name))
                sizes[name] = client.memory_usage(name, samples=0) or sizes.get(name, 0)
    held = defaultdict[str, list[int]](list)
    for name, size in sizes.items():
        held[kinds[name]].append(size)
    found: dict[str, Any] = {
        kind: {"a_place": len(one) / points, "median": statistics.median_low(one), "most": max(one)}
        for kind, one in sorted(held.items())
    }
    used = client.info("memory")["used_memory"] - empty
    pages, all_of_them = round(by_pages / points), round(used / points)
    return {**found, "in all": {"bytes_a_page": pages, "bytes_a_place": all_of_them}}


def of_database(file: Path) -> dict[str, Any]:
    """The bytes of a row, by table, with its indexes."""
    with closing(sqlite3.connect(file)) as database:
        sizes = database.execute(
            "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY 1"
        ).fetchall()
        rows = {
            table: database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
            for table, _ in sizes
        }
    return {
        f"table {table}": {"rows": rows[table], "bytes_a_row": round(size / rows[table])}
        for table, size in sizes
        if rows[table] >= ENOUGH
    }


def kind_of(name: str) -> str:
    """A key's kind without its place: `value forecast`."""
    _, kind, *more = name.split(":")
    if kind not in {"value", "lease"}:
        return kind.partition("_")[0]
    subject = more[0].partition("(")[0]
    return f"{kind} {subject}"


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--points", type=int, help="default 8000, with --redis 400")
    parser.add_argument("--redis", action="store_true", help="what Redis holds instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, own = Path(name), OwnRedis(Path(name))
        providers = start_stand_ins(folder, ["--milliseconds=0", "--events=20"], stack)
        environ = {**prepare(folder, providers.port), "LOCATION_CONTEXT_LOG_LEVEL": "warning"}
        key = key_without_limit(Settings(data_dir=folder / "data"))
        if given.redis:
            own.start()
            stack.callback(own.kill)
            environ["LOCATION_CONTEXT_REDIS_URL"] = own.url
        server = Server.of("benchmarks.cold:service", environ, folder / "log")
        stack.enter_context(server)
        server.wait("/v1/health")
        if given.redis:
            with redis.Redis.from_url(own.url) as client:
                found = of_redis(server, key, given.points or 400, client)
            found |= of_database(folder / "data" / DATABASE_FILE)
        else:
            found = of_worker(server, key, given.points or 8000)
    figures.show(found, given)


if __name__ == "__main__":
    main()
