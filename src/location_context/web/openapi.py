"""The OpenAPI 3.1 document: one part is fixed (`openapi.json`), the other derived from the code.

Schemas come from the Structs of answers, operations from the sections, parameters from
`parameters`, and error responses from `errors`. `openapi.json` has two short forms. If `headers` is
a list, it names entries of `components.headers`. If `examples` is a text, it names a file in the
folder `examples/`, or one example in the file (`file#name`). `./scripts/generate examples` writes
the files from real answers.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from starlette.responses import Response

from location_context import __version__
from location_context.errors import PUBLIC_ERRORS
from location_context.exchange import Exchange, Route
from location_context.parameters import (
    CALENDAR,
    DATES,
    PARAMETERS,
    POINT,
    PULSE,
    SECTIONS,
    WIDGET,
    names_of,
)
from location_context.sections.section import DocsPage, Section
from location_context.web import pulse
from location_context.web.error_responses import JSON, ErrorEnvelope
from location_context.web.status import HealthBody, ReadyBody, documented_status

REF = "#/components/schemas/{name}"
Document = dict[str, Any]
Schema = dict[str, Any]
_HEADERS = {"Cache-Control": "public, max-age=3600", "Access-Control-Allow-Origin": "*"}
_TAG = "The kind of body, such as the section's name or `not_applicable`. Clients can switch on it."
_TITLE = re.compile(r"<title>[^·]*·")
_NULL = {"type": "null"}
_TYPES = {bool: "boolean", str: "string", int: "integer", type(None): "null"}
_ENUM_NAMES = {  # names that generated clients use for values that are not identifiers
    "°C": "CELSIUS",
    "°F": "FAHRENHEIT",
    "km/h": "KILOMETRES_PER_HOUR",
    "%": "PERCENT",
    "°": "DEGREES",
}


def route(document: Callable[[], Document]) -> Route:
    """Return the route of `/v1/openapi.json`; the first request builds the document in a thread."""
    content = cache(lambda: msgspec.json.encode(document()))

    async def handle(_: Exchange) -> Response:
        return Response(await asyncio.to_thread(content), 200, _HEADERS, media_type=JSON)

    return Route("/v1/openapi.json", handle)


def document(
    public_url: str, sections: Sequence[Section[Any]], oembed: type, pages: Sequence[DocsPage] = ()
) -> Document:
    """Return the whole document.

    Args:
        public_url: the URL of the service.
        sections: the installed sections.
        oembed: the Struct for answers at `/v1/oembed`.
        pages: the pages of the documentation besides the reference.
    """
    base = public_url.rstrip("/")
    document: Document = _expand(_read("openapi.json"))
    template = document.pop("x-section")
    names = ", ".join(section.title.partition(":")[0].lower() for section in sections)
    info = document["info"]
    info["version"] = __version__
    info["description"] = info["description"].replace("{sections}", names)
    info["contact"]["url"] = f"{base}/v1/docs"
    document["servers"] = [{"url": base}]
    paths, shared = document["paths"], document["components"]
    for path in ("/v1/pulse", "/v1/pulse.svg", "/v1/pulse.png"):
        paths[path]["get"]["parameters"] = _parameters(WIDGET, optional=DATES)
    paths["/v1/pulse.ics"]["get"]["parameters"] = _parameters(CALENDAR, optional=DATES)
    several_points = _parameters(PULSE, optional=(*POINT, *DATES))
    paths[pulse.PATH]["get"]["parameters"][:0] = several_points  # before the headers of test keys
    document["paths"] = {
        f"/v1/pulse/{section.name}": {"get": _operation(section, template["operation"])}
        for section in sections
    } | paths
    for page in pages:
        document["paths"][f"/v1/docs/{page.name}"] = {"get": _page(page, paths["/v1/docs"]["get"])}
    bodies = [t for section in sections for t in (section.response, section.not_applicable_type)]
    several = pulse.documented(sections)
    types = [
        *dict.fromkeys(bodies),
        *several,
        ErrorEnvelope,
        HealthBody,
        ReadyBody,
        documented_status(sections),
        oembed,
    ]
    answers: dict[str, tuple[str, Sequence[type[msgspec.Struct]]]] = {
        _answer_name(one.name): (template["answer"], (one.response, one.not_applicable_type))
        for one in sections
    }
    answers["PulseAnswer"] = ("One point, or several; `type` says which.", several[:2])
    shared["schemas"] = {
        name: _answer(name, *answer) for name, answer in answers.items()
    } | _components(types)
    in_queries = {one.name: one.documented() for one in PARAMETERS}
    shared["parameters"] = in_queries | shared["parameters"]
    shared["parameters"][SECTIONS.name] |= _sections(sections)
    shared["responses"] = {name: _error(**given) for name, given in shared["responses"].items()}
    return document


def _operation(section: Section[Any], template: Document) -> Document:
    """Return the OpenAPI operation of a section's endpoint."""
    content = {"schema": _ref("schemas", _answer_name(section.name))}
    if samples := section.sample():
        content |= {"examples": _examples(samples)}
    success = {**template["responses"]["200"], "content": {JSON: content}}
    return template | {
        "operationId": section.name,
        "summary": section.title or section.name,
        "description": section.description,
        "parameters": [*_parameters(names_of(section)), *template["parameters"]],
        "responses": template["responses"] | {"200": success},
    }


def _sections(sections: Sequence[Section[Any]]) -> Document:
    """Return schema and description of the parameter `sections`, with the installed sections."""
    one = "|".join(section.name for section in sections)
    shown = ", ".join(section.name for section in sections if section.shown_by_default)
    return {
        "schema": {**SECTIONS.schema, "pattern": f"^(({one})(,({one}))*)?$"},
        "description": f"{SECTIONS.description[:-1]}: {shown}.",
    }


def _page(page: DocsPage, reference: Document) -> Document:
    """Return a docs page's OpenAPI operation: that of the API reference page, with new texts."""
    success = reference["responses"]["200"]
    [(kind, content)] = success["content"].items()
    examples = {
        name: {**one, "value": _TITLE.sub(f"<title>{page.title} ·", one["value"])}
        for name, one in content["examples"].items()
    }
    content = {kind: {**content, "examples": examples}}
    ok = {**success, "description": page.title, "content": content}
    return reference | {
        "operationId": f"docs_{page.name}",
        "summary": page.title,
        "description": page.description,
        "responses": reference["responses"] | {"200": ok},
    }


def _answer_name(name: str) -> str:
    return f"{''.join(map(str.title, name.split('_')))}Answer"


def _answer(name: str, description: str, bodies: Sequence[type[msgspec.Struct]]) -> Schema:
    """Return the schema of an answer that is one of several Structs, distinguished by a tag."""
    tags = {body.__struct_config__.tag: REF.format(name=body.__name__) for body in bodies}
    return {
        "title": name,
        "description": description,
        "oneOf": [{"$ref": reference} for reference in tags.values()],
        "discriminator": {"propertyName": "type", "mapping": tags},
    }


def _error(status: int, headers: Document) -> Document:
    """Return the OpenAPI response for all errors with one HTTP status, with examples."""
    errors = [error for error in PUBLIC_ERRORS if error.status == status]
    examples = _read("examples/errors.json")
    shown = {name: value for name, value in examples.items() if name in {e.code for e in errors}}
    content = {"schema": _ref("schemas", "ErrorEnvelope"), "examples": _examples(shown)}
    return {
        "description": "; ".join(f"`{error.code}`: {error.summary}" for error in errors),
        "headers": headers,
        "content": {JSON: content},
    }


def _expand(value: Any) -> Any:
    """Replace the short forms (see the module's docstring) in a part of `openapi.json`."""
    if isinstance(value, list):
        return [_expand(one) for one in value]
    if not isinstance(value, dict):
        return value
    expanded = {key: _expand(one) for key, one in value.items()}
    if isinstance(names := expanded.get("headers"), list):
        expanded["headers"] = {name: _ref("headers", name) for name in names}
    if isinstance(source := expanded.get("examples"), str):
        file, _, name = source.partition("#")
        examples = _read(f"examples/{file}.json")
        expanded["examples"] = _examples({name: examples[name]} if name else examples)
    return expanded


def _examples(values: Mapping[str, Any]) -> Document:
    """Return examples by name as OpenAPI Example Objects."""
    return {
        name: {"summary": name.replace("_", " ").capitalize(), "value": value}
        for name, value in values.items()
    }


def _ref(kind: str, name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _parameters(names: Sequence[str], optional: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return an operation's parameters; those in `optional` are not required by this operation."""
    given = {
        one.name: replace(one, required=False).documented()
        for one in PARAMETERS
        if one.required and one.name in optional
    }
    return [given.get(name) or _ref("parameters", name) for name in names]


def _read(name: str) -> Any:
    file = resources.files("location_context.web") / name
    return msgspec.json.decode(file.read_bytes())


# The schemas, in a form that client generators understand. msgspec writes a JSON Schema for every
# Struct. Generators also need a unique name for each schema, a type beside every enum, one form for
# nullable values, and identifiers for values such as `°`.


def _components(types: Sequence[type]) -> dict[str, Schema]:
    """Return the schemas of all Structs by name.

    If several Structs have the same name, each is prefixed with the name of its section.
    """
    _, schemas = msgspec.json.schema_components(types, ref_template=REF)
    text = msgspec.json.encode(schemas).decode()
    for name in (name for name in schemas if "." in name):
        section, _, struct = name.split(".")[-3:]
        text = text.replace(f'"{name}"', f'"{section.title()}{struct}"')
        text = text.replace(f'schemas/{name}"', f'schemas/{section.title()}{struct}"')
    named: dict[str, Schema] = msgspec.json.decode(text)
    return {name: _struct(name, schema) for name, schema in named.items()}


def _struct(name: str, schema: Schema) -> Schema:
    """Return a Struct's schema for the document; fields that are always sent are required."""
    properties = {field: _shaped(value) for field, value in schema.get("properties", {}).items()}
    optional = {
        field
        for field, value in properties.items()
        if field not in schema["required"] and "default" not in value
    }
    if "description" not in properties.get("type", {"description": ""}):
        properties["type"]["description"] = _TAG
    for value in properties.values():
        value.pop("default", None)
    made = {**schema, "title": name, "properties": properties}
    made["required"] = [field for field in properties if field not in optional]
    if "description" in made:
        made["description"] = inspect.cleandoc(made["description"])
    return made


def _shaped(schema: Schema) -> Schema:
    """Return a schema, and all schemas inside it, in the form that client generators understand."""
    shaped = dict(schema)
    for key in ("items", "additionalProperties"):
        if isinstance(shaped.get(key), dict):
            shaped[key] = _shaped(shaped[key])
    if "anyOf" in shaped:
        shaped["anyOf"] = [_shaped(one) for one in shaped["anyOf"]]
        return _nullable(shaped)
    return _enumerated(shaped) if "enum" in shaped else shaped


def _nullable(schema: Schema) -> Schema:
    """Merge `anyOf` of a plain type and null into one schema; return any other `anyOf` as it is."""
    known, *others = sorted(schema["anyOf"], key=_NULL.__eq__)
    if others != [_NULL] or "type" not in known:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    merged = {**known, **rest, "type": [known["type"], "null"]}
    if "enum" in merged:
        merged["enum"] = [*merged["enum"], None]
    return merged


def _enumerated(schema: Schema) -> Schema:
    """Return an enum's schema with its type added.

    If any value, such as `°`, is not an identifier, names for the values are added for generated
    code. A schema that allows only `true` becomes `{"not": {"const": false}}`, and the reverse,
    because openapi-generator would compare an enum or constant of `true` with the text "true".
    """
    values = schema["enum"]
    typed = {**schema, "type": _TYPES[type(values[0])]}
    if isinstance(values[0], bool):
        del typed["enum"]
        return {**typed, "not": {"const": not values[0]}}
    if any(value in _ENUM_NAMES for value in values):
        names = [_ENUM_NAMES.get(value, value.upper()) for value in values]
        typed |= {"x-enum-varnames": names, "x-enumNames": names}
    return typed
