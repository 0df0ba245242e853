"""The fallback grid: written whole or not at all, right everywhere, and checked when read."""

import io
import zipfile
from datetime import date

import numpy as np
import pytest

from location_context.errors import OperatorError
from location_context.point import Point
from location_context.sections.weather import fallback_grid as grid
from location_context.sections.weather.fallback_grid import SHAPE, FallbackGrid
from location_context.settings.data_dir import GRID_FILE as FILE
from location_context.stay import Stay
from tests.sections.weather.conftest import write_grid

LAT, LNG = np.arange(241) * 0.75 - 90, np.arange(481) * 0.75 - 180
FINE_LAT, FINE_LNG = np.arange(722) * 0.25 - 90.125, np.arange(1442) * 0.25 - 180.125

TERRAIN = np.zeros((2164, 4324))
TERRAIN[500:600, 2000:2100] = 700.4  # m, in the north


def package(path, months=range(1, 13)):
    """A package of the same layout, made up: temperature by latitude and month, rain by both."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for month in months:
            kelvin = 273.15 + 25 - np.abs(LAT)[:, None] * 0.5 + month + 0 * LNG
            rain = np.abs(FINE_LAT)[:, None] + 10 * month + FINE_LNG * 0
            for name, field in (
                (f"itur/data/1510/v1_t_month{month:02}.npz", kelvin),
                (f"itur/data/837/v7_mt_month{month:02}.npz", rain),
            ):
                held = io.BytesIO()
                np.savez(held, field)
                archive.writestr(name, held.getvalue())
        held = io.BytesIO()
        np.savez(held, TERRAIN)
        archive.writestr("itur/data/1511/v2_topo.npz", held.getvalue())
    return path


def quiet(_: str) -> None: ...


def series(folder, place, first: date, last: date):
    return FallbackGrid(folder).series(Point(*place, "UTC"), Stay(first, last))


def test_fallback_grid_has_the_values_of_the_itur_package(tmp_path):
    values, _ = grid.extract(package(tmp_path / "itur.whl"), quiet)
    path = grid.write(values, tmp_path / FILE)
    assert path.stat().st_size < 6_000_000
    for place in ((48.8566, 2.3522), (-33.9, 151.2), (0.0, 180.0), (64.1, -179.9)):
        columns = series(tmp_path, place, date(2027, 6, 15), date(2027, 6, 16)).columns
        lat = abs(place[0])
        assert columns["temperature_mean"] == pytest.approx([31 - lat * 0.5] * 2, abs=0.1)
        assert columns["precipitation_sum"] * 30 == pytest.approx([lat + 60] * 2, abs=0.5)


@pytest.mark.parametrize("place", [(90, 0), (-90, 0), (0, 180), (0, -179.9999), (89.99, 179.99)])
def test_fallback_grid_has_values_at_every_corner_of_the_earth(tmp_path, place):
    write_grid(tmp_path)
    outlook = series(tmp_path, place, date(2027, 1, 1), date(2027, 4, 2))
    assert np.isfinite(outlook.columns["temperature_mean"]).all()


def test_monthly_values_are_interpolated_to_days_and_across_new_year(tmp_path):
    write_grid(tmp_path)
    outlook = series(tmp_path, (10, 10), date(2026, 12, 16), date(2027, 1, 16))
    values = outlook.columns["temperature_mean"]
    assert values[0] == pytest.approx(21, abs=0.2)
    assert values[-1] == pytest.approx(10, abs=0.2)
    assert (np.diff(values) < 0).sum() >= 30
    assert np.abs(np.diff(values)).max() < 0.5


def test_fallback_grid_fills_temperature_and_rain_only(tmp_path):
    write_grid(tmp_path)
    outlook = series(tmp_path, (10, 10), date(2027, 1, 1), date(2027, 1, 3))
    filled = {name for name, column in outlook.columns.items() if np.isfinite(column).any()}
    assert filled == {"temperature_mean", "precipitation_sum"}
    assert (outlook.kind, list(outlook.years), list(outlook.history)) == ("monthly_mean", [], [])


def test_fallback_grid_built_while_the_server_runs_is_used(tmp_path):
    held = FallbackGrid(tmp_path)
    stay = Stay(date(2027, 1, 1), date(2027, 1, 3))
    assert held.series(Point(0, 0, "UTC"), stay) is None
    write_grid(tmp_path)
    assert held.series(Point(0, 0, "UTC"), stay) is not None
    (tmp_path / FILE).unlink()
    assert held.series(Point(0, 0, "UTC"), stay) is None


@pytest.mark.parametrize("damage", [b"", b"junk", b"\x93NUMPY\x01\x00", None])
def test_damaged_fallback_grid_counts_as_missing(tmp_path, damage):
    if damage is None:
        np.save(tmp_path / FILE, np.zeros((2, 2), np.int16))
    else:
        (tmp_path / FILE).write_bytes(damage)
    assert not FallbackGrid(tmp_path).exists


def test_interrupted_write_of_the_fallback_grid_leaves_the_old_grid_and_no_other_file(
    tmp_path, monkeypatch
):
    write_grid(tmp_path)

    def broken(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", broken)
    with pytest.raises(OperatorError, match="No space left"):
        grid.write(np.zeros(SHAPE, np.int16), tmp_path / FILE)
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_grid_package_with_another_hash_is_refused_by_pip(tmp_path, monkeypatch):
    folder = tmp_path / "links"
    folder.mkdir()
    package(folder / "itur-0.4.0-py2.py3-none-any.whl", months=[1])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    (tmp_path / "into").mkdir()
    with pytest.raises(OperatorError, match="could not fetch") as refused:
        grid.fetch(tmp_path / "into")
    assert "://" not in refused.value.message
