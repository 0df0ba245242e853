"""A daily archive as NASA POWER publishes it: Zarr v2, chunks of 5844 x 15 x 15, -999 missing."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from urllib.request import urlopen

import boto3
import numpy as np
import zarr
from moto.server import ThreadedMotoServer
from numcodecs import Blosc, FixedScaleOffset

from location_context.point import Point
from location_context.sections.weather.records import ROW
from tests.sections.weather.climate.stores import NATIVE_NAMES, POWER_GRID

CHUNKS = (5844, 15, 15)
FIRST = date(1981, 1, 1)
BUCKET = "nasa-power"
City = tuple[tuple[float, float], date, np.ndarray]  # as `read_city` returns it


def write_power(
    folder: Path,
    series: Mapping[str, np.ndarray],
    first: date,
    lats: np.ndarray,
    lngs: np.ndarray,
    *,
    begin: date = FIRST,
) -> Path:
    """Write an archive that begins at `begin`, filled from `first` on.

    Args:
        folder: where.
        series: days x latitudes x longitudes of each native name, NaN where missing.
        first: of the series.
        lats, lngs: the centres.
        begin: of the archive's own axis.
    """
    group = zarr.open_group(folder, mode="w", zarr_format=2)
    before = (first - begin).days
    days = before + len(next(iter(series.values())))
    for name, values in (("lat", lats), ("lon", lngs), ("time", np.arange(days, dtype="i8"))):
        axis = group.create_array(
            name, shape=values.shape, dtype=values.dtype, chunks=values.shape,
            fill_value=None if name == "time" else np.nan,
        )  # fmt: skip
        axis[:] = values
        axis.attrs["_ARRAY_DIMENSIONS"] = [name]
    group["time"].attrs.update(units=f"days since {begin}", calendar="proleptic_gregorian")
    for number, (name, values) in enumerate(series.items()):
        filters = [FixedScaleOffset(offset=0, scale=100, dtype="f8", astype="i4")] if number else []
        array = group.create_array(
            name, shape=(days, len(lats), len(lngs)), chunks=CHUNKS, dtype="f8", fill_value=-999.0,
            filters=filters, compressors=Blosc(cname="zstd", clevel=1),
        )  # fmt: skip
        array.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"]
        if values.size:  # else nothing is written, and every chunk is missing
            array[before:] = np.where(np.isnan(values), -999.0, values)
    zarr.consolidate_metadata(folder, zarr_format=2)
    return folder


def write_cities(folder: Path, cities: Sequence[City]) -> Path:
    """Write an archive of the whole Earth that has values in the cells of these cities alone."""
    grid, last = POWER_GRID, max(first.toordinal() + v.shape[1] for _, first, v in cities)
    lats = grid.south + np.arange(grid.rows) * grid.lat_step
    lngs = grid.west + np.arange(grid.columns) * grid.lng_step
    nothing = np.empty((last - FIRST.toordinal(), 0, 0))
    write_power(folder, dict.fromkeys(NATIVE_NAMES, nothing), FIRST, lats, lngs)
    group = zarr.open_group(folder, mode="r+", zarr_format=2)
    for native, name in NATIVE_NAMES.items():
        for (lat, lng), first, values in cities:
            row, column = grid.around(Point(lat, lng, "UTC"))[0]
            begin = (first - FIRST).days
            series = np.nan_to_num(values[ROW[name]], nan=-999.0)
            group[native][begin : begin + len(series), row, column] = series
    return folder


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """Serve a folder as a public bucket on loopback, and yield the server's address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    urlopen(f"{address}/moto-api/reset", b"")
    client = boto3.client(
        "s3", endpoint_url=address, region_name="us-west-2",
        aws_access_key_id="x", aws_secret_access_key="x",
    )  # fmt: skip
    location = {"LocationConstraint": "us-west-2"}
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=location, ACL="public-read")
    for path in folder.rglob("*"):
        if path.is_file():
            key = f"power.zarr/{path.relative_to(folder)}"
            client.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes(), ACL="public-read")
    try:
        yield address
    finally:
        server.stop()
