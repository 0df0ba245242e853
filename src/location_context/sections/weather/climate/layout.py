"""The folder of a climate store: a manifest, and arrays that are mapped into memory.

The folder is `climate/<source>-<first year>-<last year>/` in the data directory. It contains

- `manifest.json`: the source with its licence notices, the years, the grid, the fields with their
  scales, and the tiles with their slots and checksums;
- `index.npy`: int32, latitudes x longitudes, the slot of each cell of the grid, or -1 for none;
- `cells.npy`: int16, slots x (height in m, relief in m, share of land in percent);
- `stats.npy`: int16, slots x places x fields, the statistics of each date;
- `history.npy`: int16, slots x places x years x (high, low, rain), the daily values themselves.

A slot is a grid cell's row in the arrays. A place is the number of a date in a year of 366 days
(`climatology.places`); places from 366 on are dates in the next year, for stays over New Year. The
stored integers are `round((value - offset) / scale)`, and -32768 means unknown. Any tool that reads
`.npy` files can read a store.
"""

import math
import os
import shutil
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.point import Point
from location_context.sections.contract import Attribution
from location_context.sections.weather import climatology, records
from location_context.sections.weather.records import FIELDS, Floats
from location_context.stay import LONGEST_DAYS

FORMAT = 1
FOLDER = "climate"  # in the data directory
PART = ".part"  # ends the name of a store under construction
MANIFEST = "manifest.json"
PLACES = climatology.YEAR_PLACES + LONGEST_DAYS
UNKNOWN = -32768
CELL_FIELDS = ("height", "relief", "land")

Packed = NDArray[np.int16]

# Scale and offset by `Field.measure`: fine enough that no answer changes, and wide enough for
# `Field.lowest` and `Field.highest`; only rain ends at 655 mm, which stands for any more.
_SCALES = {
    "temperature": (0.01, 0.0),
    "precipitation": (0.01, 327.67),
    "snowfall": (0.01, 327.67),
    "wind_speed": (0.02, 0.0),
    "bearing": (0.02, 0.0),
    "percent": (0.01, 0.0),
    "hours": (0.001, 0.0),
    "count": (1.0, 0.0),
}


class Tile(NamedTuple):
    """A rectangle of a source's grid, which one call of `ClimateSource.read` reads.

    Attributes:
        row, column: the first row and column.
        rows, columns: the size.
    """

    row: int
    column: int
    rows: int
    columns: int

    @property
    def key(self) -> str:
        return f"{self.row},{self.column}"


class Scale(msgspec.Struct, frozen=True):
    """The numbers by which a field is stored as integers: `round((value - offset) / scale)`."""

    name: str
    scale: float
    offset: float

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the scale of a statistic by its name.

        `temperature_max_p10` and `temperature_max_p90` have the scale of `temperature_max`.
        """
        if name == "samples":
            return cls(name, 1.0, 0.0)
        return cls(name, *_SCALES[FIELDS[name.removesuffix("_p10").removesuffix("_p90")].measure])


class Grid(msgspec.Struct, frozen=True):
    """A regular grid of cell centres in degrees.

    Row 0 is at latitude `south`, and rows run north. Column 0 is at longitude `west`, and columns
    run east.
    """

    south: float
    west: float
    lat_step: float
    lng_step: float
    rows: int
    columns: int

    @property
    def spans_globe(self) -> bool:
        return abs(self.columns * self.lng_step - 360) < self.lng_step / 2

    def lat(self, row: int) -> float:
        return self.south + row * self.lat_step

    def lng(self, column: int) -> float:
        """Return a column's longitude in degrees, at least -180 and less than 180."""
        return (self.west + column * self.lng_step + 180) % 360 - 180

    def around(self, point: Point) -> list[tuple[int, int]]:
        """Return the cell that contains a point, and the cells next to it, nearest centre first.

        Each cell is a pair (row, column). The list is empty if the point lies outside the grid.
        """
        up = (point.lat - self.south) / self.lat_step
        along = (point.lng - self.west) % 360 / self.lng_step
        if not self.spans_globe and along > self.columns - 0.5:
            along -= 360 / self.lng_step  # the point is at most half a cell west of the grid
        row, column = round(up), round(along)
        if not (0 <= row < self.rows and (self.spans_globe or 0 <= column < self.columns)):
            return []
        narrow = math.cos(math.radians(point.lat)) * self.lng_step / self.lat_step
        near = sorted(
            ((y - up) ** 2 + ((x - along) * narrow) ** 2, y, x)
            for y in range(max(row - 1, 0), min(row + 2, self.rows))
            for x in range(column - 1, column + 2)
            if self.spans_globe or 0 <= x < self.columns
        )
        return [(y, x % self.columns) for _, y, x in near]


class TileState(msgspec.Struct, frozen=True):
    """A tile as recorded in the manifest: where its cells are stored, and a checksum.

    Attributes:
        first_slot: the index of its first cell in the arrays.
        cells: the number of its cells, which follow each other in the arrays.
        sha256: the SHA-256 of its statistics and history.
    """

    tile: Tile
    first_slot: int
    cells: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a climate store (`manifest.json`); `years` are its first and last year."""

    format: int = FORMAT
    source: str
    title: str
    model: str
    years: tuple[int, int]
    grid: Grid
    fields: tuple[Scale, ...]
    history: tuple[Scale, ...]
    representativeness: tuple[float, float] | None
    attribution: tuple[Attribution, ...]
    region: str
    slots: int
    tiles: tuple[TileState, ...] = ()
    built_at: datetime | None = None

    @property
    def name(self) -> str:
        return f"{self.source}-{self.years[0]}-{self.years[1]}"

    def replaced_by(self, other: Self) -> bool:
        """Return True if the store with the manifest `other` makes this store superfluous.

        `other` must have the same source, grid and region, and a last year that is not earlier.
        """
        same = (self.source, self.grid, self.region) == (other.source, other.grid, other.region)
        return same and other.years[1] >= self.years[1]

    @property
    def year_list(self) -> range:
        return range(self.years[0], self.years[1] + 1)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each of the store's arrays, by the name of its file without `.npy`."""
        return {
            "index": (self.grid.rows, self.grid.columns),
            "cells": (self.slots, len(CELL_FIELDS)),
            "stats": (self.slots, PLACES, len(self.fields)),
            "history": (self.slots, PLACES, len(self.year_list), len(self.history)),
        }

    @property
    def as_of(self) -> date:
        return date(self.years[1], 12, 31)


class StoreDamaged(Exception):
    """Raised if a folder is not a complete climate store of this version; the message says why."""


@dataclass(frozen=True)
class Arrays:
    """The arrays of a climate store, mapped into memory; the module's docstring describes them."""

    index: NDArray[np.int32]
    cells: Packed
    stats: Packed
    history: Packed


class Rows:
    """Reads rows of an array from its file when they are needed, without mapping it into memory.

    Mapped pages would count as the worker's memory, up to the size of the store, and the process
    would crash if the file were truncated.
    """

    def __init__(self, path: Path, array: Packed) -> None:
        """Open the file at `path` for reading.

        `array` is the same file mapped into memory; only its shape and layout are used.

        Raises:
            OSError: the file no longer exists.
        """
        assert isinstance(array, np.memmap)
        self._offset, self._shape = array.offset, array.shape[1:]
        self._row_bytes = array.strides[1]
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def read(self, slot: int, first: int, last: int) -> Packed | None:
        """Return a grid cell's values on the dates `first` to `last`.

        Return None if the file was truncated. `slot` is the cell's index in the array; `first` and
        `last` are dates, numbered from 0 for 1 January (`climatology.places`).
        """
        begin = self._offset + (slot * self._shape[0] + first) * self._row_bytes
        size = (last + 1 - first) * self._row_bytes
        read = os.pread(self._file, size, begin)
        if len(read) < size:
            return None
        return np.frombuffer(read, np.int16).reshape(last + 1 - first, *self._shape[1:])


def scales_of(fields: Sequence[str]) -> tuple[Scale, ...]:
    """Return the scales of all statistics in `stats.npy`, in order, for a source with `fields`."""
    tenths = (f"{name}_{level}" for name in records.TEMPERATURES[:2] for level in ("p10", "p90"))
    names = (*fields, *tenths, "precipitation_probability", "precipitation_sum_p90", "samples")
    return tuple(map(Scale.of, names))


def pack(values: Floats, scales: tuple[Scale, ...]) -> Packed:
    """Convert values to the integers that a store contains; NaN becomes `UNKNOWN`.

    `scales` has an entry for each index of the last axis.
    """
    scale, offset = _factors(scales)
    whole = np.rint((values - offset) / scale)
    return np.where(np.isnan(whole), UNKNOWN, np.clip(whole, -32767, 32767)).astype(np.int16)


def unpack(packed: Packed, scales: tuple[Scale, ...]) -> Floats:
    """Convert a store's integers to values; `UNKNOWN` becomes NaN.

    `scales` has an entry for each index of the last axis.
    """
    scale, offset = _factors(scales)
    return np.where(packed == UNKNOWN, np.nan, packed * scale + offset)


@lru_cache(maxsize=64)
def _factors(scales: tuple[Scale, ...]) -> tuple[Floats, Floats]:
    return np.array([one.scale for one in scales]), np.array([one.offset for one in scales])


def create(folder: Path, manifest: Manifest, index: NDArray[np.int32], cells: Packed) -> Arrays:
    """Create the files of a new store's arrays, and return the arrays mapped for writing.

    Statistics and history are still empty. The manifest is written at the end by `finish`: servers
    ignore a folder without a manifest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "index.npy", index, allow_pickle=False)
    np.save(folder / "cells.npy", cells, allow_pickle=False)
    made = [
        np.lib.format.open_memmap(
            folder / f"{name}.npy", mode="w+", dtype=np.int16, shape=manifest.shapes[name]
        )
        for name in ("stats", "history")
    ]
    return Arrays(index, cells, *made)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a store's folder.

    Raises:
        StoreDamaged: the manifest is missing, damaged or of another version.
    """
    try:
        found = msgspec.json.decode((folder / MANIFEST).read_bytes())
        version = found.get("format") if isinstance(found, dict) else None
        if version != FORMAT:
            raise StoreDamaged(f"its format is {version}; this version reads {FORMAT}")
        return msgspec.convert(found, Manifest)
    except OSError as error:
        raise StoreDamaged(f"{MANIFEST}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise StoreDamaged(
            f"{MANIFEST} is damaged: the file is not JSON, or a field is missing or wrong"
        ) from None


def open_arrays(folder: Path, manifest: Manifest, *, writable: bool = False) -> Arrays:
    """Return the arrays of a store, mapped into memory.

    Raises:
        StoreDamaged: an array is missing, truncated or does not have the manifest's shape.
    """
    mapped = {}
    for name, shape in manifest.shapes.items():
        try:
            array = np.load(
                folder / f"{name}.npy", mmap_mode="r+" if writable else "r", allow_pickle=False
            )
        except (OSError, ValueError, EOFError):
            raise StoreDamaged(f"{name}.npy is missing or truncated") from None
        wanted = np.int32 if name == "index" else np.int16
        if array.shape != shape or array.dtype != wanted:
            raise StoreDamaged(f"{name}.npy does not have the shape and type in the manifest")
        mapped[name] = array
    return Arrays(**mapped)


def finish(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, which marks the store as complete; it is never half written."""
    part = folder / f"{MANIFEST}{PART}"
    with part.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / MANIFEST)


def publish(part: Path, manifest: Manifest) -> Path:
    """Move a complete store to its final folder, and return that folder.

    Older stores that the store replaces are removed. At any moment a server finds the old store or
    the new store.
    """
    finish(part, manifest)
    root = part.parent
    names = (f"{manifest.name}{number}" for number in ("", *(f"-{n}" for n in range(2, 10_000))))
    folder = next(root / name for name in names if not (root / name).exists())
    part.rename(folder)
    for other in folders(root.parent):
        try:
            replaced = other != folder and read_manifest(other).replaced_by(manifest)
        except StoreDamaged:
            continue
        if replaced:
            remove(other)
    return folder


def remove(folder: Path) -> None:
    """Remove a store's folder; a server that has the store open can still read it."""
    hidden = folder.with_name(f"{folder.name}.removed{PART}")
    folder.rename(hidden)
    shutil.rmtree(hidden)


def folders(data_dir: Path) -> list[Path]:
    """Return the folders of all stores, complete or damaged, except stores under construction."""
    root = data_dir / FOLDER
    if not root.is_dir():
        return []
    found = (path for path in root.iterdir() if path.is_dir() and path.suffix != PART)
    return sorted(path for path in found if not path.name.startswith("."))
