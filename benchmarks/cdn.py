"""Hit rate of Varnish in front of the service, beside the best possible; under five minutes.

    python benchmarks/cdn.py [--addresses 2000] [--requests 3000] [--hours 3] [--json]

The real service with stand-ins of the providers and 7,000 restaurants, behind Varnish with
deploy/varnish/default.vcl, both empty at first. Requests are drawn by Zipf's law (the address of
rank n has the weight 1/n) and spread evenly over the hours. An address is a city with a stay: half
of the stays begin within a month, half are longer than four days.

Time is a clock that the benchmark moves, for the service too. Varnish reads the same clock from a
header: its own reading of Cache-Control says how long a page is held, its own key and Vary which
page it is, and lines that are added to the file compare the two moments where it would ask its own
clock. So hours take a minute, and a busy machine changes no figure.

`best` is what a cache could do that has room for everything and holds each page for its whole life:
an hour, but not over midnight at the place, nor beyond the half hour for which the forecast is
fresh that all pages of a place share; and a minute more while it is fetched anew. The first request
of each page (address and language) is a miss there too.
`one language` and `ten languages` have `lang` in the address; `by header` is the same ten without
it, as 30 different headers Accept-Language of browsers say them.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from http.client import HTTPConnection
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import cold, figures  # noqa: E402  found by the line above
from tests.moved_clock import MovedClock  # noqa: E402  likewise
from tests.serving import free_port, serve  # noqa: E402  likewise

from location_context.gazetteer.gazetteer import Gazetteer  # noqa: E402  likewise
from location_context.point import Point  # noqa: E402  likewise
from location_context.settings import Settings  # noqa: E402  likewise
from location_context.stay import Stay, horizon, system_clock  # noqa: E402  likewise

SECRET = "a secret of your own"
VCL = ROOT / "deploy" / "varnish" / "default.vcl"
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
GRACE = 60  # seconds, as stale-while-revalidate says
FORECAST_LIFE, LIFE = 1800, 3600  # seconds
BUDGETS = (
    "TICKETMASTER_PER_SECOND",
    "TICKETMASTER_PER_DAY",
    "OPEN_HOLIDAYS_PER_MINUTE",
    "OPEN_HOLIDAYS_PER_DAY",
)  # fmt: skip  which count by a clock that goes slower
COLUMNS = {
    "hits": "hit rate, %",
    "best": "best, %",
    "below": "below, points",
    "asked": "asked of the service",
    "pages": "pages",
    "short": "held for a minute",
}
# Where Varnish would look at its clock: `X-Now` has the moment of the request, in seconds.
BEFORE = """
sub vcl_recv {
    set req.hash_always_miss = (req.http.X-Refresh || req.restarts > 0);
}
sub vcl_hit {
    if (std.real(req.http.X-Now, 0.0) >= std.real(obj.http.X-Gone, 0.0)) {
        return (restart);
    }
    if (std.real(req.http.X-Now, 0.0) >= std.real(obj.http.X-Stale, 0.0)) {
        set req.http.X-Stale = "1";
    }
}
"""
AFTER = """
sub vcl_backend_response {
    if (beresp.ttl > 0s) {
        set beresp.http.X-Stale = std.real(bereq.http.X-Now, 0.0)
            + std.real(duration=beresp.ttl, fallback=0.0);
        set beresp.http.X-Gone = std.real(beresp.http.X-Stale, 0.0) + GRACE.0;
        if (beresp.grace == 0s) {
            set beresp.http.X-Gone = beresp.http.X-Stale;
        }
        set beresp.ttl = 1d;
    }
}
sub vcl_deliver {
    if (req.http.X-Stale) {
        set resp.http.X-Fetch = "1";
    }
}
""".replace("GRACE", str(GRACE))


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

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}
        self._forecast_until: dict[Point, float] = {}
        self.hits = 0

    def ask(self, request: Request, now: datetime) -> None:
        key = (request.address.query, request.language)
        until = self._until.get(key, -2.0 * GRACE)
        self.hits += request.at < until + GRACE
        if request.at >= until:
            self._until[key] = request.at + min(
                self._life(request, now), request.address.seconds_of_today(now)
            )

    def _life(self, request: Request, now: datetime) -> float:
        point, at = request.address.point, request.at
        if not request.address.has_forecast(now):
            return LIFE
        if self._forecast_until.get(point, 0.0) <= at:
            self._forecast_until[point] = at + FORECAST_LIFE
        return self._forecast_until[point] - at

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


@contextmanager
def varnish(folder: Path, backend: int) -> Iterator[int]:
    """Varnish with the deployed file in front of a port; the port it listens on."""
    port, vcl = free_port(), folder / "default.vcl"
    text = re.sub(r"\.port = \"\d+\"", f'.port = "{backend}"', VCL.read_text(encoding="utf-8"))
    text = re.sub(r"\.probe = .*", "", text)  # a busy machine must not seem a sick service
    text = text.replace("sub vcl_recv", f"{BEFORE}\nsub vcl_recv", 1)
    vcl.write_text(text + AFTER, encoding="utf-8")
    command = ["varnishd", "-F", "-j", "none", "-n", str(folder / "varnish"), "-f", str(vcl),
               "-a", f"127.0.0.1:{port}", "-s", "malloc,512m",
               "-p", "timeout_idle=600", "-p", "first_byte_timeout=600"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            _wait(port, running)
            yield port
        finally:
            running.terminate()


def _wait(port: int, running: "subprocess.Popen[bytes]") -> None:
    """Until Varnish answers for the service."""
    while running.poll() is None:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/v1/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
    raise SystemExit("varnishd did not start: run it with the file by hand")


class Guest:
    """Asks Varnish, one request after the other."""

    def __init__(self, port: int, *, named: bool) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=600)
        self._named = named
        self.counts = Counter[str]()

    def ask(self, request: Request) -> None:
        """Ask for a page, and count what became of it."""
        told = self.get(request)
        hit = told["x-cache"] == "HIT"
        self.counts["hits"] += hit
        if not hit or "x-fetch" in told:  # Varnish fetches what is stale while it gives it
            self.counts["asked"] += 1
            if hit:
                told = self.get(request, {"X-Refresh": "1"})
            self.counts["short"] += told["cache-control"].startswith("public, max-age=60,")
            self.counts["short"] += told["cache-control"] == "public, max-age=60"

    def get(self, request: Request, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The headers of a page."""
        headers = {
            "X-Now": f"{request.at:.3f}",
            "Accept-Language": request.header,
            "Accept-Encoding": "gzip, deflate, br, zstd",
            **(more or {}),
        }
        lang = f"&lang={request.language}" if self._named else ""
        return self._get(f"/v1/pulse?{request.address.query}{lang}", headers)

    def purge(self, tags: str, secret: str) -> int:
        headers = {"Surrogate-Key": tags, "X-Purge-Key": secret}
        self._connection.request("POST", "/", headers=headers)
        response = self._connection.getresponse()
        response.read()
        return response.status

    def _get(self, target: str, headers: Mapping[str, str]) -> dict[str, str]:
        self._connection.request("GET", target, headers=headers)
        response = self._connection.getresponse()
        response.read()
        if response.status != 200:
            raise SystemExit(f"{target} was answered {response.status}")
        return {name.lower(): value for name, value in response.getheaders()}


def check_purge(guest: Guest, request: Request) -> None:
    """A purge drops the pages of its tag and no others, for those who know the secret."""
    for tag, secret, status, cache in (
        ("pulse-at-90:0", SECRET, 200, "HIT"),
        ("pulse-guide", "guessed", 403, "HIT"),
        ("pulse-in-XX pulse-guide", SECRET, 200, "MISS"),
    ):
        guest.get(request)
        said = guest.purge(tag, secret)
        found = guest.get(request)["x-cache"]
        if (said, found) != (status, cache):
            raise SystemExit(f"a purge of {tag} was answered {said}, and the page was a {found}")


def measured(
    folder: Path, settings: Settings, asked: Sequence[Request], start: datetime, *, named: bool
) -> dict[str, float]:
    """One run with an empty service and an empty Varnish."""
    shutil.copytree(settings.data_dir, folder / "data")
    settings = msgspec.structs.replace(settings, data_dir=folder / "data")
    clock, best = MovedClock(start), BestCache()
    with serve(settings, clock=clock) as served, varnish(folder, served.port) as port:
        guest = Guest(port, named=named)
        for request in asked:
            clock.now = start + timedelta(seconds=request.at)
            best.ask(request, clock.now)
            guest.ask(request)
        check_purge(guest, asked[-1])
    hits, most = (100 * count / len(asked) for count in (guest.counts["hits"], best.hits))
    return {
        "hits": round(hits, 1),
        "best": round(most, 1),
        "below": round(most - hits, 1),
        "asked": guest.counts["asked"],
        "pages": best.pages,
        "short": guest.counts["short"],
    }


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--addresses", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=3000, help="of each kind")
    parser.add_argument("--hours", type=float, default=3)
    parser.add_argument("--only", help="one of the kinds, such as by_header")
    given = parser.parse_args()
    if not shutil.which("varnishd"):
        raise SystemExit("varnishd is not installed; on Debian: apt-get install varnish")
    start = datetime.combine(system_clock().date(), time(6), UTC)
    pages = addresses(given.addresses, start.date(), random.Random(16))
    kinds = {
        "one language": ({"en": 1}, True),
        "ten languages": (LANGUAGES, True),
        "by header": (LANGUAGES, False),
    }
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        providers = cold.start_stand_ins(folder, ["--events=10", "--milliseconds=0"], stack)
        environ = {
            **cold.prepare(folder, providers.port),
            "LOCATION_CONTEXT_LOG_LEVEL": "error",
            "LOCATION_CONTEXT_WIDGET_PER_MINUTE": "100000",
            "LOCATION_CONTEXT_WIDGET_DEADLINE": "60",  # no page lacks what is late on this machine
            "LOCATION_CONTEXT_PURGE_URL": "http://127.0.0.1:9/",  # so that events may be held
            **{f"LOCATION_CONTEXT_{window}": "1000000" for window in BUDGETS},
        }
        settings = Settings.read(environ)
        found = {}
        for kind, (languages, named) in kinds.items():
            if given.only not in {None, kind.replace(" ", "_")}:
                continue
            own = folder / kind.replace(" ", "_")
            own.mkdir()
            asked = requests(given, pages, languages)
            found[kind] = measured(own, settings, asked, start, named=named)
    figures.table(found, COLUMNS, given)


if __name__ == "__main__":
    main()
