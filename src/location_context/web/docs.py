"""The documentation: the API reference, the guide to embedding, and pages of sections.

The reference is rendered once from the OpenAPI document. The guide is docs/embedding.md, with this
service's URL in its code. Each page is a single HTML file without scripts. For agents, each is
also available as Markdown, at its path with `.md`; /llms.txt has links to the pages.
"""

import asyncio
import base64
import hashlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response

from location_context.errors import PUBLIC_ERRORS, StorageError
from location_context.exchange import Exchange, Route
from location_context.sections.contract import DEGRADED, NOT_APPLICABLE
from location_context.sections.section import DocsPage, Section
from location_context.web.markdown import from_html
from location_context.web.openapi import Document

PATH = "/v1/docs"
MAX_AGE = 3600
PAGE_MAX_AGE = 600  # seconds; the pages of sections change daily
UNREADABLE = Markup(
    '<section id="start"><h1>Not available now</h1><p>The database is not answering.</p></section>'
)
GUIDE_ADDRESS = "https://your.host"  # stands for the service in docs/embedding.md
GUIDE_STYLE = """blockquote { margin: 1rem 0; padding: 0 1rem; border-left: 3px solid var(--line); }
td:nth-child(n) { width: auto; color: inherit; overflow-wrap: normal; }"""
_CODE = re.compile(r"`([^`]+)`")


def all_pages(public_url: str, sections: Sequence[Section[Any]]) -> list[DocsPage]:
    """Return all pages except the API reference: the guide to embedding and sections' own pages."""

    @cache
    def guide() -> Markup:
        return from_markdown(_guide().replace(GUIDE_ADDRESS, public_url.rstrip("/")))

    async def read() -> Markup:
        return await asyncio.to_thread(guide)

    embedding = DocsPage(
        name="embedding",
        title="Embedding",
        description="How to embed the widget in pages of all kinds, and what can break it.",
        template="",
        read=read,
        style=GUIDE_STYLE,
    )
    return [embedding, *(page for section in sections for page in section.docs_pages())]


def routes(document: Callable[[], Document], pages: Sequence[DocsPage]) -> list[Route]:
    """Return the routes of `/v1/docs` and all pages below it, each also as Markdown."""
    style = _asset("docs.css")
    reference = cache(lambda: render(document(), style, pages).encode())

    async def handle(_: Exchange) -> Response:
        return _response(await asyncio.to_thread(reference), style, MAX_AGE)

    html = [Route(PATH, handle), *(_page_route(document, page, pages) for page in pages)]
    return [*html, *map(_markdown_route, html)]


def _markdown_route(page: Route) -> Route:
    """Return a route that answers with a page as Markdown, at the page's path with `.md` added."""

    async def handle(request: Exchange) -> Response:
        html = await page.handle(request)
        text = await asyncio.to_thread(from_html, bytes(html.body))
        headers = {"Cache-Control": html.headers["cache-control"]}
        return Response(text, 200, headers, media_type="text/markdown")

    return Route(f"{page.path}.md", handle)


def llms_route(
    public_url: str, document: Callable[[], Document], pages: Sequence[DocsPage], *, mcp: bool
) -> Route:
    """Return the route of /llms.txt: a short description of the service for agents, with links."""

    @cache
    def text() -> str:
        template = Environment(undefined=StrictUndefined, trim_blocks=True).from_string(  # noqa: S701  no HTML
            _asset("llms.txt")
        )
        base = public_url.rstrip("/")
        return template.render(info=document()["info"], base=base, pages=pages, mcp=mcp)

    async def handle(_: Exchange) -> Response:
        headers = {"Cache-Control": f"public, max-age={MAX_AGE}"}
        return Response(await asyncio.to_thread(text), 200, headers, media_type="text/plain")

    return Route("/llms.txt", handle)


def _page_route(
    document: Callable[[], Document], page: DocsPage, pages: Sequence[DocsPage]
) -> Route:
    """Return the route of a page that is not the reference; the page gets a navigation bar."""
    style = _asset("docs.css") + page.style
    templates = cache(
        lambda: [
            _environment().from_string(text)
            for text in (_template(page.template), _asset("docs_page.html"))
        ]
    )

    def made(view: Any | None) -> bytes:
        main, frame = templates()
        content = UNREADABLE if view is None else main.render(page=view)
        info = document()["info"]
        given = {"info": info, "style": style, "title": page.title, "pages": pages}
        return frame.render(**given, content=content).encode()

    async def handle(_: Exchange) -> Response:
        try:
            view, max_age = await page.read(), PAGE_MAX_AGE
        except StorageError:
            view, max_age = None, 0
        return _response(await asyncio.to_thread(made, view), style, max_age)

    return Route(f"{PATH}/{page.name}", handle)


def _response(page: bytes, style: str, max_age: int) -> Response:
    headers = {
        "Cache-Control": f"public, max-age={max_age}" if max_age else "no-store",
        "Content-Security-Policy": _policy(style),
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
    }
    return Response(page, 200, headers, media_type="text/html")


def render(document: Document, style: str, pages: Sequence[DocsPage] = ()) -> str:
    """Return the API reference of an OpenAPI document as HTML, with links to other pages."""
    environment = _environment()
    environment.filters["resolve"] = lambda value: _resolve(document, value)
    environment.filters["kind"] = lambda schema: kind(document, schema)
    environment.filters["struct"] = _struct_name
    environment.filters["prose"] = _prose
    template = environment.from_string(_asset("docs.html"))
    return template.render(
        document=document,
        style=style,
        pages=pages,
        errors=PUBLIC_ERRORS,
        degraded=DEGRADED,
        not_applicable=NOT_APPLICABLE,
    )


def from_markdown(text: str) -> Markup:
    """Return Markdown as HTML with anchors of headings; code and tables can scroll by keyboard."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  only one page needs it

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    heading, region = "", Markup(' tabindex="0" role="region" aria-label="{}: {}"')
    for token, following in itertools.zip_longest(tokens, tokens[1:]):
        if token.type == "heading_open":
            heading = following.content
            token.attrSet("id", _anchor(heading))
        elif token.type == "fence":
            about = region.format(heading, "code")
            whole = Markup("<pre{}><code>{}</code></pre>\n").format(about, token.content)
            token.type, token.content = "html_block", whole
        elif token.type == "table_open":
            about = region.format(heading, "table")
            opened = Markup('<div class="scroll"{}>\n<table>\n<caption>{}</caption>\n')
            token.type, token.content = "html_block", opened.format(about, heading)
        elif token.type == "table_close":
            token.type, token.content = "html_block", "</table>\n</div>\n"
    main = markdown.renderer.render(tokens, markdown.options, {})
    return Markup('<section id="start">\n{}</section>').format(Markup(main))  # noqa: S704  ours


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, by GitHub's rules."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _guide() -> str:
    """Return the text of embedding.md, which is in this package or, in a clone, in docs/."""
    packaged = resources.files("location_context.web") / "embedding.md"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parents[3] / "docs" / "embedding.md").read_text(encoding="utf-8")


def _environment() -> Environment:
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _template(name: str) -> str:
    """Return the text of the template named `package:path`.

    For the name "", return a template that shows only `page`, the finished HTML of the page's text.
    """
    if not name:
        return "{{ page }}"
    package, _, path = name.partition(":")
    return resources.files(package).joinpath(path).read_text(encoding="utf-8")


def _asset(name: str) -> str:
    return (resources.files("location_context.web") / name).read_text(encoding="utf-8")


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _resolve(document: Document, value: Mapping[str, Any]) -> Any:
    """Return the part of the document that a value's `$ref` names; without `$ref`, the value."""
    reference = value.get("$ref")
    if reference is None:
        return value
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def kind(document: Document, schema: Mapping[str, Any]) -> str:
    """Return a schema's type in words, such as `list of string or null`."""
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(kind(document, one) for one in choices))
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " · ".join(_word(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind(document, schema.get('items', {}))}"
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return f"map of {kind(document, schema['additionalProperties'])}"
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return " or ".join([str(schema.get("format", kinds[0])), *kinds[1:]])


def _prose(text: str) -> Markup:
    """Return a text as HTML, with its parts in backticks as `<code>`."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704  escaped before


def _struct_name(schema: Mapping[str, Any]) -> str:
    """Return the name of the Struct that is the type of a field or of its list's items, or ""."""
    for one in (schema, schema.get("items", {}), *schema.get("anyOf", [])):
        target = one.get("items", one)
        if isinstance(target, dict) and "$ref" in target:
            return str(target["$ref"].rpartition("/")[2])
    return ""


def _word(value: object) -> str:
    """Return an enum's value as in JSON, but without quotes; None and "" become `null`."""
    return str(value).lower() if isinstance(value, bool) else str(value or "null")
