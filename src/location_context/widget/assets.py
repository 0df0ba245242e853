"""Assets: the page's style, script, templates and icons, read from the package once."""

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

_WIDGET = "location_context.widget"
_ICON = re.compile(r'<svg viewBox="([^"]+)">(.*)</svg>', re.DOTALL)


@dataclass(frozen=True)
class Assets:
    """What every page is made of: `icons` are view box and shapes by name."""

    style: str
    script: str
    icons: Mapping[str, tuple[str, str]]
    templates: Environment

    @classmethod
    def load(cls) -> Self:
        icons = {}
        for file in resources.files(_WIDGET).joinpath("icons").iterdir():
            if match := _ICON.search(file.read_text("utf-8")):
                icons[file.name.removesuffix(".svg")] = (match[1], match[2])
        return cls(
            style=minify(read_file(f"{_WIDGET}:style.css")),
            script=minify(read_file(f"{_WIDGET}:resize.js")),
            icons=icons,
            templates=template_environment(),
        )


@dataclass
class Sprite:
    """The icons that one page uses, so that each shape is sent once."""

    icons: Mapping[str, tuple[str, str]]
    used: dict[str, None] = field(default_factory=dict)

    def icon(self, name: str, size: str = "") -> Markup:
        """A reference to a shape; `size` is an additional CSS class."""
        self.used[name] = None
        classes = f"i {size}".rstrip()
        return Markup('<svg class="{}" aria-hidden="true"><use href="#{}"/></svg>').format(
            classes, name
        )

    def symbols(self) -> Markup:
        """The shapes used so far."""
        shapes = (
            f'<symbol id="{name}" viewBox="{self.icons[name][0]}">{self.icons[name][1]}</symbol>'
            for name in self.used
        )
        return Markup("".join(shapes))  # noqa: S704  shapes come from files of this package


def external_link(new_tab_note: str) -> Callable[[str, str], Markup]:
    """A function that makes links which open in a new tab and say so to screen readers.

    An address that is not http or https gives the text without a link.
    """

    def link(address: str, text: str) -> Markup:
        if urlsplit(address).scheme not in {"http", "https"}:
            return escape(text)
        return Markup(
            '<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}'
            '<span class="vh"> {}</span></a>'
        ).format(address, text, new_tab_note)

    return link


def digest(text: str) -> str:
    """The source expression with which a Content-Security-Policy allows this text inline."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def template_environment() -> Environment:
    """Templates by `package:path`; output is escaped, an undefined name is an error."""
    return Environment(
        loader=FunctionLoader(read_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def read_file(name: str) -> str:
    """The text of a package's file by `package:path`."""
    package, _, path = name.partition(":")
    return resources.files(package).joinpath(*path.split("/")).read_text("utf-8")


def minify(text: str, end: str = "") -> str:
    """The text without indents, line breaks and `//` comments; each line ends in `end` instead."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + end for line in lines if not line.startswith("//"))
