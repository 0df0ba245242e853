"""A worker's memory while distinct points are requested, and the bounds of all caches.

    python -m benchmarks.memory [--points 8000] [--json]
    python -m benchmarks.memory --caches [--points 300] [--json]
    python -m benchmarks.memory --redis [--points 400] [--json]

The guide is requested at each point, astronomy at every tenth and a widget's page at every
fiftieth, with stand-ins of the providers that answer at once. The worker's PSS is printed after
each fifth of the points and should stop growing; `--points 1000000` takes about an hour.

`--caches` requests a widget's page and every section at points where people live, in this process,
and then walks each cache: its entries, with everything that they refer to, give its size, and so
its size when full. Shared objects count for each cache, so the sum is more than a worker can
hold in them. A cache bounded by size is scaled by the size of its entries.

`--redis` shows what a Redis of its own holds after a page and the four sections at each place. By
kind of key: how many a place, and bytes by MEMORY USAGE, the median and the most; `in all` is the
growth of `used_memory` with a page, and with all five. Then the tables that this filled in SQLite:
rows, and bytes of a row with its indexes.
"""

import asyncio
import gc
import itertools
import os
import random
import sqlite3
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from functools import _lru_cache_wrapper
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import redis
from babel import Locale

from benchmarks.harness import figures
from benchmarks.harness.clients import ask_all, get
from benchmarks.harness.servers import Server, key_without_limit
from benchmarks.harness.service import places, prepare, service, start_stand_ins, stay
from location_context.localisation.language import Language
from location_context.lru import LRUCache
from location_context.settings import Settings
from location_context.settings.data_dir import DATABASE_FILE
from location_context.upstream.cached import Cached
from tests.databases import OwnRedis

PARTS = 5
CLIENTS = 4  # at once: fewer than the calls of the archive that may wait
AT_ONCE = 5000  # requests that are drawn together
ENOUGH = 40  # rows: fewer would count a half empty page
READ_AFTER = 20  # places: some keys expire within seconds


def targets(first: int, last: int) -> list[str]:
    """Return the requests of these points, all over the world where people live."""
    made, dates = [], stay()
    for number in range(first, last):
        chance = random.Random(number)
        point = f"lat={chance.uniform(-55, 70):.4f}&lng={chance.uniform(-180, 180):.4f}"
        made.append(f"/v1/pulse/guide?{point}")
        if number % 10 == 0:
            made.append(f"/v1/pulse/astronomy?{point}&{dates}")
        if number % 50 == 0:
            made.append(f"/v1/pulse?{point}&{dates}")
    return made


def request_all(server: Server, requests: list[str], key: str) -> None:
    """Request each; end unless every status is 200."""
    answers = asyncio.run(ask_all(server.port, requests, key, CLIENTS))
    if wrong := [status for status, _ in answers if status != 200]:
        raise SystemExit(f"{len(wrong)} answers were not 200, the first is {wrong[0]}")


def of_worker(server: Server, key: str, points: int) -> dict[str, Any]:
    """Return the worker's memory after so many points."""
    found = {}
    edges = [0, 1, *(points * part // PARTS for part in range(1, PARTS + 1))]
    for first, last in itertools.pairwise(edges):
        for begin in range(first, last, AT_ONCE):
            request_all(server, targets(begin, min(begin + AT_ONCE, last)), key)
        _, *workers = server.megabytes()
        found[f"{last:,} points"] = {"worker_mb": round(max(workers), 1)}
    return found


def of_redis(server: Server, key: str, points: int, client: "redis.Redis") -> dict[str, Any]:
    """Return what Redis holds after so many places, by kind of key."""
    cities, sizes, by_pages = list(itertools.islice(places(), points)), dict[str, int](), 0
    kinds, empty = dict[str, str](), client.info("memory")["used_memory"]
    for some in (cities[first : first + READ_AFTER] for first in range(0, points, READ_AFTER)):
        before = client.info("memory")["used_memory"]
        for path in ("", "/weather", "/astronomy", "/guide", "/events"):
            dates = "" if path == "/guide" else f"&{stay()}"
            lang = "" if path else "&lang=en"
            request_all(server, [f"/v1/pulse{path}?{place}{dates}{lang}" for place in some], key)
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
    """Return the bytes of a row, by table, with its indexes."""
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
    """Return a key's kind without its place: `value forecast`."""
    _, kind, *more = name.split(":")
    if kind not in {"value", "lease"}:
        return kind.partition("_")[0]
    subject = more[0].partition("(")[0]
    return f"{kind} {subject}"


OURS = "location_context"
SHARED = (  # lives as long as the process
    type, ModuleType, FunctionType, MethodType, BuiltinFunctionType, CodeType, ZoneInfo, Locale,
    Language,
)  # fmt: skip
LEAST_MB = 0.5  # smaller caches are not printed


def memory_of(roots: list[Any]) -> int:
    """Return the bytes of these objects and of all that they refer to, each counted once."""
    seen, left, total = set[int](), list(roots), 0
    while left:
        found = left.pop()
        if id(found) in seen or isinstance(found, SHARED):
            continue
        seen.add(id(found))
        total += sys.getsizeof(found)
        left += gc.get_referents(found)
        if isinstance(found, np.ndarray) and found.base is not None:
            left.append(found.base)
    return total


def is_ours(found: Any) -> bool:
    return str(getattr(found, "__module__", "")).startswith(OURS)


def label_of(holder: Any, name: str) -> str:
    """Name a cache: its route's path, section, provider or class, and its attribute."""
    own = getattr(holder, "path", None) or getattr(holder, "name", type(holder).__name__)
    return f"{own} {name}"


def caches() -> Iterator[tuple[str, Any]]:
    """Yield each LRUCache with its holder, and each function of ours with an lru_cache."""
    gc.unfreeze()  # objects of the start are frozen
    everything = gc.get_objects()
    attributes = [
        (holder, name.strip("_"), value)
        for holder in everything
        if is_ours(type(holder))
        for name, value in getattr(holder, "__dict__", {}).items()
    ]
    labels = {id(value): label_of(one, name) for one, name, value in attributes}
    for holder, name, value in attributes:
        if isinstance(value, LRUCache):
            in_source = isinstance(holder, Cached)
            yield labels[id(holder)] if in_source else label_of(holder, name), value
    for found in everything:
        if isinstance(found, _lru_cache_wrapper) and is_ours(found):
            yield found.__qualname__, found


def measured_caches() -> dict[str, dict[str, Any]]:
    """Return for each cache its entries, and its megabytes when it is full."""
    rows: dict[str, dict[str, Any]] = {}
    for label, cache in caches():
        if isinstance(cache, LRUCache):
            content: list[Any] = [*map(list, cache._values.items())]  # noqa: SLF001  only measured
            held, size, most = len(content), cache.size, cache.max_size
        else:
            held = size = cache.cache_info().currsize
            most, content = cache.cache_info().maxsize or held, gc.get_referents(cache)
        if held:
            add(rows, label, held, memory_of(content), most / size)
    return rows


def add(rows: dict[str, dict[str, Any]], label: str, entries: int, size: int, share: float) -> None:
    while label in rows:
        label += "'"
    rows[label] = {
        "entries": entries,
        "bytes_each": round(size / entries),
        "entries_full": round(entries * share),
        "mb_full": round(size * share / 1e6, 1),
    }


async def _fill_caches(key: str, points: int) -> dict[str, dict[str, Any]]:
    app, headers = service(), {"authorization": f"Bearer {key}"}
    async with app.lifespan(app):
        for number in range(points):
            page, *_ = (t for t in targets(50 * number, 50 * number + 1) if "/pulse?" in t)
            query = page.partition("?")[2]
            for path in ("", "/guide", "/weather", "/events", "/astronomy"):
                if await get(app, f"/v1/pulse{path}?{query}", headers) != 200:
                    raise SystemExit(f"{path} {query}: not 200")
        gc.collect()
        return measured_caches()


def of_caches(environ: Mapping[str, str], key: str, points: int) -> dict[str, dict[str, Any]]:
    """Return the larger caches, the largest first, and all of them together."""
    os.environ.update(environ)
    rows = asyncio.run(_fill_caches(key, points))
    total = round(sum(row["mb_full"] for row in rows.values()), 1)
    shown = {name: row for name, row in rows.items() if row["mb_full"] >= LEAST_MB}
    ranked = dict(sorted(shown.items(), key=lambda item: -item[1]["mb_full"]))
    return {**ranked, "all": {"caches": len(rows), "mb_full": total}}


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--points", type=int, help="8000, with --redis 400, with --caches 300")
    parser.add_argument("--redis", action="store_true", help="what Redis holds instead")
    parser.add_argument("--caches", action="store_true", help="the bounds of all caches instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, own = Path(name), OwnRedis(Path(name))
        providers = start_stand_ins(folder, ["--milliseconds=0", "--events=20"], stack)
        environ = {**prepare(folder, providers.port), "LOCATION_CONTEXT_LOG_LEVEL": "warning"}
        key = key_without_limit(Settings(data_dir=folder / "data"))
        if options.caches:
            figures.show(of_caches(environ, key, options.points or 300), options)
            return
        if options.redis:
            own.start()
            stack.callback(own.kill)
            environ["LOCATION_CONTEXT_REDIS_URL"] = own.url
        server = Server.of("benchmarks.harness.service:service", environ, folder / "log")
        stack.enter_context(server)
        server.wait("/v1/health")
        if options.redis:
            with redis.Redis.from_url(own.url) as client:
                found = of_redis(server, key, options.points or 400, client)
            found |= of_database(folder / "data" / DATABASE_FILE)
        else:
            found = of_worker(server, key, options.points or 8000)
    figures.show(found, options)


if __name__ == "__main__":
    main()
