"""Render: a page of the widget, whole in one file, and the policy that allows only what it holds.

Geometry that belongs to one page (bars) stands in its style block as custom properties: there are
no `style` attributes, and the policy names the hash of the one style block and the one script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from location_context.localisation.formats import Formats
from location_context.parameters import Theme
from location_context.widget.assets import Assets, Sprite, digest, linker
from location_context.widget.cards import CardView
from location_context.widget.colour import variables
from location_context.widget.footer import Footer
from location_context.widget.header import Header


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """The host's choice of theme and accent."""

    theme: Theme = "light"
    accent: str = "#0f766e"

    @property
    def style(self) -> str:
        """The colours; paper takes the light ones."""
        light = f":root{{color-scheme:light;{variables(self.accent, 'light')}}}"
        if self.theme == "light":
            return light
        dark = f":root{{color-scheme:dark;{variables(self.accent, 'dark')}}}"
        asked = "screen and (prefers-color-scheme:dark)" if self.theme == "auto" else "screen"
        return f"{light}@media {asked}{{{dark}}}"

    @property
    def scheme(self) -> str:
        return "light dark" if self.theme == "auto" else self.theme


@dataclass(frozen=True, kw_only=True)
class ErrorView:
    """What went wrong, for the one card of an error page."""

    label: str
    sentence: str
    detail: str
    code: str
    request_id: str


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a page shows."""

    title: str
    header: Header | None = None
    rows: Sequence[Sequence[CardView]] = ()
    sentence: str = ""
    footer: Footer | None = None
    problem: ErrorView | None = None
    discovery: Markup | str = ""
    described: Mapping[str, str] = field(default_factory=dict)  # told to a parent that asks


@dataclass(frozen=True)
class Page:
    """A rendered page and its Content-Security-Policy."""

    html: str
    policy: str


@dataclass(frozen=True)
class Renderer:
    """Renders pages from the package's assets."""

    assets: Assets = field(default_factory=Assets.load)

    def page(self, content: Content, words: Formats, look: Appearance) -> Page:
        cards = [one.card for row in content.rows for one in row]
        own = "".join(card.style for card in cards)
        style = f"{look.style}{self.assets.style}{own}"
        sprite = Sprite(self.assets.icons)
        language = words.language
        html = self.assets.templates.get_template("location_context.widget:page.html").render(
            page=content,
            words=words,
            lang=language.tag,
            direction=language.direction,
            scheme=look.scheme,
            style=_Raw(style),
            script=_Raw(self.assets.script),
            icon=sprite.icon,
            symbols=sprite.symbols,
            link=linker(words.gettext("(opens in a new tab)")),
            _=words.gettext,
        )
        return Page(html, policy(style, self.assets.script))


class _Raw(str):
    """Text of our own that stands as it is in the page."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors *"
    )
