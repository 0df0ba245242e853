"""The OpenAPI 3.1 document, built from the Structs that make the answers.

A field's type, its description and whether it may be null stand once, in the Struct; what only HTTP
knows (parameters, headers, errors) stands in `openapi_parts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from location_context import __version__
from location_context.parameters import DATED_SECTION, UNDATED_SECTION, WIDGET
from location_context.web import openapi_parts as parts
from location_context.web.endpoint import Endpoint
from location_context.web.problems import JSON, ErrorEnvelope
from location_context.web.status import HealthBody, StatusBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from location_context.sections.contract import Section

_REF = "#/components/schemas/{name}"
_FRESH = {"Cache-Control": "public, max-age=3600", "Access-Control-Allow-Origin": "*"}
Document = dict[str, Any]


def endpoint(document: Document) -> Endpoint:
    """`/v1/openapi.json`."""
    content = msgspec.json.encode(document)

    async def handle(_: Request) -> Response:
        return Response(content, 200, _FRESH, media_type=JSON)

    return Endpoint("/v1/openapi.json", handle)


def document(public_url: str, sections: Sequence[Section]) -> Document:
    """The whole document."""
    bodies = [t for section in sections for t in (section.response, section.refusal)]
    types = [*dict.fromkeys(bodies), ErrorEnvelope, HealthBody, StatusBody]
    schemas = _schemas(types)
    for schema in schemas.values():
        _require_all(schema)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Location Context Service",
            "version": __version__,
            "summary": "What surrounds a stay.",
            "description": parts.INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": public_url.rstrip("/")}],
        "tags": parts.TAGS,
        "paths": {**_section_paths(sections), **_public_paths()},
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": parts.KEY,
                }
            },
            "parameters": parts.PARAMETERS,
            "headers": parts.HEADERS,
            "responses": parts.ERROR_RESPONSES,
        },
    }


def _schemas(types: Sequence[type]) -> Document:
    """The schema of every Struct; one whose name two sections use gets its section's before it."""
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    text = msgspec.json.encode(schemas).decode()
    for name in (name for name in schemas if "." in name):
        section, _, struct = name.split(".")[-3:]
        text = text.replace(f'"{name}"', f'"{section.title()}{struct}"')
        text = text.replace(f'schemas/{name}"', f'schemas/{section.title()}{struct}"')
    named: Document = msgspec.json.decode(text)
    return named


def _require_all(schema: dict[str, Any]) -> None:
    """A field with a default is always there too; only one that may be unset is optional."""
    properties = schema.get("properties", {})
    given = [name for name, value in properties.items() if "default" in value]
    for name in given:
        del properties[name]["default"]
    if properties:
        schema["required"] = [
            name for name in properties if name in given or name in schema.get("required", [])
        ]


def _ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _parameters(names: Sequence[str]) -> list[dict[str, str]]:
    return [_ref("parameters", name) for name in names]


def _headers(*names: str) -> dict[str, Any]:
    return {name: _ref("headers", name) for name in names}


def _section_paths(sections: Sequence[Section]) -> Document:
    return {
        f"/v1/pulse/{section.name}": {
            "get": {
                "tags": ["Sections"],
                "operationId": section.name,
                "summary": parts.SECTIONS.get(section.name, (section.name, ""))[0],
                "description": parts.SECTIONS.get(section.name, ("", ""))[1],
                "security": [{"apiKey": []}],
                "parameters": _parameters(DATED_SECTION if section.dated else UNDATED_SECTION),
                "responses": _section_responses(section),
            }
        }
        for section in sections
    }


def _section_responses(section: Section) -> Document:
    refs = [{"$ref": _REF.format(name=t.__name__)} for t in (section.response, section.refusal)]
    caching = ("ETag", "Cache-Control", "Vary")
    quota = ("RateLimit-Policy", "RateLimit")
    return {
        "200": {
            "description": "The section, or the reason why it is not applicable.",
            "headers": _headers("X-Request-Id", *quota, *caching, "Content-Language"),
            "content": {JSON: {"schema": {"anyOf": refs}}},
        },
        "304": {
            "description": "What the client holds (If-None-Match) is still true.",
            "headers": _headers("X-Request-Id", *quota, *caching),
        },
        **{status: _ref("responses", name) for status, name in parts.KEYED_ERRORS.items()},
    }


def _public_paths() -> Document:
    return {
        "/v1/pulse": _widget_path(),
        "/v1/health": _plain_path("Service", "health", parts.HEALTH, HealthBody, {503: HealthBody}),
        "/v1/status": _plain_path("Service", "status", parts.STATUS, StatusBody, {}),
        "/v1/embed.js": _file_path("Widget", "embed", parts.EMBED, "text/javascript"),
        "/v1/oembed": _oembed_path(),
        "/v1/openapi.json": _file_path("Service", "openapi", parts.OPENAPI, JSON),
        "/v1/docs": _file_path("Service", "docs", parts.DOCS, "text/html"),
    }


def _widget_path() -> Document:
    html = {"text/html": {"schema": {"type": "string"}}}
    errors: Document = {
        status: {"description": text, "headers": _headers("X-Request-Id"), "content": html}
        for status, text in parts.WIDGET_ERRORS.items()
    }
    operation = {
        "tags": ["Widget"],
        "operationId": "widget",
        "summary": "Every applicable section as one page for an iframe",
        "description": parts.WIDGET_TEXT,
        "security": [],
        "parameters": _parameters(WIDGET),
        "responses": {
            "200": {
                "description": "A self-contained HTML page.",
                "headers": _headers("X-Request-Id", "ETag", "Cache-Control", "Vary"),
                "content": html,
            },
            "304": _not_modified(),
            **errors,
        },
    }
    return {"get": operation}


def _plain_path(
    tag: str, name: str, text: tuple[str, str], body: type, others: dict[int, type]
) -> Document:
    responses: Document = {
        str(status): {
            "description": text[0] if status == 200 else "Not taking requests.",
            "headers": _headers("X-Request-Id"),
            "content": {JSON: {"schema": {"$ref": _REF.format(name=struct.__name__)}}},
        }
        for status, struct in {200: body, **others}.items()
    }
    responses["400"] = _ref("responses", "BadRequest")
    operation = {
        "tags": [tag],
        "operationId": name,
        "summary": text[0],
        "description": text[1],
        "security": [],
        "responses": responses,
    }
    return {"get": operation}


def _file_path(tag: str, name: str, text: tuple[str, str], media_type: str) -> Document:
    kind = "object" if media_type == JSON else "string"
    operation = {
        "tags": [tag],
        "operationId": name,
        "summary": text[0],
        "description": text[1],
        "security": [],
        "responses": {
            "200": {
                "description": text[0],
                "headers": _headers("X-Request-Id", "ETag", "Cache-Control", "Vary"),
                "content": {media_type: {"schema": {"type": kind}}},
            },
            "304": _not_modified(),
            "400": _ref("responses", "BadRequest"),
        },
    }
    return {"get": operation}


def _oembed_path() -> Document:
    path = _file_path("Widget", "oembed", parts.OEMBED, JSON)
    path["get"]["parameters"] = parts.OEMBED_PARAMETERS
    path["get"]["responses"]["404"] = _ref("responses", "NotFound")
    return path


def _not_modified() -> Document:
    return {
        "description": "What the client holds (If-None-Match) is still true.",
        "headers": _headers("X-Request-Id", "ETag", "Cache-Control", "Vary"),
    }
