"""The section as a whole, on a real store and with stand-ins for the providers."""

import threading
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest

from location_context.sections.contract import SectionResult
from location_context.sections.events.providers import base
from location_context.sections.events.providers.open_holidays import OpenHolidays
from location_context.sections.events.providers.predicthq import PredictHQ
from location_context.sections.events.providers.ticketmaster import LOGO_WARNING, Ticketmaster
from location_context.sections.events.records import Calendar, Place, ProviderEvent, When
from tests.fakes import open_holidays, predicthq, ticketmaster
from tests.fakes.server import FakeResponse, FakeServer
from tests.sections.events.conftest import MUNICH, PARIS, SEA

URLS = "open_holidays_url", "ticketmaster_url", "predicthq_url"


def _body(reading: SectionResult) -> dict:
    body = msgspec.json.decode(reading.payload)
    assert body["applicable"], body
    return body


def _coverage(body: dict) -> dict[str, str]:
    return {one["provider"]: one["status"] for one in body["coverage"]}


async def test_new_year_in_paris_is_listed_without_a_configured_provider(opened):
    reading = await opened.read(PARIS, "2026-12-30", "2027-01-03")
    body = _body(reading)
    (event,) = body["events"]
    assert (event["title"], event["start"], event["end"]) == (
        "New Year's Day", "2027-01-01", "2027-01-01",
    )  # fmt: skip
    assert event["overlaps"] == ["stay"]
    assert event["category"] == "public_holiday"
    assert (event["scope"], event["venue"], event["sources"]) == ("country", None, ["holidays"])
    assert reading.complete
    assert _coverage(body) == {
        "holidays": "ok", "calendars": "not_configured", "open_holidays": "not_configured",
        "ticketmaster": "not_configured", "predicthq": "not_configured",
    }  # fmt: skip


async def test_events_answer_has_every_field_of_the_api_contract(opened):
    body = _body(await opened.read(PARIS, "2026-12-30", "2027-01-03", units="imperial"))
    assert list(body) == [
        "type", "applicable", "point", "units", "as_of", "stale", "degraded", "degraded_reason",
        "attribution", "stay", "radius", "events", "omitted", "coverage",
    ]  # fmt: skip
    assert body["radius"] == 15.53
    assert list(body["events"][0]) == [
        "id", "title", "category", "start", "end", "all_day", "overlaps", "status", "venue",
        "scope", "regions", "uncertain", "rank", "url", "image", "price", "sources",
    ]  # fmt: skip
    assert {a["name"] for a in body["attribution"]} == {"holidays", "OpenStreetMap", "GeoNames"}


async def test_events_section_does_not_apply_to_a_stay_that_has_ended_at_the_point(opened):
    reading = await opened.read(PARIS, "2026-11-18", "2026-11-20")
    body = msgspec.json.decode(reading.payload)
    assert body == {
        "type": "not_applicable", "applicable": False, "reason": "stay_in_past",
        "message": "This stay has ended.", "coverage": [],
        "degraded": False, "degraded_reason": None,
    }  # fmt: skip


async def test_answer_without_events_names_the_providers(opened):
    reading = await opened.read(SEA, "2026-12-24", "2026-12-26")
    body = msgspec.json.decode(reading.payload)
    assert (body["applicable"], body["reason"]) == (False, "no_events")
    assert _coverage(body)["holidays"] == "not_covered"


async def test_concert_of_two_providers_is_one_event_with_both_sources(open_section):
    sold = ticketmaster.event("Phoenix", ticketmaster.at("2026-12-03", "20:00:00",
                                                         "2026-12-03T19:00:00Z"))  # fmt: skip
    found = predicthq.event("Phoenix - Live", "2026-12-03T19:00:00Z", "2026-12-03T21:30:00Z")
    with (
        FakeServer(ticketmaster.responding([sold])).running() as one,
        FakeServer(predicthq.responding([found])).running() as other,
    ):
        urls = {"ticketmaster_url": one.url + "/d", "predicthq_url": other.url + "/v1/events/"}
        async with open_section(**urls) as opened:
            body = _body(await opened.read(PARIS, "2026-12-01", "2026-12-05"))
        request = one.requests[0].query
    (event,) = body["events"]
    assert event["sources"] == ["ticketmaster", "predicthq"]
    assert event["start"] == "2026-12-03T20:00:00+01:00"
    assert event["end"] == "2026-12-03T22:30:00+01:00"
    assert event["rank"] == 60
    assert event["venue"]["distance"] == pytest.approx(2.3, abs=0.3)
    assert request["localStartEndDateTime"] == "2026-11-30T00:00:00,2026-12-06T23:59:59"
    centre = ticketmaster.geohash_point(request["geoPoint"])
    assert centre == pytest.approx((48.92, 2.46), abs=0.001)
    assert body["as_of"].startswith("2026-11-21T08:00:00")


ODBL = (
    "Contains information from the OpenHolidays API, which is made available here under the "
    "Open Database License (ODbL), https://opendatacommons.org/licenses/odbl/1-0/"
)


@pytest.mark.parametrize(
    ("provider", "url", "text"),
    [
        (PredictHQ, "https://www.predicthq.com/", "Events by PredictHQ"),
        (Ticketmaster, "https://www.ticketmaster.com/", "Powered by Ticketmaster"),
        (OpenHolidays, "https://www.openholidaysapi.org/", ODBL),
    ],
)
def test_attribution_of_a_provider_has_the_wording_that_the_provider_requires(provider, url, text):
    assert (provider.attribution.url, provider.attribution.text) == (url, text)


async def test_configured_ticketmaster_key_adds_a_warning_about_the_logo_requirement(open_section):
    async with open_section() as opened:
        assert opened.section.warnings() == []
    async with open_section(ticketmaster_url="http://127.0.0.1:9") as opened:
        assert opened.section.warnings() == [LOGO_WARNING]


async def test_silent_provider_is_unavailable_at_the_deadline(open_with):
    async with open_with("ticketmaster", lambda _: FakeResponse(fault="hang")) as (opened, _):
        ticketmaster = opened.provider("ticketmaster")
        first = await opened.read(PARIS, "2026-12-24", "2026-12-26", seconds=3.0)
        still_asking = len(ticketmaster.cache._in_flight)
        again = await opened.read(PARIS, "2026-12-24", "2026-12-27", seconds=1.0)
        state = opened.states()["ticketmaster"]
    assert still_asking == 1  # the answer came at the deadline, not when the call was given up
    assert state.breaker == "closed"  # late for a caller is not its failing
    for reading in (first, again):
        assert _coverage(_body(reading))["ticketmaster"] == "unavailable"
        assert not reading.complete


async def test_provider_answer_after_the_deadline_is_ready_for_the_next_caller(open_with):
    sold = ticketmaster.event("Phoenix", ticketmaster.at("2026-12-25", "20:00:00"))
    answer, may_answer = ticketmaster.responding([sold]), threading.Event()

    def respond_late(request):
        may_answer.wait(60)
        return answer(request)

    async with open_with("ticketmaster", respond_late) as (opened, slow):
        first = _body(await opened.read(PARIS, "2026-12-24", "2026-12-26", seconds=1.5))
        may_answer.set()
        provider = opened.provider("ticketmaster")
        for task in list(provider.cache._in_flight._tasks.values()):
            await task
        second = _body(await opened.read(PARIS, "2026-12-24", "2026-12-26"))
    assert "Phoenix" not in {event["title"] for event in first["events"]}
    assert "Phoenix" in {event["title"] for event in second["events"]}
    assert len(slow.requests) == 1


async def test_stale_answer_is_used_when_the_provider_fails(open_with):
    sold = ticketmaster.event("Phoenix", ticketmaster.at("2026-12-25", "20:00:00"))
    async with open_with("ticketmaster", ticketmaster.responding([sold])) as (opened, provider):
        await opened.read(PARIS, "2026-12-24", "2026-12-26")
        provider.respond = lambda _: FakeResponse(b"<html>down</html>", status=502)
        opened.clock.advance(hours=4)
        reading = await opened.read(PARIS, "2026-12-24", "2026-12-26")
    body = _body(reading)
    assert "Phoenix" in {event["title"] for event in body["events"]}
    assert body["stale"]
    assert _coverage(body)["ticketmaster"] == "stale"
    assert (reading.complete, body["degraded_reason"]) == (False, "provider_unavailable")
    assert body["as_of"].startswith("2026-11-21T08:00:00")


async def test_school_holidays_of_the_region_come_from_open_holidays(open_with):
    async with open_with("open_holidays", open_holidays.respond) as (opened, provider):
        before = await opened.read(MUNICH, "2026-12-23", "2026-12-23")
        later = _body(await opened.read(MUNICH, "2026-12-28", "2026-12-29"))
        await opened.read(MUNICH, "2026-11-28", "2026-12-29")
        assert len(provider.requests) == 1
    assert not msgspec.json.decode(before.payload)["applicable"]  # Berlin's begin that day
    (school,) = [e for e in later["events"] if e["category"] == "school_holiday"]
    assert (school["title"], school["start"], school["end"], school["regions"]) == (
        "Christmas Holidays", "2026-12-24", "2027-01-08", ["DE-BY"],
    )  # fmt: skip
    assert "OpenHolidays API" in {a["name"] for a in later["attribution"]}


INVALID = {
    "cut": b'[{"id": ', "cut page": b'{"_embedded": {"events": [',
    "rows of nonsense": [None, 1, {}, {"id": 1, "startDate": "soon"}],
    "events of nonsense": {"_embedded": {"events": [None, 1, {"id": 1}, {"dates": None}]}},
    "a number of results": {"results": 5, "_embedded": {"events": 5}},
    "one result": {"results": {"id": 1}, "_embedded": {"events": {"id": 1}}},
    "a list embedded": {"_embedded": [1]}, "null": None,
    "a total of words": {"page": {"totalElements": "many"}},
    "a total of 401 digits": b'{"page": {"totalElements": 1' + b"0" * 400 + b"}}",
    "a total beyond all counting": {"page": {"totalElements": 1e308}},
    "a total below zero": {"page": {"totalElements": -5}}, "a page of digits": {"page": 7},
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
async def test_invalid_answer_of_a_provider_does_not_break_the_events_section(open_section, name):
    with FakeServer(lambda _: FakeResponse(INVALID[name])).running() as provider:
        async with open_section(**dict.fromkeys(URLS, provider.url)) as opened:
            body = _body(await opened.read(MUNICH, "2026-12-25", "2026-12-25"))
            states = opened.states()
    titles = {event["title"] for event in body["events"]}
    # without OpenHolidays, the library's own school holidays stand in
    assert titles == {"Christmas Day", "Christmas Break"}
    assert states["holidays"].status == "operational"


@pytest.mark.parametrize(
    "body",
    [b"<!DOCTYPE html><title>Sign in", b'{"results": [{"id": "x', b'[{"id": "x', b"", b"null",
     b"{}", b'{"error": true}', b"3"],
)  # fmt: skip
async def test_response_200_with_an_invalid_body_counts_as_a_failure_of_each_provider(
    open_section, body
):
    with FakeServer(lambda _: FakeResponse(body)).running() as provider:
        async with open_section(**dict.fromkeys(URLS, provider.url)) as opened:
            for year in (2026, 2027, 2028):
                found = _body(await opened.read(MUNICH, f"{year}-12-25", f"{year}-12-25"))
            states = opened.states()
    for name in ("open_holidays", "ticketmaster", "predicthq"):
        state = states[name]
        assert _coverage(found)[name] == "unavailable", name
        assert (state.last_error_code, state.breaker, state.status) == (
            "invalid_answer", "open", "outage",
        ), name  # fmt: skip


async def test_earliest_and_latest_possible_dates_do_not_break_the_section(open_with):
    for lat, lng in (PARIS, (21.307, -157.858), (35.68, 139.69)):
        here = {"location": [lng, lat]}
        rows = [
            predicthq.event("Always", "2026-12-24T19:00:00Z", "9999-12-31T23:59:59Z",
                            timezone="UTC", **here),
            predicthq.event("Ever", "0001-01-01T00:00:00Z", "2026-12-25T19:00:00Z",
                            timezone="UTC", **here),
            predicthq.event("Phoenix", "2026-12-25T12:00:00Z", "2026-12-25T14:00:00Z", **here),
        ]  # fmt: skip
        async with open_with("predicthq", predicthq.responding(rows)) as (opened, _):
            day = (lat, lng), "2026-12-25", "2026-12-25"
            found = await opened.fetch("predicthq", *day)
            await opened.read(*day, 60)
        assert [one.title for one in found.events] == ["Phoenix"]


class _Mistaken(base.EventProvider):
    """A provider with a mistake in it."""

    name = "mistaken"

    async def fetch_events(self, query, deadline):
        raise ZeroDivisionError


async def test_exception_in_one_provider_removes_only_the_events_of_that_provider(opened, capfd):
    opened.section._providers = (*opened.section._providers, _Mistaken())
    reading = await opened.read(PARIS, "2026-12-25", "2026-12-25")
    body = _body(reading)
    assert [event["title"] for event in body["events"]] == ["Christmas Day"]
    assert _coverage(body)["mistaken"] == "unavailable"
    assert not reading.complete
    assert "provider_failed" in "".join(capfd.readouterr())


async def test_cached_answers_are_bounded_and_the_oldest_are_dropped(open_with, monkeypatch):
    monkeypatch.setattr(base, "MAX_CACHED_EVENTS", 100)
    day = ticketmaster.at("2026-12-25", "20:00:00")
    rows = [ticketmaster.event(f"Event {n}", day) for n in range(30)]
    budget, respond = ("4000/day",), ticketmaster.responding(rows)
    async with open_with("ticketmaster", respond, ticketmaster_budget=budget) as (opened, provider):
        lats = [48.0 + n / 4 for n in range(6)]  # each with a tile of its own
        for lat in [*lats, lats[-1], lats[0]]:
            await opened.fetch("ticketmaster", (lat, 2.35), "2026-12-25", "2026-12-25")
        entries = opened.provider("ticketmaster").cache._entries
    assert len(provider.requests) == 7  # the last is still held, the first no longer
    assert entries.size == 3 * (len(rows) + 1)


def _stored(title: str, day: date | When, place: tuple[float, float]) -> ProviderEvent:
    when = day if isinstance(day, When) else When(day)
    return ProviderEvent(
        id=f"cal:{title}", source="calendars", title=title, category="festival", start=when,
        end=when, all_day=when.at is None, place=Place(lat=place[0], lng=place[1]),
    )  # fmt: skip


async def _store(opened, rows: list[ProviderEvent]) -> None:
    await opened.store.replace(Calendar(id="cal", kind="import", source="file"), rows)


async def test_operators_own_events_are_shown_within_the_radius(opened):
    day = date(2026, 12, 2)
    near, far = (48.9566, 2.3522), (49.2, 2.3522)
    await _store(opened, [_stored("near", day, near), _stored("far", day, far)])
    body = _body(await opened.read(PARIS, "2026-12-01", "2026-12-03"))
    assert [event["title"] for event in body["events"]] == ["near"]
    assert body["events"][0]["venue"]["distance"] == pytest.approx(11.12, abs=0.01)


async def test_answer_has_at_most_fifty_events_and_at_most_ten_a_day(opened):
    days = [date(2026, 12, n) for n in range(1, 9)]
    rows = [_stored(f"{day} {n:02}", day, PARIS) for day in days for n in range(15)]
    await _store(opened, rows)
    body = _body(await opened.read(PARIS, "2026-12-01", "2026-12-08"))
    shown = [event["start"] for event in body["events"]]
    assert len(shown) == 50
    assert max(shown.count(day) for day in shown) <= 10
    assert set(shown) == {day.isoformat() for day in days}
    assert body["omitted"] == {"festival": 70}


@pytest.mark.parametrize("reverse", [False, True])
async def test_too_many_imported_events_give_partial_coverage_with_events_on_every_day(
    opened, reverse
):
    """200 events a day for 60 days; the order of the key changes nothing."""
    first, last = date(2026, 12, 1), date(2027, 1, 29)
    names = sorted((f"{n:05}" for n in range(12_000)), reverse=reverse)
    start = datetime(2026, 12, 1, 8, tzinfo=UTC)
    moments = (start + timedelta(days=n % 60, minutes=n // 60) for n in range(12_000))
    rows = [_stored(name, When.of(at), PARIS) for name, at in zip(names, moments, strict=True)]
    await _store(opened, rows)
    body = _body(await opened.read(PARIS, f"{first}", f"{last}", 30))
    own = [one for one in body["events"] if one["sources"] == ["calendars"]]
    assert _coverage(body)["calendars"] == "partial"
    assert body["omitted"]["festival"] == 3_000 - len(own)
    assert len({one["start"][:10] for one in own}) > 40
    assert max(one["start"][:10] for one in own) > "2027-01-20"
    assert {one["start"][11:16] for one in own} == {"09:00"}  # the first of its day


async def test_imported_events_beyond_the_radius_do_not_make_coverage_partial(opened):
    morning, far = When.of(datetime(2026, 12, 1, 8, tzinfo=UTC)), (PARIS[0] + 0.24, PARIS[1])
    rows = [_stored(f"Event {n}", morning, far if n else PARIS) for n in range(4_000)]
    await _store(opened, rows)
    body = _body(await opened.read(PARIS, "2026-12-01", "2026-12-01", 30))
    assert [one["title"] for one in body["events"]] == ["Event 0"]
    assert _coverage(body)["calendars"] == "ok"
