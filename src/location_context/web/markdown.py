"""Converts a documentation page to Markdown for agents, without navigation and style."""

from collections.abc import Iterator
from functools import lru_cache

import lxml.html
from lxml.html import HtmlElement

_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_MARKS = {"code": "`", "b": "**", "strong": "**", "em": "*"}


@lru_cache(maxsize=8)
def from_html(page: bytes) -> bytes:
    """Return the `<main>` of an HTML page as Markdown; links within the page become plain text."""
    main = lxml.html.document_fromstring(page.decode()).find(".//main")
    return ("\n\n".join(_blocks(main)) + "\n").encode()


def _blocks(element: HtmlElement) -> Iterator[str]:
    """Yield each block inside an element (heading, paragraph, list, table) as Markdown."""
    for child in element:
        if child.tag in _HEADINGS:
            yield f"{_HEADINGS[child.tag]} {_inline(child)}"
        elif child.tag in {"p", "summary"}:
            yield _inline(child)
        elif child.tag == "pre":
            yield f"```\n{child.text_content().rstrip()}\n```"
        elif child.tag in {"ul", "ol"}:
            yield "\n".join(f"- {_inline(item)}" for item in child)
        elif child.tag == "table":
            yield _table(child)
        elif child.tag == "blockquote":
            yield "\n".join(f"> {line}" for line in "\n\n".join(_blocks(child)).splitlines())
        else:
            yield from _blocks(child)


def _table(table: HtmlElement) -> str:
    """Return an HTML table as Markdown, preceded by its caption."""
    head, *rows = ([_inline(cell).replace("|", "\\|") for cell in row] for row in table.iter("tr"))
    lines = (f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
    caption = [f"**{_inline(one)}**\n" for one in table.iter("caption")]
    return "\n".join([*caption, *lines])


def _inline(element: HtmlElement) -> str:
    """Return the text of an element on one line, with code, emphasis and links as Markdown."""
    parts = [element.text or ""]
    for child in element:
        text = _inline(child)
        mark, href = _MARKS.get(child.tag, ""), child.get("href", "")
        if href and not href.startswith("#"):
            text = f"[{text}]({href})"
        parts += [f"{mark}{text}{mark}" if text else " ", child.tail or ""]
    return " ".join("".join(parts).split())
