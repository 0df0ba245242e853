"""`/v1/pulse/events` over real HTTP: one provider answers, one hangs, one calendar is imported."""

import asyncio
import time

import httpx2

from location_context.sections.events.imports.importer import Feeds, calendar_id
from location_context.sections.events.records import Calendar
from location_context.settings import Secret, Settings
from location_context.storage.database import Database
from location_context.storage.events import SqlEventStore
from location_context.upstream.http import HttpClient
from tests.fakes import predicthq
from tests.fakes.server import FakeResponse, FakeServer
from tests.sections.events.conftest import MovableClock
from tests.serving import serve
from tests.web.conftest import make_key

PATH = "/v1/pulse/events?lat=48.137&lng=11.575&start=2026-12-30&end=2027-01-06"
TABLE = (
    b"title,start,category,venue,lat,lng\n"
    b"Tollwood,2026-12-31T18:00,festival,Theresienwiese,48.131,11.549\n"
)


async def _import(settings: Settings, clock: MovableClock, source: str) -> None:
    database = await Database.open(settings)
    async with HttpClient("test") as client:
        feeds = Feeds(settings, clock, client, SqlEventStore(database))
        calendar = Calendar(id=calendar_id(source), kind="import", source=source,
                            timezone="Europe/Berlin")  # fmt: skip
        await feeds.import_calendar(calendar)
    await database.close()


def test_it_answers_within_its_deadline_though_one_provider_hangs(tmp_path):
    table = tmp_path / "town.csv"
    table.write_bytes(TABLE)
    clock = MovableClock()
    party = predicthq.event("Silvester Party", "2026-12-31T20:00:00Z", "2027-01-01T02:00:00Z",
                            timezone="Europe/Berlin", location=[11.57, 48.14])  # fmt: skip
    with (
        FakeServer(lambda _: FakeResponse(fault="hang")).running() as silent,
        FakeServer(predicthq.responding([party])).running() as ranked,
    ):
        settings = Settings(
            data_dir=tmp_path / "data", open_holidays_url="", json_deadline=2.0,
            ticketmaster_url=silent.url, ticketmaster_api_key=Secret("key"),
            predicthq_url=ranked.url, predicthq_api_key=Secret(predicthq.TOKEN),
        )  # fmt: skip
        asyncio.run(_import(settings, clock, str(table)))
        key = make_key(settings)
        with serve(settings, clock=clock) as served:
            begun = time.monotonic()
            answer = httpx2.get(
                served.url + PATH, headers={"Authorization": f"Bearer {key}"}, timeout=20
            )
            took = time.monotonic() - begun
    body = answer.json()
    assert answer.status_code == 200
    assert took < 9  # else it would be the provider given up, after ten, and not the deadline
    titles = {event["title"]: event for event in body["events"]}
    assert {"New Year's Day", "Epiphany", "Tollwood", "Silvester Party"} <= titles.keys()
    assert titles["Epiphany"]["regions"] == ["DE-BW", "DE-BY", "DE-ST"]
    assert titles["Tollwood"]["start"] == "2026-12-31T18:00:00+01:00"
    assert titles["Tollwood"]["sources"] == ["calendars"]
    coverage = {one["provider"]: one["status"] for one in body["coverage"]}
    assert (coverage["ticketmaster"], coverage["predicthq"]) == ("unavailable", "ok")
    assert answer.headers["cache-control"] == "private, max-age=60"
