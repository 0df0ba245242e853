"""PredictHQ: what its rows become, on a table of traps and on recorded answers."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest

from location_context.sections.events.providers.predicthq import read
from location_context.settings import Secret
from tests.standins.predicthq import TOKEN, event, responding
from tests.standins.server import StandIn

pytestmark = pytest.mark.anyio
PARIS = ZoneInfo("Europe/Paris")


def _one(row: dict):
    return next(iter(read([row], PARIS)), None)


# start, end, zone, and what is answered: start, end, whole days
TIMES = {
    "UTC brought to its zone": (
        "2026-12-03T19:00:00Z", "2026-12-03T21:00:00Z", "Europe/Paris",
        "2026-12-03T20:00:00+01:00", "2026-12-03T22:00:00+01:00", False,
    ),
    "a UTC date unlike the local one": (
        "2026-12-03T23:30:00Z", "2026-12-04T01:00:00Z", "Europe/Paris",
        "2026-12-04T00:30:00+01:00", "2026-12-04T02:00:00+01:00", False,
    ),
    "no end": (
        "2026-12-03T19:00:00Z", "2026-12-03T19:00:00Z", "Europe/Paris",
        "2026-12-03T20:00:00+01:00", None, False,
    ),
    "local midnight without end: a date alone": (
        "2026-12-02T23:00:00Z", "2026-12-02T23:00:00Z", "Europe/Paris", "2026-12-03", None, False,
    ),
    "whole days on the clock of the place": (
        "2026-12-03T00:00:00Z", "2026-12-05T23:59:59Z", None, "2026-12-03", "2026-12-05", True,
    ),
    "whole days in UTC with a zone": (
        "2026-12-02T23:00:00Z", "2026-12-03T22:59:59Z", "Europe/Paris",
        "2026-12-03", "2026-12-03", True,
    ),
    "no offset means UTC": (
        "2026-12-03T19:00:00", "2026-12-03T21:00:00", "Europe/Paris",
        "2026-12-03T20:00:00+01:00", "2026-12-03T22:00:00+01:00", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_times_become_local(name: str):
    start, end, zone, expected, expected_end, all_day = TIMES[name]
    told = _one(event("A", start, end, timezone=zone))
    assert told.start.local(PARIS).isoformat() == expected
    assert (told.end.local(PARIS).isoformat() if told.end else None) == expected_end
    assert told.all_day is all_day


OUT = {
    "deleted ones": {"state": "deleted", "deleted_reason": "cancelled"},
    "a deleted reason alone": {"deleted_reason": "duplicate"},
    "cancelled ones": {"cancelled": "2026-11-01T00:00:00Z"},
    "disasters": {"category": "disasters"},
    "no coordinates": {"location": None},
    "coordinates out of bounds": {"location": [2.3, 148.0]},
    "coordinates of a form left empty": {"location": [0, 0]},
    "coordinates that are none": {"location": [True, {}]},
    "the year 9999 of an end left open": {"end": "9999-12-31T23:59:59Z", "timezone": "UTC"},
    "the year 1": {"start": "0001-01-01T00:00:00Z", "timezone": "UTC"},
    "no title": {"title": None},
    "a title of blanks": {"title": " \n "},
    "no id": {"id": None},
    "no category": {"category": None},
    "a zone that is none": {"timezone": "Mars/Olympus"},
}


@pytest.mark.parametrize("name", OUT)
def test_left_out(name: str):
    assert _one(event("A", "2026-12-03T19:00:00Z", "2026-12-03T21:00:00Z", **OUT[name])) is None


def test_longitude_comes_first_also_in_a_geometry():
    times = ("2026-12-03T19:00:00Z", "2026-12-03T21:00:00Z")
    for changes in (
        {"location": [2.3282, 48.8702]},
        {
            "location": None,
            "geo": {"geometry": {"type": "Point", "coordinates": [2.3282, 48.8702]}},
        },
    ):
        place = _one(event("A", *times, **changes)).place
        assert (place.lat, place.lng) == (48.8702, 2.3282)
        assert (place.name, place.address) == ("L'Olympia", "Paris, France")


def test_without_a_venue_the_address_is_that_of_the_place():
    geo = {"address": {"formatted_address": "Centennial Olympic Park Drive, Atlanta, GA 30303"}}
    times = ("2026-12-03T19:00:00Z", "2026-12-03T21:00:00Z")
    place = _one(event("A", *times, entities=[], geo=geo)).place
    assert (place.name, place.address) == (None, "Centennial Olympic Park Drive, Atlanta, GA 30303")


def test_a_postponed_or_predicted_event_says_so():
    times = ("2026-12-03T19:00:00Z", "2026-12-03T21:00:00Z")
    assert _one(event("A", *times, postponed="2026-11-01T00:00:00Z")).status == "postponed"
    assert _one(event("A", *times, state="predicted")).status == "estimated"
    assert _one(event("A", *times)).status == "confirmed"


@pytest.mark.parametrize(
    ("given", "rank"), [(60, 60.0), (0, 0.0), (101, None), ("high", None), (True, None)]
)
def test_a_rank_is_from_0_to_100_or_not_known(given, rank):
    told = _one(event("A", "2026-12-03T19:00:00Z", "2026-12-03T21:00:00Z", rank=given))
    assert told.rank == rank


def test_recorded_answers_become_right_local_dates_and_places(shared_data):
    file = shared_data / "events" / "predicthq" / "events_test_test_search.json"
    compared = 0
    for recorded in msgspec.json.decode(file.read_bytes()):
        rows = (recorded.get("body") or {}).get("results") or []
        told = {one.id: one for one in read(rows, ZoneInfo("Etc/UTC"))}
        for row in rows:
            one, zone = told[row["id"]], ZoneInfo(row["timezone"])
            given = datetime.fromisoformat(row["start"])
            moment = (given if given.tzinfo else given.replace(tzinfo=UTC)).astimezone(zone)
            print(f"{row['start']:26} {row['timezone']:20} -> {one.start.local(zone)}")
            assert one.start.day == moment.date()
            at_midnight = moment.strftime("%H:%M") == "00:00"
            assert one.start.at == (None if at_midnight else moment)
            assert [one.place.lng, one.place.lat] == row["location"]
            assert (one.category, one.country) == ("concert", "AU")
            compared += 1
    assert compared >= 12


def test_newer_recorded_answers_become_the_local_times_that_they_name_themselves(shared_data):
    """`start_local` and `end_local` stand beside the UTC ones: a truth that is not ours."""
    folder = shared_data / "events" / "predicthq"
    body = msgspec.json.decode(
        (folder / "saved_locations_test_test_event_result_set.json").read_bytes()
    )
    told = {one.id: one for one in read(body["results"], ZoneInfo("Etc/UTC"))}
    shifted = 0
    for row in body["results"]:
        one, zone = told[row["id"]], ZoneInfo(row["timezone"])
        print(f"{row['start']} {row['timezone']} -> {one.start.local(zone)}")
        assert one.start.local(zone).replace(tzinfo=None).isoformat() == row["start_local"]
        if row["end"] != row["start"]:
            assert one.end.local(zone).replace(tzinfo=None).isoformat() == row["end_local"]
        assert [one.place.lng, one.place.lat] == row["location"]
        assert one.place.address == row["geo"]["address"]["formatted_address"]
        shifted += row["start"][:10] != row["start_local"][:10]
    assert (len(told), shifted) == (3, 2)


async def test_it_is_asked_for_what_is_active_within_the_radius(opening):
    with StandIn(responding([])).running() as provider:
        async with opening(
            predicthq_url=provider.url + "/v1/events/", predicthq_api_key=Secret(TOKEN)
        ) as opened:
            await opened.read((48.8566, 2.3522), "2026-12-24", "2026-12-26")
    (asked,) = provider.asked
    assert asked.path == "/v1/events/"
    assert asked.query["within"] == "26km@48.86,2.35"
    assert asked.query["active.gte"] == "2026-12-24T00:00:00"
    assert asked.query["active.lte"] == "2026-12-26T23:59:59"
    assert asked.query["active.tz"] == "Europe/Paris"
    assert asked.query["brand_unsafe.exclude"] == "true"
