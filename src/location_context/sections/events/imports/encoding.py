"""Encoding: files in whatever encoding programs write them, as UTF-8 without a mark."""

from __future__ import annotations

import codecs


def utf8(data: bytes) -> bytes:
    """UTF-16 recoded, a mark dropped; bytes that are no UTF-8 stay, for `text` to read by line."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _recoded(data, "utf-16")
    if data[1:2] == b"\0" != data[:1]:
        return _recoded(data, "utf-16-le")
    if data[:1] == b"\0" != data[1:2]:
        return _recoded(data, "utf-16-be")
    return data.removeprefix(codecs.BOM_UTF8)


def text(line: bytes) -> str:
    """A line as UTF-8, or as Windows wrote it before that."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def _recoded(data: bytes, encoding: str) -> bytes:
    return data.decode(encoding, "replace").encode("utf-8", "replace")
