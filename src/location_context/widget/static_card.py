"""StaticCard: what sections say in brief as one SVG, for e-mail and previews that show no page.

It is 600 px wide and as tall as its content. Lines are broken here, for the widest common font, so
that no text leaves its place in another. Colours stand in one style block, icons once as symbols;
there is no script, no CSS variable and no address, which mail programs would not follow. `title`
and `desc` hold all of it as text, from which `alt` is taken.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from markupsafe import escape

from location_context.localisation.formatter import Formatter
from location_context.parameters import Parameters, Theme
from location_context.sections.card import Brief, BriefColumn, BriefItem
from location_context.sections.contract import Query
from location_context.service import Service, chosen
from location_context.upstream.deadline import Deadline
from location_context.widget import content
from location_context.widget.colour import Scheme, palette
from location_context.widget.content import ErrorView, Header, SectionResults
from location_context.widget.fonts import Typeface
from location_context.widget.text_width import DOT, fitting, lines, width

WIDTH, MARGIN, GUTTER = 600, 24, 24  # px
INNER = WIDTH - 2 * MARGIN
HALF = (INNER - GUTTER) / 2
LEADING = 1.35
ICON, SMALL_ICON = 26, 13
_FONT = '-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif'
STYLES = {  # of texts: size in px, weight and colour
    "b": (22, 600, "ink"), "d": (14, 400, "ink2"), "q": (12, 400, "ink3"), "h": (13, 600, "ink2"),
    "l": (16, 600, "ink"), "n": (14, 600, "ink"), "t": (12, 600, "accent"),
}  # fmt: skip


@dataclass
class StaticCard:
    """Drawn from top to bottom; `x` is counted from where lines begin, which is right in Arabic."""

    fmt: Formatter
    typeface: Typeface | None = None  # if it is to be drawn here, as a PNG
    y: float = 20.0
    title: str = ""
    text: str = ""
    drawn: list[str] = field(default_factory=list)
    used: dict[str, None] = field(default_factory=dict)

    def line(self, text: str, style: str, x: float = MARGIN, anchor: str = "") -> None:
        """One line whose top is `y`."""
        size = STYLES[style][0]
        classes = f"{style} {anchor}".rstrip()
        below = round(2 * (self.y + size * 1.02)) / 2  # on a pixel's edge, where letters are sharp
        at = f'x="{self._mirrored(x):g}" y="{below:g}"'
        marked = self.typeface.marked(text) if self.typeface else escape(text)
        self.drawn.append(f'<text class="{classes}" {at}>{marked}</text>')

    def paragraph(
        self, text: str, style: str, most: float = INNER, x: float = MARGIN, anchor: str = ""
    ) -> None:
        """As many lines as it takes; `y` is below them then."""
        size, weight, _ = STYLES[style]
        text = self.typeface.drawable(text) if self.typeface else text
        for line in lines(text, size, most, bold=weight > 400):
            self.line(line, style, x, anchor)
            self.y += size * LEADING

    def icon(self, name: str, x: float, size: float) -> None:
        if name:
            self.used[name] = None
            left = min(self._mirrored(x), self._mirrored(x + size))
            place = f'x="{left:g}" y="{self.y:g}" width="{size}" height="{size}"'
            kind = "i" if size == SMALL_ICON else "i w"
            self.drawn.append(f'<use href="#{name}" class="{kind}" {place}/>')

    def rule(self, x: float = MARGIN, length: float = INNER) -> None:
        ends = sorted((self._mirrored(x), self._mirrored(x + length)))
        self.drawn.append(f'<path class="r" d="M{ends[0]:g} {self.y:g}H{ends[1]:g}"/>')

    def _mirrored(self, x: float) -> float:
        return WIDTH - x if self.fmt.language.direction == "rtl" else x

    def draw(self, header: Header, briefs: Sequence[Brief], sources: Iterable[str]) -> None:
        """A stay."""
        fmt = self.fmt
        self.title, self.text = header.place, text_of(header, briefs, fmt)
        self.paragraph(header.place, "b")
        self.y += 2
        self.paragraph(DOT.join(one for one in (header.dates, header.nights) if one), "d")
        self.paragraph(header.zone, "q")
        for is_list, some in groupby(briefs, key=lambda brief: brief.is_list):
            row, step = list(some), 2 if is_list else 1
            for place in range(0, len(row), step):
                self._row(row[place : place + step])
        if names := fmt.comma.join(sources):
            self.y += 8
            self.rule()
            self.y += 8
            label = fmt.gettext("Sources:")
            self.paragraph(f"{label} {names}", "q")

    def draw_error(self, view: ErrorView) -> None:
        self.title, self.text = view.label, view.sentence
        self.paragraph(view.label, "h")
        self.y += 4
        self.paragraph(view.sentence, "l")
        self.drawn.append(f"<!-- {escape(view.comment)} -->")

    @property
    def height(self) -> int:
        """In px, of what is drawn."""
        return round(self.y + 16)

    def svg(self, style: str, icons: Mapping[str, tuple[str, str]]) -> str:
        """All of it with this style; `icons` are view box and shapes by name."""
        height, language = self.height, self.fmt.language
        box = f'<rect class="c" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="14"/>'
        symbols = "".join(
            f'<symbol id="{name}" viewBox="{icons[name][0]}">{icons[name][1]}</symbol>'
            for name in self.used
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t d" '
            f'lang="{language.tag}" direction="{language.direction}">'
            f'<title id="t">{escape(self.title)}</title><desc id="d">{escape(self.text)}</desc>'
            f"<style>{style}</style>{symbols}{box}{''.join(self.drawn)}</svg>"
        )

    def _row(self, row: Sequence[Brief]) -> None:
        """One brief, or two lists side by side."""
        self.y += 8
        top = below = self.y
        most = HALF if len(row) > 1 else INNER
        for place, brief in enumerate(row):
            self.y = top
            x = MARGIN + place * (HALF + GUTTER)
            self.rule(x, most)
            self.y += 9
            self._brief(brief, x, most)
            below = max(below, self.y)
        self.y = below

    def _brief(self, brief: Brief, x: float, most: float) -> None:
        size = STYLES["h"][0]
        room = most - width(brief.heading, size, bold=True) - 12
        beside = brief.note and width(brief.note, STYLES["t"][0], bold=True) <= room
        if beside:
            self.line(brief.note, "q" if brief.is_list else "t", x + most, "e")
        self.paragraph(brief.heading, "h", most, x)
        if brief.note and not beside:
            self.paragraph(brief.note, "t", most, x)
        self.y += 2
        self.paragraph(brief.lead, "l", most, x)
        self.paragraph(brief.remark, "q", most, x)
        if brief.columns:
            self._columns(brief.columns, x, most)
            self.paragraph(brief.caption, "q", most, x)
        for item in fitting(brief).items:
            self.y += 2
            self._item(item, x, most)

    def _columns(self, columns: Sequence[BriefColumn], x: float, most: float) -> None:
        """The columns in rows: labels, icons, values, and what stands below each."""
        step = most / len(columns)
        middles = [x + step * (place + 0.5) for place in range(len(columns))]
        self.y += 6
        if any(column.usual for column in columns):
            for place, column in enumerate(columns):
                start = x + step * place + 1
                kind = "us" if column.usual else "fo"
                ends = sorted((self._mirrored(start), self._mirrored(start + step - 3)))
                self.drawn.append(f'<path class="{kind}" d="M{ends[0]:g} {self.y:g}H{ends[1]:g}"/>')
            self.y += 6
        self.y = max(
            self._column_text(c.label, "q", m, step) for c, m in zip(columns, middles, strict=True)
        )
        if any(column.icon for column in columns):
            for column, middle in zip(columns, middles, strict=True):
                self.icon(column.icon, middle - ICON / 2, ICON)
            self.y += ICON + 3
        self.y = max(
            self._column_text(c.value, "l", m, step) for c, m in zip(columns, middles, strict=True)
        )
        for number in range(max(len(column.quiet) for column in columns)):
            for column, middle in zip(columns, middles, strict=True):
                if number < len(column.quiet):
                    name, text = column.quiet[number]
                    room = (SMALL_ICON + 2) / 2 if name else 0
                    long = width(text, STYLES["q"][0]) + 2 * room > step
                    if name and not long:
                        start = middle - width(text, STYLES["q"][0]) / 2 - room
                        self.icon(name, start, SMALL_ICON)
                    self.line(text, "q", middle + (0 if long else room), "m")
            self.y += STYLES["q"][0] * LEADING
        self.y += 2

    def _column_text(self, text: str, style: str, middle: float, step: float) -> float:
        """Draw it under `y`, and give what is below."""
        top = self.y
        self.paragraph(text, style, step - 2, middle, "m")
        self.y, below = top, self.y
        return below

    def _item(self, item: BriefItem, x: float, most: float) -> None:
        """The name, and below it icons and details."""
        self.paragraph(item.name, "n", most, x)
        details, start = DOT.join(item.details), x
        if item.icon:
            for _ in range(item.icons):
                self.icon(item.icon, start, SMALL_ICON)
                start += SMALL_ICON + 1
            start += 4
        self.paragraph(details, "q", most - (start - x), start)
        self.y += 0 if details else STYLES["q"][0] * LEADING * bool(item.icon)


async def read_and_draw(
    service: Service,
    parameters: Parameters,
    query: Query,
    deadline: Deadline,
    typeface: Typeface | None = None,
) -> tuple[StaticCard, SectionResults]:
    """The card of a stay, and the results that it shows."""
    fmt, sections = Formatter(query.language), chosen(service.sections, parameters.sections)
    read = (content.read(service, one, query, deadline) for one in sections)
    results = content.joined(await asyncio.gather(*read))
    header = content.header(parameters, query.dates, query.point, service.gazetteer, fmt)
    now = service.clock()
    footer = content.footer(results, query.point, fmt, now)
    briefs = (content.brief(one, results, fmt, now) for one in results.by_section)
    card = StaticCard(fmt, typeface)
    names = [part.text for _, parts in footer.names for part in parts] if footer else []
    card.draw(header, [brief for brief in briefs if brief], names)
    return card, results


def text_of(header: Header, briefs: Sequence[Brief], fmt: Formatter) -> str:
    """All of the card as text."""
    said = [f"{header.place}{fmt.comma}{header.dates}."]
    for brief in briefs:
        items = (_item_text(item, fmt) for item in fitting(brief).items)
        columns = (column.spoken for column in brief.columns)
        listed = "; ".join(items)
        parts = [brief.lead, brief.remark, *columns, f"{listed}." if listed else ""]
        heading = fmt.gettext("{section}:").format(section=brief.heading)
        said.append(f"{heading}{fmt.word_separator}{fmt.join_sentences(parts)}")
    return fmt.join_sentences(said).replace("\u2060", "")


def _item_text(item: BriefItem, fmt: Formatter) -> str:
    details = [one for one in (item.spoken, *item.details) if one]
    return f"{item.name} ({fmt.comma.join(details).rstrip('.')})" if details else item.name


def svg_style(theme: Theme, accent: str) -> str:
    """The style block of a static card."""
    shapes = (
        f"text{{font-family:{_FONT};white-space:pre}}"
        ".m{text-anchor:middle}.e{text-anchor:end}"
        ".i{fill:none;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}"
        ".w{stroke-width:1.6}.f{stroke-width:1.3}.n{fill:currentColor}"
        ".fo,.us{stroke-width:2}.us{stroke-dasharray:5 3}"
    ) + "".join(
        f"text.{name}{{font-size:{size}px;font-weight:{weight}}}"
        for name, (size, weight, _) in STYLES.items()
    )
    if theme == "auto":
        dark = _colours(accent, "dark")
        light = _colours(accent, "light")
        return f"{shapes}{light}@media (prefers-color-scheme:dark){{{dark}}}"
    return shapes + _colours(accent, theme)


def _colours(accent: str, scheme: Scheme) -> str:
    colours = palette(accent, scheme)
    texts = "".join(f"text.{name}{{fill:{colours[one]}}}" for name, (*_, one) in STYLES.items())
    return (
        f"{texts}.c{{fill:{colours['surface']};stroke:{colours['line']}}}"
        f".r{{stroke:{colours['line']}}}"
        f".fo{{stroke:{colours['fill']}}}.us{{stroke:{colours['edge']}}}"
        f".i{{stroke:{colours['accent']};color:{colours['accent']}}}"
        f".w{{stroke:{colours['ink']};color:{colours['ink']}}}.a{{stroke:{colours['sun']}}}"
        f".p{{stroke:{colours['rain']}}}"
    )
