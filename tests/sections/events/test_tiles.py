"""Calls by tile and week cover every point and stay, are shared, and lose no event."""

import asyncio
import math
import random
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta

import pytest

from location_context.point import canonical, distance_km
from location_context.sections.events.providers import predicthq as predicthq_provider
from location_context.sections.events.providers import ticketmaster as ticketmaster_provider
from location_context.sections.events.providers.base import Grid, weeks_of
from location_context.sections.events.selection import relevant_events
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from tests.fakes import predicthq, ticketmaster
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer
from tests.sections.events.conftest import PARIS

NEARBY = (48.8566, 2.3590)  # 500 m to the east of PARIS
RADIUS = 25.0
PACE = {"ticketmaster_budget": (), "predicthq_budget": ()}
DOWN = FakeResponse(b"<html>down</html>", status=502)
PARSE = {
    "ticketmaster": ticketmaster_provider.parse_event,
    "predicthq": predicthq_provider.parse_event,
}
ZONES = ("Europe/Paris", "Pacific/Fiji", "America/New_York", "Pacific/Kiritimati", "UTC")
EDGES = [(90.0, 0.0), (-90.0, 0.0), (89.97, 170.0), (-17.0, 180.0), (-16.9, -179.98), (0.0, 0.0)]


def _points(chance: random.Random, count: int) -> list[tuple[float, float]]:
    anywhere = [(chance.uniform(-90, 90), chance.uniform(-180, 180)) for _ in range(count)]
    polar = [(chance.choice((-1, 1)) * chance.uniform(89, 90), p[1]) for p in anywhere[:200]]
    turning = [(p[0], chance.choice((-180, 180)) + chance.uniform(-0.3, 0.3)) for p in anywhere]
    return [canonical(lat, (lng + 180) % 360 - 180) for lat, lng in anywhere + polar + turning] + [
        *EDGES
    ]


@pytest.mark.parametrize("radius", [0.5, 5.0, RADIUS, 200.0])
def test_map_tile_request_covers_the_whole_search_circle_of_a_point(radius):
    grid, chance = Grid(radius), random.Random(17)
    for point in _points(chance, 1500):
        centre = grid.centre(*point)
        assert distance_km(*point, *centre) + radius <= grid.reach, (point, centre)


@pytest.mark.parametrize(
    ("first", "last", "mondays"),
    [
        ("2026-12-24", "2026-12-24", ["2026-12-21"]),
        ("2026-12-21", "2026-12-27", ["2026-12-21"]),
        ("2026-12-27", "2026-12-28", ["2026-12-21", "2026-12-28"]),
        ("2026-12-20", "2027-01-04", ["2026-12-14", "2026-12-21", "2026-12-28", "2027-01-04"]),
    ],
)
def test_weeks_of_tile_requests_run_from_monday_to_sunday(first, last, mondays):
    weeks = weeks_of(Stay(date.fromisoformat(first), date.fromisoformat(last)))
    assert [str(week.start) for week in weeks] == mondays
    assert all(week.days == 7 for week in weeks)


class Listings:
    """Events around a few places, as both providers list them."""

    def __init__(self, seed: int, places: list[tuple[float, float]], count: int) -> None:
        chance = random.Random(seed)
        self.sold, self.listed = [], []
        for number in range(count):
            lat, lng = chance.choice(places)
            lat = max(-89.9, min(89.9, lat + chance.gauss(0, 0.2)))
            lng += chance.gauss(0, 0.2) / max(0.02, math.cos(math.radians(lat)))
            lng = round((lng + 180) % 360 - 180, 5)
            start = datetime(2027, 3, 1, tzinfo=UTC) + timedelta(hours=chance.randrange(24 * 45))
            end = start + timedelta(hours=chance.choice((0, 2, 5, 30, 100, 400)))
            zone = chance.choice((*ZONES[:3], None))
            moments = (f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in (start, end))
            self.listed.append(
                predicthq.event(f"L{number}", *moments, timezone=zone, location=[lng, lat])
            )
            day = ticketmaster.at(f"{start:%Y-%m-%d}", f"{start:%H:%M:%S}")
            row = ticketmaster.event(f"S{number}", day)
            row["_embedded"]["venues"][0] |= {
                "location": {"latitude": str(lat), "longitude": str(lng)}, "timezone": zone,
            }  # fmt: skip
            if end - start > timedelta(days=1):
                row["dates"]["end"] = {"localDate": f"{end:%Y-%m-%d}"}
            self.sold.append(row)
        self.sell = ticketmaster.responding(self.sold, by_place=True)
        self.list = predicthq.responding(self.listed)

    def as_before(self, query) -> dict[str, set[str]]:
        """What a call for just this point and stay gives, by provider: ids that concern a guest."""
        lat, lng = round(query.point.lat, 2), round(query.point.lng, 2)
        first, last = f"{query.stay.start}T00:00:00", f"{query.stay.end}T23:59:59"
        sold = {
            "apikey": ticketmaster.KEY, "size": "200", "page": "0", "radius": "26",
            "geoPoint": ticketmaster_provider.geohash(lat, lng), "sort": "relevance,desc",
            "localStartEndDateTime": f"{first},{last}",
        }  # fmt: skip
        listed = {
            "within": f"26km@{lat},{lng}", "active.gte": first, "active.lte": last,
            "active.tz": query.point.timezone, "limit": "200", "sort": "rank",
        }  # fmt: skip
        bearer = {"authorization": f"Bearer {predicthq.TOKEN}"}
        sale = self.sell(FakeRequest("/", sold, {}, {}, "")).body
        found = {
            "ticketmaster": sale["_embedded"]["events"] if sale["page"]["totalElements"] else [],
            "predicthq": self.list(FakeRequest("/", listed, bearer, {}, "")).body["results"],
        }
        assert all(len(rows) < 200 for rows in found.values())  # no cap was reached
        return {
            name: _ids([PARSE[name](row, query.point.zone) for row in rows], query)
            for name, rows in found.items()
        }


def _ids(events, query) -> set[str]:
    return {one.details.id for one in relevant_events(events, query.point, query.stay, RADIUS)}


@pytest.fixture
def open_before(open_section):
    """Open the section with both providers, which sell and list the events."""

    @asynccontextmanager
    async def opened(listings: Listings):
        with (
            FakeServer(listings.sell).running() as seller,
            FakeServer(listings.list).running() as lister,
        ):
            urls = {"ticketmaster_url": seller.url, "predicthq_url": lister.url}
            async with open_section(**urls, **PACE) as made:
                yield made, seller, lister

    return opened


def _providers(opened) -> dict[str, object]:
    return {one.name: one for one in opened.section._providers[3:5]}


@pytest.mark.parametrize("seed", range(3))
async def test_shared_tile_calls_return_every_event_that_an_individual_call_would_return(
    open_before, seed
):
    chance = random.Random(seed)
    places = [PARIS, (40.71, -74.0), (-16.9, 179.97), (89.8, 20.0), (-89.9, 0.0)]
    listings, found, expected = Listings(seed, places, 500), 0, 0
    async with open_before(listings) as (opened, seller, lister):
        for _ in range(40):
            lat, lng = chance.choice(places)
            lat = max(-90.0, min(90.0, lat + chance.uniform(-0.1, 0.1)))
            lng = (lng + chance.uniform(-0.1, 0.1) + 180) % 360 - 180
            first = date(2027, 3, 6) + timedelta(days=chance.randrange(30))
            days = chance.choice((1, 2, 3, 7, 12))
            query = opened.query((lat, lng), str(first), str(first + timedelta(days=days - 1)))
            before = listings.as_before(query)
            for name, provider in _providers(opened).items():
                result = await provider.fetch_events(query, Deadline.after(60))
                ids = _ids(result.events, query)
                assert result.status == "ok"
                assert before[name] <= ids
                found, expected = found + len(ids), expected + len(before[name])
    print(f"{found} events, {expected} by calls of their own; {len(seller.requests)} calls")
    assert expected > 100
    assert max(len(seller.requests), len(lister.requests)) < 60


def _stay(days: int) -> tuple[str, str]:
    return "2027-03-03", str(date(2027, 3, 3) + timedelta(days=days - 1))


@pytest.mark.parametrize(
    ("reads", "weeks"),
    [
        ([(PARIS, *_stay(1))], 1),
        ([(PARIS, *_stay(7))], 2),
        ([(PARIS, *_stay(14))], 3),
        ([(PARIS, *_stay(30))], 5),
        ([(PARIS, *_stay(92))], 14),
        ([(PARIS, "2027-03-11", "2027-03-17"), (NEARBY, "2027-03-09", "2027-03-15")], 2),
    ],
    ids=["day", "week", "fortnight", "month", "quarter", "neighbours of the same weeks"],
)
async def test_stays_with_few_events_need_one_provider_call_per_week(open_before, reads, weeks):
    async with open_before(Listings(3, [PARIS], 100)) as (opened, seller, lister):
        for place, first, last in reads:
            await opened.read(place, first, last)
    assert (len(seller.requests), len(lister.requests)) == (weeks, weeks)


async def test_concurrent_requests_of_neighbours_share_one_call_for_each_week(open_before):
    listings = Listings(2, [PARIS], 100)
    stays = [("2027-03-11", "2027-03-17"), ("2027-03-16", "2027-03-25"), ("2027-03-14",) * 2] * 5
    async with open_before(listings) as (opened, seller, lister):
        places = [PARIS, NEARBY] * 8
        await asyncio.gather(
            *(opened.read(*one) for one in ((p, *s) for p, s in zip(places, stays, strict=False)))
        )
    assert (len(seller.requests), len(lister.requests)) == (3, 3)


@pytest.mark.parametrize(("name", "count"), [("ticketmaster", 4000), ("predicthq", 3600)])
async def test_stay_in_a_very_large_city_misses_no_event(open_before, name, count):
    """Each of its weeks has more events than a page holds."""
    listings = Listings(5, [PARIS], count)
    calls: list[int] = []
    async with open_before(listings) as (opened, seller, lister):
        for first, last in ((12, 18), (12, 18), (10, 16), (18, 21)):
            query = opened.query(PARIS, f"2027-03-{first}", f"2027-03-{last}")
            result = await _providers(opened)[name].fetch_events(query, Deadline.after(60))
            assert result.status in {"ok", "partial"}
            if result.status == "ok":
                assert _begun_in(listings, name, query) <= _ids(result.events, query)
            calls.append(len(seller.requests) + len(lister.requests))
    assert calls[1] == calls[2] == calls[3] == calls[0]  # all in the same two weeks


def _begun_in(listings: Listings, name: str, query) -> set[str]:
    """All that begin within the stay by any clock, and concern a guest."""
    rows = listings.sold if name == "ticketmaster" else listings.listed
    events = [PARSE[name](row, query.point.zone) for row in rows]
    stay = query.stay
    return _ids([one for one in events if stay.start < one.start.day < stay.end], query)


async def test_neighbours_in_another_time_zone_do_not_share_a_call(open_before):
    """At the border of two zones, a provider is called with the zone of each side."""
    listings = Listings(4, [(42.04, -8.64)], 20)
    async with open_before(listings) as (opened, _, lister):
        await opened.read((42.028, -8.645), "2027-03-11", "2027-03-12")  # Valença
        await opened.read((42.047, -8.645), "2027-03-11", "2027-03-12")  # Tui
    assert {one.query["active.tz"] for one in lister.requests} == {"Europe/Lisbon", "Europe/Madrid"}


async def test_failed_call_for_one_week_keeps_events_of_other_weeks_and_degrades_the_answer(
    open_with,
):
    sell = Listings(5, [PARIS], 100).sell

    def failing(request: FakeRequest) -> FakeResponse:
        return DOWN if request.query["localStartEndDateTime"] >= "2027-03-15" else sell(request)

    async with open_with("ticketmaster", failing, **PACE) as (opened, _):
        known = await opened.fetch("ticketmaster", PARIS, "2027-03-10", "2027-03-12")
        both = PARIS, "2027-03-10", "2027-03-18"
        result = await opened.fetch("ticketmaster", *both)
        body = (await opened.read(*both)).body
    assert known.status == "ok"
    assert (result.status, result.degraded_reason) == ("partial", "provider_unavailable")
    assert known.events
    assert {one.id for one in result.events} == {one.id for one in known.events}
    assert (body.degraded, body.degraded_reason) == (True, "provider_unavailable")
