"""Answers to callers with a key while one address floods a worker without a key.

    python -m benchmarks.attack [--clients 64 400] [--json]
    python -m benchmarks.attack --memory [--json]

The flood sends without a pause, over so many connections: for the page at `/`, for widgets of one
place, for a section without a key and with an unknown one. Most of it soon exceeds the address's
quota. Meanwhile twenty requests with a key ask for sections of new places, one after the other, and
one request is repeated throughout. Then the providers, stand-ins that answer after 50 ms, are
stopped, and the same is measured again without the weather. `cold` is how many of the twenty were
answered 200; `warm_p50` and `warm_p95`, of the repeated one, are in ms; `flood` has the flood's
answers a second by status, 0 where a connection was closed without one. With two cores the service
has the first and the flood the last.

`--memory` shows the growth of the worker's PSS in MB: with 10,000 requests with 100 kB in a header
or the query (the server refuses most), with 10,000 of 60 kB from as many addresses, and with
200,000 distinct headers and queries from one address.
"""

import argparse
import asyncio
import itertools
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.harness import figures
from benchmarks.harness.clients import connection
from benchmarks.harness.servers import CORES, Server, key_without_limit
from benchmarks.harness.service import places, prepare, start_stand_ins, stay
from location_context.settings import Settings

COLD = 20
WARM_PAUSE, BEFORE_COLD = 0.05, 3.0  # seconds; the flood has used up its quota by then
SECTIONS = ("weather", "events", "astronomy", "guide")
WITHOUT_WEATHER = SECTIONS[1:]  # it has no fallback without a forecast
# many clients: a refusal is sent after a quarter of a second
MEMORY_CLIENTS, MANY, DISTINCT = 512, 10_000, 200_000
UNKNOWN_KEY = "lc_live_" + "A" * 43


async def flood(port: int, clients: int) -> None:
    """Send until SIGTERM, then print how many answers a second had each status."""
    statuses, ended = Counter[int](), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    place = f"lat=48.8566&lng=2.3522&{stay()}"
    kinds = [
        ("/",),
        (f"/v1/pulse?{place}&lang=en",),
        (f"/v1/pulse/weather?{place}",),
        (f"/v1/pulse/weather?{place}", f"Authorization: Bearer {UNKNOWN_KEY}"),
    ]

    async def client(number: int) -> None:
        async with connection(port) as one:
            for target, *headers in itertools.islice(itertools.cycle(kinds), number % 4, None):
                try:
                    statuses[await one.ask(target, "Host: a", *headers)] += 1
                except OSError:
                    statuses[0] += 1
                    await asyncio.sleep(0.1)

    tasks = [asyncio.create_task(client(number)) for number in range(clients)]
    began = time.perf_counter()
    await ended.wait()
    seconds = time.perf_counter() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    a_second = {str(status): round(count / seconds) for status, count in sorted(statuses.items())}
    sys.stdout.buffer.write(msgspec.json.encode(a_second))


@contextmanager
def flooded(port: int, clients: int, rates: dict[str, int]) -> Iterator[None]:
    """Flood from another process during the block; `rates` receives its answers a second."""
    if not clients:
        yield
        return
    core = ["taskset", "--cpu-list", str(CORES[-1])] if len(CORES) > 1 else []
    command = [*core, sys.executable, "-m", "benchmarks.attack", "--flood", str(port), str(clients)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            time.sleep(BEFORE_COLD)
            yield
        finally:
            process.terminate()
            printed, _ = process.communicate(timeout=30)
            rates |= msgspec.json.decode(printed, type=dict[str, int])


async def keyed(port: int, key: str, cold: Sequence[str], warm: str) -> dict[str, Any]:
    """Measure callers with a key: at new places in turn, and at a repeated one throughout."""
    headers = ("Host: a", f"Authorization: Bearer {key}")
    times = list[float]()

    async def ask_warm() -> None:
        async with connection(port) as one:
            while True:
                began = time.perf_counter()
                await one.ask(warm, *headers)
                times.append((time.perf_counter() - began) * 1000)
                await asyncio.sleep(WARM_PAUSE)

    warming = asyncio.create_task(ask_warm())
    async with connection(port) as one:
        began = time.perf_counter()
        statuses = Counter([await one.ask(target, *headers) for target in cold])
        cold_ms = (time.perf_counter() - began) * 1000 / len(cold)
    await asyncio.sleep(1.0)
    warming.cancel()
    await asyncio.gather(warming, return_exceptions=True)
    times.sort()
    return {
        "cold": f"{statuses[200]}/{len(cold)}",
        "cold_mean": round(cold_ms, 1),
        "warm_p50": round(statistics.median(times), 1),
        "warm_p95": round(times[int(len(times) * 0.95)], 1),
    }


def under_floods(
    server: Server, providers: Server, key: str, clients: Sequence[int]
) -> dict[str, dict[str, Any]]:
    """Measure callers with a key under each flood, with providers and without."""
    found, left = dict[str, dict[str, Any]](), places()
    for state, sections in (("providers up", SECTIONS), ("providers down", WITHOUT_WEATHER)):
        if state == "providers down":
            providers.__exit__()
        warm = f"/v1/pulse/events?{next(left)}&{stay()}"
        server.ask(warm, {"Authorization": f"Bearer {key}"})
        for count in (0, *clients):
            names = itertools.islice(itertools.cycle(sections), COLD)
            cold = [
                f"/v1/pulse/{name}?{place}" + ("" if name == "guide" else f"&{stay()}")
                for name, place in zip(names, left, strict=False)
            ]
            rates = dict[str, int]()
            with flooded(server.port, count, rates):
                row = asyncio.run(keyed(server.port, key, cold, warm))
            answers = " ".join(f"{status}:{a_second}" for status, a_second in rates.items())
            found[f"{state}, {count} connections"] = {**row, "flood": answers or "none"}
    return found


async def _ask_many(port: int, requests: Iterator[tuple[str, ...]]) -> Counter[int]:
    statuses = Counter[int]()

    async def client() -> None:
        async with connection(port) as one:
            for target, *headers in requests:
                statuses[await one.ask(target, *headers)] += 1

    await asyncio.gather(*(client() for _ in range(MEMORY_CLIENTS)))
    return statuses


def strange(number: int, size: int, address: str = "") -> tuple[str, ...]:
    """Return a request with a unique text of this size in one of four parts."""
    text = f"{number:x}".ljust(size, "a")
    path = ("/v1/pulse", "/v1/pulse.svg", "/v1/pulse/weather")[number // 4 % 3]
    target = f"{path}?lat=48.8566&lng=2.3522&{stay()}&lang=en"
    forwarded = [f"X-Forwarded-For: {address}"] if address else []
    if (part := number % 4) == 3:
        return f"{target}&place={text}", "Host: a", *forwarded
    name = ("Host", "Accept-Encoding", "Accept-Language")[part]
    lines = [f"{name}: {text}"] if part == 0 else ["Host: a", f"{name}: {text}"]
    return target, *lines, *forwarded


def memory(server: Server) -> dict[str, dict[str, Any]]:
    """Return the growth of the worker with requests of strangers."""
    rounds = {
        "100 kB of headers": (strange(n, 100_000) for n in range(MANY)),
        "60 kB, of many addresses": (
            strange(n, 60_000, f"10.{n >> 14}.{n >> 7 & 127}.{n & 127}") for n in range(MANY)
        ),
        "200,000 distinct": (strange(n, 40) for n in range(DISTINCT)),
    }
    asyncio.run(_ask_many(server.port, (strange(n, 40) for n in range(1000))))
    found = dict[str, dict[str, Any]]()
    for name, requests in rounds.items():
        before = max(server.megabytes()[1:])
        statuses = asyncio.run(_ask_many(server.port, requests))
        after = max(server.megabytes()[1:])
        answers = " ".join(f"{status}:{count}" for status, count in sorted(statuses.items()))
        growth = {"mb_before": round(before, 1), "mb_more": round(after - before, 1)}
        found[name] = {**growth, "answers": answers}
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--clients", type=int, nargs="+", default=[64, 400])
    parser.add_argument("--memory", action="store_true", help="how much the worker grows")
    parser.add_argument("--flood", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.flood:
        asyncio.run(flood(*given.flood))
        return
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        providers = start_stand_ins(folder, ["--events=20"], stack)
        environ = {**prepare(folder, providers.port), "LOCATION_CONTEXT_LOG_LEVEL": "warning"}
        environ["LOCATION_CONTEXT_TRUSTED_PROXIES"] = "127.0.0.1/32"
        del environ["LOCATION_CONTEXT_MAX_IN_FLIGHT"]
        key = key_without_limit(Settings(data_dir=folder / "data"))
        server = Server.of("benchmarks.harness.service:limited", environ, folder / "log")
        stack.enter_context(server)
        server.wait("/v1/health")
        found = (
            memory(server) if given.memory else under_floods(server, providers, key, given.clients)
        )
    figures.show(found, given)


if __name__ == "__main__":
    main()
