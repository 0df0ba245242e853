"""ERA5: days cut out of hours as a plain loop cuts them, from any grid, axis and format."""

import math
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import xarray

from location_context.errors import OperatorError
from location_context.point import Point
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.era5 import Era5
from location_context.sections.weather.climate.layout import Tile
from location_context.sections.weather.climate.store import ClimateStore
from location_context.sections.weather.records import ROW
from location_context.stay import Stay
from tests.sections.weather.climate.stores import write_store

YEAR = (date(2017, 1, 1), date(2017, 12, 31))
PLACES = {
    "Berlin": (52.35, 13.1, "Europe/Berlin"),  # as in the file
    "Delhi": (28.5, 77.0, "Asia/Kolkata"),  # half an hour
    "New Zealand": (-38.5, 175.5, "Pacific/Auckland"),  # 12 or 13 hours ahead
    "Newfoundland": (48.75, -55.5, "America/St_Johns"),  # half an hour behind, with clock changes
}


@pytest.fixture(scope="session")
def berlin(shared_data):
    """A real year of six cells, whose rain is made up from radiation."""
    path = shared_data / "climate" / "era5_hourly_2x3_2017.nc"
    with xarray.open_dataset(path, engine="netcdf4") as file:
        hours = file[["t2m", "u10", "v10", "ssrd"]].load()
    return hours.assign(tp=hours["ssrd"] * 1e-9).drop_encoding()


def constant(days=30, first="2017-03-15", **values):
    """Return hours of 2 x 2 cells in Germany, in which nothing changes."""
    times = np.datetime64(first, "ns") + np.arange(24 * days) * np.timedelta64(1, "h")
    axes = {"time": times, "latitude": [52.0, 51.75], "longitude": [10.0, 10.25]}
    given = {"t2m": 290.0, "tp": 0.0} | values
    return xarray.Dataset(
        {name: (tuple(axes), np.full((len(times), 2, 2), value)) for name, value in given.items()},
        coords=axes,
    )


def opened(dataset, path):
    """Write a dataset and open it as the source."""
    if path.suffix == ".zarr":
        dataset.to_zarr(path, zarr_format=2, consolidated=True)
    else:
        kind = "NETCDF4" if path.suffix == ".nc4" else "NETCDF3_CLASSIC"
        dataset.to_netcdf(path, engine="netcdf4", format=kind)
    return Era5.open(str(path))


def whole(source, first=YEAR[0], last=YEAR[1]):
    """Return all cells by rows and columns of the grid."""
    values = [source.read(tile, first, last) for tile in source.tiles()]
    assert len(values) == 1
    return values[0].reshape(source.grid.rows, source.grid.columns, *values[0].shape[1:])


def day_by_day(dataset, lat, lng, zone):
    """Return the fields of each day of a cell by its date, in a plain loop over the hours."""
    cell = dataset.sel(latitude=lat, longitude=lng, method="nearest")
    hours = {name: cell[name].values.tolist() for name in ("t2m", "u10", "v10", "tp")}
    states, sums = defaultdict(list), defaultdict(list)
    for place in range(len(hours["t2m"])):
        stamp = datetime(2017, 1, 1, tzinfo=UTC) + timedelta(hours=place)
        states[stamp.astimezone(zone).date()].append(place)
        sums[(stamp - timedelta(hours=1)).astimezone(zone).date()].append(place)
    found = {}
    for day in states:
        if len(states[day]) >= 20:
            warmth = [hours["t2m"][place] - 273.15 for place in states[day]]
            wind = [(hours["u10"][place], hours["v10"][place]) for place in states[day]]
            east, north = (sum(part) for part in zip(*wind, strict=True))
            found[day] = {
                "temperature_max": max(warmth),
                "temperature_min": min(warmth),
                "temperature_mean": sum(warmth) / len(warmth),
                "wind_speed_max": max(math.hypot(*one) for one in wind) * 3.6,
                "wind_direction_dominant": math.degrees(math.atan2(-east, -north)) % 360,
            }
    for day in sums:
        if len(sums[day]) >= 20:
            rain = [hours["tp"][place] * 1000 for place in sums[day]]
            found.setdefault(day, {})["precipitation_sum"] = sum(rain)
            found[day]["precipitation_hours"] = sum(one >= 0.1 for one in rain)
    return found


@pytest.mark.parametrize("place", PLACES)
def test_daily_values_of_every_grid_cell_equal_a_plain_loop_over_hours(berlin, tmp_path, place):
    lat, lng, zone = PLACES[place]
    moved = berlin.assign_coords(latitude=[lat + 0.25, lat], longitude=[lng, lng + 0.25, lng + 0.5])
    source = opened(moved, tmp_path / "hours.nc")
    values = whole(source)
    compared = 0
    for row in range(2):
        for column in range(3):
            days = day_by_day(moved, source.grid.lat(row), source.grid.lng(column), ZoneInfo(zone))
            for n in range(365):
                expected = days.get(YEAR[0] + timedelta(n), {})
                for name in source.fields:
                    value = values[row, column, ROW[name], n]
                    if name not in expected:
                        assert np.isnan(value), (name, n)
                        continue
                    assert value == pytest.approx(expected[name], abs=0.01, rel=1e-5), (name, n)
                    compared += 1
    assert compared >= 6 * 7 * 363


def test_days_of_clock_changes_have_23_and_25_hours(tmp_path):
    source = opened(constant(days=250, tp=0.001), tmp_path / "hours.nc")
    rain = whole(source)[..., ROW["precipitation_sum"], :]
    for day, hours in ((date(2017, 3, 26), 23), (date(2017, 10, 29), 25), (date(2017, 5, 1), 24)):
        assert np.allclose(rain[..., (day - YEAR[0]).days], hours)


@pytest.mark.parametrize("suffix", [".nc", ".nc4", ".zarr"])
@pytest.mark.parametrize("axes", ["north first", "eastward of Greenwich", "new names", "short"])
def test_era5_grid_is_read_the_same_whatever_its_axis_order_names_and_format(
    berlin, tmp_path, axes, suffix
):
    west = berlin.assign_coords(longitude=[-3.0, -2.75, -2.5])
    expected = opened(west.sortby("latitude"), tmp_path / "expected.nc")
    changed = {
        "north first": west.sortby("latitude", ascending=False),
        "eastward of Greenwich": west.assign_coords(longitude=[357.0, 357.25, 357.5]),
        "new names": west.rename(time="valid_time").expand_dims(number=1),
        "short": west.rename(latitude="lat", longitude="lon").transpose("lat", "lon", "time"),
    }
    source = opened(changed[axes], tmp_path / f"hours{suffix}")
    assert source.grid == expected.grid
    assert source.grid.west == -3
    assert np.allclose(whole(source), whole(expected), equal_nan=True, atol=1e-4)


@pytest.mark.parametrize("lngs", [[179.75, 180.0, 180.25], [179.75, -180.0, -179.75]])
def test_era5_region_across_the_date_line_is_one_contiguous_grid(berlin, tmp_path, lngs):
    source = opened(berlin.assign_coords(longitude=lngs), tmp_path / "hours.nc")
    assert [source.grid.lng(column) for column in range(3)] == [179.75, -180.0, -179.75]


def test_global_era5_grid_begins_at_its_western_edge(tmp_path):
    globe = constant(days=4).isel(longitude=[0] * 8).assign_coords(longitude=np.arange(0, 360, 45))
    source = opened(globe, tmp_path / "hours.nc")
    assert (source.grid.west, source.grid.spans_globe) == (-180, True)


def test_tiles_cover_the_whole_grid_and_each_tile_reads_its_own_cells(tmp_path):
    warm = 280 + np.arange(16.0)[:, None] + 0.1 * np.arange(32)
    cells = constant(days=4).isel(latitude=[0] * 16, longitude=[0] * 32)
    cells["t2m"][:] = warm
    axes = {"latitude": 60 - 0.25 * np.arange(16), "longitude": 5 + 0.25 * np.arange(32)}
    source = opened(cells.assign_coords(axes), tmp_path / "hours.nc")
    day = date(2017, 3, 16)
    seen = np.zeros((16, 32), int)
    for tile in source.tiles():
        assert tile.rows <= 15
        assert tile.columns <= 15
        rows = slice(tile.row, tile.row + tile.rows)
        columns = slice(tile.column, tile.column + tile.columns)
        seen[rows, columns] += 1
        highs = source.read(tile, day, day)[:, ROW["temperature_max"], 0]
        expected = warm[::-1][rows, columns].ravel() - 273.15
        assert np.allclose(highs, expected, atol=1e-3)
    assert (seen == 1).all()


def test_era5_variables_are_converted_to_daily_values_in_the_units_of_the_climate_store(tmp_path):
    hours = constant(
        t2m=293.15, d2m=283.15, tcc=0.5, sf=0.001, fg10=10.0, i10fg=90.0, u10=0.0, v10=-5.0,
        tp=-1e-12,
    )  # fmt: skip
    source = opened(hours, tmp_path / "hours.nc")
    assert source.lacking == ()
    day = whole(source)[0, 0, :, (date(2017, 4, 1) - YEAR[0]).days]
    expected = {
        "humidity_mean": 52.5,  # Sonntag's table: 12.27 hPa of 23.37 hPa
        "cloud_cover_mean": 50.0, "snowfall_sum": 24 * 0.7, "wind_gusts_max": 36.0,
        "wind_speed_max": 18.0, "wind_direction_dominant": 0.0, "precipitation_sum": 0.0,
        "precipitation_hours": 0.0, "weather_code": 2.0,
    }  # fmt: skip
    assert {name: day[ROW[name]] for name in expected} == pytest.approx(expected, abs=0.1)
    assert set(expected) < set(source.fields)


def test_era5_file_without_cloud_cover_gives_no_weather_codes(tmp_path):
    source = opened(constant(), tmp_path / "hours.nc")
    assert "weather_code" not in source.fields
    assert source.lacking == ("d2m", "sf", "u10", "v10", "fg10", "tcc")


@pytest.mark.parametrize(("unknown", "known"), [(4, True), (5, False)])
def test_daily_value_needs_twenty_known_hours(tmp_path, unknown, known):
    hours = constant(days=6, first="2017-01-01")
    hours["t2m"][36 : 36 + unknown] = np.nan
    highs = whole(opened(hours, tmp_path / "hours.nc"))[0, 0, ROW["temperature_max"]]
    assert np.isfinite(highs[1]) == known
    assert np.isfinite(highs[2])


@pytest.mark.parametrize(("lng", "last"), [(10.0, 5), (-120.0, 4)])
def test_last_day_of_an_era5_file_has_at_least_twenty_hours_of_local_time(tmp_path, lng, last):
    hours = constant(days=5, first="2017-01-01").assign_coords(longitude=[lng, lng + 0.25])
    source = opened(hours, tmp_path / "hours.nc")
    assert (source.first, source.last) == (date(2017, 1, 1), date(2017, 1, last))


def test_era5_values_outside_the_period_of_the_file_are_unknown(tmp_path):
    source = opened(constant(days=4), tmp_path / "hours.nc")
    assert np.isnan(source.read(Tile(0, 0, 2, 2), date(2001, 1, 1), date(2001, 2, 1))).all()


def test_a_file_that_is_not_era5_is_refused_with_a_message(berlin, tmp_path):
    daily = berlin.isel(time=slice(None, None, 24))
    uneven = berlin.assign_coords(longitude=[1.0, 2.0, 4.0])
    flat = berlin.rename(latitude="y")
    for number, (dataset, why) in enumerate((
        (berlin.drop_vars("tp"), r"lacks tp; it has ssrd, t2m, u10, v10$"),
        (daily, "has no hourly time axis"),
        (uneven, "has no regular, ascending axis of longitude"),
        (flat, "has no axis named latitude or lat"),
        (berlin.isel(time=slice(40)), "has only 40 hours"),
    )):  # fmt: skip
        with pytest.raises(OperatorError, match=why):
            opened(dataset, tmp_path / f"{number}.nc")


def test_missing_or_unreadable_era5_file_is_refused_with_a_message(tmp_path):
    with pytest.raises(
        OperatorError, match=r"missing\.nc cannot be read as NetCDF: FileNotFoundError"
    ):
        Era5.open(str(tmp_path / "missing.nc"))
    text = tmp_path / "text.nc"
    text.write_text("no data", encoding="utf-8")
    with pytest.raises(OperatorError, match="cannot be read as NetCDF"):
        Era5.open(str(text))
    with pytest.raises(OperatorError, match="cannot be read"):
        Era5.open(str(tmp_path))
    with pytest.raises(OperatorError, match="--source"):
        Era5.open(None)


def test_climate_store_built_from_era5_days_answers_a_request(berlin, tmp_path):
    years = range(2008, 2018)
    source = opened(berlin, tmp_path / "hours.nc")
    year = source.read(source.tiles()[0], *YEAR)[0]
    values = np.tile(year, (1, 10))  # the same year ten times
    folder = write_store(
        tmp_path, {(source.grid.lat(0), source.grid.lng(0)): values}, date(2008, 1, 1),
        years=years, fields=source.fields, grid=source.grid,
    )  # fmt: skip
    point = Point(52.36, 13.11, "Europe/Berlin", "DE", None)
    series = ClimateStore.open(folder).series(point, Stay(date(2027, 7, 10), date(2027, 7, 12)))
    assert layout.read_manifest(folder).grid == source.grid
    july = year[ROW["temperature_max"], 180:205]
    assert july.min() < series.columns["temperature_max"][0] < july.max()
    assert np.isfinite(series.columns["precipitation_sum"]).all()
