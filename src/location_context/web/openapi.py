"""The OpenAPI 3.1 document, built from the Structs that make the answers.

A field's type, its description and whether it may be null stand once, in the Struct; what only HTTP
knows (parameters, headers, errors) stands in `openapi_parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context import __version__
from location_context.parameters import DATED_SECTION, UNDATED_SECTION, WIDGET
from location_context.sections.section import Section
from location_context.web import openapi_examples as examples
from location_context.web import openapi_parts as parts
from location_context.web import openapi_schemas as schemas
from location_context.web.error_responses import JSON, ErrorEnvelope
from location_context.web.status import HealthBody, StatusBody, documented_status

_FRESH = {"Cache-Control": "public, max-age=3600", "Access-Control-Allow-Origin": "*"}
Document = dict[str, Any]


def route(document: Document) -> Route:
    """`/v1/openapi.json`."""
    content = msgspec.json.encode(document)

    async def handle(_: Request) -> Response:
        return Response(content, 200, _FRESH, media_type=JSON)

    return Route("/v1/openapi.json", handle)


def document(public_url: str, sections: Sequence[Section[Any]], oembed: type) -> Document:
    """The whole document; `oembed` is the Struct that `/v1/oembed` answers."""
    bodies = [t for section in sections for t in (section.response, section.not_applicable_type)]
    types = [*dict.fromkeys(bodies), ErrorEnvelope, HealthBody, documented_status(sections), oembed]
    base = public_url.rstrip("/")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Location Context Service",
            "version": __version__,
            "summary": "What surrounds a stay.",
            "description": parts.INTRODUCTION,
            "contact": {"name": "The operator of this service", "url": f"{base}/v1/docs"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base}],
        "tags": parts.TAGS,
        "paths": {**_section_paths(sections), **_public_paths(oembed)},
        "components": {
            "schemas": {**_answers(sections), **schemas.components(types)},
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": parts.KEY,
                }
            },
            "parameters": parts.PARAMETERS,
            "headers": parts.HEADERS,
            "responses": parts.error_responses(),
        },
    }


def _ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _parameters(names: Sequence[str]) -> list[dict[str, str]]:
    return [_ref("parameters", name) for name in names]


def _headers(*names: str) -> dict[str, Any]:
    return {name: _ref("headers", name) for name in names}


def _section_paths(sections: Sequence[Section[Any]]) -> Document:
    return {
        f"/v1/pulse/{section.name}": {
            "get": {
                "tags": ["Sections"],
                "operationId": section.name,
                "summary": section.title or section.name,
                "description": section.description,
                "security": [{"apiKey": []}],
                "parameters": _parameters(DATED_SECTION if section.dated else UNDATED_SECTION),
                "responses": _section_responses(section),
            }
        }
        for section in sections
    }


def _answer_name(section: Section[Any]) -> str:
    return f"{''.join(map(str.title, section.name.split('_')))}Answer"


def _answers(sections: Sequence[Section[Any]]) -> Document:
    """What each section answers: its body, or that it is not applicable."""
    return {
        (name := _answer_name(section)): schemas.one_of(
            name, parts.ANSWER, (section.response, section.not_applicable_type)
        )
        for section in sections
    }


def _section_responses(section: Section[Any]) -> Document:
    caching = ("ETag", "Cache-Control", "Vary")
    quota = ("RateLimit-Policy", "RateLimit")
    return {
        "200": {
            "description": "The section, or the reason why it is not applicable.",
            "headers": _headers("X-Request-Id", *quota, *caching, "Content-Language"),
            "content": _content(
                _ref("schemas", _answer_name(section)), examples.shown(section.sample())
            ),
        },
        "304": {
            "description": "What the client holds (If-None-Match) is still true.",
            "headers": _headers("X-Request-Id", *quota, *caching),
        },
        **{status: _ref("responses", name) for status, name in parts.KEYED_ERRORS.items()},
    }


def _content(schema: Document, shown: Document, media_type: str = JSON) -> Document:
    return {media_type: {"schema": schema, **({"examples": shown} if shown else {})}}


def _public_paths(oembed: type) -> Document:
    page, script = "text/html", "text/javascript"
    return {
        "/v1/pulse": _widget_path(),
        "/v1/health": _plain_path(
            "Service", "health", parts.HEALTH, HealthBody, {200: "ok", 503: "draining"}
        ),
        "/v1/status": _plain_path(
            "Service", "status", parts.STATUS, StatusBody, {200: "operational"}
        ),
        "/v1/embed.js": _file_path("Widget", "embed", parts.EMBED, script, examples.of("embed")),
        "/v1/oembed": _oembed_path(oembed),
        "/v1/openapi.json": _file_path(
            "Service", "openapi", parts.OPENAPI, JSON, examples.of("openapi")
        ),
        "/v1/docs": _file_path("Service", "docs", parts.DOCS, page, examples.of("docs")),
    }


def _widget_path() -> Document:
    html = {"type": "string"}
    errors: Document = {
        status: {
            "description": text,
            "headers": _headers("X-Request-Id", *parts.RETRIED.get(status, ())),
            "content": _content(html, examples.of("pages", status), "text/html"),
        }
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
                "content": _content(html, examples.of("widget"), "text/html"),
            },
            "304": _not_modified(),
            **errors,
        },
    }
    return {"get": operation}


def _plain_path(
    tag: str, name: str, text: tuple[str, str], body: type, answers: dict[int, str]
) -> Document:
    responses: Document = {
        str(status): {
            "description": text[0] if status == 200 else "Not taking requests.",
            "headers": _headers("X-Request-Id"),
            "content": _content(_ref("schemas", body.__name__), examples.of(name, example)),
        }
        for status, example in answers.items()
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


def _file_path(
    tag: str, name: str, text: tuple[str, str], media_type: str, shown: Document
) -> Document:
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
                "content": _content({"type": kind}, shown, media_type),
            },
            "304": _not_modified(),
            "400": _ref("responses", "BadRequest"),
        },
    }
    return {"get": operation}


def _oembed_path(oembed: type) -> Document:
    path = _file_path("Widget", "oembed", parts.OEMBED, JSON, examples.of("oembed"))
    content = path["get"]["responses"]["200"]["content"]
    content[JSON]["schema"] = _ref("schemas", oembed.__name__)
    path["get"]["parameters"] = parts.OEMBED_PARAMETERS
    path["get"]["responses"]["404"] = _ref("responses", "NotFound")
    path["get"]["responses"]["501"] = _ref("responses", "NotImplemented")
    return path


def _not_modified() -> Document:
    return {
        "description": "What the client holds (If-None-Match) is still true.",
        "headers": _headers("X-Request-Id", "ETag", "Cache-Control", "Vary"),
    }
