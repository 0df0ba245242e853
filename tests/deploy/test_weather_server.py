"""Open-Meteo's own server in deploy/compose.yaml has all that our forecasts request, and no more.

The tables below are read from the source of Open-Meteo 1.5.5, the version that the file names. A
name there is a folder of the bucket: `sync` skips a variable that a model does not have.
"""

import re
from collections.abc import Mapping

import pytest
import yaml

from location_context.sections.weather.providers.open_meteo import TABLE
from location_context.sections.weather.records import FORECAST_FIELDS
from location_context.sections.weather.retrieval.sources import PAST_DAYS
from location_context.settings import PREFIX, Settings
from tests.conftest import ROOT

SERVICES = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
PAGE = (ROOT / "docs" / "weather-server.md").read_text()
SYNC = SERVICES["weather-sync"]["command"]
VARIABLES = SYNC[2].split(",")
MODELS = SYNC[1].removeprefix("${WEATHER_MODELS:-").removesuffix("}").split(",")
SMALL = re.findall(r"^WEATHER_MODELS=(.+)$", PAGE, re.MULTILINE)[0].split(",")
SETTINGS = dict(re.findall(rf"^ *({PREFIX}OPEN_METEO_\w+)=(.*)$", PAGE, re.MULTILINE))

WIND = "wind_u_component_10m wind_v_component_10m wind_speed_10m "
HUMIDITY = "temperature_2m relative_humidity_2m dew_point_2m "
RADIATION = "shortwave_radiation direct_radiation diffuse_radiation "
SNOW = "snowfall_water_equivalent precipitation temperature_2m "
# what each daily value is made of (Controllers/VariableDaily.swift), over all models' readers:
# Controllers/VariableHourly.swift, Icon/IconReader.swift, Gfs/GfsController.swift,
# Ecmwf/EcmwfReader.swift, EcmwfEcpds/EcmwfEcpdsReader.swift, Dmi/DmiReader.swift,
# MeteoFrance/MeteoFranceController.swift
MADE_OF: Mapping[str, str] = {
    # stored by ICON alone; else by Helper/WeatherCode.swift
    "weather_code": "weather_code cloud_cover showers cape lifted_index convective_inhibition "
    "boundary_layer_height visibility categorical_freezing_rain wind_gusts_10m " + SNOW,
    "temperature_2m_max": "temperature_2m",
    "temperature_2m_min": "temperature_2m",
    "temperature_2m_mean": "temperature_2m",
    # ICON stores direct and diffuse radiation, the others their sum
    "apparent_temperature_max": WIND + HUMIDITY + RADIATION,
    "apparent_temperature_min": WIND + HUMIDITY + RADIATION,
    "precipitation_sum": "precipitation",
    "precipitation_hours": "precipitation",
    "snowfall_sum": SNOW,
    "wind_speed_10m_max": WIND,
    "wind_gusts_10m_max": "wind_gusts_10m",
    "wind_direction_10m_dominant": WIND + "wind_direction_10m",
    "sunshine_duration": RADIATION,
    "cloud_cover_mean": "cloud_cover",
    "relative_humidity_2m_mean": HUMIDITY,
    "precipitation_probability_max": "precipitation_probability",  # of ensembles, ready-made
    "uv_index_max": "uv_index",  # of ncep_gfs013
}
# what `best_match` reads by region (Controllers/ForecastapiController.swift): a model with every
# surface variable for 15 days, and ensembles whose probabilities it uses
WHOLE = {"ecmwf_ifs", "ecmwf_ifs025", "ncep_gfs013", "ncep_gfs025"}
BEST_MATCH: Mapping[str, str] = {
    "Netherlands and Belgium": "ecmwf_ifs025_ensemble ncep_gfs013 dwd_icon dwd_icon_eu dwd_icon_d2 "
    "ecmwf_ifs025 ecmwf_ifs knmi_harmonie_arome_netherlands",
    "Scandinavia": "ncep_gfs013 ecmwf_ifs025 ecmwf_ifs metno_nordic_pp ecmwf_ifs025_ensemble",
    "United Kingdom": "ncep_gfs013 ecmwf_ifs025 ecmwf_ifs ukmo_global_deterministic_10km "
    "ukmo_uk_deterministic_2km ecmwf_ifs025_ensemble",
    "Central Europe": "ecmwf_ifs025_ensemble dwd_icon_eps dwd_icon_eu_eps ncep_gfs013 ncep_gfs025 "
    "ecmwf_ifs dwd_icon dwd_icon_eu dwd_icon_d2",
    "France": "ncep_gefs05 ncep_gefs025 dwd_icon_eps dwd_icon_eu_eps ncep_gfs013 ncep_gfs025 "
    "dwd_icon ecmwf_ifs meteofrance_arpege_europe meteofrance_arome_france0025 "
    "meteofrance_arome_france_hd",
    "Northern Europe": "ncep_gefs05 ncep_gefs025 ecmwf_ifs025_ensemble ncep_gfs013 ncep_gfs025 "
    "dwd_icon dwd_icon_eu ecmwf_ifs025 ecmwf_ifs dmi_harmonie_arome_europe",
    "North America": "ncep_gefs05 ncep_gefs025 ncep_nbm_conus dwd_icon ncep_gfs013 ncep_gfs025 "
    "ncep_hrrr_conus",
    "Japan": "ncep_gefs05 ncep_gefs025 ecmwf_ifs025_ensemble ncep_gfs013 ncep_gfs025 dwd_icon "
    "ecmwf_ifs jma_msm jma_msm_upper_level",
    "Eastern Europe": "ncep_gefs05 ncep_gefs025 ecmwf_ifs025_ensemble dwd_icon_eps dwd_icon_eu_eps "
    "ncep_gfs013 ncep_gfs025 ecmwf_ifs dwd_icon dwd_icon_eu",
    "the rest of the world": "ncep_gefs05 ncep_gefs025 ecmwf_ifs025_ensemble ncep_gfs013 "
    "ncep_gfs025 dwd_icon ecmwf_ifs",
}
ENSEMBLES = {"ecmwf_ifs025_ensemble", "ncep_gefs025", "dwd_icon_eps", "dwd_icon_eu_eps"}


def requested() -> set[str]:
    """The daily variables of a forecast's request."""
    return {TABLE[name].path for name in FORECAST_FIELDS}


def test_weather_sync_downloads_exactly_the_variables_that_forecasts_use() -> None:
    assert requested() == set(MADE_OF)
    needed = {name for names in MADE_OF.values() for name in names.split()}
    assert sorted(VARIABLES) == sorted(needed)


@pytest.mark.parametrize("models", [MODELS, SMALL], ids=["compose.yaml", "the page's small list"])
def test_every_region_has_a_weather_model_a_rain_probability_model_and_uv(
    models: list[str],
) -> None:
    known = {name for names in BEST_MATCH.values() for name in names.split()}
    assert set(models) <= known
    assert len(models) == len(set(models))
    for region, names in BEST_MATCH.items():
        found = set(names.split()) & set(models)
        assert found & WHOLE, region
        assert found & ENSEMBLES, region
        assert "ncep_gfs013" in found, region


def test_no_weather_model_under_a_share_alike_licence_is_synced() -> None:
    assert not [name for name in (*MODELS, *SMALL) if name.startswith("ukmo")]


def test_weather_sync_keeps_past_days_for_stays_that_began_within_a_fortnight() -> None:
    assert SYNC[3:5] == ["--past-days", str(PAST_DAYS[1])]
    (tidy,) = SERVICES["weather-tidy"]["command"]
    retention = re.search(r"-name 'chunk_\*' -mtime \+(\d+) -delete", tidy)
    assert retention
    assert int(retention[1]) >= PAST_DAYS[1]


def test_weather_server_starts_only_after_the_terrain_is_downloaded() -> None:
    terrain = {"weather-terrain": {"condition": "service_completed_successfully"}}
    assert SERVICES["weather"]["depends_on"] == terrain
    assert SERVICES["weather-terrain"]["command"] == ["sync", "copernicus_dem90", "static"]
    assert SERVICES["weather-terrain"]["restart"] == "no"


def test_all_weather_server_containers_run_the_same_pinned_version() -> None:
    parts = {name: one for name, one in SERVICES.items() if name.startswith("weather")}
    assert len(parts) == 4
    for one in parts.values():
        assert one["profiles"] == ["weather"]
        assert re.fullmatch(r"ghcr\.io/open-meteo/open-meteo:\d+\.\d+\.\d+", one["image"])
        assert one["volumes"] == ["weather:/app/data"]
    assert len({one["image"] for one in parts.values()}) == 1
    others = [one for name, one in SERVICES.items() if name not in parts]
    assert not any("profiles" in one for one in others)


def test_documented_settings_make_replicas_call_only_the_self_hosted_weather_server() -> None:
    environment = SERVICES["one"]["environment"]
    passed = {name for name, value in environment.items() if value is None}
    assert passed == set(SETTINGS)
    settings = Settings.read(SETTINGS)
    assert not settings.uses_open_meteo_free
    assert settings.forecast_url == "http://weather:8080/v1/forecast"
    assert "8080" in SERVICES["weather"]["healthcheck"]["test"][-1]
    assert settings.archive_url == ""
    assert not open_hosts(settings)
    assert set(SERVICES["weather"]["networks"]) <= set(SERVICES["one"]["networks"])


def open_hosts(settings: Settings) -> list[str]:
    """The addresses of Open-Meteo itself among those in use."""
    return [url for url in (settings.forecast_url, settings.archive_url) if "open-meteo.com" in url]
