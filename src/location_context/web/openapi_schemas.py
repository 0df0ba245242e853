"""The schemas of the OpenAPI document, in the form that generators of clients understand.

msgspec writes a JSON Schema for every Struct. Generators want more than validators do: a name that
no other schema has, a type beside every enum, one form for what may be null, and identifiers for
values such as `°`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

REF = "#/components/schemas/{name}"
Schema = dict[str, Any]
_TAG = "Which body this is: the section's name, or `not_applicable`; a client may switch on it."
_NULL = {"type": "null"}
_TYPES = {bool: "boolean", str: "string", int: "integer", type(None): "null"}
_NAMES = {  # identifiers for values that hold none
    "°C": "CELSIUS",
    "°F": "FAHRENHEIT",
    "km/h": "KILOMETRES_PER_HOUR",
    "%": "PERCENT",
    "°": "DEGREES",
}


def components(types: Sequence[type]) -> dict[str, Schema]:
    """The schema of every Struct; one whose name two sections use gets its section's before it."""
    _, schemas = msgspec.json.schema_components(types, ref_template=REF)
    text = msgspec.json.encode(schemas).decode()
    for name in (name for name in schemas if "." in name):
        section, _, struct = name.split(".")[-3:]
        text = text.replace(f'"{name}"', f'"{section.title()}{struct}"')
        text = text.replace(f'schemas/{name}"', f'schemas/{section.title()}{struct}"')
    named: dict[str, Schema] = msgspec.json.decode(text)
    return {name: _struct(name, schema) for name, schema in named.items()}


def one_of(name: str, description: str, bodies: Sequence[type]) -> Schema:
    """A choice between Structs that differ in their tag."""
    tags = {body.__struct_config__.tag: REF.format(name=body.__name__) for body in bodies}  # type: ignore[attr-defined]  # every body is a Struct
    return {
        "title": name,
        "description": description,
        "oneOf": [{"$ref": reference} for reference in tags.values()],
        "discriminator": {"propertyName": "type", "mapping": tags},
    }


def _struct(name: str, schema: Schema) -> Schema:
    """Every field is required: one with a default is always there too."""
    properties = {field: _shaped(value) for field, value in schema.get("properties", {}).items()}
    if "description" not in properties.get("type", {"description": ""}):
        properties["type"]["description"] = _TAG
    for value in properties.values():
        value.pop("default", None)
    return {**schema, "title": name, "properties": properties, "required": list(properties)}


def _shaped(schema: Schema) -> Schema:
    """One schema and those inside it."""
    shaped = dict(schema)
    for key in ("items", "additionalProperties"):
        if isinstance(shaped.get(key), dict):
            shaped[key] = _shaped(shaped[key])
    if "anyOf" in shaped:
        shaped["anyOf"] = [_shaped(one) for one in shaped["anyOf"]]
        return _nullable(shaped)
    return _enumerated(shaped) if "enum" in shaped else shaped


def _nullable(schema: Schema) -> Schema:
    """A plain type that may be null as one schema with two types."""
    known, *others = sorted(schema["anyOf"], key=_NULL.__eq__)
    if others != [_NULL] or "type" not in known:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    merged = {**known, **rest, "type": [known["type"], "null"]}
    if "enum" in merged:
        merged["enum"] = [*merged["enum"], None]
    return merged


def _enumerated(schema: Schema) -> Schema:
    """An enum with its type and, where its values hold none, identifiers.

    A boolean that is always the same may not be the other one: openapi-generator would compare an
    enum or a constant of true with the word.
    """
    values = schema["enum"]
    typed = {**schema, "type": _TYPES[type(values[0])]}
    if isinstance(values[0], bool):
        del typed["enum"]
        return {**typed, "not": {"const": not values[0]}}
    if any(value in _NAMES for value in values):
        names = [_NAMES.get(value, value.upper()) for value in values]
        typed |= {"x-enum-varnames": names, "x-enumNames": names}
    return typed
