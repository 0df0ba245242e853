"""Broken copies: each gives a clear error, and what served before serves on unchanged."""

import gzip
import io
import re
import zipfile
from collections.abc import Callable

import pytest

from location_context.errors import OperatorError
from location_context.sections.guide.imports import formats
from tests.sections.guide.samples import METADATA, open_csv, open_row, snapshots

PAGE = b"\n<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>"


def latin(data: bytes) -> bytes:
    return data.decode().replace("Exemple 2", "Exémple 2").encode("cp1252")


def zipped(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("guide.csv", data)
    return packed.getvalue()


def swapped(data: bytes) -> bytes:
    marked = data.replace(b"Longitude,Latitude", b"Latitude ,Longitude", 1)
    return marked.replace(b"Latitude ", b"Latitude", 1)


def without_column(data: bytes) -> bytes:
    return data.replace(b",Latitude", b",North", 1)


def wide(data: bytes) -> bytes:
    return data + b"x" * formats.MAX_BYTES


def long(_: bytes) -> bytes:
    return b"name,tier,lat,lng\n" + b"Chez,selected,48,2\n" * (formats.MAX_ROWS + 1)


BROKEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "Latin-1": (latin, r"not UTF-8: byte [\d,]+ on line [\d,]+"),
    "UTF-16": (lambda data: data.decode("utf-8-sig").encode("utf-16"), "UTF-16"),
    "encoded twice": (
        lambda data: data.decode("utf-8-sig").encode().decode("cp1252", "replace").encode(),
        r"rows are wrong.*wrongly encoded",
    ),
    "zero bytes": (lambda data: data[:200] + b"\x00" + data[200:], "zero byte on line"),
    "a column renamed": (without_column, r"lacks the columns latitude"),
    "no header": (lambda data: data.partition(b"\n")[2], r"lacks the columns"),
    "swapped coordinates": (swapped, r"latitude and longitude (are|seem) swapped"),
    "too many rows": (long, r"more than 2,000 rows"),
    "too large": (wide, r"larger than 2 MB"),
    "gzip too large": (lambda data: gzip.compress(wide(data), 1), r"larger than 2 MB"),
    "an HTML error page": (lambda _: PAGE, "web page"),
    "a zip": (zipped, "zip archive"),
    "gzip cut short": (lambda data: gzip.compress(data)[:-20], "damaged or incomplete gzip"),
    "a quote never closed": (lambda data: data + b'"never closed, Paris', r"broken at line \d+"),
    "empty": (lambda _: b"", "empty"),
    "only a header": (lambda data: data.partition(b"\n")[0], "no rows"),
    "JSON of another kind": (lambda _: b'{"error": true}', "neither a GeoJSON"),
    "cut JSON": (lambda _: b'{"type": "FeatureCollection", "features": [', "cannot be parsed"),
    "JSON 100,000 deep": (lambda _: b"[" * 100_000, "cannot be parsed"),
    "numbers for awards": (
        lambda data: re.sub(rb"\d Stars?", b"17", data),
        r"rows are wrong.* line 2: the award",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_import_of_a_broken_guide_file_prints_an_error_and_changes_nothing(
    name, importer, guides, monkeypatch
):
    """The limits are a fraction of the real ones, which docs/data.md names."""
    assert (formats.MAX_ROWS, formats.MAX_BYTES) == (200_000, 64_000_000)
    monkeypatch.setattr(formats, "MAX_ROWS", 2_000)
    monkeypatch.setattr(formats, "MAX_BYTES", 2_000_000)
    data = open_csv(*(open_row(n) for n in range(1, 9)))
    before, _ = await importer.run(data, METADATA)
    served = await guides.load(before.number)
    break_it, sentence = BROKEN[name]
    with pytest.raises(OperatorError, match=sentence):
        await importer.run(break_it(data), METADATA)
    assert await guides.active() == {"": before}
    assert await guides.load(before.number) == served
    assert len(await guides.versions()) == 1


@pytest.mark.parametrize(
    "name",
    ["UTF-16", "encoded twice", "a column renamed", "swapped coordinates", "a zip", "zero bytes"],
)
async def test_corrupted_copy_of_a_guide_snapshot_is_refused_entirely(
    shared_data, name, world_importer, guides
):
    data = gzip.decompress(snapshots(shared_data)[2024].read_bytes())
    if name == "a column renamed":
        data = data.replace(b",Latitude,", b",North,", 1)
    elif name == "swapped coordinates":
        data = data.replace(b"Longitude,Latitude", b"Latitude,Longitude", 1)
    else:
        data = BROKEN[name][0](data)
    with pytest.raises(OperatorError, match=BROKEN[name][1]):
        await world_importer.run(data, METADATA)
    assert await guides.active() == {}
