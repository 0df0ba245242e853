"""A worker's memory while distinct points are asked for: it should come to an end of growing.

    python benchmarks/memory.py [--points 8000] [--json]

The guide is asked for at each point, the sky at every tenth and a widget's page at every fiftieth,
with stand-ins of the providers that answer at once. The worker's PSS is told after each fifth of
the points; `--points 1000000` takes an hour or so.
"""

import asyncio
import itertools
import random
import sys
import tempfile
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.cold import CLIENTS, ask_all, prepare, start_stand_ins  # noqa: E402  likewise
from benchmarks.servers import Server, key_without_limit  # noqa: E402  likewise

from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import system_clock  # noqa: E402  likewise

PARTS = 5
AT_ONCE = 5000  # requests that are made up together


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


def ask(server: Server, first: int, last: int, key: str) -> None:
    for begin in range(first, last, AT_ONCE):
        asked = targets(begin, min(begin + AT_ONCE, last))
        answers = asyncio.run(ask_all(server.port, asked, key, CLIENTS))
        if wrong := [status for status, _ in answers if status != 200]:
            raise SystemExit(f"{len(wrong)} were not answered, the first with {wrong[0]}")


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--points", type=int, default=8000)
    given = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        providers = start_stand_ins(folder, ["--milliseconds=0", "--events=20"], stack)
        environ = {**prepare(folder, providers.port), "LOCATION_CONTEXT_LOG_LEVEL": "warning"}
        key = key_without_limit(Settings(data_dir=folder / "data"))
        server = Server.of("benchmarks.cold:service", environ, folder / "log")
        stack.enter_context(server)
        server.wait("/v1/health")
        edges = [0, 1, *(given.points * part // PARTS for part in range(1, PARTS + 1))]
        for first, last in itertools.pairwise(edges):
            ask(server, first, last, key)
            _, *workers = server.megabytes()
            found[f"{last:,} points"] = {"worker_mb": round(max(workers), 1)}
    figures.show(found, given)


if __name__ == "__main__":
    main()
