"""PredictHQ: requests, and rows read from traps and recorded answers."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest

from location_context.sections.events.fields import parse_rows
from location_context.sections.events.providers.predicthq import parse_event
from location_context.upstream.budget import Budget
from location_context.upstream.host import Host
from tests.fakes.predicthq import event, responding
from tests.fakes.server import FakeResponse
from tests.sections.events.conftest import PARIS

ZONE = ZoneInfo("Europe/Paris")
DAY = ("2026-12-25", "2026-12-25")
EVENING = ("2026-12-03T19:00:00Z", "2026-12-03T21:00:00Z")
CHRISTMAS = ("2026-12-25T19:00:00Z", "2026-12-25T21:00:00Z")


def _one(row: dict):
    return next(parse_rows([row], lambda row: parse_event(row, ZONE)), None)


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
    "a fixed date: its times are not known": (
        "2026-12-02T23:00:00Z", "2026-12-03T22:59:59Z", "Europe/Paris", "2026-12-03", None, False,
    ),
    "fixed dates of several days: likewise": (
        "2026-12-02T23:00:00Z", "2026-12-05T22:59:59Z", "Europe/Paris",
        "2026-12-03", "2026-12-05", False,
    ),
    "no offset means UTC": (
        "2026-12-03T19:00:00", "2026-12-03T21:00:00", "Europe/Paris",
        "2026-12-03T20:00:00+01:00", "2026-12-03T22:00:00+01:00", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_times_of_predicthq_become_local_times(name):
    start, end, zone, expected, expected_end, all_day = TIMES[name]
    parsed = _one(event("A", start, end, timezone=zone))
    assert parsed.start.local(ZONE).isoformat() == expected
    assert (parsed.end.local(ZONE).isoformat() if parsed.end else None) == expected_end
    assert parsed.all_day is all_day


OUT = {
    "deleted ones": {"state": "deleted", "deleted_reason": "cancelled"},
    "a deleted reason alone": {"deleted_reason": "duplicate"},
    "cancelled ones": {"cancelled": "2026-11-01T00:00:00Z"},
    "disasters": {"category": "disasters"}, "no coordinates": {"location": None},
    "coordinates out of bounds": {"location": [2.3, 148.0]},
    "coordinates of a form left empty": {"location": [0, 0]},
    "coordinates that are none": {"location": [True, {}]},
    "the year 9999 of an end left open": {"end": "9999-12-31T23:59:59Z", "timezone": "UTC"},
    "the year 1": {"start": "0001-01-01T00:00:00Z", "timezone": "UTC"},
    "no title": {"title": None}, "a title of blanks": {"title": " \n "}, "no id": {"id": None},
    "no category": {"category": None}, "a zone that is none": {"timezone": "Mars/Olympus"},
    "a zone that is a folder of zones": {"timezone": "Europe"},
    "a zone of 300 characters": {"timezone": "E" * 300},
    "a zone that is a lone surrogate": {"timezone": "\ud800"},
    "a zone that is a number": {"timezone": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_invalid_event_is_left_out(name):
    assert _one(event("A", *EVENING, **OUT[name])) is None


def test_predicthq_location_and_geometry_are_read_longitude_first():
    for changes in (
        {"location": [2.3282, 48.8702]},
        {
            "location": None,
            "geo": {"geometry": {"type": "Point", "coordinates": [2.3282, 48.8702]}},
        },
    ):
        place = _one(event("A", *EVENING, **changes)).place
        assert (place.lat, place.lng) == (48.8702, 2.3282)
        assert (place.name, place.address) == ("L'Olympia", "Paris, France")


def test_postal_address_comes_from_the_geometry_if_the_event_has_no_venue():
    geo = {"address": {"formatted_address": "Centennial Olympic Park Drive, Atlanta, GA 30303"}}
    place = _one(event("A", *EVENING, entities=[], geo=geo)).place
    assert (place.name, place.address) == (None, "Centennial Olympic Park Drive, Atlanta, GA 30303")


def test_postponed_or_predicted_event_has_its_status():
    assert _one(event("A", *EVENING, postponed="2026-11-01T00:00:00Z")).status == "postponed"
    assert _one(event("A", *EVENING, state="predicted")).status == "estimated"
    assert _one(event("A", *EVENING)).status == "confirmed"


@pytest.mark.parametrize(
    ("given", "rank"), [(60, 60.0), (0, 0.0), (101, None), ("high", None), (True, None)]
)
def test_rank_is_from_0_to_100_or_null(given, rank):
    parsed = _one(event("A", *EVENING, rank=given))
    assert parsed.rank == rank


def test_recorded_provider_answers_give_the_right_local_dates_and_places(shared_data):
    file = shared_data / "events" / "predicthq" / "events_test_test_search.json"
    compared = 0
    for recorded in msgspec.json.decode(file.read_bytes()):
        rows = (recorded.get("body") or {}).get("results") or []
        parsed = parse_rows(rows, lambda row: parse_event(row, ZoneInfo("Etc/UTC")))
        parsed = {one.id: one for one in parsed}
        for row in rows:
            one, zone = parsed[row["id"]], ZoneInfo(row["timezone"])
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


def test_newer_recorded_predicthq_answers_agree_with_their_local_time_fields(shared_data):
    """`start_local` and `end_local` stand beside the UTC ones: a truth that is not ours."""
    folder = shared_data / "events" / "predicthq"
    body = msgspec.json.decode(
        (folder / "saved_locations_test_test_event_result_set.json").read_bytes()
    )
    parsed = parse_rows(body["results"], lambda row: parse_event(row, ZoneInfo("Etc/UTC")))
    parsed = {one.id: one for one in parsed}
    shifted = 0
    for row in body["results"]:
        one, zone = parsed[row["id"]], ZoneInfo(row["timezone"])
        print(f"{row['start']} {row['timezone']} -> {one.start.local(zone)}")
        assert one.start.local(zone).replace(tzinfo=None).isoformat() == row["start_local"]
        if row["end"] != row["start"]:
            assert one.end.local(zone).replace(tzinfo=None).isoformat() == row["end_local"]
        assert [one.place.lng, one.place.lat] == row["location"]
        assert one.place.address == row["geo"]["address"]["formatted_address"]
        shifted += row["start"][:10] != row["start_local"][:10]
    assert (len(parsed), shifted) == (3, 2)


async def test_predicthq_request_covers_whole_weeks_and_the_map_tile_of_the_point(open_with):
    async with open_with("predicthq", responding([])) as (opened, provider):
        await opened.read(PARIS, "2026-12-24", "2026-12-26")
    (request,) = provider.requests
    expected = {
        "within": "40km@48.92,2.46",
        "active.gte": "2026-12-21T00:00:00",
        "active.lte": "2026-12-27T23:59:59",
        "active.tz": "Europe/Paris",
        "brand_unsafe.exclude": "true",
    }
    assert expected.items() <= request.query.items()


def _ranked(count: int) -> list[dict]:
    """Concerts of one day with ranks from 0 to 100, in no order."""
    return [event(f"Concert {n}", *CHRISTMAS, rank=n * 37 % 101) for n in range(count)]


async def test_answer_contains_the_highest_ranked_of_700_events(open_with):
    rows = _ranked(700)
    highest = sorted((row["rank"] for row in rows), reverse=True)
    async with open_with("predicthq", responding(rows)) as (opened, _):
        result = await opened.fetch("predicthq", PARIS, *DAY)
        body = (await opened.read(PARIS, *DAY)).body
    ranks = sorted((one.rank for one in result.events), reverse=True)
    assert ranks == highest[: len(ranks)]
    assert len(ranks) >= 200
    shown = [one.rank for one in body.events if one.sources == ["predicthq"]]
    assert len(shown) == 9  # beside Christmas Day
    assert sorted(shown, reverse=True) == highest[:9]


async def test_coverage_is_partial_and_cacheable_if_more_events_exist_than_are_read(open_with):
    async with open_with("predicthq", responding(_ranked(700))) as (opened, provider):
        result = await opened.fetch("predicthq", PARIS, *DAY)
        reading = await opened.read(PARIS, *DAY)
    coverage = {one.provider: one.status for one in reading.body.coverage}
    assert (len(result.events), result.status, coverage["predicthq"]) == (600, "partial", "partial")
    assert (reading.complete, reading.body.degraded) == (True, False)
    assert [one.query["offset"] for one in provider.requests] == ["0", "200", "400"]


@pytest.mark.parametrize(("most", "count", "status", "calls"), [
    (None, 350, "ok", 2), (100, 100, "partial", 1),
], ids=["all pages", "limit of the plan"])  # fmt: skip
async def test_coverage_is_complete_only_if_all_pages_were_read(
    open_with, most, count, status, calls
):
    bound = {} if most is None else {"most": most}
    async with open_with("predicthq", responding(_ranked(350), **bound)) as (opened, provider):
        result = await opened.fetch("predicthq", PARIS, *DAY)
    assert (len(result.events), result.status, result.degraded_reason) == (count, status, None)
    assert len(provider.requests) == calls


async def test_highest_ranked_events_are_returned_if_the_call_budget_is_spent(open_with):
    async with open_with("predicthq", responding(_ranked(700))) as (opened, provider):
        opened.provider("predicthq").client.host = Host(Budget({60.0: 1}))
        result = await opened.fetch("predicthq", PARIS, *DAY)
    assert (len(result.events), result.status, result.degraded_reason) == (200, "partial", None)
    assert min(one.rank for one in result.events) >= 71
    assert len(provider.requests) == 1


async def test_predicted_events_are_requested_and_have_the_status_estimated(open_with):
    rows = [event("Sure", *CHRISTMAS), event("Likely", *CHRISTMAS, state="predicted")]
    async with open_with("predicthq", responding(rows)) as (opened, provider):
        result = await opened.fetch("predicthq", PARIS, *DAY)
    assert {one.title: one.status for one in result.events} == {
        "Sure": "confirmed", "Likely": "estimated",
    }  # fmt: skip
    assert provider.requests[0].query["state"] == "active,predicted"


async def test_predicted_events_refused_by_the_plan_are_not_requested_again_for_a_day(open_with):
    respond = responding([event("Sure", *CHRISTMAS)], without=frozenset({"predicted"}))
    async with open_with("predicthq", respond) as (opened, provider):
        first = await opened.fetch("predicthq", PARIS, *DAY)
        opened.clock.advance(hours=4)
        second = await opened.fetch("predicthq", PARIS, *DAY)
        opened.clock.advance(hours=21)
        await opened.fetch("predicthq", PARIS, *DAY)
        states = [one.query["state"] for one in provider.requests]
        code = opened.states()["predicthq"].last_error_code
    assert [one.title for one in first.events] == [one.title for one in second.events] == ["Sure"]
    assert states == ["active,predicted", "active", "active", "active,predicted", "active"]
    assert (first.status, code) == ("ok", None)


async def test_status_403_for_another_reason_is_not_taken_for_a_limit_of_the_plan(open_with):
    def refuse(_):
        return FakeResponse({"error": "Bearer token scope insufficient"}, status=403)

    async with open_with("predicthq", refuse) as (opened, provider):
        for _ in range(2):
            result = await opened.fetch("predicthq", PARIS, *DAY)
    assert result.status == "unavailable"
    assert [one.query["state"] for one in provider.requests] == ["active,predicted", "active"] * 2
