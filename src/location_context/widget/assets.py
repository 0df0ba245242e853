"""Assets: the page's style, script, templates and icons, read from the package once."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Self
from urllib.parse import urlsplit

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

_PACKAGE = "location_context"
_ICON = re.compile(r'<svg viewBox="([^"]+)">(.*)</svg>', re.DOTALL)


@dataclass(frozen=True)
class Assets:
    """What every page is made of."""

    style: str
    script: str
    icons: Mapping[str, tuple[str, str]]
    templates: Environment

    @classmethod
    def load(cls) -> Self:
        folder = resources.files(_PACKAGE) / "widget"
        icons = {}
        for file in (folder / "icons").iterdir():
            found = _ICON.search(file.read_text("utf-8"))
            if found is not None:
                icons[file.name.removesuffix(".svg")] = (found[1], found[2])
        return cls(
            style=squeezed((folder / "style.css").read_text("utf-8")),
            script=squeezed((folder / "resize.js").read_text("utf-8")),
            icons=icons,
            templates=_environment(),
        )


@dataclass
class Sprite:
    """The icons that one page uses: each shape is sent once."""

    icons: Mapping[str, tuple[str, str]]
    used: dict[str, None] = field(default_factory=dict)

    def icon(self, name: str, size: str = "") -> Markup:
        """A reference to a shape; `size` is a further class."""
        self.used[name] = None
        classes = f"i {size}".rstrip()
        return Markup('<svg class="{}" aria-hidden="true"><use href="#{}"/></svg>').format(
            classes, name
        )

    def symbols(self) -> Markup:
        """The shapes used so far; they are ours, not anybody's input."""
        shapes = (
            f'<symbol id="{name}" viewBox="{self.icons[name][0]}">{self.icons[name][1]}</symbol>'
            for name in self.used
        )
        return Markup("".join(shapes))  # noqa: S704  shapes come from files of this package


def linker(said: str) -> Callable[[str, str], Markup]:
    """Makes links that open in a new tab and say so; an address that is not http(s) is no link."""

    def link(address: str, text: str) -> Markup:
        if urlsplit(address).scheme not in {"http", "https"}:
            return escape(text)
        return Markup(
            '<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}'
            '<span class="vh"> {}</span></a>'
        ).format(address, text, said)

    return link


def digest(text: str) -> str:
    """The source expression by which a policy allows this text inline."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def _template(name: str) -> str:
    """The text of a template `package:path`."""
    package, _, path = name.partition(":")
    return resources.files(package).joinpath(*path.split("/")).read_text("utf-8")


def squeezed(text: str, end: str = "") -> str:
    """Without indents and lines of comment; lines end in `end`, as they need none of their own."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + end for line in lines if not line.startswith("//"))
