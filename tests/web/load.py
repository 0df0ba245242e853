"""Load from another process: clients that ask without a pause, and requests of health beside them.

`load` runs it and gives what came of it. The clients and the one who asks for health have a process
each, so that neither their work nor the server's is in each other's times.
"""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]  # where `-m` finds the tests


class Loaded(msgspec.Struct):
    """Answers by status, and times in seconds (0 where there was none)."""

    statuses: dict[str, int]
    admitted_p50: float
    refused_p50: float
    health_p50: float


def load(url: str, section: str, key: str, *, clients: int, seconds: float) -> Loaded:
    """Put `clients` of load on a section for some seconds."""
    command = [sys.executable, "-m", __name__, url, section, key]
    request, health = (
        subprocess.Popen([*command, number, str(seconds)], stdout=subprocess.PIPE, cwd=ROOT)
        for number in (str(clients), "0")
    )
    loaded, beside = (
        msgspec.json.decode(process.communicate(timeout=PATIENCE_SECONDS)[0], type=Loaded)
        for process in (request, health)
    )
    return msgspec.structs.replace(loaded, health_p50=beside.health_p50)


async def _ask(  # noqa: PLR0917  what an asker needs to know
    url: str, path: str, key: str, until: float, times: dict[str, list[float]], kind: str | None
) -> None:
    """Ask on one connection until the time is up."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    number = 0
    while time.perf_counter() < until:
        number += 1
        target = path.replace("LNG", f"{number % 180}.{number % 997:03}")
        sent = f"GET {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n"
        began = time.perf_counter()
        writer.write(sent.encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
        await reader.readexactly(length)
        times.setdefault(kind or head.split(b" ", 2)[1].decode(), []).append(
            time.perf_counter() - began
        )
        await asyncio.sleep(0.02 if kind else 0)
    writer.close()


def at(share: float, times: list[float]) -> float:
    return sorted(times)[int(len(times) * share)] if times else 0.0


async def main(url: str, section: str, key: str, clients: str, seconds: str) -> None:
    times: dict[str, list[float]] = {}
    until = time.perf_counter() + float(seconds)
    paths = [
        f"/v1/pulse/{section}?lat={n}&lng=LNG&start=2026-11-28&end=2026-12-01"
        for n in range(int(clients))
    ]
    await asyncio.gather(
        _ask(url, "/v1/health", key, until, times, "health"),
        *(_ask(url, path, key, until, times, None) for path in paths),
    )
    statuses = Counter({k: len(v) for k, v in times.items() if k != "health"})
    loaded = Loaded(
        statuses=dict(statuses),
        admitted_p50=at(0.5, times.get("200", [])),
        refused_p50=at(0.5, times.get("503", [])),
        health_p50=at(0.5, times["health"]),
    )
    sys.stdout.buffer.write(msgspec.json.encode(loaded))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
