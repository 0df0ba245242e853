"""The climatology of a forecast is fetched once, in the background, for the next caller."""

import asyncio
import threading
from collections.abc import AsyncIterator, Hashable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest

from location_context.point import Point
from location_context.sections.cached_section import CachedSection
from location_context.sections.section import SectionContext
from location_context.sections.weather.climatology import months_to_horizon
from location_context.sections.weather.records import month_span
from location_context.sections.weather.retrieval.archives import _CellFetch
from location_context.sections.weather.section import Weather
from location_context.settings import Secret
from location_context.stay import Stay
from location_context.storage.datasets import SqlClimateStore
from location_context.storage.redis import RedisLink
from location_context.storage.shared import RedisSharedStore
from location_context.upstream.deadline import Deadline, SingleFlight
from location_context.upstream.http import HttpClient
from tests.fakes.nasa_power import PATH as POWER
from tests.fakes.open_meteo import ARCHIVE, FORECAST, refused
from tests.fakes.server import FakeRequest, FakeResponse
from tests.patience import wait_in_loop_until
from tests.sections.weather.conftest import (
    DOWN,
    NEAR,
    PARIS,
    TODAY,
    NoForecasts,
    WeatherFixture,
    query,
    write_grid,
)


async def fetched_behind(
    weather: WeatherFixture, stay: Stay = NEAR, point: Point = PARIS, **more
) -> None:
    """A guest's answer, and the end of what it set going."""
    reading = await weather.read(query(stay, point, **more))
    if reading.awaits is not None:
        await reading.awaits


async def test_first_answer_does_not_wait_for_the_archive_and_the_next_answer_uses_it(weather):
    first = await weather.read(query(NEAR))
    assert not weather.open_meteo.calls(ARCHIVE)
    assert first.complete
    assert not first.body.degraded
    assert first.body.days[0].typical is None
    assert first.body.basis.spread.climatology is None
    await first.awaits
    assert first.superseded
    second = await weather.read(query(NEAR))
    assert second.awaits is None
    assert second.body.basis.spread.climatology == "archive"
    for day in second.body.days:
        assert day.typical.years == list(range(2016, 2026))
        assert day.typical.temperature_max_p10 < day.typical.temperature_max_p90
    assert len(second.body.history) == 10


async def test_one_archive_call_serves_all_forecast_stays_in_the_same_grid_cell(weather):
    await asyncio.gather(*(fetched_behind(weather) for _ in range(20)))
    before = len(weather.open_meteo.requests)
    for days in range(16):
        stay = Stay(TODAY + timedelta(days), TODAY + timedelta(15))
        near_by = Point(48.83, 2.36, "Europe/Paris", "FR", "FR-IDF")
        reading = await weather.read(query(stay, near_by))
        assert reading.awaits is None
        assert reading.body.basis.spread.climatology == "archive"
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    assert not weather.nasa_power.requests
    paths = [one.path for one in weather.open_meteo.requests[before:]]
    assert paths == [FORECAST]  # of its own cell


async def test_answer_with_stored_climatology_costs_only_the_forecast_call(weather):
    far = Stay(date(2027, 11, 3), date(2027, 11, 9))
    await weather.read(query(far))
    before = len(weather.open_meteo.requests)
    reading = await weather.read(query(NEAR))
    assert reading.awaits is None
    assert reading.body.basis.spread.climatology == "archive"
    assert [one.path for one in weather.open_meteo.requests[before:]] == [FORECAST]


async def test_stored_years_of_the_second_archive_are_used(weather):
    weather.open_meteo.faults = {ARCHIVE: DOWN}
    await weather.read(query(Stay(date(2027, 11, 3), date(2027, 11, 9))))
    weather.open_meteo.faults = {}
    reading = await weather.read(query(NEAR))
    assert reading.awaits is None
    assert "NASA POWER" in {notice.name for notice in reading.body.attribution}
    assert reading.body.basis.spread.climatology == "archive"


async def test_archive_months_that_a_caller_fetched_are_not_fetched_again_in_the_background(
    weather,
):
    near = Stay(date(2026, 12, 3), date(2026, 12, 6))
    first = await weather.read(query(near))
    await weather.read(query(Stay(date(2027, 12, 3), date(2027, 12, 9))))
    await first.awaits
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1


async def test_answer_does_not_wait_for_the_background_archive_call_of_another_answer(weather):
    called, may_answer = threading.Event(), threading.Event()
    respond = weather.open_meteo.server.respond

    def held(request: FakeRequest) -> FakeResponse:
        if request.path == ARCHIVE:
            called.set()
            assert may_answer.wait(20)
        return respond(request)

    weather.open_meteo.server.respond = held
    first = await weather.read(query(NEAR))
    await asyncio.to_thread(called.wait, 20)
    second = await weather.read(query(NEAR))
    may_answer.set()
    assert second.awaits is not None
    await first.awaits


class Processes:
    """Sections of two processes over one Redis and one database; the first forecast is alone."""

    def __init__(
        self, weather: WeatherFixture, links: list[RedisLink], clients: list[HttpClient]
    ) -> None:
        settings = msgspec.structs.replace(weather.settings, met_norway_url="", nasa_power_url="")
        self.stores = [RedisSharedStore(link) for link in links]
        self.sections = [
            Weather.build(
                SectionContext(
                    settings, weather.clock, client,
                    {"climate": SqlClimateStore(weather.database), "accuracy": NoForecasts()},
                    shared=store,
                )
            )
            for client, store in zip(clients, self.stores, strict=True)
        ]  # fmt: skip


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[Hashable]:
    """The fetches under way from an archive that further callers of their process share."""
    found, start = list[Hashable](), SingleFlight.start

    def noted(flights: SingleFlight[Any], key: Hashable, fetch: Any) -> asyncio.Task[Any]:
        if key in flights and isinstance(key, _CellFetch):
            found.append(key)
        return start(flights, key, fetch)

    monkeypatch.setattr(SingleFlight, "start", noted)
    return found


@pytest.fixture
async def processes(
    weather: WeatherFixture, redis_url: str, redis_prefix: str
) -> AsyncIterator[Processes]:
    async with HttpClient("test") as one, HttpClient("test") as other:
        links = [RedisLink(Secret(redis_url), redis_prefix, 60) for _ in range(2)]
        made = Processes(weather, links, [one, other])
        yield made
        for section in made.sections:
            await section.close()
        for link in links:
            await link.close()


class Gate:
    """Holds the answers of one path of Open-Meteo until it is opened."""

    def __init__(self, weather: WeatherFixture, path: str) -> None:
        self._open = threading.Event()
        respond = weather.open_meteo.server.respond

        def held(request: FakeRequest) -> FakeResponse:
            assert request.path != path or self._open.wait(60)
            return respond(request)

        weather.open_meteo.server.respond = held

    def open(self) -> None:
        self._open.set()


@pytest.mark.parametrize("guest", [0, 1], ids=["this process", "another process"])
async def test_caller_waits_for_archive_months_that_are_being_fetched(
    weather, processes, joined, guest
):
    gate = Gate(weather, ARCHIVE)
    first = await processes.sections[0].read(query(NEAR), Deadline.after(60))
    await wait_in_loop_until(lambda: weather.open_meteo.calls(ARCHIVE))  # November and December
    far = query(Stay(date(2027, 12, 3), date(2027, 12, 9)))
    asking = asyncio.create_task(processes.sections[guest].read(far, Deadline.after(60)))
    await wait_in_loop_until(
        lambda: (
            joined
            or any(one.looked_up["waited"] for one in processes.stores)
            or len(weather.open_meteo.calls(ARCHIVE)) == 2
        )
    )
    gate.open()
    assert (await asking).body.basis.kind == "reanalysis"
    await first.awaits
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1


@pytest.mark.parametrize("guest", [0, 1], ids=["this process", "another process"])
async def test_archive_months_for_the_whole_forecast_horizon_are_fetched_in_one_call(
    weather, processes, guest
):
    gate = Gate(weather, FORECAST)
    december = query(Stay(date(2026, 12, 3), date(2026, 12, 6)))
    late = asyncio.create_task(processes.sections[0].read(december, Deadline.after(60)))
    await wait_in_loop_until(lambda: bool(weather.open_meteo.calls(ARCHIVE)))  # called beside it
    gate.open()
    assert (await late).body.mode == "forecast"
    reading = await processes.sections[guest].read(query(NEAR), Deadline.after(60))  # in November
    if reading.awaits is not None:
        await reading.awaits
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1


async def test_failing_archive_is_retried_once_after_ten_minutes(weather):
    weather.open_meteo.faults = {ARCHIVE: DOWN}
    await fetched_behind(weather)
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    for minutes in (1, 8):
        weather.clock.advance(60 * minutes)
        assert (await weather.read(query(NEAR))).awaits is None
    weather.clock.advance(61)
    await fetched_behind(weather)
    assert len(weather.open_meteo.calls(ARCHIVE)) == 2


async def test_next_archive_is_called_while_the_first_is_paused(weather):
    weather.open_meteo.faults = {ARCHIVE: refused("Daily API request limit exceeded.", 429)}
    await fetched_behind(weather)
    weather.open_meteo.faults = {}
    weather.clock.advance(60)
    await fetched_behind(weather)
    assert [one.path for one in weather.nasa_power.requests] == [POWER]
    assert (await weather.read(query(NEAR))).body.basis.spread.climatology == "archive"


async def test_background_call_uses_the_next_archive_once_half_the_budget_is_spent(
    weather, build_section
):
    section = build_section(open_meteo_budget=("90/day",))
    while section.sources.archives.providers[0].client.host.budget.spent_share() <= 0.5:
        point = Point(40 + len(weather.open_meteo.requests) / 5, 2.0, "Europe/Paris")
        await weather.read(query(NEAR, point), section=section)
    await (await weather.read(query(NEAR), section=section)).awaits
    reading = await weather.read(query(NEAR), section=section)
    assert reading.body.basis.provider == "Open-Meteo"
    assert reading.body.basis.spread.climatology == "archive"
    assert not weather.open_meteo.calls(ARCHIVE)
    assert [one.query["latitude"] for one in weather.nasa_power.requests].count("49.0000") == 1


async def test_disabled_calibration_returns_issued_values_and_calls_no_archive(
    weather, build_section
):
    section = build_section(calibrate_forecast=False)
    reading = await weather.read(query(NEAR), section=section)
    assert reading.awaits is None
    assert reading.body.basis.spread is None
    for day in reading.body.days:
        assert day.issued.temperature_max == day.temperature_max
        assert day.issued.precipitation_probability == day.precipitation_probability
        assert day.temperature_max_p10 is day.temperature_min_p90 is None
        assert day.precipitation_sum_p90 is None


async def test_forecast_without_stored_climatology_uses_the_fallback_grid_and_names_its_source(
    weather,
):
    write_grid(weather.settings.data_dir)
    body = (await weather.read(query(NEAR))).body
    assert body.basis.spread.climatology == "monthly_mean"
    assert "ITU-R" in {notice.name for notice in body.attribution}
    assert all(day.typical is None for day in body.days)
    assert all(day.temperature_max_p10 < day.temperature_max_p90 for day in body.days)


async def test_cached_answer_is_reused_until_the_climatology_has_been_fetched(weather):
    cached = CachedSection(weather.section, weather.clock)
    first = await cached.read(query(NEAR), Deadline.after(4))
    assert await cached.read(query(NEAR), Deadline.after(4)) is first
    await first.awaits
    second = await cached.read(query(NEAR), Deadline.after(4))
    assert second.body.days[0].typical is not None
    assert await cached.read(query(NEAR), Deadline.after(4)) is second


async def test_closing_the_weather_section_cancels_its_background_calls(weather):
    await weather.read(query(NEAR))  # loads what it needs: a late forecast calls the archive
    await weather.section.sources.archives.repository.flush()
    weather.open_meteo.server.requests.clear()
    weather.open_meteo.faults = {ARCHIVE: FakeResponse(fault="hang")}
    reading = await weather.read(query(NEAR, Point(45.76, 4.84, "Europe/Paris")))
    other = await weather.read(query(NEAR, Point(43.3, 5.37, "Europe/Paris")))
    while not weather.open_meteo.calls(ARCHIVE):  # noqa: ASYNC110  the loop itself is waited for
        await asyncio.sleep(0)
    await weather.section.close()
    assert reading.awaits.cancelled()
    assert other.awaits.cancelled()
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1


@pytest.mark.parametrize(
    "today", [date(2026, 11, 21), date(2026, 12, 28), date(2027, 1, 5), date(2028, 2, 20)]
)
async def test_prefetched_archive_months_serve_every_stay_within_the_forecast_horizon(
    weather, today
):
    """Over New Year too, where a stay that begins in January has its Januaries a year earlier."""
    weather.clock.now = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
    await fetched_behind(weather, Stay(today, today))
    for first in range(16):
        for last in (first, 15):
            stay = Stay(today + timedelta(first), today + timedelta(last))
            assert await weather.section.sources.archives.load(query(stay)) is not None, stay
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    wanted = months_to_horizon(Stay(today, today), today)
    assert all(month_span(*month)[1] < today for month in wanted)
