"""The built-in formats: CSV, GeoJSON points, and the JSON result of a SPARQL query.

A CSV with a column for `award` but none for `tier` is reported as `guide_csv`, any other CSV as
`plain_csv`. docs/data.md describes the columns and the SPARQL query. Errors in JSON name the
record by its number; the first is 1.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from location_context.errors import OperatorError
from location_context.sections.guide.imports import formats

_MAX_FIELD_LENGTH = 100_000
_REQUIRED = (
    ("name", ("name",)),
    ("latitude (or coordinates)", ("lat", "coordinates")),
    ("longitude (or coordinates)", ("lng", "coordinates")),
)
_PAIR = re.compile(r"([+-]?[\d.]+)\s*,\s*([+-]?[\d.]+)")  # latitude first, as web maps copy it
_POINT = re.compile(r"\s*point\s*\(\s*(\S+)\s+(\S+)\s*\)\s*", re.IGNORECASE)
_WIKIDATA_ENTITY = re.compile(r"https?://www\.wikidata\.org/entity/(Q\d+)")


class CsvFormat(formats.GuideFormat):
    """CSV. Fields are separated by the comma, semicolon or tab that the header has most often.

    Quoted fields may contain line breaks.
    """

    name = "csv"
    order = 1001

    def recognises(self, data: bytes) -> bool:
        """Return True for any text that is not JSON or markup; `read` reports an invalid header."""
        return formats.first_character(data) not in {"", "{", "[", "<"}

    def read(self, data: bytes) -> formats.Table:
        header = formats.decode_text(data)[:10_000].splitlines()[0]
        csv.field_size_limit(_MAX_FIELD_LENGTH)
        delimiter = max(",;\t", key=header.count)
        # decode while reading: a whole text with one emoji would take four bytes per character
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
        lines = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            fields = _columns(next(lines))
            kind = "guide_csv" if "award" in fields and "tier" not in fields else "plain_csv"
            return formats.Table.of(kind, _csv_rows(lines, fields))
        except csv.Error as error:
            raise OperatorError(f"The CSV is broken at line {lines.line_num:,}: {error}.") from None


def _columns(header: list[str]) -> list[str | None]:
    """Return the name of each column's field; None for an unknown or repeated column.

    Raises:
        OperatorError: the header lacks the name or the coordinates.
    """
    fields: list[str | None] = []
    for column in header:
        known = formats.known_field(column)
        fields.append(None if known in fields else known)
    missing = [name for name, ways in _REQUIRED if not any(way in fields for way in ways)]
    if missing:
        shown = ", ".join(header)[:200]
        raise OperatorError(f"The CSV lacks the columns {', '.join(missing)}; it has: {shown}")
    return fields


def _csv_rows(lines: Any, fields: list[str | None]) -> Iterator[formats.Row]:
    last = lines.line_num
    for values in lines:
        line, last = last + 1, lines.line_num
        if not any(value.strip() for value in values):
            continue
        if len(values) != len(fields):
            wrong = f"the row has {len(values)} fields, the header {len(fields)}"
            yield formats.Row(line, {}, broken=wrong)
            continue
        pairs = zip(fields, values, strict=True)
        row = {name: value.strip() for name, value in pairs if name and value.strip()}
        yield formats.Row(line, _with_point(row))


class JsonFormat(formats.GuideFormat):
    """A GeoJSON FeatureCollection, or the JSON result of a SPARQL query."""

    name = "json"
    order = 1000

    def recognises(self, data: bytes) -> bool:
        return formats.first_character(data) in {"{", "["}

    def read(self, data: bytes) -> formats.Table:
        try:
            value = msgspec.json.decode(formats.decode_text(data))
        except (msgspec.DecodeError, RecursionError) as error:
            raise OperatorError(
                f"The file looks like JSON, but cannot be parsed: {error}"
            ) from None
        if isinstance(value, dict):
            if value.get("type") == "FeatureCollection" and isinstance(value.get("features"), list):
                return formats.Table.of("geojson", _features(value["features"]), "feature")
            results = value.get("results")
            if isinstance(results, dict) and isinstance(results.get("bindings"), list):
                return formats.Table.of("sparql", _bindings(results["bindings"]), "result")
        raise OperatorError("The JSON is neither a GeoJSON FeatureCollection nor a SPARQL result.")


def _features(features: list[Any]) -> Iterator[formats.Row]:
    for number, feature in enumerate(features, 1):
        try:
            geometry, properties = feature["geometry"], feature["properties"] or {}
            lng, lat = geometry["coordinates"][:2]
            point = geometry["type"] == "Point"
            fields = _known_fields(properties)
        except (KeyError, TypeError, ValueError, AttributeError):
            yield formats.Row(number, {}, broken="it is not a feature with a point and properties")
            continue
        if not point:
            yield formats.Row(
                number, {}, broken=f"the geometry is a {_text(geometry['type'])[:40]}"
            )
            continue
        yield formats.Row(number, {**fields, "lat": _text(lat), "lng": _text(lng)})


def _bindings(bindings: list[Any]) -> Iterator[formats.Row]:
    for number, binding in enumerate(bindings, 1):
        try:
            fields = _known_fields({name: cell["value"] for name, cell in binding.items()})
        except (KeyError, TypeError, AttributeError):
            yield formats.Row(number, {}, broken="the row is not an object of bindings")
            continue
        fields = _with_point(fields)
        if match := _WIKIDATA_ENTITY.fullmatch(fields.get("url", "")):
            fields["url"] = f"https://www.wikidata.org/wiki/{match[1]}"
        yield formats.Row(number, fields)


def _with_point(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields with `lat` and `lng` taken from the field `coordinates`, if it is set.

    Coordinates are "lat, lng", or "Point(lng lat)" as in WKT.
    """
    coordinates = fields.get("coordinates", "")
    if match := _PAIR.fullmatch(coordinates):
        return fields | {"lat": match[1], "lng": match[2]}
    if match := _POINT.fullmatch(coordinates):
        return fields | {"lat": match[2], "lng": match[1]}
    return fields


def _known_fields(values: Mapping[str, Any]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in values.items():
        if (known := formats.known_field(name)) and (text := _text(value)):
            fields.setdefault(known, text)
    return fields


def _text(value: Any) -> str:
    """Return a string or number as text, a list of them joined by commas, anything else as ""."""
    parts = value if isinstance(value, list) else [value]
    return ", ".join(
        str(one).strip()
        for one in parts
        if isinstance(one, str | int | float) and not isinstance(one, bool)
    )
