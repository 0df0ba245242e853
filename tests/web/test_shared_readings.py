"""Shared readings: of all processes of all replicas one asks a provider, and all are answered."""

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from location_context.settings import Secret, Settings
from location_context.stay import system_clock
from tests.databases import OwnRedis
from tests.fakes import predicthq, ticketmaster
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST, OpenMeteo
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer
from tests.web.commands import Serving, serving
from tests.web.conftest import HTTP, make_key
from tests.web.full_app import PARIS, load_sample_guide

SLOW = 0.4  # seconds of each call, in which all requests have come
TODAY = date.today()  # noqa: DTZ011  the servers' own clock is the system's
FIRST = TODAY + timedelta(days=8 - TODAY.weekday())  # the next Tuesday: all of it in one week
STAY = {**PARIS, "start": str(FIRST), "end": str(FIRST + timedelta(days=3))}
LATER = {"start": str(FIRST + timedelta(days=182)), "end": str(FIRST + timedelta(days=185))}
SECTIONS = ("weather", "astronomy", "guide", "events")
EVERYTHING = (*(f"/v1/pulse/{name}" for name in SECTIONS), "/v1/pulse")


def slow(respond: Callable[[FakeRequest], FakeResponse]) -> FakeServer:
    def respond_slowly(requested: FakeRequest) -> FakeResponse:
        server.stopping.wait(SLOW)
        return respond(requested)

    server = FakeServer(respond_slowly)
    return server


@dataclass
class World:
    """Replicas of two workers each, with their providers."""

    replicas: list[Serving]
    key: str
    meteo: OpenMeteo
    others: dict[str, FakeServer] = field(default_factory=dict)

    def ask(self, number: int, path: str, **more: str) -> int:
        """The status that a replica answers with, over a connection of its own."""
        url = f"http://127.0.0.1:{self.replicas[number % len(self.replicas)].port}{path}"
        sent = {"Connection": "close"}
        if path != "/v1/pulse":
            sent["Authorization"] = f"Bearer {self.key}"
        return HTTP.get(url, params={**STAY, **more}, headers=sent).status_code

    def at_once(self, *paths: str, **more: str) -> Counter[int]:
        """How often each status came, requested of all replicas in turn at one moment."""
        return self.start(dict(enumerate(paths)), **more)()

    def start(self, paths: Mapping[int, str], **more: str) -> Callable[[], Counter[int]]:
        """Ask at one moment, each the replica of its number; gives what waits for the statuses."""
        statuses = Counter[int]()
        start = threading.Barrier(len(paths))

        def ask(number: int, path: str) -> None:
            start.wait(30)
            statuses[self.ask(number, path, **more)] += 1

        asking = [threading.Thread(target=ask, args=one) for one in paths.items()]
        for one in asking:
            one.start()

        def join() -> Counter[int]:
            for one in asking:
                one.join()
            return statuses

        return join

    def forty(self, lat: str) -> Counter[int]:
        """The statuses of forty guests; the forecast of twenty is late, the archive still later.

        Those ask the archive beside the forecast. Guests of another replica who come then have the
        forecast in time, and the archive was called behind them, before it answered the others.
        """
        requested, answered = threading.Event(), threading.Event()

        def respond(request: FakeRequest) -> FakeResponse:
            if request.path == ARCHIVE:
                requested.set()
            if request.path in {FORECAST, ARCHIVE}:
                assert (requested if request.path == FORECAST else answered).wait(30)
            return self.meteo.respond(request)

        self.meteo.server.respond = respond
        half = EVERYTHING * 4
        first = self.start({2 * number: path for number, path in enumerate(half)}, lat=lat)
        assert requested.wait(30)
        second = self.start({2 * number + 1: path for number, path in enumerate(half)}, lat=lat)
        statuses = first() + second()
        answered.set()
        return statuses

    def warm_up(self) -> None:
        """Let every worker load what it answers from, and learn the key."""
        for lat in range(40, 45):
            self.at_once(*EVERYTHING * 2, lat=str(lat))
        self.forget()

    def forget(self) -> None:
        """Forget the calls of providers, once no call is made behind the guests any more."""
        quiet = time.monotonic()
        before = self.calls()
        while time.monotonic() - quiet < 2:
            time.sleep(0.05)
            if (now := self.calls()) != before:
                quiet, before = time.monotonic(), now
        for one in (self.meteo.server, *self.others.values()):
            one.requests.clear()

    def calls(self) -> dict[str, int]:
        """The calls of each provider, by its name or path."""
        requested = {path: len(self.meteo.calls(path)) for path in (FORECAST, ARCHIVE, ELEVATION)}
        return requested | {name: len(one.requests) for name, one in self.others.items()}

    def missed_redis(self) -> bool:
        """Whether a worker was so busy that Redis seemed to be silent."""
        logs = (os.pread(one.output.fileno(), 1 << 24, 0) for one in self.replicas)
        return any(b"quota_store_unavailable" in log for log in logs)


@contextmanager
def world(folder: Path, redis: str, replicas: int = 2, **more: str) -> Iterator[World]:
    meteo = OpenMeteo(system_clock)
    meteo.slow_seconds = SLOW
    day = str(FIRST)
    others = {
        "ticketmaster": slow(ticketmaster.responding(
            [ticketmaster.event("Phoenix", ticketmaster.at(day, "20:00:00"))]
        )),
        "predicthq": slow(predicthq.responding(
            [predicthq.event("Aurora", f"{day}T19:00:00Z", f"{day}T21:00:00Z")]
        )),
        "open_holidays": slow(lambda _: FakeResponse([])),
    }  # fmt: skip
    with ExitStack() as stack:
        url = stack.enter_context(meteo.server.running()).url
        for one in others.values():
            stack.enter_context(one.running())
        given = {
            "REDIS_URL": redis,
            "OPEN_METEO_FORECAST_URL": url + FORECAST,
            "OPEN_METEO_ARCHIVE_URL": url + ARCHIVE,
            "MET_NORWAY_URL": "",
            "NASA_POWER_URL": "",
            "OPEN_HOLIDAYS_URL": others["open_holidays"].url,
            "TICKETMASTER_URL": others["ticketmaster"].url,
            "TICKETMASTER_API_KEY": ticketmaster.KEY,
            "PREDICTHQ_URL": others["predicthq"].url,
            "PREDICTHQ_API_KEY": predicthq.TOKEN,
            "OPEN_METEO_BUDGET": "",
            "OPEN_METEO_API_KEY": "a customer's",  # else a worker has one call at once
            "CONTACT": "test@example.org",
            "JSON_DEADLINE": "20",  # a busy machine is not a failure
            "WIDGET_DEADLINE": "20",
            **more,
        }
        settings = Settings(data_dir=folder, redis_url=Secret(redis))
        asyncio.run(load_sample_guide(settings))
        environment = {f"LOCATION_CONTEXT_{name}": value for name, value in given.items()}
        key = make_key(settings)
        started = [
            stack.enter_context(serving(folder, "--workers", "2", more=environment))
            for _ in range(replicas)
        ]
        yield World(started, key, meteo, others)


def test_forty_requests_for_a_new_place_share_one_call_to_each_provider(
    tmp_path: Path, own_redis: OwnRedis
) -> None:
    with world(tmp_path, own_redis.url) as both:
        both.warm_up()
        for lat in ("48.85", "50.85", "52.85"):  # again where the machine is too busy to tell
            assert both.forty(lat) == {200: 40}
            assert both.at_once(*EVERYTHING * 8, lat=lat) == {200: 40}
            once = dict.fromkeys((FORECAST, ARCHIVE, *both.others), 1) | {ELEVATION: 0}
            once["open_holidays"] = 0  # known since the warm-up
            if both.calls() == once or not both.missed_redis():
                break
            if lat != "52.85":
                both.forget()
        assert both.calls() == once
        both.forget()
        for lat in ("49.85", "51.85", "53.85"):  # climatology, which guests wait for
            assert both.at_once(*["/v1/pulse/weather", "/v1/pulse"] * 20, lat=lat, **LATER) == {
                200: 40
            }
            if both.calls()[ARCHIVE] == 1 or not both.missed_redis():
                break
            both.forget()
        report = both.calls()
        assert (report[FORECAST], report[ARCHIVE], report[ELEVATION]) == (0, 1, 1)
