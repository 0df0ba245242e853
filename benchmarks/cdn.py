"""Hit rate of a cache in front of the service, beside the best possible; under five minutes.

    python benchmarks/cdn.py [--addresses 2000] [--requests 3000] [--hours 3] [--only KIND] [--json]

The real service with stand-ins of the providers and 7,000 restaurants, behind nginx with
deploy/nginx/cache.conf, both empty at first. Requests are drawn by Zipf's law (the address of rank
n has the weight 1/n) and spread evenly over the hours. An address is a city with a stay: half of
the stays begin within a month, half are longer than four days.

Time is a clock that the benchmark moves, for the service and for the cache. So hours take a minute,
and a busy machine changes no figure. Each kind runs in a process of its own, as many at once as
there are processors.

`best` is what a cache could do that has room for everything and holds each page for its whole life:
an hour, but not over midnight at the place, nor beyond the half hour for which the forecast is
fresh that all pages of a place share; and a minute more while it is fetched anew. The first
request of each page (address and language) is a miss there too.
`one language` and `ten languages` have `lang` in the address; `by header` is the same ten without
it, as 30 different headers Accept-Language of browsers say them.
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

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import caches, cold, figures  # noqa: E402  found by the line above
from tests.moved_clock import MovedClock  # noqa: E402  likewise
from tests.serving import serve  # noqa: E402  likewise

from location_context.gazetteer.gazetteer import Gazetteer  # noqa: E402  likewise
from location_context.point import Point  # noqa: E402  likewise
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import Stay, horizon, system_clock  # noqa: E402  likewise

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
BUDGETS = ("TICKETMASTER_BUDGET", "OPEN_HOLIDAYS_BUDGET")  # by a clock that goes slower
COLUMNS = {
    "hits": "hit rate, %",
    "best": "best, %",
    "below": "below, points",
    "asked": "asked of the service",
    "pages": "pages",
    "short": "held for a minute",
}


@dataclass(frozen=True)
class Address:
    """A place and a stay, as they stand in a snippet."""

    query: str
    point: Point
    stay: Stay

    def has_forecast(self, now: datetime) -> bool:
        today = self.point.today(now)
        return self.stay.start <= horizon(today) and not self.stay.is_past(today)

    def seconds_of_today(self, now: datetime) -> float:
        """Those that are left of it at the place."""
        tomorrow = self.point.today(now) + timedelta(1)
        return (datetime.combine(tomorrow, time(), self.point.zone) - now).total_seconds()


@dataclass(frozen=True)
class Request:
    """One guest: when (seconds from the start), and what the browser sends."""

    at: float
    address: Address
    language: str
    header: str


class BestCache:
    """All the room in the world, and every page for its whole life."""

    def __init__(self, life: float) -> None:
        self._longest = life
        self._until: dict[tuple[str, str], float] = {}
        self._forecast_until: dict[Point, float] = {}
        self.hits = 0

    def ask(self, request: Request, now: datetime) -> None:
        key = (request.address.query, request.language)
        until = self._until.get(key, -2.0 * caches.GRACE)
        self.hits += request.at < until + caches.GRACE
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
    gazetteer, places, made = Gazetteer.load(), cold.places(), []
    for _ in range(count):
        place = next(places)
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
    """Asks the cache, one request after the other."""

    def __init__(self, port: int, *, named: bool) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=600)
        self._named = named
        self.counts = Counter[str]()

    def ask(self, request: Request) -> None:
        """Ask for a page, and count what became of it."""
        told = self.get(request)
        behind = told["x-cache"] in {"STALE", "UPDATING"}  # the cache fetches it while it gives it
        hit = behind or told["x-cache"] == "HIT"
        self.counts["hits"] += hit
        if hit and not behind:
            return
        self.counts["asked"] += 1
        if behind:
            told = self._fetched(request)
        said = told["cache-control"]
        self.counts["short"] += told["x-cache"] != "HIT" and said.split(",")[1] == " max-age=60"

    def _fetched(self, request: Request) -> dict[str, str]:
        """The headers of a page once the cache has fetched it anew."""
        while (told := self.get(request))["x-cache"] == "UPDATING":
            clock_time.sleep(0.002)
        return told

    def get(self, request: Request) -> dict[str, str]:
        """The headers of a page."""
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
            raise SystemExit(f"{target} was answered {response.status}")
        return {name.lower(): value for name, value in response.getheaders()}


def measured(
    given: argparse.Namespace, folder: Path, settings: Settings, kind: str, start: datetime
) -> dict[str, float]:
    """One run with an empty service and an empty cache."""
    languages, named = KINDS[kind]
    pages = addresses(given.addresses, start.date(), random.Random(16))
    asked = requests(given, pages, languages)
    clock, best = MovedClock(start), BestCache(LIFE)
    with ExitStack() as stack:
        served = stack.enter_context(serve(settings, clock=clock))
        cache = caches.Nginx(folder, served.port)
        cache.move(start)
        stack.enter_context(caches.running(cache, folder))
        guest = Guest(cache.port, named=named)
        for request in asked:
            clock.now = start + timedelta(seconds=request.at)
            cache.move(clock.now)
            best.ask(request, clock.now)
            guest.ask(request)
    hits, most = (100 * count / len(asked) for count in (guest.counts["hits"], best.hits))
    return {
        "hits": round(hits, 1),
        "best": round(most, 1),
        "below": round(most - hits, 1),
        "asked": guest.counts["asked"],
        "pages": best.pages,
        "short": guest.counts["short"],
    }


def measured_kind(kind: str, given: argparse.Namespace) -> dict[str, float]:
    """What one kind of address comes to, with a service and a cache of its own."""
    start = datetime.combine(system_clock().date(), time(6), UTC)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        providers = cold.start_stand_ins(folder, ["--events=10", "--milliseconds=0"], stack)
        environ = {
            **cold.prepare(folder, providers.port),
            "LOCATION_CONTEXT_LOG_LEVEL": "error",
            "LOCATION_CONTEXT_WIDGET_PER_MINUTE": "100000",
            "LOCATION_CONTEXT_WIDGET_DEADLINE": "60",  # no page lacks what is late on this machine
            **dict.fromkeys((f"LOCATION_CONTEXT_{name}" for name in BUDGETS), ""),
        }
        return measured(given, folder, Settings.read(environ), kind, start)


def in_own_process(kind: str, given: argparse.Namespace) -> dict[str, float]:
    """The same, run by another Python."""
    named = [f"--{name}={getattr(given, name)}" for name in ("addresses", "requests")]
    command = [sys.executable, __file__, *named, f"--hours={given.hours}", f"--only={kind}"]
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
    caches.require()
    if given.only:
        found = {given.only: measured_kind(given.only, given)}
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            all_found = pool.map(lambda kind: in_own_process(kind, given), KINDS)
            found = dict(zip(KINDS, all_found, strict=True))
    figures.table(found, COLUMNS, given)


if __name__ == "__main__":
    main()
