"""Ten minutes of mixed requests: answers, their times and the worker's memory.

    python -m benchmarks.soak [--minutes 10] [--rate 25] [--failing 0.1] [--json]

Four requests in five are for one of 300 favourite places, the others for a new place; each in one
of 14 languages, with one of four stays of a week. By weight they are: the widget, its compact
layout, its picture, and the four sections as JSON. They are sent `--rate` a second, whether or not
earlier ones are answered; times count from the planned moment. The share `--failing` of the
providers' answers, which take 50 ms, is a 500. The worker has the default limits, except those of a
minute. A connection that the server closed while idle is opened again. Printed by kind: how many
answers had which status, with the median, 99th percentile and longest time in ms; then by minute
the widget's 99th percentile, the worker's PSS in MB, and its share of a core.
"""

import asyncio
import itertools
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.harness import figures
from benchmarks.harness.clients import Connection
from benchmarks.harness.servers import Server, key_without_limit
from benchmarks.harness.service import places, prepare, start_stand_ins
from location_context.settings import Settings
from location_context.stay import system_clock

FAVOURITES, NEW = 300, 0.2
LANGUAGES = ("en", "en-GB", "en-US", "de", "de-AT", "fr", "fr-CA", "es", "it", "pt-BR", "nl", "ja",
             "zh-Hans", "ar")  # fmt: skip
KINDS = {
    "widget": ("/v1/pulse", "", 8),
    "compact": ("/v1/pulse", "&layout=compact", 3),
    "picture": ("/v1/pulse.svg", "", 3),
    "weather": ("/v1/pulse/weather", "", 2),
    "events": ("/v1/pulse/events", "", 2),
    "astronomy": ("/v1/pulse/astronomy", "", 1),
    "guide": ("/v1/pulse/guide", "", 1),
}
WEIGHTS = [weight for _, _, weight in KINDS.values()]
STARTS = (3, 8, 14, 60)  # days from today
MINUTE = 60.0  # seconds
Answer = tuple[str, int, float]  # kind, status and seconds


def requests() -> Iterator[tuple[str, str]]:
    """Yield kinds and their targets, without end."""
    chance, others = random.Random(32), places()
    favourites, today = list(itertools.islice(others, FAVOURITES)), system_clock().date()
    while True:
        [kind] = chance.choices(list(KINDS), WEIGHTS)
        path, more, _ = KINDS[kind]
        place = next(others) if chance.random() < NEW else chance.choice(favourites)
        start = today + timedelta(chance.choice(STARTS))
        stay = "" if kind == "guide" else f"&start={start}&end={start + timedelta(6)}"
        yield kind, f"{path}?{place}{stay}{more}&lang={chance.choice(LANGUAGES)}"


async def soak(server: Server, key: str, minutes: int, rate: float) -> dict[str, Any]:
    """Send requests for so long and return the figures."""
    answers, widgets = list[Answer](), defaultdict[str, list[Answer]](list)
    memory, load = dict[str, float](), dict[str, float]()
    idle, running = list[Connection](), set[asyncio.Task[None]]()

    async def ask(kind: str, target: str, planned: float) -> None:
        connection = idle.pop() if idle else Connection(server.port)
        lines = ("Host: a", "Accept-Encoding: br", f"Authorization: Bearer {key}")
        status = await connection.ask(target, *lines) or await connection.ask(target, *lines)
        answers.append((kind, status, time.perf_counter() - planned))
        if kind == "widget":
            widgets[f"minute_{int((planned - began) // MINUTE) + 1}"].append(answers[-1])
        idle.append(connection)

    def note() -> None:
        minute = f"minute_{len(memory) + 1}"
        memory[minute] = round(max(server.megabytes()[1:]), 1)
        load[minute] = (server.cpu_seconds() - cpu - sum(load.values()) * MINUTE) / MINUTE

    began, cpu = time.perf_counter(), server.cpu_seconds()
    for number, (kind, target) in enumerate(requests()):
        planned = began + number / rate
        if planned >= began + minutes * MINUTE:
            break
        if planned >= began + (len(memory) + 1) * MINUTE:
            note()
        await asyncio.sleep(planned - time.perf_counter())
        task = asyncio.create_task(ask(kind, target, planned))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    note()
    return {
        **{kind: summary([one for one in answers if one[0] == kind]) for kind in KINDS},
        "widget, p99": {minute: summary(some)["p99_ms"] for minute, some in widgets.items()},
        "PSS in MB": memory,
        "share of a core": load,
    }


def summary(answers: list[Answer]) -> dict[str, Any]:
    times = sorted(1000 * seconds for _, _, seconds in answers)
    statuses = Counter(f"status_{status}" for _, status, _ in answers)
    return {
        **dict(sorted(statuses.items())),
        "p50_ms": round(times[len(times) // 2], 1),
        "p99_ms": round(times[len(times) * 99 // 100]),
        "longest_ms": round(times[-1]),
    }


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--rate", type=float, default=25.0, help="requests a second, default 25")
    parser.add_argument("--failing", type=float, default=0.1, help="share, default 0.1")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        options = ["--events=20", f"--failing={given.failing}"]
        providers = start_stand_ins(folder, options, stack)
        environ = {**prepare(folder, providers.port), "LOCATION_CONTEXT_LOG_LEVEL": "warning"}
        del environ["LOCATION_CONTEXT_MAX_IN_FLIGHT"]
        key = key_without_limit(Settings(data_dir=folder / "data"))
        server = Server.of(
            "benchmarks.harness.service:service", environ, folder / "log", pinned=False
        )
        stack.enter_context(server)
        server.wait("/v1/health")
        figures.show(asyncio.run(soak(server, key, given.minutes, given.rate)), given)


if __name__ == "__main__":
    main()
