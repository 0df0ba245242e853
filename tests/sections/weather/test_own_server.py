"""Forecasts of an Open-Meteo server of one's own, and what is left where data was not synced."""

import pytest

from location_context.sections.weather.section import FREE_ACCESS
from tests.fakes.open_meteo import ARCHIVE, FORECAST
from tests.sections.weather.conftest import CUSTOMER, FAR, NEAR, query


@pytest.fixture
def own(weather, build_section):
    """The section with the settings of docs/weather-server.md, over a server of one's own."""
    weather.open_meteo.is_own = True
    return build_section(open_meteo_archive_url="", open_meteo_budget=("100000/minute",))


async def test_self_hosted_open_meteo_server_gives_the_forecast_without_a_warning(weather, own):
    reading = await weather.read(query(NEAR), section=own)
    body = reading.body
    assert (body.mode, body.basis.provider, body.degraded) == ("forecast", "Open-Meteo", False)
    assert all(day.temperature_max is not None for day in body.days)
    assert FREE_ACCESS not in own.warnings()
    (call,) = weather.open_meteo.calls(FORECAST)
    assert "x-api-key" not in call.headers
    assert "models" not in call.query


async def test_self_hosted_open_meteo_server_never_falls_back_to_the_free_archive_host(
    weather, own
):
    body = (await weather.read(query(FAR), section=own)).body
    assert body.basis.provider == "NASA POWER"
    assert not weather.open_meteo.calls(ARCHIVE)
    assert own.providers()[3].status == "not_configured"


async def test_self_hosted_open_meteo_server_works_with_an_api_key_configured(
    weather, build_section
):
    weather.open_meteo.is_own = True
    weather.open_meteo.plan_has_archive = False
    section = build_section(**CUSTOMER)
    assert (await weather.read(query(FAR), section=section)).body.basis.provider == "Open-Meteo"


async def test_variables_that_the_self_hosted_server_did_not_sync_are_null(weather, own):
    weather.open_meteo.unsynced = {
        "wind_gusts_10m_max", "uv_index_max", "precipitation_probability_max", "sunshine_duration",
    }  # fmt: skip
    body = (await weather.read(query(NEAR), section=own)).body
    assert (body.mode, body.basis.provider) == ("forecast", "Open-Meteo")
    for day in body.days:
        assert day.temperature_max is not None
        assert (day.wind_gusts_max, day.uv_index_max, day.sunshine_hours) == (None, None, None)
    assert all(day.precipitation_probability is None for day in body.days)


async def test_answer_from_met_norway_as_the_only_forecast_provider_is_not_degraded(
    weather, build_section
):
    section = build_section(open_meteo_forecast_url="", open_meteo_archive_url="")
    body = (await weather.read(query(NEAR), section=section)).body
    assert (body.basis.provider, body.degraded) == ("MET Norway", False)
    assert not weather.open_meteo.requests
