"""Our own providers keep what the kit demands of everybody's, and the kit finds what is broken."""

from datetime import date, timedelta
from typing import Any

import pytest

from location_context.sections.astronomy.section import Astronomy
from location_context.sections.events.providers.open_holidays import OpenHolidays
from location_context.sections.events.providers.predicthq import PredictHQ
from location_context.sections.events.providers.ticketmaster import Ticketmaster
from location_context.sections.weather.providers.base import (
    Forecast,
    ForecastProvider,
    Native,
    read_columns,
)
from location_context.sections.weather.providers.met_norway import MetNorway
from location_context.sections.weather.providers.nasa_power import NasaPower
from location_context.sections.weather.providers.open_meteo import (
    OpenMeteoArchive,
    OpenMeteoForecast,
)
from location_context.sections.weather.records import Grid
from location_context.testing import ConformanceError, FakeResponse, check_provider, check_section
from location_context.upstream.client import ProviderClient
from tests.fakes import predicthq, ticketmaster
from tests.fakes.met_norway import PATH as MET_PATH
from tests.fakes.met_norway import MetNorwayStandIn
from tests.fakes.nasa_power import PATH as POWER_PATH
from tests.fakes.nasa_power import NasaPowerStandIn
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.moved_clock import MovedClock

CLOCK = MovedClock()
SOLD = ticketmaster.responding(
    [ticketmaster.event("Phoenix", ticketmaster.at("2026-11-23", "20:00:00"))]
)
LISTED = predicthq.responding(
    [predicthq.event("Fair", "2026-11-23T09:00:00Z", "2026-11-23T18:00:00Z")]
)


def holidays(_: Any) -> FakeResponse:
    """School holidays of the whole country around the days that the kit asks for."""
    row = {
        "id": "1", "startDate": "2026-11-20", "endDate": "2026-11-30", "nationwide": True,
        "name": [{"language": "EN", "text": "Autumn"}], "subdivisions": [],
    }  # fmt: skip
    return FakeResponse([row])


CASES = {
    "open_meteo_forecast": (
        OpenMeteoForecast, OpenMeteo(CLOCK).respond,
        {"open_meteo_forecast_url": "{url}" + FORECAST},
    ),
    "open_meteo_archive": (
        OpenMeteoArchive, OpenMeteo(CLOCK).respond, {"open_meteo_archive_url": "{url}" + ARCHIVE},
    ),
    "met_norway": (
        MetNorway, MetNorwayStandIn(CLOCK).respond, {"met_norway_url": "{url}" + MET_PATH},
    ),
    "nasa_power": (
        NasaPower, NasaPowerStandIn(CLOCK).respond, {"nasa_power_url": "{url}" + POWER_PATH},
    ),
    "open_holidays": (OpenHolidays, holidays, None),
    "ticketmaster": (
        Ticketmaster, SOLD,
        {"ticketmaster_url": "{url}", "ticketmaster_api_key": ticketmaster.KEY},
    ),
    "predicthq": (
        PredictHQ, LISTED, {"predicthq_url": "{url}", "predicthq_api_key": predicthq.TOKEN},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_provider_passes_the_conformance_kit(name: str) -> None:
    provider, respond, settings = CASES[name]
    check_provider(provider, respond, settings=settings, clock=CLOCK)


def test_section_without_providers_passes_the_conformance_kit() -> None:
    check_section(Astronomy, clock=CLOCK)


class Careless(ForecastProvider):
    """Reads a body outside its client's care, and waits as long as the server likes."""

    name, title, attribution = "met_norway", "Careless", ()

    def __init__(self, context: Any) -> None:
        url = context.settings.met_norway_url
        self.client = ProviderClient(self.name, url, context.client, context.clock)
        self.clock = context.clock

    @classmethod
    def build(cls, context: Any) -> "Careless":
        return cls(context)

    async def fetch_forecast(self, cell: Any, today: date, past_days: int, *, public: bool) -> Any:
        body = await self.client.get_json({}, lambda body: body, public=public)
        dates = [date.fromisoformat(day) for day in body["days"]]
        table = {"temperature_max": Native("tmax"), "temperature_min": Native("tmin")}
        first, columns = read_columns(body, dates, table)
        now = self.clock()
        return Forecast(first, columns, Grid(cell.lat, cell.lng, None), now, now + timedelta(1))


def days(_: Any) -> FakeResponse:
    return FakeResponse({"days": ["2026-11-21"], "tmax": [10.0], "tmin": [5.0]})


def test_conformance_kit_detects_a_parser_that_fails_on_data_of_unexpected_shapes() -> None:
    with pytest.raises(ConformanceError) as raised:
        check_provider(Careless, days, clock=CLOCK)
    said = str(raised.value)
    assert "an object of another shape: raised KeyError" in said
    assert "a list: raised TypeError" in said


class Inventive(Careless):
    """Gives data where there are none."""

    async def fetch_forecast(self, cell: Any, today: date, past_days: int, *, public: bool) -> Any:
        try:
            return await super().fetch_forecast(cell, today, past_days, public=public)
        except Exception:  # noqa: BLE001  this is the mistake
            table = {"temperature_max": Native("tmax"), "temperature_min": Native("tmin")}
            first, columns = read_columns({"tmax": [1.0], "tmin": [0.0]}, [today], table)
            now = self.clock()
            return Forecast(first, columns, Grid(cell.lat, cell.lng, None), now, now)


def test_conformance_kit_detects_a_provider_that_accepts_a_web_page_as_data() -> None:
    with pytest.raises(ConformanceError, match="a web page: the provider returned data"):
        check_provider(Inventive, days, clock=CLOCK)


def test_conformance_kit_detects_an_archive_that_does_not_declare_its_representativeness(
    monkeypatch,
) -> None:
    monkeypatch.delattr(NasaPower, "representativeness")
    provider, respond, settings = CASES["nasa_power"]
    with pytest.raises(ConformanceError, match="representativeness: the provider must"):
        check_provider(provider, respond, settings=settings, clock=CLOCK)


def test_conformance_kit_detects_a_provider_that_ignores_the_configured_address() -> None:
    with pytest.raises(ConformanceError, match="a good answer: "):
        check_provider(Careless, days, settings={"nasa_power_url": "{url}"}, clock=CLOCK)
