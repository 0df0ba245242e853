"""A running server changes over to a new guide within seconds, and no request fails meanwhile."""

import asyncio
import threading
import time
from pathlib import Path

from location_context.settings import Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from tests.moved_clock import NOON
from tests.sections.guide.samples import PARIS, PROVENANCE
from tests.sections.guide.test_section import around
from tests.serving import serve
from tests.web.conftest import Client, make_key

PATIENCE = 20.0


def closed(folder: Path) -> Settings:
    """Settings with nothing outside reachable."""
    return Settings(
        data_dir=folder,
        open_meteo_forecast_url="",
        open_meteo_archive_url="",
        nasa_power_url="",
        open_holidays_url="",
    )


def put(settings: Settings, restaurants: int) -> None:
    """Replace the guide from outside of the server, as the command does."""

    async def work() -> None:
        database = await Database.open(settings)
        rows = around(*[("one_star", 1 + n) for n in range(restaurants)])
        await SqlGuideStore(database).replace(PROVENANCE, rows, NOON)
        await database.close()

    asyncio.run(work())


def test_a_server_answers_from_the_new_guide_within_seconds_without_a_failed_request(tmp_path):
    settings = closed(tmp_path)
    put(settings, 1)
    key = make_key(settings)
    statuses, totals = list[int](), list[int]()
    with serve(settings) as served:
        client, done = Client(served, key), threading.Event()
        spot = {"lat": str(PARIS.lat), "lng": str(PARIS.lng)}

        def ask() -> None:
            while not done.is_set():
                answer = client.get("/v1/pulse/guide", spot)
                statuses.append(answer.status_code)
                totals.append(answer.json().get("total", 0))

        asking = threading.Thread(target=ask)
        asking.start()
        put(settings, 3)
        began = time.monotonic()
        while 3 not in totals and time.monotonic() < began + PATIENCE:
            done.wait(0.02)
        took = time.monotonic() - began
        done.set()
        asking.join()
    assert set(statuses) == {200}
    assert totals == sorted(totals)
    assert set(totals) == {1, 3}
    assert took < 10
