"""Render: a widget page as one HTML file, with a Content-Security-Policy for its own content.

The policy allows one style block and one script by their hashes. It forbids `style` attributes, so
the lengths of bars are custom properties in the style block. Templates, style, script and icons are
read from the package once.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from importlib import resources
from typing import Any, Self
from urllib.parse import urlsplit

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from location_context.localisation.formatter import Formatter
from location_context.parameters import DEFAULT_RADIUS, Background, Font, Parameters, Shown, Theme
from location_context.sections.card import Card
from location_context.widget.colour import variables
from location_context.widget.content import Content, RenderedCard
from location_context.widget.static_card import StaticCard, svg_style
from location_context.widget.text_width import fitting

_PACKAGE = "location_context.widget"
_FONTS: Mapping[Font, str] = {  # fonts of the visitor's system; nothing is loaded
    "system": '-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif',
    "serif": 'ui-serif,"Iowan Old Style",Palatino,Georgia,"Noto Serif","DejaVu Serif",serif',
    "rounded": 'ui-rounded,"Hiragino Maru Gothic ProN",Quicksand,system-ui,sans-serif',
}
FRAME_HEADERS = {
    "Cross-Origin-Embedder-Policy": "require-corp",  # pages that send it need it on frames too
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}
NEGOTIATED = {
    "Vary": "Accept-Language",
    "CDN-Cache-Control": "no-store",  # RFC 9213, for CDNs that ignore Vary, such as Cloudflare
}
_COLOUR = re.compile(r"var\(--(\w+)")
_ICON = re.compile(r'<svg viewBox="([^"]+)">(.*)</svg>', re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """The requested appearance of a widget: theme, accent, background, font, radius, title."""

    theme: Theme = "light"
    accent: str = "#0f766e"
    background: Background = "surface"
    font: Font = "system"
    radius: int = DEFAULT_RADIUS
    title: Shown = "show"

    def colours(self, sheet: str) -> str:
        """Return CSS that sets the colours used by `sheet`, the radius and the font."""
        used = frozenset(_COLOUR.findall(sheet))
        sheet_wide = f":root{{--r:{self.radius}px;--font:{_FONTS[self.font]}}}"
        if self.background == "none":
            used -= {"ground"}
            sheet_wide = sheet_wide.replace("{", "{--ground:#0000;", 1)
        light = f":root{{color-scheme:light;{variables(self.accent, 'light', used)}}}"
        if self.theme == "light":
            return sheet_wide + light
        dark = f":root{{color-scheme:dark;{variables(self.accent, 'dark', used)}}}"
        media = "screen and (prefers-color-scheme:dark)" if self.theme == "auto" else "screen"
        return f"{sheet_wide}{light}@media {media}{{{dark}}}"

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        """Return the appearance that the parameters request."""
        names = [one.name for one in fields(cls)]
        return cls(**{name: getattr(parameters, name) for name in names})

    @property
    def scheme(self) -> str:
        return "light dark" if self.theme == "auto" else self.theme


@dataclass(frozen=True)
class Page:
    """A rendered page or picture and its Content-Security-Policy."""

    body: bytes
    policy: str
    media_type: str = "text/html"


class Renderer:
    """Renders pages from the package's style, script, templates and icons.

    `hosts` are the origins that may embed the pages in frames; empty for all origins.
    """

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        self._ancestors = " ".join(("'self'", *hosts)) if hosts else "*"
        self._styles = {
            layout: read_unindented(f"{_PACKAGE}:style.css", f"{_PACKAGE}:{layout}.css")
            for layout in ("full", "compact")
        }
        self._script = read_unindented(f"{_PACKAGE}:resize.js")
        self._script_digest = digest(self._script)
        self._environment = template_environment()
        self._templates = {
            layout: self._environment.get_template(f"{_PACKAGE}:{file}.html")
            for layout, file in (("full", "page"), ("compact", "compact"))
        }
        self._brief = self._environment.get_template(f"{_PACKAGE}:brief.html")
        self._icons = dict[str, tuple[str, str]]()
        for file in resources.files(_PACKAGE).joinpath("icons").iterdir():
            if match := _ICON.search(file.read_text("utf-8")):
                self._icons[file.name.removesuffix(".svg")] = (match[1], match[2])

    def card(self, name: str, card: Card, fmt: Formatter) -> RenderedCard:
        """Return the section's card for full pages in the language of `fmt`."""
        if not card.template:
            return RenderedCard(name, Markup(""), (), card.style, card=card)
        template = self._environment.get_template(card.template)
        drawn = self._card(name, template, fmt, card.style, card=card.view)
        return replace(drawn, card=card)

    def brief(self, name: str, card: Card, fmt: Formatter) -> RenderedCard:
        """Return the section's short card for compact pages, in the language of `fmt`."""
        if not card.brief:
            return RenderedCard(name, Markup(""), (), "", card=card)
        drawing = Markup(card.brief.drawing)  # noqa: S704  a section's own shapes
        brief = replace(card.brief, items=fitting(card.brief.items))
        drawn = self._card(name, self._brief, fmt, "", brief=brief, drawing=drawing)
        return replace(drawn, card=card)

    def _card(
        self, name: str, template: Template, fmt: Formatter, style: str, **view: Any
    ) -> RenderedCard:
        sprite = Sprite(self._icons)
        html = template.render(self._words(fmt), one={"name": name}, icon=sprite.icon, **view)
        safe = Markup(html)  # noqa: S704  its environment has escaped it
        return RenderedCard(name, safe, tuple(sprite.used), style)

    def _words(self, fmt: Formatter) -> dict[str, Any]:
        """Return the values that every template needs to write in the language of `fmt`."""
        return {
            "fmt": fmt,
            "lang": fmt.language.tag,
            "direction": fmt.language.direction,
            "link": external_link(fmt.gettext("(opens in a new tab)")),
            "_": fmt.gettext,
        }

    def page(self, content: Content, fmt: Formatter, appearance: Appearance) -> Page:
        card_styles = "".join(card.style for card in content.cards)
        layout = "compact" if content.whole else "full"
        sheet = f"{self._styles[layout]}{card_styles}"
        style = appearance.colours(sheet) + sheet
        sprite = Sprite(self._icons)
        html = self._templates[layout].render(
            self._words(fmt),
            page=content,
            scheme=appearance.scheme,
            untitled=appearance.title == "none",
            style=Markup(style),  # noqa: S704  our own files and numbers
            script=Markup(self._script),  # noqa: S704  our own file
            icon=sprite.icon,
            show=sprite.show,
            symbols=sprite.symbols,
        )
        policy = (
            f"default-src 'none'; style-src {digest(style)}; script-src {self._script_digest}; "
            "base-uri 'none'; form-action 'none'; "
            f"frame-ancestors {self._ancestors}"
        )
        return Page(html.encode(), policy)

    def picture(self, card: StaticCard, appearance: Appearance) -> Page:
        """Return a static card as SVG; if it is made for a PNG, the theme `auto` means `light`."""
        theme = appearance.theme
        if card.typeface and theme == "auto":
            theme = "light"
        style = svg_style(theme, appearance.accent)
        if card.typeface and card.typeface.rtl:
            style += "text{text-anchor:end}.e{text-anchor:start}"  # mirrors left-to-right lines
        policy = f"default-src 'none'; style-src {digest(style)}; frame-ancestors {self._ancestors}"
        return Page(card.svg(style, self._icons).encode(), policy, "image/svg+xml")


@dataclass
class Sprite:
    """Collects the icons of one page, so that the page contains each shape once.

    `icons` has (view box, shapes) by name.
    """

    icons: Mapping[str, tuple[str, str]]
    used: dict[str, None] = field(default_factory=dict)

    def icon(self, name: str, size: str = "") -> Markup:
        """Return an SVG that refers to an icon's shape; `size` is an additional CSS class."""
        self.used[name] = None
        return _icon(name, size)

    def show(self, card: RenderedCard) -> Markup:
        """Return a card's HTML, and record its icons as used on this page."""
        self.used |= dict.fromkeys(card.icons)
        return card.html

    def symbols(self) -> Markup:
        """Return the shapes of all icons used so far, as SVG symbols."""
        shapes = (
            f'<symbol id="{name}" viewBox="{self.icons[name][0]}">{self.icons[name][1]}</symbol>'
            for name in self.used
        )
        return Markup("".join(shapes))  # noqa: S704  shapes come from files of this package


@lru_cache(maxsize=256)
def _icon(name: str, size: str) -> Markup:
    classes = f"i {size}".rstrip()
    return Markup('<svg class="{}" aria-hidden="true"><use href="#{}"/></svg>').format(
        classes, name
    )


def external_link(new_tab_note: str) -> Callable[..., Markup]:
    """Return a function that makes links that open a new tab, with a note for screen readers.

    For a URL that is not http or https, the returned function returns text without a link. It has
    an argument `note_language`, to set the note's language if the text around it has another.
    """
    note = escape(new_tab_note)

    def of(language: str) -> str:
        return f' lang="{escape(language)}"' if language else ""

    def link(address: str, text: str, note_language: str = "", id: str = "") -> Markup:  # noqa: A002  as in HTML
        if urlsplit(address).scheme not in {"http", "https"}:
            return escape(text)
        said = f' data-id="{escape(id)}"' if id else ""
        return Markup(  # noqa: S704  each part is escaped
            f'<a href="{escape(address)}" target="_blank" rel="noopener noreferrer nofollow"{said}>'
            f'{escape(text)}<span class="vh"{of(note_language)}> {note}</span></a>'
        )

    return link


def digest(text: str) -> str:
    """Return the hash expression with which a Content-Security-Policy allows this inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def template_environment() -> Environment:
    """Return a Jinja environment that finds templates by `package:path` and escapes output."""
    return Environment(
        loader=FunctionLoader(read_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def read_file(name: str) -> str:
    """Return the text of the file `package:path`."""
    package, _, path = name.partition(":")
    return resources.files(package).joinpath(*path.split("/")).read_text("utf-8")


def read_unindented(*names: str) -> str:
    """Return the joined text of files; remove indentation, and lines that are `//` comments."""
    lines = (line.strip() for name in names for line in read_file(name).splitlines())
    return "\n".join(line for line in lines if not line.startswith("//"))
