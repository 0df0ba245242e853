"""The fallback grid: monthly mean temperature and rain for every place on Earth, from one file.

The grid is used if no better source is available. The file is an array of 2 x 12 x 241 x 481
int16: temperature and rain, months, latitudes, longitudes (tenths of °C; tenths of mm a month). The
grid has a step of 0.75 degrees, northward from latitude -90 and eastward from longitude -180. The
file is mapped into memory, so that a request reads only a few pages. Values are interpolated
bilinearly between the grid's points, and linearly between the middles of the months.

`make` builds the file from the Python package `itur`, which pip downloads only for this. The
package contains the monthly grids of Recommendations ITU-R P.1510-1 (mean temperature, K, 0.75
degrees) and P.837-7 (rain, mm a month, 0.25 degrees, means of 50 years). The package is checked by
its hash, read without being installed, and deleted. Rain is averaged to the grid of the
temperature. The package's terrain (P.1511-2) is stored too; the cells of a climate store get their
heights from it.
"""

import io
import os
import subprocess
import sys
import tempfile
import zipfile
from calendar import monthrange
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from location_context.errors import OperatorError
from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.weather.records import FORECAST_FIELDS, Floats, Grid, WeatherSeries
from location_context.settings.data_dir import GRID_FILE, TERRAIN_FILE
from location_context.stay import Stay

STEP = 0.75
SHAPE = (2, 12, 241, 481)
NAME = "ITU-R"
MODEL = "P.1510-1 and P.837-7"
SERIES_TTL = timedelta(minutes=1)
ITU = Attribution(
    name="ITU-R",
    url="https://www.itu.int/rec/R-REC-P.1510/en",
    license=None,
    text="Monthly means: Recommendations ITU-R P.1510-1 and P.837-7",
    adapted=True,  # interpolated in place and season
)
REQUIREMENT = (
    "itur==0.4.0 --hash=sha256:d7a357172216075b9f0b8f38cd68ce975dba1b7e22db8329f013e6ef651db9b2\n"
)
_TEMPERATURE = "itur/data/1510/v1_t_month{:02d}.npz"
_RAIN = "itur/data/837/v7_mt_month{:02d}.npz"
_TERRAIN = "itur/data/1511/v2_topo.npz"  # 2164 x 4324, from the north and 180° west
_ABSOLUTE_ZERO = 273.15
STDERR = 2  # as a file descriptor


class FallbackGrid:
    """The fallback grid in the data directory: monthly means of temperature and rain.

    `exists` is False if its file is missing or damaged.
    """

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / GRID_FILE
        self._values: NDArray[np.int16] | None = None
        self._made: int | None = None

    @property
    def exists(self) -> bool:
        return self._load() is not None

    def series(self, point: Point, stay: Stay) -> WeatherSeries | None:
        """Return the weather of the stay's dates from monthly means; None if there is no grid."""
        if (found := self.months(point)) is None:
            return None
        (temperature, rain), grid = found
        unknown = np.full(stay.days, np.nan)
        columns = dict.fromkeys(FORECAST_FIELDS, unknown)
        columns["temperature_mean"] = _in_season(temperature, stay)
        columns["precipitation_sum"] = _in_season(rain / MONTH_DAYS, stay)
        return WeatherSeries(
            kind="monthly_mean",
            provider=NAME,
            model=MODEL,
            columns=columns,
            attribution=(ITU,),
            ttl=SERIES_TTL,
            as_of=None,
            grid=grid,
        )

    def months(self, point: Point) -> tuple[Floats, Grid] | None:
        """Return the mean temperature (°C) and rain (mm) of each month, and the nearest grid point.

        Return None if there is no grid.
        """
        if (values := self._load()) is None:
            return None
        row, column = (point.lat + 90) / STEP, (point.lng + 180) / STEP
        south, west = min(int(row), SHAPE[2] - 2), min(int(column), SHAPE[3] - 2)
        up, right = row - south, column - west
        corners = values[:, :, south : south + 2, west : west + 2] / 10.0
        weights = np.outer([1 - up, up], [1 - right, right])
        grid = Grid(round(row) * STEP - 90, round(column) * STEP - 180, None)
        return (corners * weights).sum(axis=(2, 3)), grid

    def _load(self) -> NDArray[np.int16] | None:
        """Return the array in the file, read again if the file was replaced.

        Return None if the file is missing or damaged.
        """
        try:
            made = self.path.stat().st_mtime_ns
        except OSError:
            self._values = self._made = None
            return None
        if made != self._made:
            self._made, self._values = made, read(self.path, SHAPE)
            if self._values is None:
                structlog.get_logger().warning("fallback_grid_damaged", file=GRID_FILE)
        return self._values


MONTH_DAYS = np.array([28.25 if m == 2 else monthrange(2001, m)[1] for m in range(1, 13)])


def read(path: Path, shape: tuple[int, ...]) -> NDArray[np.int16] | None:
    """Return the int16 array that a file contains, mapped into memory.

    Return None if the file is missing or damaged, or the array has another type or shape.
    """
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return np.asarray(values) if values.shape == shape and values.dtype == np.int16 else None


def _in_season(months: Floats, stay: Stay) -> Floats:
    """Return a value for each date of the stay, interpolated between the twelve monthly values.

    Each monthly value counts as the value in the middle of its month.
    """
    found = []
    for day in stay.dates():
        place = (day.day - 0.5) / monthrange(day.year, day.month)[1] - 0.5
        here = months[day.month - 1]
        other = months[(day.month - 1 + (1 if place > 0 else -1)) % 12]
        found.append(here + (other - here) * abs(place))
    return np.array(found)


def make(data_dir: Path, say: Callable[[str], None]) -> Path:
    """Download the package `itur`, and write the fallback grid and the terrain heights from it.

    `say` receives progress messages. Return the path of the grid's file.

    Raises:
        OperatorError: the package cannot be fetched, or the grid cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="location-context-") as folder:
        say("Fetching the grids (156 MB, once) …")
        package = fetch(Path(folder))
        values, terrain = extract(package, say)
    write(terrain, data_dir / TERRAIN_FILE)
    path = write(values, data_dir / GRID_FILE)
    say(f"The fallback grid is ready: {path.stat().st_size / 1e6:.1f} MB")
    return path


def fetch(folder: Path) -> Path:
    """Download the package `itur` with pip into `folder`, and return its path.

    pip checks the hash of the package.

    Raises:
        OperatorError: pip could not fetch it.
    """
    wanted = folder / "wanted.txt"
    wanted.write_text(REQUIREMENT, encoding="utf-8")
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes",
        "--only-binary", ":all:", "--disable-pip-version-check", "--progress-bar", "on",
        "--requirement", str(wanted), "--dest", str(folder),
    ]  # fmt: skip
    errors = subprocess.PIPE  # pip reports its progress on its output
    pip = subprocess.run(command, stdout=STDERR, stderr=errors, text=True, check=False)  # noqa: S603  a fixed command
    found = list(folder.glob("itur-*.whl"))
    if pip.returncode or not found:
        raise OperatorError(
            "pip could not fetch the package itur for the fallback grid: "
            f"{_why(pip.stderr)}. Try again with "
            "`location-context climate fallback`, or run the service without that grid."
        )
    return found[0]


def _why(said: str) -> str:
    """Return the first error in pip's output `said`, without web addresses."""
    lines = [line for line in said.splitlines() if "ERROR" in line.upper()]
    words = [word for word in (lines or ["no file was found"])[0].split() if "://" not in word]
    return " ".join(words).removeprefix("ERROR: ").rstrip(".:")


def extract(
    package: Path, say: Callable[[str], None]
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return the fallback grid and the terrain heights in m, read from the package `itur`.

    The content is not checked, since pip has checked the package's hash. `say` receives progress
    messages.
    """
    values = np.zeros(SHAPE, np.int16)
    with zipfile.ZipFile(package) as archive:
        for month in range(12):
            say(f"Reading month {month + 1} of 12 …")
            kelvin = _field(archive, _TEMPERATURE.format(month + 1))
            rain = _field(archive, _RAIN.format(month + 1))
            values[0, month] = np.round((kelvin - _ABSOLUTE_ZERO) * 10)
            values[1, month] = np.round(_coarse(rain) * 10)
        heights = _field(archive, _TERRAIN)
    return values, np.rint(heights[-3:1:-1, 2:-2]).astype(np.int16)  # without the overlapping rim


def _field(archive: zipfile.ZipFile, name: str) -> Floats:
    with np.load(io.BytesIO(archive.read(name)), allow_pickle=False) as holder:
        field: Floats = np.asarray(holder[holder.files[0]], float)
    return field


def _coarse(fine: Floats) -> Floats:
    """Return for each point of the fallback grid the mean of the values around it.

    `fine` has the values on a grid of 0.25 degrees. Its first point lies 0.125 degrees south and
    west of the first point of the fallback grid.
    """
    rows: Floats = np.arange(SHAPE[2], dtype=float) * STEP - 90
    columns: Floats = np.arange(SHAPE[3], dtype=float) * STEP - 180
    total: Floats = np.zeros(SHAPE[2:])
    for north in (-0.25, 0.0, 0.25):
        for east in (-0.25, 0.0, 0.25):
            total = total + _bilinear(fine, np.clip(rows + north, -90, 90), columns + east)
    return total / 9


def _bilinear(fine: Floats, lat: Floats, lng: Floats) -> Floats:
    y = (lat + 90.125) / 0.25
    x = np.clip((lng + 180.125) / 0.25, 0, fine.shape[1] - 1)
    south, west = np.minimum(y.astype(int), 720), np.minimum(x.astype(int), 1440)
    up, right = (y - south)[:, None], (x - west)[None, :]
    low = fine[south][:, west] * (1 - right) + fine[south][:, west + 1] * right
    high = fine[south + 1][:, west] * (1 - right) + fine[south + 1][:, west + 1] * right
    return np.asarray(low * (1 - up) + high * up)


def write(values: NDArray[np.int16], path: Path) -> Path:
    """Write an array into the file `path`, completely or not at all; return `path`.

    Raises:
        OperatorError: the file cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                np.save(file, values, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}") from None
    return path
