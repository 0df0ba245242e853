"""Hit rate of a cache in front of the service, beside the best possible; under five minutes.

    python -m benchmarks.cdn [--addresses 2000] [--requests 3000] [--hours 3] [--only KIND] [--json]

The real service with stand-ins of the providers and 7,000 restaurants, behind nginx with
deploy/nginx/cache.conf, both empty at first. Requests are drawn by Zipf's law (the address of rank
n has the weight 1/n) and spread evenly over the hours. An address is a city with a stay: half of
the stays begin within a month, half are longer than four days.

Service and cache run by a clock that the benchmark moves, so hours take a minute and other load
changes no figure. Each kind runs in its own process, as many at once as there are processors.

`best` is a cache with unlimited room that holds each page for its whole life: an hour, but not past
midnight at the place nor past the half hour for which all pages of a place share a forecast, and a
minute more while it is fetched again. The first request of each page (address and language) is a
miss there too. `one language` and `ten languages` have `lang` in the address; `by header` is the
same ten without it, in 30 different Accept-Language headers of browsers.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time as clock_time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.harness import figures, nginx
from benchmarks.harness.service import places, prepare, start_stand_ins
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.point import Point
from location_context.settings import Settings
from location_context.stay import Stay, horizon, system_clock
from tests.moved_clock import MovedClock
from tests.serving import serve

LANGUAGES = {
    "en": 35,
    "de": 14,
    "fr": 11,
    "es": 10,
    "it": 8,
    "nl": 6,
    "pt": 5,
    "ja": 4,
    "zh-Hans": 4,
    "ar": 3,
}  # fmt: skip  per cent of the guests
HEADERS = ("{0}", "{0},en;q=0.5", "{0};q=0.9,en-US;q=0.8,en;q=0.7")  # of each, as browsers send it
FORECAST_LIFE, LIFE = 1800, 3600  # seconds
KINDS = {  # the languages, and whether `lang` names them
    "one language": ({"en": 1}, True),
    "ten languages": (LANGUAGES, True),
    "by header": (LANGUAGES, False),
}
BUDGETS = ("TICKETMASTER_BUDGET", "OPEN_HOLIDAYS_BUDGET")  # which run by the real clock
COLUMNS = {
    "hits": "hit rate, %",
    "best": "best, %",
    "below": "below, points",
    "passed": "passed on to the service",
    "pages": "pages",
    "short": "held for a minute",
}


@dataclass(frozen=True)
class Address:
    """A place and a stay, as in a snippet."""

    query: str
    point: Point
    stay: Stay

    def has_forecast(self, now: datetime) -> bool:
        today = self.point.today(now)
        return self.stay.start <= horizon(today) and not self.stay.is_past(today)

    def seconds_of_today(self, now: datetime) -> float:
        """Return the seconds until midnight at the place."""
        tomorrow = self.point.today(now) + timedelta(1)
        return (datetime.combine(tomorrow, time(), self.point.zone) - now).total_seconds()


@dataclass(frozen=True)
class Request:
    """A guest's request: seconds from the start, and what the browser sends."""

    at: float
    address: Address
    language: str
    header: str


class BestCache:
    """A cache with unlimited room that holds every page for its whole life."""

    def __init__(self, life: float) -> None:
        self._longest = life
        self._until: dict[tuple[str, str], float] = {}
        self._forecast_until: dict[Point, float] = {}
        self.hits = 0

    def ask(self, request: Request, now: datetime) -> None:
        key = (request.address.query, request.language)
        until = self._until.get(key, -2.0 * nginx.GRACE)
        self.hits += request.at < until + nginx.GRACE
        if request.at >= until:
            self._until[key] = request.at + min(
                self._life(request, now), request.address.seconds_of_today(now)
            )

    def _life(self, request: Request, now: datetime) -> float:
        point, at = request.address.point, request.at
        if not request.address.has_forecast(now):
            return self._longest
        if self._forecast_until.get(point, 0.0) <= at:
            self._forecast_until[point] = at + FORECAST_LIFE
        return min(self._longest, self._forecast_until[point] - at)

    @property
    def pages(self) -> int:
        return len(self._until)


def addresses(count: int, today: date, chance: random.Random) -> list[Address]:
    gazetteer, cities, made = Gazetteer.load(), places(), []
    for _ in range(count):
        place = next(cities)
        lat, lng = (float(part.partition("=")[2]) for part in place.split("&"))
        lead = min(330, int(chance.lognormvariate(3.4, 1.2)))  # half of them within 30 days
        nights = min(21, 1 + int(chance.expovariate(1 / 5)))
        start = today + timedelta(days=1 + lead)
        stay = Stay(start, start + timedelta(days=nights))
        query = f"{place}&start={stay.start}&end={stay.end}"
        made.append(Address(query, gazetteer.point(lat, lng), stay))
    return made


def requests(
    given: argparse.Namespace, pages: Sequence[Address], languages: Mapping[str, int]
) -> list[Request]:
    chance = random.Random(17)
    weights = [1 / rank for rank in range(1, len(pages) + 1)]
    moments = sorted(chance.uniform(0, 3600 * given.hours) for _ in range(given.requests))
    drawn = chance.choices(pages, weights, k=given.requests)
    tongues = chance.choices(list(languages), list(languages.values()), k=given.requests)
    return [
        Request(at, address, tongue, chance.choice(HEADERS).format(tongue))
        for at, address, tongue in zip(moments, drawn, tongues, strict=True)
    ]


class Guest:
    """Sends requests to the cache, one after the other."""

    def __init__(self, port: int, *, named: bool) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=600)
        self._named = named
        self.counts = Counter[str]()

    def ask(self, request: Request) -> None:
        """Request a page and count hit or miss."""
        headers = self.get(request)
        behind = headers["x-cache"] in {"STALE", "UPDATING"}  # served while it is fetched again
        hit = behind or headers["x-cache"] == "HIT"
        self.counts["hits"] += hit
        if hit and not behind:
            return
        self.counts["passed"] += 1
        if behind:
            headers = self._fetched(request)
        lifetime = headers["cache-control"].split(",")[1]
        self.counts["short"] += headers["x-cache"] != "HIT" and lifetime == " max-age=60"

    def _fetched(self, request: Request) -> dict[str, str]:
        """Return the headers of a page once the cache has fetched it again."""
        while (headers := self.get(request))["x-cache"] == "UPDATING":
            clock_time.sleep(0.002)
        return headers

    def get(self, request: Request) -> dict[str, str]:
        """Return the headers of a page."""
        headers = {
            "Accept-Language": request.header,
            "Accept-Encoding": "gzip, deflate, br, zstd",
        }
        lang = f"&lang={request.language}" if self._named else ""
        return self._get(f"/v1/pulse?{request.address.query}{lang}", headers)

    def _get(self, target: str, headers: Mapping[str, str]) -> dict[str, str]:
        self._connection.request("GET", target, headers=headers)
        response = self._connection.getresponse()
        response.read()
        if response.status != 200:
            raise SystemExit(f"{target}: status {response.status}")
        return {name.lower(): value for name, value in response.getheaders()}


def measured(
    given: argparse.Namespace, folder: Path, settings: Settings, kind: str, start: datetime
) -> dict[str, float]:
    """Run with an empty service and an empty cache."""
    languages, named = KINDS[kind]
    pages = addresses(given.addresses, start.date(), random.Random(16))
    drawn = requests(given, pages, languages)
    clock, best = MovedClock(start), BestCache(LIFE)
    with ExitStack() as stack:
        served = stack.enter_context(serve(settings, clock=clock))
        cache = nginx.Nginx(folder, served.port)
        cache.move(start)
        stack.enter_context(nginx.running(cache, folder))
        guest = Guest(cache.port, named=named)
        for request in drawn:
            clock.now = start + timedelta(seconds=request.at)
            cache.move(clock.now)
            best.ask(request, clock.now)
            guest.ask(request)
    hits, most = (100 * count / len(drawn) for count in (guest.counts["hits"], best.hits))
    return {
        "hits": round(hits, 1),
        "best": round(most, 1),
        "below": round(most - hits, 1),
        "passed": guest.counts["passed"],
        "pages": best.pages,
        "short": guest.counts["short"],
    }


def measured_kind(kind: str, given: argparse.Namespace) -> dict[str, float]:
    """Measure one kind of address, with a service and a cache of its own."""
    start = datetime.combine(system_clock().date(), time(6), UTC)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        providers = start_stand_ins(folder, ["--events=10", "--milliseconds=0"], stack)
        environ = {
            **prepare(folder, providers.port),
            "LOCATION_CONTEXT_LOG_LEVEL": "error",
            "LOCATION_CONTEXT_WIDGET_PER_MINUTE": "100000",
            "LOCATION_CONTEXT_WIDGET_DEADLINE": "60",  # every page is complete
            **dict.fromkeys((f"LOCATION_CONTEXT_{name}" for name in BUDGETS), ""),
        }
        return measured(given, folder, Settings.read(environ), kind, start)


def in_own_process(kind: str, given: argparse.Namespace) -> dict[str, float]:
    """Run `measured_kind` in another process."""
    named = [f"--{name}={getattr(given, name)}" for name in ("addresses", "requests")]
    command = [
        sys.executable,
        "-m",
        "benchmarks.cdn",
        *named,
        f"--hours={given.hours}",
        f"--only={kind}",
    ]
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{kind} could not be measured")
    found: dict[str, float] = json.loads(done.stdout)[kind]
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--addresses", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=3000, help="of each kind")
    parser.add_argument("--hours", type=float, default=3)
    parser.add_argument("--only", choices=[*KINDS], help="one of the kinds")
    given = parser.parse_args()
    nginx.require()
    if given.only:
        found = {given.only: measured_kind(given.only, given)}
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            all_found = pool.map(lambda kind: in_own_process(kind, given), KINDS)
            found = dict(zip(KINDS, all_found, strict=True))
    figures.table(found, COLUMNS, given)


if __name__ == "__main__":
    main()
