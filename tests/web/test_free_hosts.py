"""Open-Meteo's free hosts take few calls at once from an address, whoever of us makes them."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from location_context.app import Worker, open_service
from location_context.point import Point
from location_context.sections.contract import Query, SectionResult
from location_context.sections.open_meteo import FREE_AT_ONCE
from location_context.service import Service
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST, OpenMeteo
from tests.moved_clock import MovedClock
from tests.web.full_app import OFF


async def weather(service: Service, lat: float) -> SectionResult:
    """The weather of some days within the horizon at a place that is new to the service."""
    first = service.clock().date() + timedelta(days=3)
    point = Point(lat, 2.35, "Europe/Paris", "FR", None)
    query = Query(
        point, Stay(first, first + timedelta(days=3)), "metric", service.languages.english
    )
    section = next(one for one in service.sections if one.name == "weather")
    return await section.read(query, Deadline.after(60))


async def test_workers_share_the_limit_of_concurrent_calls_to_a_provider(
    tmp_path: Path,
) -> None:
    clock = MovedClock()
    free_hosts = OpenMeteo(clock)
    free_hosts.slow_seconds = 0.03
    with free_hosts.server.running():
        url = free_hosts.server.url
        addresses = {"open_meteo_forecast_url": FORECAST, "open_meteo_archive_url": ARCHIVE}
        given = {**OFF, **{name: url + path for name, path in addresses.items()}}
        settings = Settings(data_dir=tmp_path, **given)
        async with AsyncExitStack() as stack:
            workers = [
                await stack.enter_async_context(
                    open_service(settings, clock=clock, worker=Worker(2))
                )
                for _ in range(2)
            ]
            request = [weather(workers[n % 2], 40 + n) for n in range(12)]
            readings = await asyncio.gather(*request)
            readings += [await weather(worker, 60 + n) for n, worker in enumerate(workers)]
    assert [reading.body.mode for reading in readings] == ["forecast"] * 14
    assert all(reading.complete for reading in readings)
    assert (len(free_hosts.calls(FORECAST)), len(free_hosts.calls(ELEVATION))) == (14, 0)
    assert (free_hosts.refused_for_crowd, free_hosts.most_held) == (0, FREE_AT_ONCE)
