"""The builder of a climate store: the typical weather of many grid cells, in one folder.

The grid of the source (a weather archive) is divided into tiles. For each tile a Dask worker reads
the source and returns the computed arrays. Workers write no files, so they may run on any machine.
Only the client (the process that started the build) writes: first a tile's arrays, then a record
that the tile is done. So a build can be interrupted at any moment and resumed; the files are the
same, byte for byte, as without an interruption.
"""

import hashlib
import json
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.errors import OperatorError
from location_context.point import Point
from location_context.sections import registry
from location_context.sections.weather.climate import layout, terrain
from location_context.sections.weather.climate.layout import Manifest, Packed, Tile, TileState
from location_context.sections.weather.climate.sources import GROUP, ClimateSource, needed
from location_context.sections.weather.climate.tile import HISTORY_SCALES, build_tile
from location_context.sections.weather.records import PAD_DAYS
from location_context.stay import LONGEST_DAYS

MAX_TRIES = 3
RETRY_SECONDS = 5.0
MEMORY_LIMIT = "600MB"  # of a worker
# By default Dask returns memory to the system at once, which costs a worker 40 % of its time.
ALLOCATION = {
    "MALLOC_TRIM_THRESHOLD_": 2**26,
    "MALLOC_MMAP_THRESHOLD_": 2**25,
    "OMP_NUM_THREADS": 1,
}
TASKS_A_WORKER = 2  # submitted at a time: one at work, one waiting
SCHEDULER_LOST = (
    "The connection to the Dask scheduler was lost. The finished tiles are kept; "
    "run this again to build the others."
)
DONE, PLAN = "done.jsonl", "plan.json"


@dataclass(frozen=True)
class Job:
    """The data that a worker needs: the source's name, its location, and the years to read."""

    source: str
    location: str | None
    years: range


@dataclass(frozen=True)
class Region:
    """The grid cells to build, where `wanted` is True; `label` is their name in the manifest."""

    label: str
    wanted: NDArray[np.bool_]  # rows x columns of the grid


@dataclass
class Progress:
    """The state of a build.

    Attributes:
        tiles: the number of all tiles.
        done: the number of finished tiles, including those of earlier runs.
        left: the number of cells still to build.
        cells: the number of cells built in this run.
        seconds: the time since this run began.
        failed: the tiles that failed three times, each with the reason.
    """

    tiles: int
    done: int
    left: int
    cells: int = 0
    seconds: float = 0.0
    failed: dict[Tile, str] = field(default_factory=dict)

    @property
    def cells_a_second(self) -> float:
        return self.cells / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds until the build ends; None until this run has built a tile."""
        return self.left / self.cells_a_second if self.cells else None


def open_source(name: str, location: str | None) -> ClimateSource:
    """Open the climate source with this entry-point name, at a location.

    Raises:
        OperatorError: no source has this name, or the source cannot be read.
    """
    sources = {one.name: one for one in registry.load(GROUP, ClimateSource)}
    if name not in sources:
        raise OperatorError(f"There is no source {name!r}. Accepted: {', '.join(sorted(sources))}")
    return sources[name].open(location)


@lru_cache(maxsize=2)
def _source_of(job: Job) -> ClimateSource:
    """Return the climate source that a job reads; each worker opens the source only once."""
    return open_source(job.source, job.location)


def compute(job: Job, tile: Tile, cells: tuple[int, ...], pause: float) -> tuple[Packed, Packed]:
    """Read a tile from the source, and return statistics and history of its wanted cells.

    This is the task that a Dask worker runs. `cells` are the indices of the wanted cells in the
    tile. `pause` is the wait in seconds before the source is read, for tiles that failed before.
    """
    time.sleep(pause)
    source = _source_of(job)
    first, last = days_of(job.years)
    values = source.read(tile, first, last)
    if len(cells) < len(values):
        values = values[list(cells)]
    return build_tile(values, first, job.years, source.fields)


def days_of(years: range) -> tuple[date, date]:
    """Return the first and last day to read from the source to build a store of these years."""
    first = date(years[0], 1, 1).toordinal() - PAD_DAYS
    last = date(years[-1], 12, 31).toordinal() + PAD_DAYS + LONGEST_DAYS
    return date.fromordinal(first), date.fromordinal(last)


def world(described: Packed) -> Region:
    """Return a region of all cells with land, and all cells next to them.

    `described` is the result of `terrain.describe`. Cells without known terrain count as land.
    """
    land = described[..., 2] != 0
    near = land.copy()
    for up in (-1, 0, 1):
        for along in (-1, 0, 1):
            near |= np.roll(np.roll(land, up, axis=0), along, axis=1)
    return Region("world", near)


def rectangle(
    source: ClimateSource, west: float, south: float, east: float, north: float
) -> Region:
    """Return a region of all cells that touch a rectangle, which is given in degrees.

    If `west` is greater than `east`, the rectangle crosses the date line.
    """
    grid = source.grid
    lats = np.array([grid.lat(row) for row in range(grid.rows)])
    lngs = np.array([grid.lng(column) for column in range(grid.columns)])
    rows = (lats >= south - grid.lat_step / 2) & (lats <= north + grid.lat_step / 2)
    half = grid.lng_step / 2
    span = (east - west) % 360 or 360.0 * (east != west)
    columns = (lngs - (west - half)) % 360 <= span + grid.lng_step
    return Region(f"{west:g},{south:g},{east:g},{north:g}", rows[:, None] & columns)


def around(source: ClimateSource, places: Iterable[Point]) -> Region:
    """Return a region of the cells that contain these places, and all cells next to them."""
    wanted = np.zeros((source.grid.rows, source.grid.columns), bool)
    for place in places:
        for row, column in source.grid.around(place):
            wanted[row, column] = True
    digest = hashlib.sha256(np.packbits(wanted).tobytes()).hexdigest()[:8]
    return Region(f"places {digest}", wanted)


class Build:
    """The build of one climate store; an interrupted build can be resumed."""

    def __init__(self, data_dir: Path, job: Job, source: ClimateSource, region: Region) -> None:
        """Divide the region into tiles, and find the tiles that an interrupted run has finished.

        Raises:
            OperatorError: the source does not cover all years, or the region has no cell.
        """
        self.job, self.source = job, source
        self._check_years()
        self._cells: dict[Tile, tuple[int, ...]] = {}
        self._first_slot: dict[Tile, int] = {}
        index = np.full(region.wanted.shape, -1, np.int32)
        slots = 0
        for tile in source.tiles():
            rows = slice(tile.row, tile.row + tile.rows)
            columns = slice(tile.column, tile.column + tile.columns)
            cells = np.flatnonzero(region.wanted[rows, columns])
            if len(cells):
                self._cells[tile], self._first_slot[tile] = tuple(cells.tolist()), slots
                numbered = np.full(tile.rows * tile.columns, -1, np.int32)
                numbered[cells] = np.arange(slots, slots + len(cells))
                index[rows, columns] = numbered.reshape(tile.rows, tile.columns)
                slots += len(cells)
        if not slots:
            raise OperatorError(
                f"The source has no cell in {region.label}; its grid: {source.grid}"
            )
        self.manifest = Manifest(
            source=source.name, title=source.title, model=source.model,
            years=(job.years[0], job.years[-1]), grid=source.grid,
            fields=layout.scales_of(source.fields), history=HISTORY_SCALES,
            representativeness=source.representativeness, attribution=(), region=region.label,
            slots=slots,
        )  # fmt: skip
        plan = json.dumps(
            [
                msgspec.to_builtins(self.manifest),
                job.location,
                hashlib.sha256(index.tobytes()).hexdigest(),
            ]
        )
        name = hashlib.sha256(plan.encode()).hexdigest()[:8]
        self.part = data_dir / layout.FOLDER / f"{self.manifest.name}-{name}{layout.PART}"
        self.done: dict[Tile, str] = {}
        if (self.part / PLAN).exists():
            self.arrays = layout.open_arrays(self.part, self.manifest, writable=True)
            self.done = self._read_done()
        else:
            shutil.rmtree(self.part, ignore_errors=True)
            described = terrain.describe(terrain.read(data_dir), source.grid)
            cells_of = np.full((slots, len(layout.CELL_FIELDS)), layout.UNKNOWN, np.int16)
            cells_of[index[index >= 0]] = described[index >= 0]
            self.arrays = layout.create(self.part, self.manifest, index, cells_of)
            (self.part / PLAN).write_text(plan, encoding="utf-8")

    def _check_years(self) -> None:
        first, last = date(self.job.years[0], 1, 1), date(self.job.years[-1], 12, 31)
        if first < self.source.first or last > self.source.last:
            raise OperatorError(
                f"The source has data from {self.source.first} to {self.source.last}; the years "
                f"{first.year}-{last.year} need {first} to {last}"
            )

    def _read_done(self) -> dict[Tile, str]:
        """Return the tiles that an interrupted run finished, each with its checksum."""
        try:
            lines = (self.part / DONE).read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        found = {}
        for line in lines:
            try:
                tile, sha256 = msgspec.json.decode(line, type=tuple[Tile, str])
            except msgspec.MsgspecError:  # the run was killed while it wrote the last line
                continue
            found[tile] = sha256
        return found

    def run(self, client: Any, report: Callable[[Progress], None]) -> Progress:
        """Build all tiles that are not done yet, and return the progress.

        A tile that fails three times is skipped.

        Args:
            client: a `distributed.Client`.
            report: called with the progress at the beginning and after each tile.

        Raises:
            OperatorError: the connection to the scheduler was lost; finished tiles remain.
        """
        todo = deque(tile for tile in self._cells if tile not in self.done)
        left = sum(len(self._cells[tile]) for tile in todo)
        progress = Progress(len(self._cells), len(self._cells) - len(todo), left)
        began = time.monotonic()
        tries: dict[Tile, int] = dict.fromkeys(todo, 0)
        completed = needed("distributed").as_completed()
        waiting: dict[str, Tile] = {}

        def submit() -> None:
            tile = todo.popleft()
            cells, pause = self._cells[tile], RETRY_SECONDS if tries[tile] else 0.0
            future = client.submit(compute, self.job, tile, cells, pause, pure=False, retries=0)
            waiting[future.key] = tile
            completed.add(future)

        report(progress)
        workers = max(1, len(client.scheduler_info()["workers"]))
        while todo and len(waiting) < TASKS_A_WORKER * workers:
            submit()
        while waiting:
            future = next(completed)
            tile = waiting.pop(future.key)
            tries[tile] += 1
            if future.status == "finished":
                self._write(tile, *future.result())
                progress.done += 1
                progress.cells += len(self._cells[tile])
                progress.left -= len(self._cells[tile])
            elif future.status != "error":
                raise OperatorError(SCHEDULER_LOST)
            elif tries[tile] < MAX_TRIES:
                todo.append(tile)
            else:
                progress.failed[tile] = f"{type(future.exception()).__name__}: {future.exception()}"
            future.release()
            if todo:
                submit()
            progress.seconds = time.monotonic() - began
            report(progress)
        return progress

    def _write(self, tile: Tile, stats: Packed, history: Packed) -> None:
        """Write a tile's arrays into the store's files, then record that the tile is done."""
        first = self._first_slot[tile]
        slots = slice(first, first + len(self._cells[tile]))
        self.arrays.stats[slots], self.arrays.history[slots] = stats, history
        for array in (self.arrays.stats, self.arrays.history):
            assert isinstance(array, np.memmap)
            array.flush()
        sha256 = sum_of(stats, history)
        with (self.part / DONE).open("ab") as file:
            file.write(b"\n" + msgspec.json.encode((tile, sha256)))  # a line may be torn
            file.flush()
            os.fsync(file.fileno())
        self.done[tile] = sha256

    def publish(self, now: datetime) -> Path:
        """Move the finished store to its final place, where servers find it; return its folder."""
        states = [
            TileState(tile, self._first_slot[tile], len(cells), self.done[tile])
            for tile, cells in self._cells.items()
        ]
        manifest = msgspec.structs.replace(
            self.manifest, tiles=tuple(states), built_at=now,
            attribution=tuple(self.source.attribution(now.date())),
        )  # fmt: skip
        folder = layout.publish(self.part, manifest)
        for name in (DONE, PLAN):  # last: if this is killed before, the next run needs them
            (folder / name).unlink()
        return folder


def sum_of(stats: Packed, history: Packed) -> str:
    """Return a checksum of a tile's arrays: their SHA-256 as hexadecimal text."""
    digest = hashlib.sha256(stats.tobytes())
    digest.update(history.tobytes())
    return digest.hexdigest()


@contextmanager
def cluster(address: str | None, workers: int) -> Iterator[Any]:
    """Yield a Dask client, connected to the scheduler at `address`.

    If `address` is None, start `workers` worker processes on this machine, and stop them at the
    end.

    Raises:
        OperatorError: the extra `climate` is not installed, or no scheduler answers at the address.
    """
    distributed = needed("distributed")
    if address is not None:
        try:
            client = distributed.Client(address, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise OperatorError(f"No Dask scheduler answers at {address}: {error}") from None
        with client:
            yield client
        return
    with (
        needed("dask").config.set({"distributed.nanny.pre-spawn-environ": ALLOCATION}),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=MEMORY_LIMIT,
            dashboard_address="127.0.0.1:0", silence_logs=50,
        ) as local,
        distributed.Client(local) as client,
    ):  # fmt: skip
        yield client
