"""What answers cost that lack something: milliseconds of processor each, warm, beside whole ones.

    python benchmarks/degraded.py [--seconds 12] [--json]

One worker is asked for one place, without a pause, over four connections: with stand-ins of all
providers (`whole`), with providers that refuse every connection (`down`), and with budgets that
allow no call (`spent`). What lacks something is made anew within the time, so that is counted too.
`clients keep it` for so many seconds: a minute if it lacks more than a budget.
"""

import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.attack import connection, stay  # noqa: E402  likewise
from benchmarks.cold import prepare, start_stand_ins  # noqa: E402  likewise
from benchmarks.servers import Server, key_without_limit  # noqa: E402  likewise
from tests.serving import free_port  # noqa: E402  likewise

from location_context.settings import Settings  # noqa: E402  likewise

PLACE = "lat=48.8566&lng=2.3522"
PATHS = {"widget": "/v1/pulse", "picture": "/v1/pulse.svg", "events": "/v1/pulse/events"}
CLIENTS = 4
AN_ADDRESS = 20_000  # requests of one guest
SPENT = "0.000000001"  # of each budget


async def ask(port: int, target: str, key: str, seconds: float) -> tuple[int, int]:
    """How many answers came, and how many of them were not 200."""
    until, found = time.monotonic() + seconds, [0, 0]
    headers = ("Host: a", "Accept-Encoding: br", f"Authorization: Bearer {key}")

    async def client() -> None:
        async with connection(port) as one:
            while time.monotonic() < until:
                found[0] += 1
                guest = f"X-Forwarded-For: 10.0.0.{found[0] // AN_ADDRESS}"
                found[1] += await one.ask(target, *headers, guest) != 200

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return found[0], found[1]


def measured(server: Server, key: str, seconds: float) -> dict[str, Any]:
    """Milliseconds of processor an answer, by kind."""
    found = dict[str, Any]()
    for name, path in PATHS.items():
        target = f"{path}?{PLACE}&{stay()}&lang=en"
        asyncio.run(ask(server.port, target, key, 1.0))
        before = server.cpu_seconds()
        answers, other = asyncio.run(ask(server.port, target, key, seconds))
        found[name] = round((server.cpu_seconds() - before) / answers * 1000, 3)
        if other:
            found[f"{name}, not 200"] = other
    page = server.ask(f"{PATHS['widget']}?{PLACE}&{stay()}&lang=en")
    found["clients keep it"] = dict(page.headers)["cache-control"].partition("max-age=")[2][:4]
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--seconds", type=float, default=12.0)
    given = parser.parse_args()
    found = dict[str, dict[str, Any]]()
    for state in ("whole", "down", "spent"):
        with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
            folder = Path(name)
            providers = start_stand_ins(folder, ["--events=20"], stack)
            port = free_port() if state == "down" else providers.port
            environ = {**prepare(folder, port), "LOCATION_CONTEXT_LOG_LEVEL": "warning"}
            environ["LOCATION_CONTEXT_WIDGET_PER_MINUTE"] = "100000"
            environ["LOCATION_CONTEXT_TRUSTED_PROXIES"] = "127.0.0.1/32"
            if state == "spent":
                environ["LOCATION_CONTEXT_BUDGET_SHARE"] = SPENT
            key = key_without_limit(Settings(data_dir=folder / "data"))
            server = stack.enter_context(
                Server.of("benchmarks.attack:service", environ, folder / "log")
            )
            server.wait("/v1/health")
            found[state] = measured(server, key, given.seconds)
    figures.show(found, given)


if __name__ == "__main__":
    main()
