"""What a Redis that answers late costs requests: warm JSON, new places as JSON and as a widget.

The service runs over the tests' stand-ins of all providers; between it and the real Redis of
REDIS_URL stands a proxy that holds back every reply. No answer may be later than its deadline.
Usage: python benchmarks/slow_redis.py [--delays 0,100,300,600,900,1500] [--places 8]
"""

import argparse
import asyncio
import itertools
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.web.conftest import Client  # noqa: E402  the path comes first
from tests.web.full_app import full_app  # noqa: E402  likewise

from location_context.settings import Secret  # noqa: E402  likewise

REDIS = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
STAY = {"start": "2026-11-28", "end": "2026-12-01"}
KINDS = {
    "warm JSON": "/v1/pulse/weather",
    "cold JSON": "/v1/pulse/weather",
    "cold widget": "/v1/pulse",
}


class LateRedis:
    """A proxy before Redis that holds back each reply by `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._target = urlsplit(REDIS)

    def start(self) -> str:
        """Its address, at which it listens until the process ends."""
        loop = asyncio.new_event_loop()
        listen = asyncio.start_server(self._forward, "127.0.0.1", 0)
        port = loop.run_until_complete(listen).sockets[0].getsockname()[1]
        threading.Thread(target=loop.run_forever, daemon=True).start()
        return self._target._replace(netloc=f"127.0.0.1:{port}").geturl()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(
            self._target.hostname, self._target.port or 6379
        )
        await asyncio.gather(
            self._pump(reader, far_writer, late=False),
            self._pump(far_reader, writer, late=True),
            return_exceptions=True,
        )

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, late: bool
    ) -> None:
        while data := await reader.read(65536):
            if late:
                await asyncio.sleep(self.seconds)
            writer.write(data)
        writer.close()


def seconds(client: Client, kind: str, places: Sequence[dict[str, str]]) -> list[float]:
    """How long each answer took; of places one after the other."""
    taken = []
    for place in places:
        began = time.perf_counter()
        key = None if kind == "cold widget" else ""
        answer = client.get(KINDS[kind], {**STAY, **place}, key=key)
        taken.append(time.perf_counter() - began)
        if answer.status_code != 200:
            print(f"{kind}: {answer.status_code}")
    return taken


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--delays", default="0,100,300,600,900,1500", help="milliseconds")
    options.add_argument("--places", type=int, default=8, help="new places of each kind")
    given = options.parse_args()
    new = ({"lat": f"{45 + n * 0.05:.2f}", "lng": "2.35"} for n in itertools.count())
    late = LateRedis()
    url = late.start()
    with (
        tempfile.TemporaryDirectory() as folder,
        full_app(Path(folder), redis_url=Secret(url), widget_per_minute=100_000) as client,
    ):
        warm = next(new)
        seconds(client, "warm JSON", [warm] * 3)
        print(f"{'ms late':>8} " + "".join(f"{f'{one}: p50':>18}{'most':>7}" for one in KINDS))
        for delay in map(int, given.delays.split(",")):
            late.seconds = delay / 1000
            row = f"{delay:>8} "
            for kind in KINDS:
                cold = list(itertools.islice(new, given.places))
                places = [warm] * 20 if kind == "warm JSON" else cold
                taken = seconds(client, kind, places)
                row += f"{statistics.median(taken):>18.2f}{max(taken):>7.2f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
