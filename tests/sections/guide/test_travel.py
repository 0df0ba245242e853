"""Travel is estimated from distance, or routed by one call to an OSRM server."""

from collections.abc import AsyncIterator, Mapping, Sequence
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
from tests.sections.guide.samples import PROVENANCE, around, query


def waypoint(place: str, metres: float) -> dict[str, Any]:
    """A place on a road so many metres south of the requested one."""
    lng, lat = map(float, place.split(","))
    location = [lng, round(lat - metres / 111_195, 6)]
    return {"hint": "KSoKADRYroqU", "location": location, "name": "", "distance": metres}


class Osrm:
    """OSRM's table service: all places snap to the nearest road, however far it lies."""

    def __init__(
        self,
        seconds: Sequence[float | None] = (600.0, 660.0, 720.0),
        metres: Mapping[int, float] | None = None,
    ) -> None:
        self.seconds = seconds
        self.metres = metres or {}  # by index of the requested place; 4 m for all others

    def __call__(self, request: FakeRequest) -> FakeResponse:
        places = request.path.rsplit("/", 1)[1].split(";")
        snapped = [waypoint(one, self.metres.get(n, 4.2)) for n, one in enumerate(places)]
        durations = [[0.0, *self.seconds]]
        assert len(durations[0]) == len(places)
        ends = {"sources": snapped[:1], "destinations": snapped}
        return FakeResponse({"code": "Ok", "durations": durations, **ends})


RESTAURANTS = around(("three_star", 60), ("two_star", 20), ("one_star", 5), ("one_star", 1))


@pytest.fixture
async def guide(guides: SqlGuideStore) -> AsyncIterator[Guide]:
    """The section with four restaurants around Paris and an OSRM server, `guide.osrm`."""
    await guides.replace(PROVENANCE, RESTAURANTS, NOON)
    async with HttpClient("tests") as client:
        with FakeServer(Osrm()).running() as osrm:
            settings, stores = Settings(osrm_url=osrm.url), {"guide": guides}
            guide = Guide.build(SectionContext(settings, MovedClock(), client, stores))
            guide.osrm = osrm
            yield guide
            await guide.close()


def ways(reading: SectionResult) -> list[tuple[str, int, bool]]:
    found = [one.travel for one in reading.body.restaurants]
    return [(way.kind, way.minutes, way.estimated) for way in found]


ESTIMATED = [("drive", 67, True), ("drive", 33, True), ("walk", 16, True), ("drive", 14, True)]


def test_travel_time_grows_with_distance_and_is_a_drive_beyond_two_kilometres():
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


def test_estimated_drive_time_in_a_large_city_agrees_with_osrm():
    ratios = [estimate(km).minutes / minutes for km, minutes in BERLIN]
    assert 0.9 <= median(ratios) <= 1.1
    assert 0.7 <= min(ratios) <= max(ratios) <= 1.15


async def test_travel_is_estimated_and_the_answer_complete_without_osrm(guides):
    guide = Guide.build(SectionContext(Settings(), MovedClock(), None, {"guide": guides}))
    await guides.replace(PROVENANCE, RESTAURANTS, NOON)
    reading = await guide.read(query(), Deadline.after(4))
    assert ways(reading) == ESTIMATED
    assert (reading.body.degraded_reason, reading.complete) == (None, True)
    assert guide.providers()[0].status == "not_configured"


async def test_osrm_is_called_once_for_all_drives_with_longitude_before_latitude(guide):
    reading = await guide.read(query(), Deadline.after(4))
    far, near = [("drive", 10, False), ("drive", 11, False)], ("drive", 12, False)
    assert ways(reading) == [*far, ("walk", 16, True), near]
    (request,) = guide.osrm.requests
    assert request.path.startswith("/table/v1/driving/2.352200,48.856600;2.352200,49.396")
    assert request.path.count(";") == 3
    assert request.query == {"sources": "0", "annotations": "duration"}
    assert reading.complete
    assert "OpenStreetMap" in [one.name for one in reading.body.attribution]


@pytest.mark.parametrize(
    ("seconds", "metres", "expected"),
    [
        ([None, 1200, -5], {}, [ESTIMATED[0], ("drive", 20, False), *ESTIMATED[2:]]),
        (
            [600, 660, 720],
            {1: 1000.1, 2: 999.9, 3: 250_000.0},
            [ESTIMATED[0], ("drive", 11, False), *ESTIMATED[2:]],
        ),
        ([600, 660, 720], {0: 412_000.0}, ESTIMATED),
    ],
    ids=["no road", "restaurant over 1 km from a road", "guest over 1 km from a road"],
)
async def test_drive_that_cannot_be_routed_keeps_its_estimate(guide, seconds, metres, expected):
    guide.osrm.respond = Osrm(seconds, metres)
    reading = await guide.read(query(), Deadline.after(4))
    assert ways(reading) == expected
    assert reading.complete  # all that could be routed was
    notice = "Travel times: © OpenStreetMap contributors, ODbL"
    assert (notice in [one.text for one in reading.body.attribution]) == (expected != ESTIMATED)


BAD: dict[str, FakeResponse] = {
    "502": FakeResponse(b"<html>Bad Gateway</html>", status=502),
    "400": FakeResponse({"code": "TooBig", "message": "Too many table coordinates"}, status=400),
    "not JSON": FakeResponse(b"durations"),
    "no table": FakeResponse({"code": "Ok"}),
    "another size": FakeResponse({"code": "Ok", "durations": [[0, 1]]}),
    "an empty table": FakeResponse({"code": "Ok", "durations": []}),
    "no waypoints": FakeResponse({"code": "Ok", "durations": [[0, 60, 60, 60]]}),
    "too few waypoints": FakeResponse(
        {"code": "Ok", "durations": [[0, 60, 60, 60]]}
        | {key: [waypoint("2,48", 1)] for key in ("sources", "destinations")}
    ),
    "dropped": FakeResponse(fault="drop"),
    "a redirect": FakeResponse(b"", status=302, headers={"Location": "http://127.0.0.1:1/"}),
}


@pytest.mark.parametrize("name", BAD)
async def test_failing_osrm_is_replaced_by_estimates_and_degrades_the_answer(guide, name):
    guide.osrm.respond = lambda _: BAD[name]
    reading = await guide.read(query(), Deadline.after(4))
    assert ways(reading) == ESTIMATED
    assert (reading.body.degraded_reason, reading.complete) == ("provider_unavailable", False)
    known = {"502": "refused", "400": "refused", "dropped": "unreachable"}
    assert guide.providers()[0].last_error_code == known.get(name, "invalid_answer")


async def test_hanging_osrm_is_called_once_and_gives_each_answer_the_degraded_reason_late(guide):
    guide.osrm.respond = lambda _: FakeResponse(fault="hang")
    for _ in range(3):
        reading = await guide.read(query(), Deadline.after(0.5))
        assert ways(reading) == ESTIMATED
        assert reading.body.degraded_reason == "late"
    assert len(guide.osrm.requests) == 1
    assert guide.providers()[0].breaker == "closed"  # it had not timed out yet
