"""Recorded and quoted answers of the providers are read as they stand."""

import math
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

from location_context.errors import ProviderStatusError
from location_context.sections.open_meteo import open_meteo_backoff
from location_context.sections.section import SectionContext
from location_context.sections.weather.providers.base import read_elevation
from location_context.sections.weather.providers.met_norway import MetNorway, aggregate_to_days
from location_context.sections.weather.providers.open_meteo import (
    OpenMeteoArchive,
    OpenMeteoForecast,
    read_daily,
    read_grid,
)
from location_context.sections.weather.records import ARCHIVE_FIELDS, Cell
from location_context.settings import Settings
from location_context.upstream.http import HttpClient, HttpResponse
from tests.fakes.server import FakeResponse, FakeServer

CELL = Cell(-15.75, -48.0, "America/Sao_Paulo")


def recorded(shared_data: Path, pattern: str) -> list[tuple[str, object]]:
    files = sorted((shared_data / "open_meteo").glob(pattern))
    assert files
    return [(file.name, msgspec.json.decode(file.read_bytes())) for file in files]


def test_recorded_daily_answer_is_read_from_its_first_date_with_each_temperature(shared_data):
    read = 0
    for _, body in recorded(shared_data, "*.json"):
        if "daily" not in body:
            with pytest.raises(KeyError):  # which the client names an invalid answer
                read_daily(body, ARCHIVE_FIELDS)
            continue
        read += 1
        first, columns = read_daily(body, ARCHIVE_FIELDS)
        assert first == date.fromisoformat(body["daily"]["time"][0])
        raw = [math.nan if v is None else v for v in body["daily"]["temperature_2m_max"]]
        assert np.array_equal(columns["temperature_max"], raw, equal_nan=True)
        assert np.isnan(columns["precipitation_sum"]).all()
        assert read_elevation(body["elevation"]) == body["elevation"]
        assert read_grid(body, CELL).lat == body["latitude"]
    assert read >= 2


def test_recorded_forecast_of_only_nulls_is_read_without_values(shared_data):
    nulls = [
        body
        for _, body in recorded(shared_data, "*forecast*.json")
        if set(body.get("daily", {}).get("temperature_2m_max", [0])) == {None}
    ]
    assert len(nulls) == 1
    _, columns = read_daily(nulls[0], ARCHIVE_FIELDS)
    assert np.isnan(columns["temperature_max"]).all()


async def test_recorded_and_documented_errors_are_read_as_errors_of_the_provider(shared_data):
    """A 400 is an error of its own, never a crash."""
    today = date(2026, 10, 4)
    for _, body in recorded(shared_data, "errors/*400*.json"):
        with FakeServer(lambda _, body=body: FakeResponse(body, 400)).running() as standin:
            async with HttpClient("test") as client:
                settings = Settings(
                    open_meteo_forecast_url=standin.url, open_meteo_archive_url=standin.url
                )
                clock = lambda: datetime(2026, 10, 4, 12, tzinfo=UTC)  # noqa: E731  a fixed clock
                context = SectionContext(settings, clock, client)
                forecast, archive = OpenMeteoForecast(context), OpenMeteoArchive(context)
                with pytest.raises(ProviderStatusError):
                    await forecast.fetch_forecast(CELL, today, 0, public=False)
                with pytest.raises(ProviderStatusError):
                    await archive.fetch_months(CELL, [(2025, 7)], today, public=False)


@pytest.mark.parametrize(
    ("name", "seconds"), [("minutely", 60), ("hourly", 3600), ("daily", 12 * 3600 + 61)]
)
def test_documented_status_429_of_open_meteo_sets_how_long_calls_pause(shared_data, name, seconds):
    body = (shared_data / "open_meteo" / "errors" / f"quoted_{name}_limit_429.json").read_bytes()
    answer = HttpResponse("Open-Meteo", 429, {}, body)
    backoff = open_meteo_backoff(lambda: datetime(2026, 11, 21, 12, tzinfo=UTC))(answer)
    assert (backoff.seconds, backoff.scope) == (seconds, "host")


@pytest.fixture
def norway(shared_data):
    folder = shared_data / "met_norway"
    return {
        file.name: msgspec.json.decode(file.read_bytes()) for file in sorted(folder.glob("*.json"))
    }


def test_recorded_hourly_steps_of_met_norway_are_aggregated_to_local_days(norway):
    steps = norway["lat51.5lon-0.1altitude25_complete.json"]["data"]["properties"]["timeseries"]
    first, columns = aggregate_to_days(steps, "Europe/London", date(2020, 7, 20))
    assert first == date(2020, 7, 20)
    known = np.isfinite(columns["temperature_max"])
    assert known.sum() == 9  # the last day has six hours, and an instant
    tuesday = [one for one in steps if "2020-07-20T23:00" <= one["time"] < "2020-07-21T23:00"]
    assert len(tuesday) == 24
    details = [step["data"]["instant"]["details"] for step in tuesday]
    rain = sum(step["data"]["next_1_hours"]["details"]["precipitation_amount"] for step in tuesday)
    assert columns["precipitation_sum"][1] == pytest.approx(rain)
    highest = max(one["air_temperature"] for one in details)
    assert columns["temperature_max"][1] == highest
    assert columns["wind_speed_max"][1] == pytest.approx(
        3.6 * max(d["wind_speed"] for d in details)
    )
    humidity = sum(d["relative_humidity"] for d in details) / 24
    assert columns["humidity_mean"][1] == pytest.approx(humidity)
    assert columns["uv_index_max"][1] == max(d["ultraviolet_index_clear_sky"] for d in details)


def test_rain_is_neither_lost_nor_doubled_over_local_midnights(norway):
    steps = norway["lat51.5lon-0.1altitude25_complete.json"]["data"]["properties"]["timeseries"]
    whole = 0.0
    for step, after in pairwise(steps):
        begin, end = (datetime.fromisoformat(one["time"]) for one in (step, after))
        block = step["data"][f"next_{(end - begin).seconds // 3600}_hours"]["details"]
        whole += block["precipitation_amount"]
    for zone in ("Europe/London", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kolkata"):
        _, columns = aggregate_to_days(steps, zone, date(2020, 7, 20))
        total = np.nansum(columns["precipitation_sum"])
        assert total <= whole + 1e-9
        assert total >= 0.8 * whole  # what falls on half-covered days at the ends is left out


def test_compact_answers_of_met_norway_are_read(norway):
    steps = norway["lat40.7lon-74.0altitude10_compact.json"]["data"]["properties"]["timeseries"]
    first, columns = aggregate_to_days(steps, "America/New_York", date(2020, 7, 20))
    assert first == date(2020, 7, 20)
    assert np.isfinite(columns["temperature_max"]).sum() >= 8
    assert np.isfinite(columns["weather_code"]).sum() >= 8
    assert np.isnan(columns["precipitation_probability"]).all()


async def test_met_norway_is_called_again_only_after_expiry_and_with_if_modified_since(norway):
    body = norway["lat51.5lon-0.1altitude25_complete.json"]
    moment = [datetime(2020, 7, 20, 11, 44, 31, tzinfo=UTC)]
    served = {name: body["headers"][name] for name in ("Expires", "Last-Modified")}

    def respond(request):
        if request.headers.get("if-modified-since") == served["Last-Modified"]:
            return FakeResponse(b"", 304, {"Expires": "Mon, 20 Jul 2020 12:50:00 GMT"})
        return FakeResponse(body["data"], 200, served)

    with FakeServer(respond).running() as standin:
        async with HttpClient("location-context/1 (a@b.example)") as client:
            settings = Settings(met_norway_url=standin.url + "/complete", contact="a@b.example")
            provider = MetNorway(SectionContext(settings, lambda: moment[0], client))
            cell = Cell(51.5, -0.1, "Europe/London")
            counts = []
            for clock in ((12, 16, 0), (12, 16, 24), (12, 49, 0), (12, 50, 1)):
                first = await provider.fetch_forecast(cell, date(2020, 7, 20), 0, public=False)
                counts.append(len(standin.requests))
                moment[0] = datetime(2020, 7, 20, *clock, tzinfo=UTC)
            assert first.issued_at == datetime(2020, 7, 20, 1, 30, 57, tzinfo=UTC)
            assert first.grid.elevation == 25
        assert counts == [1, 1, 2, 2]
        assert "if-modified-since" not in standin.requests[0].headers
        assert standin.requests[1].headers["if-modified-since"] == served["Last-Modified"]
        assert standin.requests[0].query == {"lat": "51.5000", "lon": "-0.1000"}
