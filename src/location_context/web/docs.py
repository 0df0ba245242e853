"""The documentation page, rendered once from the OpenAPI document: one file, no script."""

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.errors import PUBLIC_ERRORS
from location_context.sections.contract import DEGRADED, NOT_APPLICABLE
from location_context.web.openapi import Document

_CODE = re.compile(r"`([^`]+)`")


def route(document: Document) -> Route:
    """`/v1/docs`."""
    style = _asset("docs.css")
    page = render(document, style).encode()
    headers = {
        "Cache-Control": "public, max-age=3600",
        "Content-Security-Policy": _policy(style),
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
    }

    async def handle(_: Request) -> Response:
        return Response(page, 200, headers, media_type="text/html")

    return Route("/v1/docs", handle)


def render(document: Document, style: str) -> str:
    """The page for a document."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["resolve"] = lambda value: _resolve(document, value)
    environment.filters["kind"] = lambda schema: _kind(document, schema)
    environment.filters["struct"] = _struct_name
    environment.filters["prose"] = _prose
    template = environment.from_string(_asset("docs.html"))
    return template.render(
        document=document,
        style=style,
        errors=PUBLIC_ERRORS,
        degraded=DEGRADED,
        not_applicable=NOT_APPLICABLE,
    )


def _asset(name: str) -> str:
    return (resources.files("location_context.web") / name).read_text(encoding="utf-8")


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _resolve(document: Document, value: Mapping[str, Any]) -> Any:
    """What a `$ref` points to, or the value itself."""
    reference = value.get("$ref")
    if reference is None:
        return value
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def _kind(document: Document, schema: Mapping[str, Any]) -> str:
    """A schema's type in a few words."""
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(document, one) for one in choices))
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " · ".join(_word(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(document, schema.get('items', {}))}"
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return f"map of {_kind(document, schema['additionalProperties'])}"
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return " or ".join([str(schema.get("format", kinds[0])), *kinds[1:]])


def _prose(text: str) -> Markup:
    """Text with what stands in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704  escaped before


def _struct_name(schema: Mapping[str, Any]) -> str:
    """The name of the struct a field holds, if it holds one."""
    for one in (schema, schema.get("items", {}), *schema.get("anyOf", [])):
        target = one.get("items", one)
        if isinstance(target, dict) and "$ref" in target:
            return str(target["$ref"].rpartition("/")[2])
    return ""


def _word(value: object) -> str:
    """A value as JSON writes it, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value or "null")
