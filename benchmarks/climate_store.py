"""The climate store: how quickly it is built, what a worker holds, and how quickly it is read.

    python -m benchmarks.climate_store [--tiles 40] [--moments 10] [--json]

A made-up archive in the layout of NASA POWER's (Zarr v2, chunks of 5844 x 15 x 15, blosc with zstd,
eight variables) is built by one worker and by two. `core hours` is the workers' CPU for a cell,
with reading and Dask, times the 207,936 cells of the whole grid; `core hours of statistics` is
`build_tile` alone, which took 0.54 in the design's trial. `MB` is a worker's largest resident
memory.

Then small builds are killed (`kill -9`), the client and a worker in turn, and go on: the files have
to be those of a build without interruption, byte for byte.

Reading: a week with its history from a warm store, in this process; and the opening of a store of
200,000 cells, whose files are sparse.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zarr

from benchmarks.harness import figures
from location_context.point import Point
from location_context.sections.weather.climate import build as builder
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.layout import Manifest
from location_context.sections.weather.climate.power import Power
from location_context.sections.weather.climate.store import ClimateStore, ClimateStores
from location_context.sections.weather.climate.tile import HISTORY_SCALES, build_tile
from location_context.sections.weather.providers.nasa_power import TABLE
from location_context.sections.weather.records import ROW
from location_context.stay import Stay
from tests.sections.weather.climate.archives import write_power
from tests.sections.weather.climate.stores import POWER_GRID, seasons, write_store

YEARS = range(2016, 2026)
FIRST, LAST = date(2015, 12, 1), date(2026, 4, 30)
WORLD_CELLS = 361 * 576
SIDE = 15
NOW = datetime(2026, 11, 21, tzinfo=UTC)
LOOKUPS = 5000
SPARSE_SLOTS = 200_000


def write_archive(folder: Path, tiles: int) -> Path:
    """Write an archive of so many tiles in a row, each with the values of the first."""
    made, days = seasons(FIRST, (LAST - FIRST).days + 1), (LAST - FIRST).days + 1
    random = np.random.default_rng(3)
    apart = random.normal(0, 3, (1, SIDE, SIDE))
    series = {}
    for name, native in TABLE.items():
        values = made[ROW[name]]
        if np.isnan(values).all():
            values = random.uniform(0, 60, days)
        spread = 0 if name == "precipitation_sum" else apart
        series[native.path] = np.round(np.maximum(values[:, None, None] + spread, -90), 2)
        series[native.path] = np.broadcast_to(series[native.path], (days, SIDE, SIDE))
    lats, lngs = np.arange(SIDE) * 0.5, np.arange(SIDE) * 0.625 - 180
    write_power(folder, series, FIRST, lats, lngs)
    for native in TABLE.values():
        for chunk in (folder / native.path).glob("*.0.0"):
            for tile in range(1, tiles):
                os.link(chunk, chunk.with_name(chunk.name.replace(".0.0", f".0.{tile}")))
        description = folder / native.path / ".zarray"
        shape = msgspec.json.decode(description.read_bytes())
        shape["shape"][2] = SIDE * tiles
        description.write_bytes(msgspec.json.encode(shape))
    group = zarr.open_group(folder, mode="r+", zarr_format=2)
    del group["lon"]
    lngs = np.arange(SIDE * tiles) * 0.625 - 180
    axis = group.create_array("lon", shape=lngs.shape, dtype="f8", chunks=lngs.shape,
                              fill_value=np.nan)  # fmt: skip
    axis[:] = lngs
    axis.attrs["_ARRAY_DIMENSIONS"] = ["lon"]
    zarr.consolidate_metadata(folder, zarr_format=2)
    return folder


def plan(data_dir: Path, archive: Path) -> builder.Build:
    source = Power.open(str(archive))
    job = builder.Job("power", str(archive), YEARS)
    return builder.Build(data_dir, job, source, builder.rectangle(source, -180, -90, 180, 90))


def usage() -> tuple[float, float]:
    """Return this process's CPU seconds and largest resident MB; runs in a worker."""
    status = Path("/proc/self/status").read_text("ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return time.process_time(), int(peak.split()[1]) / 1000


def built(archive: Path, workers: int, folder: Path) -> dict[str, Any]:
    """Build a store and return the rate, a worker's memory and its CPU for the whole Earth."""
    build = plan(folder, archive)
    with builder.cluster(None, workers) as client:
        before = client.run(usage)
        progress = build.run(client, lambda _: None)
        after = client.run(usage)
    if progress.failed:
        raise SystemExit(f"failed: {progress.failed}")
    build.publish(NOW)
    spent = sum(after[one][0] - before[one][0] for one in after)
    return {
        "cells": progress.cells,
        "cells a second": progress.cells_a_second,
        "MB": max(peak for _, peak in after.values()),
        "core hours": spent / progress.cells * WORLD_CELLS / 3600,
    }


def of_statistics(archive: Path) -> float:
    """Return the core hours in which the whole Earth's arrays are computed from daily values."""
    source = Power.open(str(archive))
    first, last = builder.days_of(YEARS)
    spent = []
    for tile in source.tiles()[:3]:
        values = source.read(tile, first, last)
        began = time.process_time()
        build_tile(values, first, YEARS, source.fields)
        spent.append((time.process_time() - began) / len(values))
    return figures.median(spent, 6) * WORLD_CELLS / 3600


def killed(archive: Path, folder: Path, moments: int) -> dict[str, Any]:
    """Kill builds at so many moments; return the number of those that ended with other bytes."""
    with builder.cluster(None, 1) as client:
        build = plan(folder / "whole", archive)
        build.run(client, lambda _: None)
        whole = build.publish(NOW)
    command = [sys.executable, "-m", "benchmarks.climate_store", "--run", str(archive)]
    random, differing = np.random.default_rng(11), 0
    for moment in range(moments):
        data_dir = folder / f"{moment}"
        victim_is_client = moment % 2 == 0
        with subprocess.Popen(
            [*command, str(data_dir)], stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as started:
            assert started.stdout is not None
            worker = int(started.stdout.readline())
            time.sleep(random.uniform(0.2, 3.0))  # tasks are under way
            os.kill(started.pid if victim_is_client else worker, signal.SIGKILL)
            started.communicate(timeout=300)
            if victim_is_client:
                os.killpg(started.pid, signal.SIGKILL)
                subprocess.run([*command, str(data_dir)], check=True, capture_output=True)
        (made,) = layout.folders(data_dir)
        names = sorted(path.name for path in whole.iterdir())
        differing += any((made / one).read_bytes() != (whole / one).read_bytes() for one in names)
        shutil.rmtree(data_dir)
    return {"moments": moments, "with other bytes": differing}


def run(archive: Path, data_dir: Path) -> None:
    """Build a store, after printing the worker's process."""
    build = plan(data_dir, archive)
    with builder.cluster(None, 1) as client:
        print(*client.run(os.getpid).values(), flush=True)
        progress = build.run(client, lambda _: None)
    if progress.failed:
        raise SystemExit(f"failed: {progress.failed}")
    build.publish(NOW)


def read(folder: Path) -> dict[str, Any]:
    """Return the microseconds of a week with its history, and its quickest."""
    paris = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
    values = seasons(FIRST, (LAST - FIRST).days + 1)
    write_store(folder, {(paris.lat, paris.lng): values}, FIRST)
    stores, stay = ClimateStores(folder), Stay(date(2027, 7, 10), date(2027, 7, 16))
    spent = []
    for _ in range(LOOKUPS):
        began = time.perf_counter()
        stores.series(paris, stay)
        spent.append(1e6 * (time.perf_counter() - began))
    return {"median": figures.median(spent), "best": round(min(spent), 1)}


def opened(folder: Path) -> dict[str, Any]:
    """Return the milliseconds in which a store of 200,000 cells opens, and what a worker gains."""
    manifest = Manifest(
        source="power", title="", model="", years=(2016, 2025), grid=POWER_GRID,
        fields=layout.scales_of(("temperature_max", "temperature_min", "precipitation_sum")),
        history=HISTORY_SCALES, representativeness=None, attribution=(), region="world",
        slots=SPARSE_SLOTS,
    )  # fmt: skip
    index = np.full((POWER_GRID.rows, POWER_GRID.columns), -1, np.int32)
    index.reshape(-1)[:SPARSE_SLOTS] = np.arange(SPARSE_SLOTS)
    part = folder / layout.FOLDER / f"sparse{layout.PART}"
    layout.create(part, manifest, index, np.zeros((SPARSE_SLOTS, 3), np.int16))
    made = layout.publish(part, manifest)
    spent, size = [], sum(path.stat().st_size for path in made.iterdir())
    before = usage()[1]
    for _ in range(20):
        began = time.perf_counter()
        ClimateStore.open(made)
        spent.append(1000 * (time.perf_counter() - began))
    return {
        "median ms": figures.median(spent, 2),
        "worst ms": round(max(spent), 2),
        "GB": round(size / 1e9, 1),
        "MB gained": round(usage()[1] - before, 1),
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tiles", type=int, default=40)
    options.add_argument("--moments", type=int, default=10)
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    options.add_argument("--run", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.run:
        run(*given.run)
        return
    with tempfile.TemporaryDirectory(prefix="location-context-") as name:
        folder = Path(name)
        found: dict[str, dict[str, Any]] = {}
        found["a week with history, µs"] = read(folder / "read")
        found["opening 200,000 cells"] = opened(folder / "sparse")
        archive = write_archive(folder / "archive", given.tiles)
        for workers in (1, 2):
            found[f"built by {workers}"] = built(archive, workers, folder / f"by{workers}")
        found["whole Earth"] = {"core hours of statistics": of_statistics(archive)}
        one, two = (found[f"built by {workers}"]["cells a second"] for workers in (1, 2))
        found["two beside one"] = {"times": two / one}
        small = write_archive(folder / "small", 4)
        found["killed"] = killed(small, folder / "killed", given.moments)
        figures.show(found, given)


if __name__ == "__main__":
    main()
