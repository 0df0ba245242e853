"""MET Norway, NASA POWER and providers that give less: followed, named, answered with nulls."""

import dataclasses
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections import registry
from location_context.sections.weather import card as weather_card
from location_context.sections.weather import estimate
from location_context.sections.weather.calibration import Calibration
from location_context.sections.weather.presenter import Presenter
from location_context.sections.weather.providers.base import (
    ArchiveProvider,
    Forecast,
    ForecastProvider,
)
from location_context.sections.weather.records import FORECAST_FIELDS, Grid, WeatherSeries
from location_context.sections.weather.response import WeatherBody
from tests.fakes.met_norway import PATH as MET_PATH
from tests.fakes.open_meteo import ARCHIVE, FORECAST
from tests.fakes.server import FakeRequest, FakeResponse
from tests.logs import captured_logs
from tests.sections.weather.conftest import DOWN, FAR, NEAR, TODAY, WeatherFixture, places, query


class Sparse:
    """A forecast provider that knows highs and lows and nothing else."""

    title, model, cell_degrees, at_point, attribution = "Sparse", None, 0.1, False, ()
    product = "damped"

    def __init__(self, weather: WeatherFixture, name: str = "sparse", high: float = 11.0) -> None:
        self.name, self._high = name, high
        self.client = weather.section.sources.forecasts.providers[0].client
        self._clock = weather.clock

    async def fetch_forecast(self, cell, today, past_days, *, public) -> Forecast:
        values = np.full(16, self._high)
        columns = {"temperature_max": values, "temperature_min": values - 4}
        now = self._clock()
        return Forecast(today, columns, Grid(cell.lat, cell.lng, None), now, now + timedelta(1))


async def test_provider_that_has_only_highs_and_lows_leaves_other_fields_null(weather):
    weather.section.sources.forecasts.providers = [Sparse(weather)]
    body = (await weather.read(query(NEAR))).body
    assert body.days[0].temperature_max == 11.0
    assert {day.precipitation_sum for day in body.days} == {None}
    assert (body.summary.precipitation_total, body.summary.expected_wet_days) == (None, None)


async def test_forecast_providers_with_the_same_title_keep_separate_cached_values(weather):
    coarse, fine = Sparse(weather, "coarse", 11.0), Sparse(weather, "fine", 17.0)
    weather.section.sources.forecasts.providers = [coarse]
    assert (await weather.read(query(NEAR))).body.days[0].issued.temperature_max == 11.0
    weather.section.sources.forecasts.providers = [fine, coarse]
    assert (await weather.read(query(NEAR))).body.days[0].issued.temperature_max == 17.0


ALONG = {
    "temperature_mean": {"temperature_max", "temperature_min"},
    "apparent_temperature_max": {"temperature_max"},
    "apparent_temperature_min": {"temperature_min"},
}


@given(st.sets(st.sampled_from(FORECAST_FIELDS)), st.integers(1, 16))
def test_fields_that_a_forecast_lacks_are_null_and_the_rest_is_answered(missing, days):
    columns = {name: np.full(days, 11.0) for name in FORECAST_FIELDS if name not in missing}
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    forecast = Forecast(NEAR.start, columns, Grid(48.9, 2.4, 80.0), now, now + timedelta(hours=1))
    series = WeatherSeries(
        kind="forecast", provider="Sparse", model=None, attribution=(),
        columns=forecast.on_stay(NEAR), ttl=timedelta(hours=1), as_of=now, grid=forecast.grid,
    )  # fmt: skip
    lead = estimate.leads(NEAR, TODAY, TODAY)
    series = estimate.calibrated(series, None, lead, Calibration.load())
    body = Presenter(query(NEAR), series, 80.0, TODAY).body()
    for place, day in enumerate(body.days):
        for name in FORECAST_FIELDS:
            along = ALONG.get(name, set())  # what an estimate of this field needs besides
            known = not missing & {name, *along} and place < days and name != "weather_code"
            assert (getattr(day, name) is not None) is known, name
    assert msgspec.json.decode(msgspec.json.encode(body), type=WeatherBody) == body


class _Almanac(ArchiveProvider):
    """A provider that another package registers."""

    name, title, source, order = "almanac", "Almanac", "almanac", 150

    @classmethod
    def build(cls, context):
        raise NotImplementedError

    cell = attribution = fetch_months = build


def test_providers_of_other_packages_take_their_order_among_the_shipped_ones(monkeypatch):
    group = registry.ARCHIVE_PROVIDERS
    point = EntryPoint("almanac", f"{__name__}:_Almanac", group)
    installed = registry.entry_points
    monkeypatch.setattr(
        registry,
        "entry_points",
        lambda **options: [*installed(**options), *([point] if options["group"] == group else [])],
    )
    archives = registry.load(registry.ARCHIVE_PROVIDERS, ArchiveProvider)
    forecasts = registry.load(registry.FORECAST_PROVIDERS, ForecastProvider)
    assert [one.name for one in archives] == ["open_meteo_archive", "almanac", "nasa_power"]
    assert [one.name for one in forecasts] == ["open_meteo_forecast", "met_norway"]


def raise_met_norway(weather: WeatherFixture, metres: object) -> None:
    """Have MET Norway alone answer, with this height."""
    weather.open_meteo.faults[FORECAST] = DOWN

    def respond(request: FakeRequest, well=weather.met_norway.respond) -> FakeResponse:
        response = well(request)
        response.body["geometry"]["coordinates"][2] = metres
        return response

    weather.met_norway.server.respond = respond


@pytest.mark.parametrize("metres", [9001, -431, 20_000, 2**63, True, "high", None])
async def test_impossible_elevation_from_met_norway_changes_no_temperature(weather, metres):
    raise_met_norway(weather, metres)
    body = (await weather.read(query(NEAR))).body
    assert (body.basis.provider, body.basis.grid_elevation) == ("MET Norway", None)
    assert body.basis.temperature_correction is None
    assert all(-30 < day.issued.temperature_max < 40 for day in body.days)


async def test_temperature_made_implausible_by_its_correction_is_null(weather):
    raise_met_norway(weather, 8990)
    dead_sea = Point(31.5, 35.48, "Asia/Jerusalem")
    weather.open_meteo.terrain = lambda *_: -430.0
    body = (await weather.read(query(NEAR, dead_sea))).body
    assert body.basis.temperature_correction == pytest.approx(61.2, abs=0.1)
    assert {day.issued.temperature_max for day in body.days} == {None}
    assert {day.temperature_max for day in body.days} == {None}
    words = Formatter(Languages.load().english)
    assert weather_card.card(body, None, words, weather.clock()).timeline.rows


async def test_redirect_within_met_norway_is_followed_and_a_203_is_logged_once(weather):
    weather.open_meteo.faults[FORECAST] = DOWN
    well = weather.met_norway.respond

    def respond(request: FakeRequest) -> FakeResponse:
        if request.path == MET_PATH:
            return FakeResponse(
                status=301, headers={"Location": "/new?" + request.target.split("?")[1]}
            )
        answer = well(dataclasses.replace(request, path=MET_PATH))
        return dataclasses.replace(answer, status=203 if answer.status == 200 else answer.status)

    weather.met_norway.server.respond = respond
    with captured_logs() as logged:
        for point in places(3):
            body = (await weather.read(query(NEAR, point))).body
            assert body.basis.provider == "MET Norway"
    agent = weather.met_norway.requests[0].headers["user-agent"]
    assert agent.endswith("(test@example.org)")
    assert [entry["event"] for entry in logged].count("product_deprecated") == 1


@pytest.mark.parametrize(
    "expires",
    [
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Fri, 31 Dec 9999 23:59:59 -2359",
        "Fri, 31 Dec 99999999999999999999 23:59:59 GMT",
        "Fri, 31 Dec 2026 23:59:59 +99999999999999999999",
    ],
)
async def test_far_future_expires_header_of_met_norway_is_bounded(weather, expires):
    weather.open_meteo.faults[FORECAST] = DOWN
    well = weather.met_norway.respond

    def respond(request: FakeRequest) -> FakeResponse:
        answer = well(request)
        return dataclasses.replace(answer, headers={**answer.headers, "Expires": expires})

    weather.met_norway.server.respond = respond
    body = (await weather.read(query(NEAR))).body
    assert body.mode == "forecast"
    assert weather.states()["met_norway"].last_error_code is None
    weather.clock.advance(3 * 3600)
    await weather.read(query(NEAR))
    assert len(weather.met_norway.requests) == 2  # nothing is held for ever


async def test_nasa_power_attribution_names_version_and_date(weather):
    weather.open_meteo.faults[ARCHIVE] = DOWN
    body = (await weather.read(query(FAR))).body
    text = next(one.text for one in body.attribution if one.name == "NASA POWER")
    assert "POWER Project's Daily 2.9.7 version on 2026/11/21." in text
