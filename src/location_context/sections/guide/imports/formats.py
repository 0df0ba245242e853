"""Formats: bytes in, rows out; the format is told by content, never by a name."""

from __future__ import annotations

import gzip
import io
import zlib

from location_context.errors import OperatorError
from location_context.sections.guide.imports.csv_rows import csv_table
from location_context.sections.guide.imports.json_rows import json_table
from location_context.sections.guide.imports.rows import MAX_BYTES, Table

_MEGABYTE = 1_000_000
_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "a zip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"%PDF": "a PDF",
}


def read_table(data: bytes) -> Table:
    """The rows of a dataset in any of the known formats, plain or in gzip.

    Raises:
        OperatorError: it is none of them, damaged, or too large.
    """
    text = _text(_unpacked(data))
    start = text[:2000].lstrip().lower()
    if not start:
        raise OperatorError("The file is empty.")
    if start.startswith(("<!doctype", "<html", "<?xml", "<head", "<body")):
        raise OperatorError(
            "The file is a web page, not a dataset: open its address in a browser to see why."
        )
    return json_table(text) if start[0] in "{[" else csv_table(text)


def _unpacked(data: bytes) -> bytes:
    if found := next((what for magic, what in _PACKED.items() if data.startswith(magic)), None):
        raise OperatorError(f"The file is {found}: unpack it and import what is inside.")
    if data.startswith(b"\x1f\x8b"):
        data = _gunzipped(data)
    if len(data) > MAX_BYTES:
        raise OperatorError(
            f"The file is larger than {MAX_BYTES // _MEGABYTE} MB, which is the limit."
        )
    return data


def _gunzipped(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            return packed.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise OperatorError("The file begins as gzip and is damaged or cut short.") from None


def _text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise OperatorError("The file is UTF-16: save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise OperatorError(
            f"The file is not UTF-8: byte {error.start:,} on line {line:,} is "
            f"0x{data[error.start]:02x}. Save it as UTF-8."
        ) from None
    if (at := text.find("\x00")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise OperatorError(f"The file is not text: there is a zero byte on line {line:,}.")
    return text
