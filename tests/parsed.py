"""A page or a snippet as a browser reads it."""

import base64
import hashlib
from html.parser import HTMLParser


class Parsed(HTMLParser):
    """The tags with their attributes, all text, and the texts of style and script blocks."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, list[str]] = {"style": [], "script": []}
        self.text = ""
        self._open = ""
        self.feed(text)

    @property
    def ids(self) -> list[str]:
        return [f"{given['id']}" for _, given in self.tags if "id" in given]

    @property
    def links(self) -> list[str]:
        """Where it links to or loads from."""
        return [f"{given[n]}" for _, given in self.tags for n in ("href", "src") if n in given]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        is_data = dict(attrs).get("type") == "application/ld+json"  # which no browser executes
        self._open = tag if tag in self.blocks and not is_data else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open:
            self.blocks[self._open].append(data)


def hash_of(text: str) -> str:
    """Return the source expression of a policy that allows this style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
