"""Make the site's page api.md from the OpenAPI document: every endpoint with one whole answer.

The answers are its examples, which `./scripts/generate examples` makes from real ones.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from location_context.errors import PUBLIC_ERRORS
from location_context.sections import registry
from location_context.sections.contract import DEGRADED, NOT_APPLICABLE
from location_context.sections.section import Section
from location_context.web import docs, openapi
from location_context.widget.oembed import OEmbed

ADDRESS = "http://127.0.0.1:8000"
WIDTH = 110
LANGUAGES = {"application/json": "json", "text/html": "html", "image/svg+xml": "xml",
             "image/png": "text", "text/javascript": "js", "text/calendar": "text"}  # fmt: skip
HEAD = """# API

{description}

This page is built from the OpenAPI document and its examples: real answers of a service on 21
November 2026 with stand-in providers. A running service
describes its endpoints at `/v1/docs`, without whole answers; `/v1/openapi.json` has all of it for
programs, and [clients](#clients) are generated from that.

**Keys.** {security} The [widget](#widget) and the [service's own endpoints](#service) need none.

**Quotas.** 600 requests a minute and 50,000 a UTC day for each key, unless it was created with
others; `RateLimit` says what remains. 200, 304, 400 and HEAD count; 401, 404, 405, 429 and 5xx do
not. Requests without a key are counted by address, 120 a minute (`WIDGET_PER_MINUTE`); health,
readiness, status and `/v1/embed.js` are free.

**Caching.** Answers have an `ETag`: send it as `If-None-Match` and get 304 while nothing changed.
`Cache-Control` says how long an answer holds; one that lacks something says 60 seconds.

**Parameters.** Each endpoint lists those that it takes:

{parameters}
"""
ENVELOPE = """Every error has this envelope. Programs should check `code`, which never changes.
`request_id` is also in the header `X-Request-Id` and in the log."""
CLIENTS = """## Clients

`./scripts/check clients` generates clients with openapi-python-client, openapi-generator (Python
and TypeScript), openapi-typescript, hey-api and datamodel-code-generator, compiles them strictly
and calls every section through them.
"""


def page() -> str:
    sections = registry.load(registry.SECTIONS, Section)
    document = openapi.document(ADDRESS, sections, OEmbed)
    shared, info = document["components"], document["info"]
    parts = [
        HEAD.format(
            description=info["description"],
            security=shared["securitySchemes"]["apiKey"]["description"],
            parameters=table(
                ("name", "example", "meaning"), map(parameter, shared["parameters"].values())
            ),
        )
    ]
    samples = {one.name: one.samples for one in sections}
    for tag in document["tags"]:
        parts.append(f"## {tag['name']}\n\n{tag['description']}\n")
        for path, methods in document["paths"].items():
            operation = methods["get"]
            if operation["tags"] == [tag["name"]]:
                parameters = samples.get(operation["operationId"], {})
                parts.append(endpoint(document, path, operation, parameters))
    return "\n".join([*parts, errors(document), reasons(), CLIENTS])


def endpoint(document: Any, path: str, operation: Any, samples: Mapping[str, Any]) -> str:
    """Describe an endpoint with its parameters, a request, and the whole answer."""
    lines = [f"### {path}", "", f"{operation['summary']}. {operation['description']}", ""]
    given = [resolved(document, one) for one in operation.get("parameters", ())]
    if given:
        names = ", ".join(f"`{one['name']}`{'' if one['required'] else '?'}" for one in given)
        lines += [f"Parameters (`?`: optional): {names}.", ""]
    answer = operation["responses"]["200"]
    kind, content = next(iter(answer["content"].items()))
    examples = list(content["examples"].items())
    for number, (name, example) in enumerate(examples):
        block = answered(kind, example["value"])
        request = curl(path, operation, samples.get(name), given)
        if number == 0:
            lines += ["```sh", request, "```", "", block, ""]
        else:
            lines += folded(example["summary"], f"```sh\n{request}\n```\n\n{block}")
    headers = ", ".join(f"`{name}`" for name in answer["headers"])
    lines += [f"Headers: {headers}.", ""]
    if structs := fields(document, content["schema"]):
        lines += folded("Every field", structs)
    return "\n".join(lines)


def curl(path: str, operation: Any, sample: Mapping[str, str] | None, given: list[Any]) -> str:
    """Return the command that requests it."""
    needed = [one for one in given if one["required"] or one["name"] == "days"]  # or two dates
    values = sample or {one["name"]: one["example"] for one in needed}
    query = f"?{urlencode(values, safe=',')}" if values else ""
    key = '-H "Authorization: Bearer $KEY" ' if operation["security"] else ""
    return f'curl {key}"{ADDRESS}{path}{query}"'


def answered(kind: str, value: Any) -> str:
    text = value if isinstance(value, str) else laid_out(value)
    return f"```{LANGUAGES[kind]}\n{text.strip()}\n```"


def laid_out(value: Any, indent: int = 0) -> str:
    """Return JSON with each value on one line if it fits."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, list | dict) or len(flat) + indent <= WIDTH:
        return flat
    begin, end = "{}" if isinstance(value, dict) else "[]"
    pad, inner = " " * indent, " " * (indent + 2)
    parts = (
        [f"{json.dumps(name)}: {laid_out(one, indent + 2)}" for name, one in value.items()]
        if isinstance(value, dict)
        else [laid_out(one, indent + 2) for one in value]
    )
    rows = f",\n{inner}".join(parts)
    return f"{begin}\n{inner}{rows}\n{pad}{end}"


def fields(document: Any, schema: Any) -> str:
    """Return a table of the fields of each struct in the answer."""
    names: list[str] = []
    reach(document, schema, names)
    tables = []
    for name in names:
        struct = document["components"]["schemas"][name]
        rows = [
            (f"`{key}`", code(docs.kind(document, one)), one.get("description", ""))
            for key, one in struct["properties"].items()
        ]
        title = f"**{name}**" + (f": {struct['description']}" if "description" in struct else "")
        tables.append(f"{title}\n\n{table(('field', 'type', 'meaning'), rows)}")
    return "\n\n".join(tables)


def reach(document: Any, schema: Any, names: list[str]) -> None:
    """Add the names of the structs that a schema leads to, in order."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in names:
            return
        schema = document["components"]["schemas"][name]
        if "properties" in schema:
            names.append(name)
    inner = [
        *schema.get("properties", {}).values(),
        *schema.get("oneOf", ()),
        *schema.get("anyOf", ()),
    ]
    inner += [
        schema[key]
        for key in ("items", "additionalProperties")
        if isinstance(schema.get(key), dict)
    ]
    for one in inner:
        reach(document, one, names)


def errors(document: Any) -> str:
    """Return the error tree as a table, and one whole error."""
    rows = [
        (str(one.status), f"`{one.type}`", f"`{one.code}`", one.summary) for one in PUBLIC_ERRORS
    ]
    bad = document["components"]["responses"]["BadRequest"]["content"]["application/json"][
        "examples"
    ]
    return "\n".join([
        "## Errors", "",
        ENVELOPE, "",
        answered("application/json", bad["invalid_latitude"]["value"]), "",
        table(("status", "`type`", "`code`", "when"), rows), "",
    ])  # fmt: skip


def reasons() -> str:
    """Return the codes of incomplete answers and of sections that do not apply."""
    return "\n".join([
        "## Degraded answers", "",
        "`degraded` is true after a fallback or with missing data; `degraded_reason` says why:", "",
        table(("`degraded_reason`", "meaning"), ((f"`{k}`", v) for k, v in DEGRADED.items())), "",
        "## Sections that do not apply", "",
        'The answer is 200 with `"applicable": false` and a `reason`; leave the section out:', "",
        table(("`reason`", "meaning"), ((f"`{k}`", v) for k, v in NOT_APPLICABLE.items())), "",
    ])  # fmt: skip


def parameter(one: Any) -> tuple[str, str, str]:
    return f"`{one['name']}`", f"`{one.get('example', '')}`", one["description"]


def resolved(document: Any, one: Any) -> Any:
    name = one.get("$ref", "").rpartition("/")[2]
    return document["components"]["parameters"][name] if name else one


def table(head: tuple[str, ...], rows: Any) -> str:
    """Return a table in Markdown."""
    lines: Iterator[str] = (
        f"| {' | '.join(' '.join(str(cell).split()).replace('|', chr(92) + '|') for cell in row)} |"
        for row in (head, ("---",) * len(head), *rows)
    )
    return "\n".join(lines)


def code(kind: str) -> str:
    return f"`{kind}`"


def folded(title: str, content: str) -> list[str]:
    """Return lines that open on a click."""
    return [f'<details markdown="1"><summary>{title}</summary>', "", content, "", "</details>", ""]
