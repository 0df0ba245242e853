"""What the caches of a worker may come to: each one's bound, and its memory once it is full.

    python benchmarks/cache_bounds.py [--points 300] [--json]

In this process, with stand-ins of the providers that answer at once, a widget's page is asked for
at points where people live, and every section behind it. Then each cache is walked: what its
entries hold, all that hangs on them included, tells what one takes, and so what the cache takes at
its bound. What several caches share is counted for each, so that the sum is more than a worker can
hold in them. A cache bounded by size is taken at what its sizes were found to stand for.
"""

import argparse
import asyncio
import gc
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import _lru_cache_wrapper
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from babel import Locale

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.cold import prepare, service, start_stand_ins  # noqa: E402  likewise
from benchmarks.in_process import get  # noqa: E402  likewise
from benchmarks.memory import targets  # noqa: E402  likewise
from benchmarks.servers import key_without_limit  # noqa: E402  likewise

from location_context.localisation.language import Language  # noqa: E402  likewise
from location_context.lru import LRUCache  # noqa: E402  likewise
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.upstream.cached import Cached  # noqa: E402  likewise

OURS = "location_context"
SHARED = (  # lives whatever is kept
    type, ModuleType, FunctionType, MethodType, BuiltinFunctionType, CodeType, ZoneInfo, Locale,
    Language,
)  # fmt: skip
LEAST_MB = 0.5  # of a cache that is named


def memory_of(roots: list[Any]) -> int:
    """Bytes of these objects and of all that hangs on them, each counted once."""
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
    """A route's path, a section's or provider's name, or a class, with that of the attribute."""
    own = getattr(holder, "path", None) or getattr(holder, "name", type(holder).__name__)
    return f"{own} {name}"


def caches() -> Iterator[tuple[str, Any]]:
    """Each LRUCache by what holds it, and each function of ours that keeps its results."""
    gc.unfreeze()  # what the start made is not among the objects else
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


def measured() -> dict[str, dict[str, Any]]:
    """Each cache: what it holds, and its megabytes when it is full."""
    rows: dict[str, dict[str, Any]] = {}
    for label, cache in caches():
        if isinstance(cache, LRUCache):
            held, size, most = len(cache), cache.size, cache.max_size
            content: list[Any] = [*map(list, cache.items())]
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


async def ask(environ: Mapping[str, str], points: int) -> dict[str, dict[str, Any]]:
    os.environ.update(environ)
    app = service()
    headers = {"authorization": f"Bearer {environ['KEY']}"}
    async with app.lifespan(app):
        for number in range(points):
            page, *_ = (t for t in targets(50 * number, 50 * number + 1) if "/pulse?" in t)
            query = page.partition("?")[2]
            for path in ("", "/guide", "/weather", "/events", "/astronomy"):
                if await get(app, f"/v1/pulse{path}?{query}", headers) != 200:
                    raise SystemExit(f"{path} {query} was not answered")
        gc.collect()
        return measured()


def main() -> None:
    parser: argparse.ArgumentParser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--points", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        providers = start_stand_ins(folder, ["--milliseconds=0", "--events=20"], stack)
        environ = {**prepare(folder, providers.port), "LOCATION_CONTEXT_LOG_LEVEL": "warning"}
        environ["KEY"] = key_without_limit(Settings(data_dir=folder / "data"))
        rows = asyncio.run(ask(environ, given.points))
    total = round(sum(row["mb_full"] for row in rows.values()), 1)
    shown = {name: row for name, row in rows.items() if row["mb_full"] >= LEAST_MB}
    ranked = dict(sorted(shown.items(), key=lambda one: -one[1]["mb_full"]))
    figures.show({**ranked, "all": {"caches": len(rows), "mb_full": total}}, given)


if __name__ == "__main__":
    main()
