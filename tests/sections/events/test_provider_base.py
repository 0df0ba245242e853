"""A provider of a few lines on the base class: address, parameters, a table of fields."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated

import msgspec
import pytest

from location_context.point import Point
from location_context.sections.contract import Attribution, Query
from location_context.sections.events.providers.base import HttpEventProvider, rounded_point
from location_context.sections.section import SectionContext
from location_context.settings import Settings
from location_context.settings.parsers import Address
from location_context.stay import Stay
from location_context.testing import check_provider
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient
from tests.fakes.server import FakeResponse, FakeServer
from tests.moved_clock import MovedClock
from tests.sections.events.conftest import _languages

FIELDS = {
    "id": "uid", "title": "name.en", "category": "tags", "start": "from", "end": "to",
    "venue": "where.name", "address": "where.street", "lat": "where.at.1", "lng": "where.at.0",
    "url": "link", "rank": "weight",
}  # fmt: skip
ROW = {
    "uid": 7, "name": {"en": "Regatta"}, "tags": "sports, outdoors", "from": "2026-12-24T14:00",
    "to": "2026-12-24T16:00:00Z", "where": {"name": "Pier", "street": "Quay 1", "at": [2.35, 48.9]},
    "link": "https://harbour.example/7", "weight": 41,
}  # fmt: skip


class HarbourSettings(msgspec.Struct):
    """The settings of the package that the provider comes from."""

    harbour_url: Annotated[Address, "The harbour's events."] = ""


class Harbour(HttpEventProvider):
    name = "harbour"
    attribution = Attribution(
        name="Harbour", url="https://harbour.example/", license=None, text="Events by the harbour"
    )
    rows = "data.items"
    fields = FIELDS

    def configured_url(self, context: SectionContext) -> str:
        return context.settings_of(HarbourSettings).harbour_url

    def headers(self) -> dict[str, str]:
        return {"X-Key": "quay"}

    def params(self, query: Query) -> dict[str, str]:
        lat, lng = rounded_point(query)
        return {"at": f"{lat},{lng}", "from": str(query.stay.start), "to": str(query.stay.end)}

    def covers(self, query: Query) -> bool:
        return query.point.country == "FR"


def _query(lat: float = 48.8566, country: str = "FR") -> Query:
    point = Point(lat, 2.3522, "Europe/Paris", country, None)
    stay = Stay(date(2026, 12, 24), date(2026, 12, 26))
    return Query(point, stay, "metric", _languages().choose("en"))


def _context(tmp_path, clock, client, url: str) -> SectionContext:
    environ = {"LOCATION_CONTEXT_HARBOUR_URL": url} if url else {}
    return SectionContext(Settings(data_dir=tmp_path), clock, client, environ=environ)


async def _results_of(tmp_path, items: object, *queries: Query):
    """Return what the provider makes of these items, its state and the server's requests."""
    with FakeServer(lambda _: FakeResponse({"data": {"items": items}})).running() as server:
        results, state = await _results(tmp_path, server.url, *queries)
    return results, state, server.requests


async def _results(tmp_path, url: str, *queries: Query):
    async with HttpClient("test") as client:
        context = _context(tmp_path, MovedClock(), client, url)
        provider = Harbour.build(context)
        results = [await provider.fetch_events(query, Deadline.after(5)) for query in queries]
        await provider.close()
        return results, provider.state()


async def test_declared_fields_are_read_into_events_and_one_call_serves_nearby_points(tmp_path):
    queries = _query(), _query(48.8571)
    results, state, requests = await _results_of(tmp_path, [ROW], *queries)
    (event,) = results[0].events
    assert (event.id, event.source, event.title, event.category) == (
        "7", "harbour", "Regatta", "sport",
    )  # fmt: skip
    assert event.start.at == datetime(2026, 12, 24, 13, tzinfo=UTC)  # 14:00 in Paris
    assert event.end.at == datetime(2026, 12, 24, 16, tzinfo=UTC)
    assert (event.place.name, event.place.lat, event.place.lng) == ("Pier", 48.9, 2.35)
    assert (event.url, event.rank) == ("https://harbour.example/7", 41.0)
    assert results[1].events == results[0].events
    assert [one.query["at"] for one in requests] == ["48.92,2.46"]  # the tile's centre
    assert [one.query["from"] for one in requests] == ["2026-12-21"]  # the week's Monday
    assert requests[0].headers["x-key"] == "quay"
    assert (results[0].status, state.status) == ("ok", "operational")


@pytest.mark.parametrize(
    "change",
    [{"uid": None}, {"name": None}, {"from": None}, {"from": "soon"}, {"from": "0001-01-01"}],
)
async def test_row_without_a_required_field_does_not_affect_the_other_rows(tmp_path, change):
    (result,), *_ = await _results_of(tmp_path, [ROW | change, 5, ROW], _query())
    assert [event.title for event in result.events] == ["Regatta"]


async def test_end_before_the_start_and_invalid_optional_fields_are_null(tmp_path):
    odd = {"to": "2026-12-24T13:00", "where": "Pier", "weight": 900, "link": 3, "tags": []}
    (result,), *_ = await _results_of(tmp_path, [ROW | odd], _query())
    (event,) = result.events
    assert (event.end, event.place.lat, event.rank, event.url, event.category) == (
        None, None, None, None, "other",
    )  # fmt: skip


@pytest.mark.parametrize("body", [{}, [], {"data": {"items": {}}}, {"data": None}, "no"])
async def test_response_body_of_an_unexpected_structure_counts_as_a_provider_failure(
    tmp_path, body
):
    with FakeServer(lambda _: FakeResponse(body)).running() as server:
        ((result,), state) = await _results(tmp_path, server.url, _query())
    assert (result.status, state.last_error_code) == ("unavailable", "invalid_answer")


async def test_provider_is_not_called_outside_its_countries_or_without_a_configured_url(tmp_path):
    (abroad,), _, requests = await _results_of(tmp_path, [ROW], _query(country="DE"))
    (unset,), state = await _results(tmp_path, "", _query())
    assert (abroad.status, unset.status, requests) == ("not_covered", "not_configured", [])
    assert state.status == "not_configured"


async def test_events_section_shows_a_new_provider_with_its_attribution_and_coverage(
    tmp_path, open_section
):
    with FakeServer(lambda _: FakeResponse({"data": {"items": [ROW]}})).running() as server:
        async with open_section() as opened, HttpClient("test") as client:
            provider = Harbour.build(_context(tmp_path, opened.clock, client, server.url))
            opened.section._providers = (*opened.section._providers, provider)
            body = (await opened.read((48.8566, 2.3522), "2026-12-24", "2026-12-24")).body
    (event,) = [event for event in body.events if event.sources == ["harbour"]]
    assert (event.id, event.start) == ("harbour:7", "2026-12-24T14:00:00+01:00")
    assert event.venue.distance == pytest.approx(4.83, abs=0.01)
    assert "Events by the harbour" in {one.text for one in body.attribution}
    assert {one.provider: one.status for one in body.coverage}["harbour"] == "ok"


def test_example_event_provider_passes_the_conformance_kit():
    """Its rows are of tomorrow, since the kit requests the days after today."""
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
    row = ROW | {"from": f"{tomorrow}T14:00", "to": f"{tomorrow}T16:00:00Z"}
    check_provider(Harbour, lambda _: FakeResponse({"data": {"items": [row]}}))
