"""JSON: GeoJSON points, and the JSON result of a SPARQL query (docs/guide-data.md has the query).

Rows are counted in records, the first one being 1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from location_context.errors import OperatorError
from location_context.sections.guide.imports.rows import Row, Table, bounded, known_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_POINT = re.compile(r"\s*point\s*\(\s*(\S+)\s+(\S+)\s*\)\s*", re.IGNORECASE)
_ENTITY = re.compile(r"https?://www\.wikidata\.org/entity/(Q\d+)")


def json_table(text: str) -> Table:
    """The rows of a GeoJSON FeatureCollection or a SPARQL result.

    Raises:
        OperatorError: it is neither, or not JSON.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OperatorError(f"The file begins as JSON and is broken: {error}") from None
    if isinstance(value, dict):
        if value.get("type") == "FeatureCollection" and isinstance(value.get("features"), list):
            return Table("geojson", bounded(_features(value["features"])), "feature")
        results = value.get("results")
        if isinstance(results, dict) and isinstance(results.get("bindings"), list):
            return Table("sparql", bounded(_bindings(results["bindings"])), "result")
    raise OperatorError("The JSON is neither a GeoJSON FeatureCollection nor a SPARQL result.")


def _features(features: list[Any]) -> Iterator[Row]:
    for number, feature in enumerate(features, 1):
        try:
            geometry, properties = feature["geometry"], feature["properties"] or {}
            lng, lat = geometry["coordinates"][:2]
            point = geometry["type"] == "Point"
            fields = _fields(properties)
        except (KeyError, TypeError, ValueError, AttributeError):
            yield Row(number, {}, broken="not a feature with a point and properties")
            continue
        if not point:
            yield Row(number, {}, broken=f"its geometry is a {str(geometry['type'])[:40]}")
            continue
        yield Row(number, {**fields, "lat": _text(lat), "lng": _text(lng)})


def _bindings(bindings: list[Any]) -> Iterator[Row]:
    for number, binding in enumerate(bindings, 1):
        try:
            fields = _fields({name: cell["value"] for name, cell in binding.items()})
        except (KeyError, TypeError, AttributeError):
            yield Row(number, {}, broken="not a binding of values")
            continue
        if match := _POINT.fullmatch(fields.pop("coordinates", "")):
            fields["lng"], fields["lat"] = match.groups()
        if match := _ENTITY.fullmatch(fields.get("url", "")):
            fields["url"] = f"https://www.wikidata.org/wiki/{match[1]}"
        yield Row(number, fields)


def _fields(values: Mapping[str, Any]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in values.items():
        if (known := known_field(name)) and (text := _text(value)):
            fields.setdefault(known, text)
    return fields


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text(part) for part in value)
    if value is None or isinstance(value, bool | dict):
        return ""
    return str(value).strip()
