"""Two workers with Redis beside one with Redis and one without, for a warm section with a key.

    python benchmarks/http_workers.py [--seconds 2] [--clients 64] [--rounds 5] [--json]

A redis-server of its own is started (apt-get install redis-server). The clients are wrk with one
thread, the cheapest there is (apt-get install wrk). Workers, Redis and clients share the machine's
cores: with two cores, two workers get less than two. So there are two figures. `times one, as
measured` is of requests a second on this machine; `times one, by CPU` is twice what one worker's
request takes of CPU over what one of two takes: what two workers give where each has a core, if
Redis and the clients have theirs. CPU is of the workers, and of Redis beside it, from /proc: Linux
alone.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above
from benchmarks.http_speed import SKY  # noqa: E402  likewise
from benchmarks.servers import Server, key_without_limit  # noqa: E402  likewise
from tests.serving import free_port  # noqa: E402  likewise

from location_context.settings import Settings  # noqa: E402  likewise

KINDS = {"one worker": (1, False), "one, Redis": (1, True), "two, Redis": (2, True)}


def start_redis(folder: Path, stack: ExitStack) -> Server:
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("redis-server is not installed: apt-get install redis-server")
    port = free_port()
    command = [program, "--port", str(port), "--save", "", "--dir", str(folder)]
    return stack.enter_context(Server(command, port, log=folder / "redis.log", pinned=False))


class Bench:
    """The servers, in turn asked for the same."""

    def __init__(self, folder: Path, given: argparse.Namespace, stack: ExitStack) -> None:
        self._given = given
        settings = Settings(data_dir=folder / "data")
        self._headers = {
            "Authorization": f"Bearer {key_without_limit(settings)}",
            "Accept-Encoding": "identity",
        }
        self._redis = start_redis(folder, stack)
        self._servers = {}
        for name, (workers, with_redis) in KINDS.items():
            environ = {"LOCATION_CONTEXT_DATA_DIR": str(settings.data_dir)}
            if with_redis:
                environ["LOCATION_CONTEXT_REDIS_URL"] = f"redis://127.0.0.1:{self._redis.port}/0"
            factory, log = "benchmarks.http_speed:service", folder / f"{workers} {with_redis}"
            server = Server.of(factory, environ, log, workers, pinned=False)
            self._servers[name] = stack.enter_context(server)
        for server in self._servers.values():
            server.wait("/v1/health")
            self._warm(server)

    def _warm(self, server: Server) -> None:
        """Until each worker has answered."""
        began = time.monotonic()
        while time.monotonic() < began + 2:
            if server.ask(SKY, self._headers).status != 200:
                raise SystemExit("the section is not answered")

    def round(self) -> dict[str, dict[str, float]]:
        found = {}
        for name, server in self._servers.items():
            before = self._redis.cpu_seconds()
            cpu, rate = server.pressed(SKY, self._headers, self._given.seconds, self._given.clients)
            redis = self._redis.cpu_seconds() - before
            answers = rate * self._given.seconds
            found[name] = {"cpu_us": cpu, "redis_us": redis / answers * 1e6, "a_second": rate}
        return found


def summary(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    found = {
        name: {part: figures.median(one[name][part] for one in rounds) for part in rounds[0][name]}
        for name in KINDS
    }
    one, two = ([r[name] for r in rounds] for name in ("one, Redis", "two, Redis"))
    measured = figures.ratio(
        [r["a_second"] for r in two], [r["a_second"] for r in one], "times_one"
    )
    by_cpu = [2 * a["cpu_us"] / b["cpu_us"] for a, b in zip(one, two, strict=True)]
    found["two, Redis"] |= {**measured, "times_one_by_cpu": round(statistics.median(by_cpu), 2)}
    without = [one_round["one worker"]["cpu_us"] for one_round in rounds]
    more = (a["cpu_us"] - b for a, b in zip(one, without, strict=True))
    found["one, Redis"]["more_us"] = figures.median(more)
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--clients", type=int, default=64)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(Path(folder), given, stack)
        rounds = [bench.round() for _ in range(given.rounds)]
    columns = {
        "cpu_us": "CPU us", "redis_us": "Redis us", "a_second": "requests/s", "more_us": "more us",
        "times_one": "times one, as measured", "times_one_lowest": "lowest",
        "times_one_highest": "highest", "times_one_by_cpu": "times one, by CPU",
    }  # fmt: skip
    figures.table(summary(rounds), columns, given)


if __name__ == "__main__":
    main()
