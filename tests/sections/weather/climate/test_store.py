"""The climate store: it answers as the archive's API does, without asking anyone."""

import os
import shutil
import threading
from datetime import UTC, date, datetime, timedelta

import distributed
import msgspec
import numpy as np
import pytest

from location_context.point import Point
from location_context.sections.weather.climate import build as builder
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.layout import Grid
from location_context.sections.weather.climate.power import Power
from location_context.sections.weather.climate.store import ClimateStore, ClimateStores
from location_context.sections.weather.records import FORECAST_FIELDS, ROW
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.datasets import SqlClimateStore
from location_context.testing.server import FakeRequest, FakeResponse, FakeServer
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient
from tests.moved_clock import MovedClock
from tests.sections.weather.climate.archives import s3_server, write_cities
from tests.sections.weather.climate.stores import (
    NATIVE_NAMES,
    POWER_GRID,
    read_city,
    seasons,
    write_store,
)
from tests.sections.weather.conftest import PARIS, query, weather_section, write_grid

FIRST = date(2015, 12, 1)
DAYS = (date(2026, 4, 20) - FIRST).days
FAR = Stay(date(2027, 7, 10), date(2027, 7, 16))
NEAR = Stay(date(2026, 11, 23), date(2026, 11, 27))
GOLDEN_STAYS = [
    Stay(date(2025, 7, 10), date(2025, 7, 16)),
    Stay(date(2025, 2, 20), date(2025, 3, 12)),
    Stay(date(2028, 2, 27), date(2028, 3, 2)),
    Stay(date(2028, 2, 29), date(2028, 2, 29)),
    Stay(date(2024, 12, 28), date(2025, 1, 4)),
    Stay(date(2024, 12, 31), date(2025, 4, 1)),
]


class PowerServer:
    """NASA POWER's daily point, from one real series."""

    def __init__(self, first: date, values: np.ndarray) -> None:
        self._first, self._values = first, values
        self.server = FakeServer(self.respond)

    def respond(self, request: FakeRequest) -> FakeResponse:
        start = datetime.strptime(request.query["start"], "%Y%m%d").date()  # noqa: DTZ007  a date
        end = datetime.strptime(request.query["end"], "%Y%m%d").date()  # noqa: DTZ007  a date
        series: dict[str, dict[str, float]] = {}
        for name in request.query["parameters"].split(","):
            field = NATIVE_NAMES.get(name)
            row = self._values[ROW[field]] if field else None
            series[name] = {}
            for n in range((end - start).days + 1):
                day = start + timedelta(n)
                value = np.nan if row is None else row[(day - self._first).days]
                series[name][f"{day:%Y%m%d}"] = -999.0 if np.isnan(value) else float(value)
        lat, lng = float(request.query["latitude"]), float(request.query["longitude"])
        return FakeResponse(
            {
                "geometry": {"coordinates": [lng, lat]},
                "properties": {"parameter": series},
                "header": {"api": {"version": "v2.9.7"}},
            }
        )


@pytest.fixture(scope="module")
def cities(shared_data):
    return [read_city(path) for path in sorted(shared_data.glob("climate/nasa_weather_*.csv.gz"))]


@pytest.fixture(scope="module")
def built_over_s3(cities, tmp_path_factory):
    """A data directory with the store of the cities' cells, read from an archive of the Earth."""
    folder = tmp_path_factory.mktemp("golden")
    archive = write_cities(folder / "archive", cities)
    with s3_server(archive) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", address)
        location = "s3://nasa-power/power.zarr"
        source = Power.open(location)
        job = builder.Job("power", location, range(2014, 2024))
        wanted = np.zeros((POWER_GRID.rows, POWER_GRID.columns), bool)
        for (lat, lng), _, _ in cities:
            wanted[POWER_GRID.around(Point(lat, lng, "UTC"))[0]] = True
        build = builder.Build(folder, job, source, builder.Region("cities", wanted))
        with distributed.Client(processes=False, dashboard_address="127.0.0.1:0") as client:
            assert not build.run(client, lambda _: None).failed
    build.publish(datetime(2024, 11, 1, tzinfo=UTC))
    return folder


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("city", range(20))
async def test_climate_store_gives_the_same_answers_as_the_nasa_power_api_in_twenty_cities(
    weather_settings, cities, built_over_s3, tmp_path, city
):
    (lat, lng), first, values = cities[city]
    clock = MovedClock(datetime(2024, 11, 21, 12, tzinfo=UTC))
    point = Point(lat, lng, "UTC", "XX", None)
    found = {}
    power = PowerServer(first, values)
    with power.server.running():
        settings = msgspec.structs.replace(
            weather_settings, open_meteo_forecast_url="", open_meteo_archive_url="",
            met_norway_url="", nasa_power_url=power.server.url, data_dir=tmp_path / "api",
        )  # fmt: skip
        settings.data_dir.mkdir()
        database = await Database.open(settings)
        async with HttpClient("test") as client:
            for name in ("api", "store"):
                data_dir = built_over_s3 if name == "store" else tmp_path / name
                settings = msgspec.structs.replace(settings, data_dir=data_dir)
                section = weather_section(settings, clock, client, SqlClimateStore(database))
                before = len(power.server.requests)
                found[name] = [
                    (await section.sources.fetch(query(stay, point), Deadline.after(20)))[0]
                    for stay in GOLDEN_STAYS
                ]
                calls = len(power.server.requests) - before
                assert (calls == 0) == (name == "store")
                await section.close()
        await database.close()
    for stay, api, store in zip(GOLDEN_STAYS, found["api"], found["store"], strict=True):
        assert list(api.years) == list(store.years)
        assert api.samples_per_day == store.samples_per_day
        for name, values in api.columns.items():
            other = store.columns.get(name, np.full(stay.days, np.nan))
            assert np.allclose(values, other, atol=tolerance(name), equal_nan=True), (stay, name)
        for one, other in zip(api.history, store.history, strict=True):
            for name in one.__struct_fields__:
                pair = getattr(one, name), getattr(other, name)
                assert np.allclose(*pair, atol=tolerance(name), equal_nan=True), (stay, name)


def tolerance(name: str) -> float:
    """Return what a number of the answer may differ by: K, mm, percent; else nothing."""
    limits = {"temperature": 0.05, "precipitation_probability": 0.5, "precipitation": 0.1,
              "humidity": 0.5, "cloud": 0.5}  # fmt: skip
    return next((limit for start, limit in limits.items() if name.startswith(start)), 0.0)


def world_store(data_dir, **more):
    return write_store(
        data_dir, {(PARIS.lat, PARIS.lng): seasons(FIRST, DAYS)}, FIRST, **more
    )  # fmt: skip


async def test_stay_beyond_the_forecast_is_answered_from_the_climate_store_without_a_provider(
    weather,
):
    world_store(weather.settings.data_dir)
    body = (await weather.read(query(FAR))).body
    assert (body.mode, body.basis.kind, body.basis.provider) == (
        "climatology", "reanalysis", "NASA POWER",
    )  # fmt: skip
    assert body.basis.years == list(range(2016, 2026))
    assert body.basis.samples_per_day == 310
    assert len(body.history) == 10
    assert not body.degraded
    assert not (
        *weather.open_meteo.requests,
        *weather.met_norway.requests,
        *weather.nasa_power.requests,
    )
    assert [notice.name for notice in body.attribution][:1] == ["NASA POWER"]


async def test_stay_within_the_forecast_costs_one_call_and_its_first_answer_is_calibrated(weather):
    world_store(weather.settings.data_dir)
    body = (await weather.read(query(NEAR))).body
    assert body.basis.spread.climatology == "archive"
    assert body.days[0].typical.years == list(range(2016, 2026))
    assert len(weather.open_meteo.requests) == 1
    assert not (*weather.met_norway.requests, *weather.nasa_power.requests)


async def test_point_outside_the_region_of_the_climate_store_is_answered_from_the_archive(weather):
    world_store(weather.settings.data_dir)
    body = (await weather.read(query(FAR, Point(41.9, 12.5, "Europe/Rome", "IT", None)))).body
    assert body.basis.provider == "Open-Meteo"


async def test_climate_store_with_the_finer_grid_is_used_first(weather):
    world_store(weather.settings.data_dir)
    fine = Grid(south=-90, west=-180, lat_step=0.25, lng_step=0.25, rows=721, columns=1440)
    world_store(weather.settings.data_dir, grid=fine)
    body = (await weather.read(query(FAR))).body
    assert body.basis.grid_distance < 15


async def test_temperature_of_a_hilly_grid_cell_is_corrected_to_the_elevation_of_the_point(weather):
    world_store(weather.settings.data_dir, described=(600, 800, 100))
    body = (await weather.read(query(FAR))).body
    assert body.basis.grid_elevation == 600
    correction = (600 - body.basis.point_elevation) * 0.0065
    assert body.basis.temperature_correction == pytest.approx(correction, abs=0.05)
    assert len(weather.open_meteo.requests) == 1  # for the point's height


@pytest.mark.parametrize(("country", "slot"), [("FR", 1), (None, 0)])
def test_point_on_land_uses_the_nearest_grid_cell_with_land(tmp_path, country, slot):
    sea, land = (43.0, 5.0), (43.5, 5.0)
    folder = write_store(tmp_path, {sea: seasons(FIRST, DAYS), land: seasons(FIRST, DAYS)}, FIRST)
    cells = np.load(folder / "cells.npy")
    cells[:, 2] = 0, 60
    np.save(folder / "cells.npy", cells)
    point = Point(43.2, 5.0, "Europe/Paris", country, None)
    assert ClimateStore.open(folder).find(point)[0] == slot


@pytest.mark.parametrize(
    ("lat", "lng", "cell"),
    [
        (48.8566, 2.3522, (278, 292)), (90, 0, (360, 288)), (-90, -180, (0, 0)),
        (0, 180, (180, 0)), (0, 179.9, (180, 0)), (0, -179.7, (180, 0)), (0.3, 179.5, (181, 575)),
    ],
)  # fmt: skip
def test_the_nearest_cell_is_found_up_to_the_poles_and_over_the_date_line(lat, lng, cell):
    assert POWER_GRID.around(Point(lat, lng, "UTC"))[0] == cell


def test_regional_grid_has_no_cell_for_a_point_over_half_a_cell_beyond_its_edge():
    grid = Grid(south=40, west=-10, lat_step=0.5, lng_step=0.5, rows=11, columns=21)
    inside = [(40, -10), (39.76, -10.24), (45.24, 0.24)]
    outside = [(39.7, -5), (45.3, -5), (42, -10.3), (42, 0.3), (42, 170)]
    assert all(grid.around(Point(*place, "UTC")) for place in inside)
    assert not any(grid.around(Point(*place, "UTC")) for place in outside)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda folder: (folder / "stats.npy").write_bytes(b"\x93NUMPY"), "stats.npy"),
        (lambda folder: cut(folder / "history.npy"), "history.npy"),
        (lambda folder: (folder / "index.npy").unlink(), "index.npy"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json is damaged"),
        (lambda folder: (folder / "manifest.json").unlink(), "manifest.json"),
        (lambda folder: (folder / "manifest.json").write_text('{"format": 9}'), "its format is 9"),
        (lambda folder: (folder / "manifest.json").write_text("[1]"), "its format is None"),
        (lambda folder: np.save(folder / "cells.npy", np.zeros((1, 3))), "cells.npy"),
    ],
)
async def test_damaged_climate_store_is_named_in_a_warning_and_the_next_source_answers(
    weather, damage, why
):
    folder = world_store(weather.settings.data_dir)
    damage(folder)
    (sentence,) = [one for one in weather.section.warnings() if "climate store" in one]
    assert folder.name in sentence
    assert why in sentence
    body = (await weather.read(query(FAR))).body
    assert body.basis.provider == "Open-Meteo"


def cut(path):
    path.write_bytes(path.read_bytes()[:-1000])


def test_climate_store_truncated_while_open_gives_no_answer(tmp_path):
    folder = write_store(tmp_path, {(PARIS.lat, PARIS.lng): seasons(FIRST, DAYS)}, FIRST)
    store = ClimateStore.open(folder)
    os.truncate(folder / "history.npy", 200)
    assert store.series(PARIS, FAR) is None


async def test_climate_store_is_used_from_its_creation_until_its_removal(weather):
    write_grid(weather.settings.data_dir)
    assert (await weather.read(query(FAR))).body.basis.provider == "Open-Meteo"
    folder = world_store(weather.settings.data_dir)
    assert (await weather.read(query(FAR))).body.basis.provider == "NASA POWER"
    shutil.rmtree(folder)
    assert (await weather.read(query(FAR))).body.basis.provider == "Open-Meteo"


async def test_each_answer_comes_from_one_store_while_stores_are_replaced(weather):
    data_dir, place = weather.settings.data_dir, (PARIS.lat, PARIS.lng)
    means = [0.0, 40.0]
    worlds = [seasons(FIRST, DAYS, mean) for mean in means]
    replaced = threading.Event()

    def replace() -> None:
        for number in range(12):
            built_at = datetime(2026, 11, 1, 0, number, tzinfo=UTC)
            write_store(data_dir, {place: worlds[number % 2]}, FIRST, built_at=built_at)
        replaced.set()

    write_store(data_dir, {place: worlds[0]}, FIRST, built_at=datetime(2026, 10, 1, tzinfo=UTC))
    thread = threading.Thread(target=replace)
    thread.start()
    seen = set()
    while not replaced.is_set():
        body = (await weather.read(query(FAR))).body
        assert body.basis.provider == "NASA POWER"
        highs = [day.temperature_max for day in body.days]
        records = [record.temperature_max_mean for record in body.history]
        (store,) = {min(means, key=lambda mean: abs(mean + 12 - v)) for v in (*highs, *records)}
        seen.add(store)
    thread.join()
    assert seen == {*means}
    assert len(layout.folders(data_dir)) == 1


def test_a_cell_that_lacks_part_of_a_year_has_no_climate_values(tmp_path):
    values = seasons(FIRST, DAYS)
    gap = (date(2020, 1, 1) - FIRST).days
    values[ROW["temperature_max"], gap : gap + 100] = np.nan
    write_store(tmp_path, {(PARIS.lat, PARIS.lng): values}, FIRST)
    assert ClimateStores(tmp_path).series(PARIS, FAR) is None


def test_packing_changes_each_plausible_value_by_at_most_half_a_packing_step():
    random = np.random.default_rng(3)
    fields = [name for name in FORECAST_FIELDS if name != "precipitation_probability"]
    scales = layout.scales_of(fields)
    for scale in scales:
        if scale.name == "samples":
            continue
        name = scale.name.removesuffix("_p10").removesuffix("_p90")
        field = layout.FIELDS[name]
        highest = min(field.highest, 655.34) if scale.offset else field.highest
        values = np.append(random.uniform(field.lowest, highest, 500), [field.lowest, np.nan])
        again = layout.unpack(layout.pack(values[:, None], (scale,)), (scale,))[:, 0]
        assert np.allclose(again, values, atol=scale.scale / 2 + 1e-9, equal_nan=True), scale.name
