"""Count calls to providers of events: of a thousand widgets, and of one at a new place.

    python -m research.events_units [--widgets 1000] [--properties 2000] [--hours 3] [--json]

Properties lie in 150 cities, more in the larger ones, and are requested by Zipf's law; stays begin
within 90 days. The largest city has 80 events a day within 25 km, the tenth 16, the hundredth 3,
most of them in its middle. The providers of the service call stand-ins in this process, without a
pace; the section's own cache, which equal queries share, is left out. Counted are calls, which are
units; `cold` is the mean of ten stays at new cities.
"""

import argparse
import asyncio
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

import msgspec

from benchmarks.harness import figures
from location_context.localisation.language import Languages
from location_context.point import Point, distance_km
from location_context.sections.contract import Query
from location_context.sections.events.providers.predicthq import PredictHQ
from location_context.sections.events.providers.ticketmaster import (
    Ticketmaster,
)
from location_context.sections.section import SectionContext
from location_context.settings import Secret, Settings
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient, HttpResponse
from tests.fakes import predicthq, ticketmaster

CITIES, BUSIEST, DAYS = 150, 80.0, 200
SPREAD_KM, COUNTRYSIDE = 7.0, 0.2  # of events around a city; a share of them lies anywhere near
BEGIN = date(2027, 1, 4)
PAGE = 200
STAYS = {1: 8, 2: 20, 3: 20, 4: 14, 5: 10, 7: 12, 10: 6, 14: 6, 30: 2}  # days, and how many of 98


class Cities(HttpClient):
    """The events of all cities, in answers of either provider."""

    def __init__(self) -> None:
        super().__init__("benchmark")
        self.requests: Counter[str] = Counter()
        chance = random.Random(17)
        self.places = [(47.0, 3.0 * n - 170) if n < 113 else (20.0, 3.0 * n - 500)
                       for n in range(CITIES)]  # fmt: skip
        self._events = [self._of_city(chance, n) for n in range(CITIES)]

    def _of_city(self, chance: random.Random, city: int) -> list[list[tuple[float, float]]]:
        """For each day where its events are."""
        a_day, (lat, lng) = BUSIEST / (city + 1) ** 0.7, self.places[city]

        def one() -> tuple[float, float]:
            if chance.random() < COUNTRYSIDE:
                north, east = chance.uniform(-60, 60), chance.uniform(-60, 60)
            else:
                north, east = chance.gauss(0, SPREAD_KM), chance.gauss(0, SPREAD_KM)
            wide = 111.2 * math.cos(math.radians(lat))
            return lat + north / 111.2, lng + east / wide

        return [[one() for _ in range(int(a_day * 1.15 + chance.random()))] for _ in range(DAYS)]

    async def open(self) -> None:
        pass

    async def get(self, url: str, provider: str, *_: Any, **__: Any) -> HttpResponse:
        self.requests[provider] += 1
        query = dict(parse_qsl(urlsplit(url).query))
        body = self._sold(query) if provider == "ticketmaster" else self._listed(query)
        return HttpResponse(provider, 200, {}, msgspec.json.encode(body))

    @cache  # noqa: B019  it lives as long as the process; every page asks for all
    def _within(
        self, lat: float, lng: float, radius: float, first: str, last: str
    ) -> list[tuple[float, float]]:
        city = min(range(CITIES), key=lambda n: distance_km(lat, lng, *self.places[n]))
        days = ((date.fromisoformat(one[:10]) - BEGIN).days for one in (first, last))
        begin, end = days
        return [
            at
            for day in range(max(0, begin), min(DAYS, end + 1))
            for at in self._events[city][day]
            if distance_km(lat, lng, *at) <= radius
        ]

    def _sold(self, query: Mapping[str, str]) -> dict[str, Any]:
        centre = ticketmaster.geohash_point(query["geoPoint"])
        first, last = query["localStartEndDateTime"].split(",")
        found = self._within(*centre, float(query["radius"]), first, last)
        rows = _unread(len(found), PAGE * int(query["page"]))
        return {"page": {"totalElements": len(found)}, "_embedded": {"events": rows}}

    def _listed(self, query: Mapping[str, str]) -> dict[str, Any]:
        radius, _, place = query["within"].partition("km@")
        lat, lng = map(float, place.split(","))
        found = self._within(lat, lng, float(radius), query["active.gte"], query["active.lte"])
        offset = int(query["offset"])
        rows = _unread(len(found), offset)
        more = "more" if offset + PAGE < len(found) else None
        return {"count": len(found), "next": more, "results": rows}


def _unread(count: int, offset: int) -> list[int]:
    """Return a page of rows; their content changes no call."""
    return [0] * max(0, min(PAGE, count - offset))


class Asking:
    """Both providers as one process has them, and its clock."""

    def __init__(self, folder: Path) -> None:
        self.cities = Cities()
        self.now = datetime.combine(BEGIN, datetime.min.time(), ZoneInfo("UTC"))
        self._folder = folder
        self.forget()

    def forget(self) -> None:
        """Start again with empty caches."""
        settings = Settings(
            data_dir=self._folder, ticketmaster_url="http://sold", predicthq_url="http://listed",
            ticketmaster_api_key=Secret(ticketmaster.KEY),
            predicthq_api_key=Secret(predicthq.TOKEN), ticketmaster_budget=(), predicthq_budget=(),
        )  # fmt: skip
        context = SectionContext(settings, lambda: self.now, self.cities)
        self._providers = [kind.build(context) for kind in (Ticketmaster, PredictHQ)]
        self.cities.requests.clear()

    async def widget(self, lat: float, lng: float, stay: Stay) -> None:
        point = Point(round(lat, 4), round(lng, 4), "UTC")
        query = Query(point, stay, "metric", Languages({}).english)
        for provider in self._providers:
            await provider.fetch_events(query, Deadline.after(600))


def _near(chance: random.Random, place: tuple[float, float], spread: float) -> tuple[float, float]:
    wide = 111.2 * math.cos(math.radians(place[0]))
    return place[0] + chance.gauss(0, spread) / 111.2, place[1] + chance.gauss(0, spread) / wide


def _stay(chance: random.Random, days: int) -> Stay:
    first = BEGIN + timedelta(days=chance.randrange(90))
    return Stay(first, first + timedelta(days=days - 1))


@contextmanager
def _asking() -> Iterator[Asking]:
    with tempfile.TemporaryDirectory() as folder:
        yield Asking(Path(folder))


async def _of_many(
    asking: Asking, given: argparse.Namespace, days: int | None, cities: int = CITIES
) -> dict[str, int]:
    """Count the calls of the widgets for stays of `days`, or of guests' lengths if it is None."""
    chance = random.Random(given.seed)
    asking.forget()
    larger = [1 / (n + 1) for n in range(cities)]
    chosen = chance.choices(asking.cities.places[:cities], larger, k=given.properties)
    properties = [_near(chance, place, 6.0) for place in chosen]
    popular = [1 / (n + 1) for n in range(given.properties)]
    for place in chance.choices(properties, popular, k=given.widgets):
        length = days or chance.choices(list(STAYS), list(STAYS.values()))[0]
        await asking.widget(*place, _stay(chance, length))
        asking.now += timedelta(hours=given.hours) / given.widgets
    return dict(asking.cities.requests)


async def _cold(asking: Asking, city: int, days: int) -> dict[str, float]:
    chance = random.Random(city)
    calls: Counter[str] = Counter()
    for _ in range(10):
        asking.forget()
        await asking.widget(*_near(chance, asking.cities.places[city], 6.0), _stay(chance, days))
        calls += asking.cities.requests
    return {name: count / 10 for name, count in calls.items()}


async def _measure(given: argparse.Namespace) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with _asking() as asking:
        found["widgets"] = await _of_many(asking, given, None)
        found["widgets, one city"] = await _of_many(asking, given, None, cities=1)
        found["widgets, 7 days"] = await _of_many(asking, given, 7)
        for city in (0, 9, 99):
            for days in (3, 7, 14, 30, 92):
                found[f"cold, city {city + 1}, {days} days"] = await _cold(asking, city, days)
    return found


def main() -> None:
    parser = figures.parser(__doc__ or "", rounds=1)
    parser.add_argument("--widgets", type=int, default=1000)
    parser.add_argument("--properties", type=int, default=2000)
    parser.add_argument("--hours", type=float, default=3.0, help="in which the widgets come")
    parser.add_argument("--seed", type=int, default=17)
    given = parser.parse_args()
    figures.show(asyncio.run(_measure(given)), given)


if __name__ == "__main__":
    main()
