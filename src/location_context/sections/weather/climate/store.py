"""The climate stores of the data directory: typical weather from files, without a provider.

Stores with a finer grid are preferred, then those with later years. If a store is built, copied or
removed, the modification time of the folder changes, and the next query uses the new state. The
files of a store that is in use stay readable even if its folder is replaced.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Self

import numpy as np
import structlog

from location_context.point import Point
from location_context.sections.weather import climatology
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.layout import Arrays, Manifest, Rows, StoreDamaged
from location_context.sections.weather.records import Grid, WeatherSeries
from location_context.stay import Stay

SERIES_TTL = timedelta(days=1)
ROWS = ("stats", "history")
FLAT_M = 100  # cells with less relief are not corrected for elevation: at most half a kelvin
_DAMAGE = "The climate store {} cannot be used: {}. Build it again, or remove it"


@dataclass(frozen=True)
class ClimateStore:
    """One climate store that is open.

    Queries read only the rows they need, from `stats` and `history`. `arrays` are for work on the
    whole store, such as maps and checks.
    """

    folder: Path
    manifest: Manifest
    arrays: Arrays
    stats: Rows
    history: Rows

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the climate store in a folder.

        Raises:
            StoreDamaged: the store is incomplete, or of another version.
        """
        manifest = layout.read_manifest(folder)
        arrays = layout.open_arrays(folder, manifest)
        try:
            rows = [Rows(folder / f"{name}.npy", getattr(arrays, name)) for name in ROWS]
        except OSError as error:
            raise StoreDamaged(f"{error.filename} is missing") from None
        return cls(folder, manifest, arrays, *rows)

    def series(self, point: Point, stay: Stay) -> WeatherSeries | None:
        """Return the typical weather of the stay at a point; None if the store has none there."""
        found = self.find(point)
        if found is None:
            return None
        slot, grid = found
        manifest, own = self.manifest, climatology.places(stay)
        first, last = int(own[0]), int(own[-1])
        before = max(first - 1, 0)  # 28 February, for a stay that begins on the 29th
        packed, days = self.stats.read(slot, first, last), self.history.read(slot, before, last)
        if packed is None or days is None:
            return None
        stats = layout.unpack(packed, manifest.fields)[own - first]
        columns = {one.name: stats[:, place] for place, one in enumerate(manifest.fields)}
        if np.isnan(columns["temperature_max"]).any():
            return None
        by_year = layout.unpack(days, manifest.history).transpose(2, 1, 0)
        years = manifest.year_list
        return WeatherSeries(
            kind="reanalysis",
            provider=manifest.title,
            model=manifest.model,
            columns=columns,
            attribution=manifest.attribution,
            ttl=SERIES_TTL,
            as_of=datetime.combine(manifest.as_of, time(23, 59, 59), UTC),
            years=years,
            samples_per_day=int(columns.pop("samples").min()),
            grid=grid,
            representativeness=manifest.representativeness,
            history=climatology.year_bodies(stay, years, by_year, before),
        )

    def find(self, point: Point) -> tuple[int, Grid] | None:
        """Return the grid cell for a point: its index in the store's arrays, and its centre.

        Return None if the point lies outside the store's region. If the point is in a country but
        its cell is all sea, return the nearest of the adjacent cells that has land.
        """
        grid, index, cells = self.manifest.grid, self.arrays.index, self.arrays.cells
        around = [(index[row, column], row, column) for row, column in grid.around(point)]
        if not around or around[0][0] < 0:
            return None
        if point.country is not None:
            with_land = (one for one in around if one[0] >= 0 and cells[one[0], 2] != 0)
            around[0] = next(with_land, around[0])
        slot, row, column = around[0]
        height, relief, _ = (int(value) for value in cells[slot])
        is_hilly = height != layout.UNKNOWN and relief >= FLAT_M
        elevation = float(height) if is_hilly else None
        return int(slot), Grid(grid.lat(row), grid.lng(column), elevation)


class ClimateStores:
    """All climate stores of a data directory, the finest grid first."""

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / layout.FOLDER
        self._changed: int | None = None
        self._stores: list[ClimateStore] = []
        self._damages: list[str] = []

    def series(self, point: Point, stay: Stay) -> WeatherSeries | None:
        """Return the typical weather of the stay, from the first store that has it for the point.

        Return None if no store has typical weather for the point.
        """
        for store in self.open():
            if (series := store.series(point, stay)) is not None:
                return series
        return None

    def open(self) -> list[ClimateStore]:
        """Return the usable stores; if the folder has changed, open them again first."""
        while (changed := self._when_changed()) != self._changed:
            self._changed = changed  # read again next time if the folder changes while it is read
            self._read()
        return self._stores

    def _when_changed(self) -> int | None:
        try:
            return self._root.stat().st_mtime_ns
        except OSError:
            return None

    def damages(self) -> list[str]:
        """Return a message for each store that cannot be used."""
        self.open()
        return self._damages

    def _read(self) -> None:
        stores, self._damages = [], []
        for folder in layout.folders(self._root.parent):
            try:
                stores.append(ClimateStore.open(folder))
            except StoreDamaged as damage:
                self._damages.append(_DAMAGE.format(folder.name, damage))
                log = structlog.get_logger()
                log.warning("climate_store_damaged", store=folder.name, why=str(damage))
        self._stores = sorted(stores, key=_preference)


def _preference(store: ClimateStore) -> tuple[float, int, float]:
    grid, manifest = store.manifest.grid, store.manifest
    built = manifest.built_at.timestamp() if manifest.built_at else 0.0
    return grid.lat_step * grid.lng_step, -manifest.years[1], -built
