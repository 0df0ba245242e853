"""The map: each cell has its own month's value, and the picture names what it shows."""

from datetime import date

import numpy as np
import pytest

from location_context.errors import OperatorError
from location_context.point import Point
from location_context.sections.weather.climate import map as climate_map
from location_context.sections.weather.climate.layout import Grid
from location_context.sections.weather.climate.store import ClimateStore
from location_context.stay import Stay
from tests.sections.weather.climate.stores import POWER_GRID, seasons, write_store

FIRST = date(2015, 12, 1)
DAYS = (date(2026, 4, 20) - FIRST).days
ROME = Point(42.0, 12.5, "Europe/Rome")
REGION = Grid(south=41, west=11.25, lat_step=0.5, lng_step=0.625, rows=5, columns=5)


@pytest.fixture(params=[POWER_GRID, REGION], ids=["world", "region"])
def store(tmp_path, request):
    values = seasons(FIRST, DAYS)
    return ClimateStore.open(
        write_store(tmp_path, {(ROME.lat, ROME.lng): values}, FIRST, grid=request.param)
    )


@pytest.mark.parametrize("month", [2, 8, 12])
def test_map_values_of_a_grid_cell_equal_the_values_of_an_answer(store, month):
    last = 28 if month == 2 else 31
    columns = store.series(ROME, Stay(date(2027, month, 1), date(2027, month, last))).columns
    high = columns["temperature_max"].mean()
    wet = columns["precipitation_probability"].sum() / 100
    span = (columns["temperature_max_p90"] - columns["temperature_max_p10"]).mean()
    cell = store.manifest.grid.around(ROME)[0]
    for field, value in (("temperature_max", high), ("wet_days", wet), ("range", span)):
        values = climate_map.month_values(store, month, field)
        assert values[cell] == pytest.approx(value)
        assert np.isfinite(values).sum() == 1


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_climate_map_names_field_month_years_and_source(store, tmp_path, ending):
    path = tmp_path / f"map.{ending}"
    climate_map.draw(store, 8, "temperature_max", path)
    if ending == "png":
        assert path.read_bytes().startswith(b"\x89PNG")
        return
    svg = path.read_text("utf-8")
    for words in ("Typical daily high, °C · August, 2016 to 2025", "Data: NASA POWER, MERRA-2"):
        assert words in svg


def test_climate_map_error_names_the_path_that_cannot_be_written(store, tmp_path):
    with pytest.raises(OperatorError, match="cannot be written"):
        climate_map.draw(store, 8, "range", tmp_path / "missing" / "map.png")
    with pytest.raises(OperatorError, match="cannot be written"):
        climate_map.draw(store, 8, "range", tmp_path / "map.docx")
