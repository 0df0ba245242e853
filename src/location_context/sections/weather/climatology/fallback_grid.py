"""Fallback: monthly mean temperature and rain for every place on Earth, from a file of our making.

One array of 2 x 12 x 241 x 481 int16 (tenths of a degree C; tenths of a mm a month) on a grid of
0.75 degrees, north up from -90, east from -180, made by `fallback_grid_builder`. It is mapped into
memory, so that a request reads a few pages. Bilinear in place; in season linear between the middles
of the months.
"""

from calendar import monthrange
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from location_context.point import Point
from location_context.sections.weather.attributions import ITU
from location_context.sections.weather.records import LIMITS, Grid, WeatherSeries
from location_context.settings.data_dir import GRID_FILE
from location_context.stay import Stay

STEP = 0.75
SHAPE = (2, 12, 241, 481)
NAME = "ITU-R"
MODEL = "P.1510-1 and P.837-7"
SERIES_TTL = timedelta(minutes=1)


class FallbackGrid:
    """The grid in the data directory; there when the file is."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / GRID_FILE
        self._values: NDArray[np.int16] | None = None
        self._made: int | None = None

    @property
    def exists(self) -> bool:
        return self._load() is not None

    def series(self, point: Point, stay: Stay) -> WeatherSeries | None:
        """The monthly means on the stay's dates; None when there is no grid."""
        values = self._load()
        if values is None:
            return None
        months, grid = _at(values, point)
        unknown = np.full(stay.days, np.nan)
        columns = dict.fromkeys(LIMITS, unknown)
        columns["temperature_mean"] = _in_season(months[0], stay)
        columns["precipitation_sum"] = _in_season(months[1] / _MONTH_DAYS, stay)
        return WeatherSeries(
            mode="climatology",
            kind="monthly_mean",
            provider=NAME,
            model=MODEL,
            columns=columns,
            attribution=(ITU,),
            ttl=SERIES_TTL,
            as_of=None,
            grid=grid,
        )

    def _load(self) -> NDArray[np.int16] | None:
        """The array, read again when another file is there."""
        try:
            made = self.path.stat().st_mtime_ns
        except OSError:
            self._values = self._made = None
            return None
        if made != self._made:
            self._made, self._values = made, self._map()
        return self._values

    def _map(self) -> NDArray[np.int16] | None:
        try:
            values = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            values = None
        if values is None or values.shape != SHAPE or values.dtype != np.int16:
            structlog.get_logger().warning("fallback_grid_damaged", file=GRID_FILE)
            return None
        return np.asarray(values)


_MONTH_DAYS = np.array([28.25 if m == 2 else monthrange(2001, m)[1] for m in range(1, 13)])


def _at(values: NDArray[np.int16], point: Point) -> tuple[NDArray[np.float64], Grid]:
    """The twelve months of both fields at a point, in °C and mm a month."""
    row, column = (point.lat + 90) / STEP, (point.lng + 180) / STEP
    south, west = min(int(row), SHAPE[2] - 2), min(int(column), SHAPE[3] - 2)
    up, right = row - south, column - west
    corners = values[:, :, south : south + 2, west : west + 2] / 10.0
    weights = np.outer([1 - up, up], [1 - right, right])
    grid = Grid(round(row) * STEP - 90, round(column) * STEP - 180, None)
    return (corners * weights).sum(axis=(2, 3)), grid


def _in_season(months: NDArray[np.float64], stay: Stay) -> NDArray[np.float64]:
    """A value for each date, linear between the middles of the months."""
    return np.array([_on(months, day) for day in stay.dates()])


def _on(months: NDArray[np.float64], day: date) -> float:
    """Between the month's own middle and that of the month before or after."""
    length = monthrange(day.year, day.month)[1]
    place = (day.day - 0.5) / length - 0.5
    here = months[day.month - 1]
    other = months[(day.month - 1 + (1 if place > 0 else -1)) % 12]
    return float(here + (other - here) * abs(place))
