"""The whole service over stand-ins of every provider, the sample guide and a clock that stands.

What it answers to the same question is always the same, so that it can serve as an example.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.guide.imports.importer import Importer, import_sample
from location_context.sections.guide.imports.reading import read
from location_context.settings import Secret, Settings
from location_context.stay import Clock, system_clock
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from tests.fakes import ticketmaster
from tests.fakes.met_norway import PATH as MET_PATH
from tests.fakes.met_norway import MetNorwayStandIn
from tests.fakes.nasa_power import PATH as POWER_PATH
from tests.fakes.nasa_power import NasaPowerStandIn
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.fakes.server import FakeServer
from tests.moved_clock import MovedClock
from tests.serving import serve
from tests.web.conftest import Client, make_key

PARIS = {"lat": "48.8566", "lng": "2.3522"}
STAY = {**PARIS, "start": "2026-11-28", "end": "2026-12-01"}
PAST = {**PARIS, "start": "2026-10-01", "end": "2026-10-03"}
AT_SEA = {"lat": "-45", "lng": "-130"}
SOLD = ticketmaster.responding(
    [
        ticketmaster.event(
            "Phoenix", ticketmaster.at("2026-11-28", "20:00:00"),
            priceRanges=[{"currency": "EUR", "min": 45.0, "max": 89.5}],
        )
    ]
)  # fmt: skip
OFF = dict.fromkeys(
    ("open_meteo_forecast_url", "open_meteo_archive_url", "met_norway_url", "nasa_power_url",
     "open_holidays_url", "ticketmaster_url", "predicthq_url"), ""
)  # fmt: skip


async def load_sample_guide(
    settings: Settings, clock: Clock = system_clock, name: str = ""
) -> None:
    """What `guide import --sample` does."""
    database, gazetteer = await Database.open(settings), Gazetteer.load()
    importer = Importer(SqlGuideStore(database), clock, partial(read, country_at=gazetteer.country))
    await import_sample(importer, name)
    await database.close()


@contextmanager
def full_app(folder: Path, *, calibrate: bool = False, **more: Any) -> Iterator[Client]:
    """The service on loopback, with `more` settings; the client holds a key.

    With `calibrate`, a forecast changes once its calibration has been fetched in the background.
    """
    clock = MovedClock()
    with ExitStack() as stack:
        weather = OpenMeteo(clock), MetNorwayStandIn(clock), NasaPowerStandIn(clock)
        # Paris, which the published examples show
        weather[0].terrain, weather[0].models = lambda *_: 35.0, [(99, lambda *_: 46.0)]
        for one in weather:
            stack.enter_context(one.server.running())
        seller = stack.enter_context(FakeServer(SOLD).running())
        meteo, norway, power = weather
        settings = Settings(
            data_dir=folder,
            log_level="error",
            contact="test@example.org",
            open_meteo_forecast_url=meteo.server.url + FORECAST,
            open_meteo_archive_url=meteo.server.url + ARCHIVE,
            met_norway_url=norway.server.url + MET_PATH,
            nasa_power_url=power.server.url + POWER_PATH,
            open_holidays_url="",
            ticketmaster_url=seller.url,
            ticketmaster_api_key=Secret(ticketmaster.KEY),
            calibrate_forecast=calibrate,
            **more,
        )
        asyncio.run(load_sample_guide(settings, clock))
        key = make_key(settings)
        yield Client(stack.enter_context(serve(settings, clock=clock)), key)
