"""Requests a second of a warm JSON section, beside a bare handler on the same server.

    python benchmarks/http_speed.py [--seconds 2] [--clients 32] [--rounds 3]

Both are served by granian in one worker process each, asked in turn by the same clients in a third
process, over kept connections, several rounds one after the other so that a busy machine troubles
both alike. The bare handler is a Starlette route that returns bytes of the same length; the section
passes everything a real request passes: key, quota, parameters, point, cache, ETag, coding, log.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from tests.serving import free_port  # noqa: E402  found by the line above
from tests.web.commands import NOWHERE  # noqa: E402  likewise

QUERY = "lat=48.8566&lng=2.3522&start=2030-11-28&end=2030-12-01"
CASES = {
    "bare handler": "/bare",
    "health": "/v1/health",
    "astronomy, warm": f"/v1/pulse/astronomy?{QUERY}",
    "astronomy, warm, gzip": f"/v1/pulse/astronomy?{QUERY}",
    "astronomy, 304": f"/v1/pulse/astronomy?{QUERY}",
    "guide, warm": "/v1/pulse/guide?lat=48.8566&lng=2.3522",
}


async def _bare(_: Request) -> Response:
    return Response(b"x" * int(os.environ.get("BARE_BYTES", "8000")), media_type="application/json")


bare = Starlette(routes=[Route("/bare", _bare)])


async def ask(port: int, sent: bytes, until: float, counts: list[int]) -> None:
    """Ask on one connection until the time is up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 304 " not in head[:20]:
            length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
        assert head[9:12] in {b"200", b"304"}, head
        counts[0] += 1
    writer.close()


async def clients(port: int, sent: bytes, seconds: float, number: int) -> float:
    counts, began = [0], time.perf_counter()
    await asyncio.gather(*(ask(port, sent, began + seconds, counts) for _ in range(number)))
    return counts[0] / (time.perf_counter() - began)


def rate(port: int, path: str, headers: dict[str, str], seconds: float, number: int) -> float:
    """Requests a second, as seen by clients in a process of their own."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    sent = f"GET {path} HTTP/1.1\r\nHost: a\r\n{lines}\r\n"
    command = [sys.executable, __file__, "--ask", json.dumps([port, sent, seconds, number])]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return float(done.stdout)


def wait(port: int, path: str) -> None:
    for _ in range(600):
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            connection.getresponse().read()
        except OSError:
            time.sleep(0.1)
        else:
            connection.close()
            return
    raise SystemExit("a server did not start")


def answer(port: int, path: str, headers: dict[str, str]) -> tuple[dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 200, body
    return dict(response.headers), body


def run(folder: Path, seconds: float, number: int, rounds: int) -> None:
    inside = {**os.environ, **NOWHERE, "LOCATION_CONTEXT_DATA_DIR": str(folder)}
    paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
    inside |= {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    inside |= {"XDG_DATA_HOME": str(folder)}  # or it would become this user's first store
    command = [sys.executable, "-m", "location_context"]
    key_command = [*command, "keys", "create", "speed", "--per-minute", "100000000"]
    subprocess.run([*command, "setup", "--without-fallback"], env=inside, check=True,
                   capture_output=True)  # fmt: skip
    made = subprocess.run([*key_command, "--per-day", "1000000000", "--json"], env=inside,
                          check=True, capture_output=True)  # fmt: skip
    key = {"Authorization": f"Bearer {json.loads(made.stdout)['key']}"}
    port, bare_port = free_port(), free_port()
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  a device, not a file
        served = subprocess.Popen(
            [*command, "serve", "--port", str(port)], env=inside, stderr=nowhere, stdout=nowhere
        )
        plain = subprocess.Popen(
            [sys.executable, "-m", "granian", "benchmarks.http_speed:bare", "--interface", "asgi",
             "--port", str(bare_port), "--http", "1", "--no-ws", "--log-level", "critical"],
            env=inside, stderr=nowhere, stdout=nowhere,
        )  # fmt: skip
    try:
        wait(port, "/v1/health")
        wait(bare_port, "/bare")
        measure(port, bare_port, key, seconds, number, rounds)
    finally:
        for process in (served, plain):
            process.terminate()
            process.wait(30)


def measure(  # noqa: PLR0913, PLR0917  what a round is made of
    port: int, bare_port: int, key: dict[str, str], seconds: float, number: int, rounds: int
) -> None:
    etag, _ = answer(port, CASES["astronomy, 304"], key)
    headers = {
        "bare handler": {},
        "health": {},
        "astronomy, warm": key,
        "astronomy, warm, gzip": {**key, "Accept-Encoding": "gzip"},
        "astronomy, 304": {**key, "If-None-Match": etag["etag"]},
        "guide, warm": key,
    }
    rates: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(rounds):
        for name, path in CASES.items():
            at = bare_port if name == "bare handler" else port
            rates[name].append(rate(at, path, headers[name], seconds, number))
    base = statistics.median(rates["bare handler"])
    print(f"{'':24}{'requests/s':>12}{'of the bare handler':>22}   ({number} connections)")
    for name, found in rates.items():
        middle = statistics.median(found)
        print(f"{name:24}{middle:12,.0f}{middle / base:21.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ask:
        port, sent, seconds, number = json.loads(given.ask)
        print(asyncio.run(clients(port, sent.encode(), seconds, number)))
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), given.seconds, given.clients, given.rounds)


if __name__ == "__main__":
    main()
