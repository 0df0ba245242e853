"""Render: a page of the widget as one HTML file, with a policy that allows only its own content.

Geometry of one page (bars) is in its style block as custom properties: there are no `style`
attributes, and the policy names the hashes of the one style block and the one script.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from location_context.localisation.formatter import Formatter
from location_context.parameters import Theme
from location_context.widget.assets import Assets, Sprite, digest, external_link
from location_context.widget.cards import CardView
from location_context.widget.colour import variables
from location_context.widget.header_footer import Footer, Header


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """The host's choice of theme and accent."""

    theme: Theme = "light"
    accent: str = "#0f766e"

    @property
    def style(self) -> str:
        """The colours as CSS; print always uses the light ones."""
        light = f":root{{color-scheme:light;{variables(self.accent, 'light')}}}"
        if self.theme == "light":
            return light
        dark = f":root{{color-scheme:dark;{variables(self.accent, 'dark')}}}"
        media = "screen and (prefers-color-scheme:dark)" if self.theme == "auto" else "screen"
        return f"{light}@media {media}{{{dark}}}"

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
    data: Mapping[str, str] = field(default_factory=dict)  # for a parent page that asks


@dataclass(frozen=True)
class Page:
    """A rendered page and its Content-Security-Policy."""

    html: str
    policy: str


@dataclass(frozen=True)
class Renderer:
    """Renders pages from the package's assets."""

    assets: Assets = field(default_factory=Assets.load)

    def page(self, content: Content, fmt: Formatter, appearance: Appearance) -> Page:
        card_styles = "".join(view.card.style for row in content.rows for view in row)
        style = f"{appearance.style}{self.assets.style}{card_styles}"
        sprite = Sprite(self.assets.icons)
        language = fmt.language
        html = self.assets.templates.get_template("location_context.widget:page.html").render(
            page=content,
            fmt=fmt,
            lang=language.tag,
            direction=language.direction,
            scheme=appearance.scheme,
            style=Markup(style),  # noqa: S704  our own files and numbers
            script=Markup(self.assets.script),  # noqa: S704  likewise
            icon=sprite.icon,
            symbols=sprite.symbols,
            link=external_link(fmt.gettext("(opens in a new tab)")),
            _=fmt.gettext,
        )
        return Page(html, policy(style, self.assets.script))


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy of a page with this style block and this script."""
    return (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors *"
    )
