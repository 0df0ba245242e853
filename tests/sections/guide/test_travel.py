"""Travel is estimated from distance, or routed by an OSRM server asked once for all."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median
from typing import Any

import pytest

from location_context.sections.contract import SectionResult
from location_context.sections.guide.section import Guide
from location_context.sections.guide.travel import estimate
from location_context.sections.section import SectionContext
from location_context.settings import Settings
from location_context.storage.datasets import SqlGuideStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer
from tests.moved_clock import NOON, MovedClock
from tests.sections.guide.samples import PROVENANCE, query
from tests.sections.guide.test_section import around

pytestmark = pytest.mark.anyio


def waypoint(place: str, metres: float) -> dict[str, Any]:
    """A place on a road so many metres south of the asked one."""
    lng, lat = map(float, place.split(","))
    location = [lng, round(lat - metres / 111_195, 6)]
    return {"hint": "KSoKADRYroqU", "location": location, "name": "", "distance": metres}


class Osrm:
    """OSRM's table service: all places snap to the nearest road, however far it lies."""

    def __init__(self, seconds: Sequence[float | None] = (600.0, 660.0, 720.0)) -> None:
        self.seconds = seconds
        self.metres: dict[int, float] = {}  # by index of the asked place; 4 m for all others

    def __call__(self, asked: FakeRequest) -> FakeResponse:
        places = asked.path.rsplit("/", 1)[1].split(";")
        snapped = [waypoint(one, self.metres.get(n, 4.2)) for n, one in enumerate(places)]
        durations = [[0.0, *self.seconds]]
        assert len(durations[0]) == len(places)
        return FakeResponse(
            {
                "code": "Ok", "durations": durations,
                "sources": snapped[:1], "destinations": snapped,
            }
        )  # fmt: skip


@asynccontextmanager
async def guide_with(url: str, guides: SqlGuideStore) -> AsyncIterator[Guide]:
    rows = around(("three_star", 60), ("two_star", 20), ("one_star", 5), ("one_star", 1))
    await guides.replace(PROVENANCE, rows, NOON)
    async with HttpClient("tests") as client:
        settings, stores = Settings(osrm_url=url), {"guide": guides}
        yield Guide.build(SectionContext(settings, MovedClock(), client, stores))


def ways(reading: SectionResult) -> list[tuple[str, int, bool]]:
    found = [one.travel for one in reading.body.restaurants]
    return [(way.kind, way.minutes, way.estimated) for way in found]


ESTIMATED = [("drive", 67, True), ("drive", 33, True), ("walk", 16, True), ("drive", 14, True)]


def test_estimates_grow_with_distance_and_turn_from_walk_to_drive_at_two_kilometres():
    minutes = [estimate(km / 10).minutes for km in range(21, 1000)]
    assert minutes == sorted(minutes)
    assert (estimate(2.0).kind, estimate(2.001).kind) == ("walk", "drive")
    assert estimate(0).minutes == 1
    assert 55 <= estimate(80).minutes <= 90  # "about an hour's drive", by motorway


# km in a straight line and OSRM's minutes by car, between five places in Berlin: the README of the
# R package osrm; © OpenStreetMap contributors, ODbL
BERLIN = (
    (9.7, 21.1), (15.9, 33.4), (5.9, 21.2), (2.9, 12.6), (9.7, 22.1), (18.7, 42.3), (5.9, 16.1),
    (9.6, 20.2), (15.9, 33.0), (18.7, 43.0), (13.5, 30.5), (13.1, 27.4), (5.9, 20.1), (5.9, 15.3),
    (13.5, 29.7), (4.3, 12.7), (2.9, 10.2), (9.6, 20.3), (13.1, 26.8), (4.3, 12.3),
)  # fmt: skip


def test_drives_in_a_large_city_take_about_as_long_as_osrm_says():
    ratios = [estimate(km).minutes / minutes for km, minutes in BERLIN]
    assert 0.9 <= median(ratios) <= 1.1
    assert 0.7 <= min(ratios) <= max(ratios) <= 1.15


async def test_without_osrm_all_travel_is_estimated_and_the_answer_complete(guides):
    async with guide_with("", guides) as guide:
        reading = await guide.read(query(), Deadline.after(4))
    assert ways(reading) == ESTIMATED
    assert (reading.body.degraded_reason, reading.complete) == (None, True)
    assert guide.providers()[0].status == "not_configured"


async def test_osrm_is_asked_once_for_all_drives_in_lng_lat_order(guides):
    with FakeServer(Osrm()).running() as osrm:
        async with guide_with(osrm.url, guides) as guide:
            reading = await guide.read(query(), Deadline.after(4))
    far, near = [("drive", 10, False), ("drive", 11, False)], ("drive", 12, False)
    assert ways(reading) == [*far, ("walk", 16, True), near]
    (asked,) = osrm.requests
    assert asked.path.startswith("/table/v1/driving/2.352200,48.856600;2.352200,49.396")
    assert asked.path.count(";") == 3
    assert asked.query == {"sources": "0", "annotations": "duration"}
    assert reading.complete
    assert "OpenStreetMap" in [one.name for one in reading.body.attribution]


async def test_a_place_without_a_road_keeps_its_estimate(guides):
    with FakeServer(Osrm([None, 1200, -5])).running() as osrm:
        async with guide_with(osrm.url, guides) as guide:
            reading = await guide.read(query(), Deadline.after(4))
    assert ways(reading) == [ESTIMATED[0], ("drive", 20, False), *ESTIMATED[2:]]


async def test_a_restaurant_over_a_kilometre_from_its_road_keeps_its_estimate(guides):
    server = Osrm()
    server.metres = {1: 1000.1, 2: 999.9, 3: 250_000.0}
    with FakeServer(server).running() as osrm:
        async with guide_with(osrm.url, guides) as guide:
            reading = await guide.read(query(), Deadline.after(4))
    assert ways(reading) == [ESTIMATED[0], ("drive", 11, False), *ESTIMATED[2:]]
    assert reading.complete  # all that could be routed was


async def test_a_point_over_a_kilometre_from_its_road_is_not_routed_anywhere(guides):
    server = Osrm()
    server.metres = {0: 412_000.0}
    with FakeServer(server).running() as osrm:
        async with guide_with(osrm.url, guides) as guide:
            reading = await guide.read(query(), Deadline.after(4))
    assert ways(reading) == ESTIMATED
    assert reading.complete
    assert "Travel times: © OpenStreetMap contributors, ODbL" not in [
        one.text for one in reading.body.attribution
    ]


BAD: dict[str, FakeResponse] = {
    "502": FakeResponse(b"<html>Bad Gateway</html>", status=502),
    "400": FakeResponse({"code": "TooBig", "message": "Too many table coordinates"}, status=400),
    "not JSON": FakeResponse(b"durations"),
    "no table": FakeResponse({"code": "Ok"}),
    "another size": FakeResponse({"code": "Ok", "durations": [[0, 1]]}),
    "an empty table": FakeResponse({"code": "Ok", "durations": []}),
    "no waypoints": FakeResponse({"code": "Ok", "durations": [[0, 60, 60, 60]]}),
    "too few waypoints": FakeResponse(
        {
            "code": "Ok",
            "durations": [[0, 60, 60, 60]],
            "sources": [waypoint("2,48", 1)],
            "destinations": [waypoint("2,48", 1)],
        }
    ),
    "dropped": FakeResponse(fault="drop"),
    "a redirect": FakeResponse(b"", status=302, headers={"Location": "http://127.0.0.1:1/"}),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_failing_osrm_falls_back_to_estimates_and_says_degraded(guides, name):
    with FakeServer(lambda _: BAD[name]).running() as osrm:
        async with guide_with(osrm.url, guides) as guide:
            reading = await guide.read(query(), Deadline.after(4))
            code = guide.providers()[0].last_error_code
    assert ways(reading) == ESTIMATED
    assert (reading.body.degraded_reason, reading.complete) == ("provider_unavailable", False)
    known = {"502": "refused", "400": "refused", "dropped": "unreachable"}
    assert code == known.get(name, "invalid_answer")


async def test_a_silent_osrm_costs_its_deadline_once(guides):
    with FakeServer(lambda _: FakeResponse(fault="hang")).running() as osrm:
        async with guide_with(osrm.url, guides) as guide:
            reasons = []
            for _ in range(3):
                reading = await guide.read(query(), Deadline.after(0.5))
                assert ways(reading) == ESTIMATED
                reasons.append(reading.body.degraded_reason)
            state: Any = guide.providers()[0]
            await guide.close()
    assert len(osrm.requests) == 1
    assert reasons == ["late"] * 3
    assert state.breaker == "closed"  # it had not timed out yet
