"""Terrain: elevations of the whole Earth, from which a climate store's cells get their heights.

The file contains 2160 x 4320 elevations in m as int16, every 1/12 degree, northward from latitude
-90 and eastward from longitude -180; the sea has 0. The data are from Recommendation ITU-R
P.1511-2. The command that builds the fallback grid also writes this file.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather import fallback_grid
from location_context.sections.weather.climate.layout import CELL_FIELDS, UNKNOWN, Grid, Packed
from location_context.settings.data_dir import TERRAIN_FILE

SHAPE = (2160, 4320)
PER_DEGREE = 12


def read(data_dir: Path) -> Packed | None:
    """Return the terrain, mapped into memory; None if the file is missing or has another shape."""
    return fallback_grid.read(data_dir / TERRAIN_FILE, SHAPE)


def describe(terrain: Packed | None, grid: Grid) -> Packed:
    """Return height, relief and share of land of each grid cell, as rows x columns x 3.

    Height is the mean in m over the whole cell, including the sea. Relief is the span in m that
    contains nine tenths of the cell's heights. The share of land is in percent. If `terrain` is
    None, all values are `UNKNOWN`.
    """
    found = np.full((grid.rows, grid.columns, len(CELL_FIELDS)), UNKNOWN, np.int16)
    if terrain is None:
        return found
    columns = _within([grid.lng(column) + 180 for column in range(grid.columns)], grid.lng_step)
    for row in range(grid.rows):
        (rows,) = _within([grid.lat(row) + 90], grid.lat_step)
        inside = terrain[np.clip(rows, 0, SHAPE[0] - 1)[:, None, None], columns % SHAPE[1]]
        low, high = np.quantile(inside, [0.05, 0.95], axis=(0, 2))
        described = (inside.mean(axis=(0, 2)), high - low, 100 * (inside != 0).mean(axis=(0, 2)))
        found[row] = np.rint(np.stack(described, axis=-1))
    return found


def _within(centres: list[float], step: float) -> NDArray[np.int_]:
    """Return for each centre the indices of the terrain's rows (or columns) near the centre.

    Near means within half a `step`, in degrees. The result has a row for each centre.
    """
    count = max(1, round(step * PER_DEGREE))
    first = np.rint(np.array(centres) * PER_DEGREE - count / 2).astype(int)
    return first[:, None] + np.arange(count)
