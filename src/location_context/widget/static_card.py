"""StaticCard: the compact page as one SVG, for e-mail and previews that cannot show a page.

The card is 600 px wide and as tall as its content. Line breaks are computed with the letter widths
of the widest common fonts, so that the lines fit in any font. One style block has the colours; each
icon is one symbol. There is no script, no CSS variable and no external address, since mail programs
do not support them. `title` and `desc` contain the whole card as text, which `alt` repeats.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import escape

from location_context.localisation.formatter import Formatter
from location_context.parameters import Parameters, Theme
from location_context.sections.card import Brief, BriefItem, Fact, Row
from location_context.sections.contract import Query
from location_context.service import Service, chosen
from location_context.upstream.deadline import Deadline
from location_context.widget import content
from location_context.widget.colour import Scheme, palette
from location_context.widget.content import ErrorView, Header, SectionResults
from location_context.widget.fonts import Typeface
from location_context.widget.stay import COMPACT, Line, Shown, StayCard, facts, joined
from location_context.widget.text_width import DOT, SMALL, fitting, lines, width

WIDTH, MARGIN, GUTTER = 600, 24, 14  # px
INNER = WIDTH - 2 * MARGIN
HALF = (INNER - GUTTER) / 2
LEADING = 1.35
ICON, SMALL_ICON, MOON = 26, 15, 30
BAR = 76  # px, the length of the temperature scale
NARROWEST = 120  # px; with less room beside a row, the day's moments are drawn below it
_FONT = '-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif'
STYLES = {  # of texts: size in px, weight and colour
    "h": (22, 600, "ink"), "d": (14, 400, "ink2"), "q": (12, 400, "ink3"), "l": (16, 600, "ink"),
    "n": (14, 600, "ink"), "m": (SMALL, 600, "ink"), "t": (12, 600, "accent"),
    "r": (14, 400, "rain"), "rb": (14, 600, "rain"), "u": (14, 600, "warnink"),
}  # fmt: skip
_TONES = {"accent": "accent", "rain": "rain", "sun": "suntext", "dusk": "dusk", "quiet": "ink2"}
_RAIN = ("d", "r", "rb")  # styles by `Row.wet`: how likely rain is


@dataclass(frozen=True, kw_only=True)
class CardContent:
    """The content of a static card."""

    header: Header
    facts: Sequence[Fact]
    days: StayCard | None
    briefs: Sequence[Brief]
    sources: Sequence[str]


@dataclass
class StaticCard:
    """An SVG that is drawn from top to bottom.

    The next part is drawn at `y`. The argument `x` of the methods is the distance from the left
    side, or from the right side if the language is written from right to left.
    """

    fmt: Formatter
    typeface: Typeface | None = None  # set if a PNG will be drawn from the SVG
    y: float = 20.0
    title: str = ""
    text: str = ""
    drawn: list[str] = field(default_factory=list)
    used: dict[str, None] = field(default_factory=dict)

    def line(
        self, text: str, style: str, x: float = MARGIN, anchor: str = "", note: str = ""
    ) -> None:
        """Draw text and a small note below `self.y`: from `x` or, if `anchor` is "e", up to `x`."""
        if not text:
            return
        size = STYLES[style][0]
        classes = f"{style} {anchor}".rstrip()
        below = round(2 * (self.y + size * 1.02)) / 2  # at a pixel's edge, for sharp letters
        at = f'x="{self._mirrored(x):g}" y="{below:g}"'
        marked = self.typeface.marked if self.typeface else escape
        more = f' <tspan class="q">{marked(note)}</tspan>' if note else ""
        text = self._drawable(text)
        self.drawn.append(f'<text class="{classes}" {at}>{marked(text)}{more}</text>')

    def _drawable(self, text: str) -> str:
        return self.typeface.drawable(text) if self.typeface else text

    def paragraph(self, text: str, style: str, most: float = INNER, x: float = MARGIN) -> None:
        """Draw a text in as many lines as it needs, and move `self.y` below them."""
        size, weight, _ = STYLES[style]
        text = self._drawable(text)
        for line in lines(text, size, most, bold=weight > 400):
            self.line(line, style, x)
            self.y += size * LEADING

    def icon(self, name: str, x: float, size: float = SMALL_ICON, tone: str = "quiet") -> None:
        """Draw an icon with its upper edge at `self.y`."""
        if name:
            self.used[name] = None
            left = min(self._mirrored(x), self._mirrored(x + size))
            place = f'x="{left:g}" y="{self.y:g}" width="{size}" height="{size}"'
            kind = "w" if size == ICON else f"i-{tone}"
            self.drawn.append(f'<use href="#{name}" class="i {kind}" {place}/>')

    def rule(self, x: float = MARGIN, length: float = INNER) -> None:
        ends = sorted((self._mirrored(x), self._mirrored(x + length)))
        self.drawn.append(f'<path class="r0" d="M{ends[0]:g} {self.y:g}H{ends[1]:g}"/>')

    def _mirrored(self, x: float) -> float:
        return WIDTH - x if self.fmt.language.direction == "rtl" else x

    def draw(self, stay: CardContent) -> None:
        """Draw the whole card, from the place to the sources."""
        self.title, self.text = stay.header.place, text_of(stay, self.fmt)
        self.paragraph(stay.header.place, "h")
        self.y += 2
        self.paragraph(DOT.join(one for one in (stay.header.dates, stay.header.nights) if one), "d")
        if stay.facts:
            self._part()
            self._facts(stay.facts)
        if stay.days and (stay.days.rows or stay.days.dated):
            self._part()
            self._days(stay.days)
        for brief in stay.briefs:
            self._part()
            self._brief(brief)
        if stay.sources:
            self._part()
            label = self.fmt.gettext("Sources:")
            self.paragraph(f"{label} {self.fmt.comma.join(stay.sources)}", "q")

    def _part(self) -> None:
        self.y += 9
        self.rule()
        self.y += 9

    def _facts(self, facts: Sequence[Fact]) -> None:
        """Draw the facts in two columns, each with icon, value and caption."""
        for place in range(0, len(facts), 2):
            top = below = self.y
            for column, fact in enumerate(facts[place : place + 2]):
                self.y, x = top, MARGIN + column * (HALF + GUTTER)
                self.y += 3
                self.icon(fact.icon, x, tone=fact.tone)
                self.y -= 3
                start = SMALL_ICON + 8 if fact.icon else 0
                self.paragraph(fact.value, "l", HALF - start, x + start)
                self.paragraph(fact.caption, "q", HALF, x)
                below = max(below, self.y)
            self.y = below + (6 if place + 2 < len(facts) else 0)

    def _days(self, days: StayCard) -> None:
        if days.badge:
            self.paragraph(days.badge, "t")
            self.y += 4
        if days.warning:
            self.paragraph(days.warning[0], "u")
            self.paragraph(days.warning[1], "q")
            self.y += 6
        if days.rows:
            self._rows(days)
            self.paragraph(days.beyond, "q")
            return
        room = max(width(one.label, STYLES["n"][0], bold=True) for one in days.dated) + 14
        for one in days.dated:
            top = self.y
            self.paragraph(one.label, "n", room)
            below, self.y = self.y, top
            self._moments(one.moments, MARGIN + room, INNER - room)
            self.y = max(self.y, below) + 4

    def _rows(self, days: StayCard) -> None:
        """Draw a row for each day: weather, low, temperature bar, high, rain, and moments."""
        rows = [(line, line.row) for line in days.rows if line.row]

        def widest(texts: Iterable[str], style: str) -> float:
            size, weight, _ = STYLES[style]
            return max(width(text, size, bold=weight > 400) for text in texts)

        before = ICON + 6  # px; the label of a row without an icon may take this room too
        label = 8 + max(
            width(line.label, STYLES["n"][0], bold=True) - (0 if row.icon else before)
            for line, row in rows
        )
        icon = MARGIN + label
        low = icon + before + widest((row.low for _, row in rows), "d")
        bar, high = low + 10, low + BAR + 20
        rain = high + widest((row.high for _, row in rows), "l") + 6
        rain += widest((row.rain for _, row in rows), "rb")
        self._scale(days, bar)
        for line, row in rows:
            top, self.y = self.y, self.y + 4
            room = label + (0 if row.icon else before)
            self.paragraph(line.label, "n", room)
            self.paragraph(line.note, "q", room)
            below, self.y = self.y, top
            self.icon(row.icon, icon, ICON)
            self.y = top + 4
            self.line(row.low, "d", low, "e")
            self.line(row.high, "l" if not row.typical else "d", high)
            self.line(row.rain, _RAIN[row.wet], rain, "e")
            self._bar(row, bar)
            self.y = top + 3
            start = rain + 14
            if WIDTH - MARGIN - start < NARROWEST:
                self.y, start = max(below, top + ICON), icon
            self._moments(line.moments, start, WIDTH - MARGIN - start)
            self.y = max(self.y, below, top + ICON) + 4

    def _scale(self, days: StayCard, left: float) -> None:
        """Define the gradient that all temperature bars share."""
        ends = f'x1="{self._mirrored(left):g}" x2="{self._mirrored(left + BAR):g}"'
        stops = "".join(
            f'<stop offset="{at:g}%" stop-color="{colour}"/>' for at, colour in days.stops
        )
        self.drawn.append(
            f'<linearGradient id="scale" gradientUnits="userSpaceOnUse" {ends}>{stops}'
            "</linearGradient>"
        )

    def _bar(self, row: Row, left: float) -> None:
        """Draw a temperature bar from the day's low, in three shades from dark to pale.

        The shades end at the 10th percentile of the high, at the high and at its 90th percentile.
        """
        if row.span is None:
            return
        y, (low, p10, high, p90) = self.y + 10, row.span
        bars = (("o", low, p90), ("s", low, high), ("c", low, p10))
        for kind, begin, end in (("k", 0.0, 100.0), *bars):
            x = [self._mirrored(left + BAR * share / 100) for share in (begin, end)]
            self.drawn.append(f'<path class="b {kind}" d="M{min(x):g} {y:g}H{max(x):g}"/>')

    def _moments(self, moments: Sequence[Shown], x: float, most: float) -> None:
        """Draw a day's moments (such as a concert): icons and titles, each with a text if any."""
        for one in moments:
            self.y += 1
            self.icon(one.moment.icon, x)
            start = SMALL_ICON + 6 if one.moment.icon else 0
            self._flowing(one.moment.title, one.text, x + start, most - start, "m")

    def _flowing(self, name: str, note: str, x: float, most: float, style: str) -> None:
        """Draw a name, and a small note beside its last line if it fits there, else below."""
        size, name, note = STYLES[style][0], self._drawable(name), self._drawable(note)
        *before, last = lines(name, size, most, bold=True) or [""]
        for line in before:
            self.line(line, style, x)
            self.y += size * LEADING
        # in right-to-left text, a Latin name would reverse the direction of a note beside it
        alone = self.fmt.language.direction == "ltr"
        beside = note and alone and width(f"{last} {note}", size, bold=True) <= most
        self.line(last, style, x, note=note if beside else "")
        self.y += size * LEADING
        if note and not beside:
            self.paragraph(note, "q", most, x)

    def _brief(self, brief: Brief) -> None:
        """Draw a section's short card: a drawing beside two sentences, then the card's items."""
        x = float(MARGIN)
        if brief.drawing and brief.lead:
            middle = self._mirrored(x + MOON / 2), self.y + MOON / 2 + 2
            place = f"translate({middle[0]:g} {middle[1]:g}) scale({MOON / 32:g})"
            self.drawn.append(f'<g class="moon" transform="{place}">{brief.drawing}</g>')
            x += MOON + 12
        self.paragraph(brief.lead, "n", WIDTH - MARGIN - x, x)
        self.paragraph(brief.remark, "q", WIDTH - MARGIN - x, x)
        before = max((one.icons for one in brief.items if one.icon), default=0) * (SMALL_ICON + 1)
        for item in fitting(brief.items):
            self.y += 2
            self._item(item, before + 8 if before else 0)

    def _item(self, item: BriefItem, before: float) -> None:
        """Draw an item: icons, name with note and, at the end of the line, `item.end` (a distance).

        `before` is the width in px of the column of icons, in which no text is drawn.
        """
        for place in range(item.icons if item.icon else 0):
            self.icon(item.icon, MARGIN + place * (SMALL_ICON + 1), tone="accent")
        end = width(item.end, STYLES["d"][0])
        if item.end:
            self.line(item.end, "d", WIDTH - MARGIN, "e")
            self.icon(item.end_icon, WIDTH - MARGIN - end - SMALL_ICON - 4)
        most = INNER - before - end - SMALL_ICON - 16
        self._flowing(item.name, item.note, MARGIN + before, most, "n")

    def draw_error(self, view: ErrorView) -> None:
        self.title, self.text = view.label, view.sentence
        self.paragraph(view.label, "d")
        self.y += 4
        self.paragraph(view.sentence, "l")
        self.drawn.append(f"<!-- {escape(view.comment)} -->")

    @property
    def height(self) -> int:
        """The height of the card in px."""
        return round(self.y + 16)

    def svg(self, style: str, icons: Mapping[str, tuple[str, str]]) -> str:
        """Return the SVG document; `icons` has (view box, shapes) by name."""
        height, language = self.height, self.fmt.language
        box = f'<rect class="c0" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="14"/>'
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


async def read_and_draw(
    service: Service,
    parameters: Parameters,
    query: Query,
    deadline: Deadline,
    typeface: Typeface | None = None,
) -> tuple[StaticCard, SectionResults]:
    """Read the sections and draw their static card; return it with the sections' results."""
    fmt, sections = Formatter(query.language), chosen(service.sections, parameters.sections)
    read = (content.read(service, one, query, deadline) for one in sections)
    results = content.joined(await asyncio.gather(*read))
    now = service.clock()
    footer = content.footer(results, query.point, fmt, now)
    made = ((one.name, content.card(one, results, fmt, now)) for one in results.by_section)
    cards = [(name, card) for name, card in made if card]
    shown = CardContent(
        header=content.header(parameters, query.dates, query.point, fmt),
        facts=[fact for _, fact in facts(cards)],
        days=joined(cards, query.dates, query.point.today(now), fmt, COMPACT),
        briefs=[card.brief for _, card in cards if card.brief],
        sources=[part.text for _, parts in footer.names for part in parts] if footer else [],
    )
    card = StaticCard(fmt, typeface)
    card.draw(shown)
    return card, results


def text_of(stay: CardContent, fmt: Formatter) -> str:
    """Return the whole card as plain text, for `alt` and screen readers."""
    said = [f"{stay.header.place}{fmt.comma}{stay.header.dates}."]
    pairs = [f"{one.value} ({one.caption})" for one in stay.facts]
    said += [f"{'; '.join(pairs)}."] if pairs else []
    if stay.days:
        said += [*(stay.days.warning or ())]
        said += [_line_text(one, fmt) for one in stay.days.rows or stay.days.dated]
    for brief in stay.briefs:
        items = "; ".join(_item_text(item, fmt) for item in fitting(brief.items))
        parts = [brief.lead, brief.remark, items]
        sentences = [part if part.endswith(".") else f"{part}." for part in parts if part]
        heading = fmt.gettext("{section}:").format(section=brief.heading)
        said.append(f"{heading}{fmt.language.word_separator}{fmt.join_sentences(sentences)}")
    return fmt.join_sentences(said).replace("\u2060", "")


def _line_text(line: Line, fmt: Formatter) -> str:
    moments = [fmt.comma.join(filter(None, (one.moment.title, one.text))) for one in line.moments]
    happens = f"{'; '.join(moments)}." if moments else ""
    if line.spoken:
        return fmt.join_sentences([line.spoken, happens])
    label = fmt.gettext("{section}:").format(section=line.label)
    return f"{label}{fmt.language.word_separator}{happens}"


def _item_text(item: BriefItem, fmt: Formatter) -> str:
    details = [one for one in (item.spoken, item.end_spoken or item.end, item.note) if one]
    return f"{item.name} ({fmt.comma.join(details).rstrip('.')})" if details else item.name


def svg_style(theme: Theme, accent: str) -> str:
    """Return the CSS of a static card."""
    shapes = (
        f"text{{font-family:{_FONT};white-space:pre}}.e{{text-anchor:end}}"
        ".i{fill:none;stroke:currentColor;stroke-width:1.5;"
        "stroke-linecap:round;stroke-linejoin:round}"
        ".w{stroke-width:1.6}.f{stroke-width:1.3}.n{fill:currentColor}"
        ".b{fill:none;stroke:url(#scale);stroke-width:8;stroke-linecap:round}"
        ".k{stroke-width:2}.o{opacity:.28}.s{opacity:.6}"
    ) + "".join(
        f"text.{name},tspan.{name}{{font-size:{size}px;font-weight:{weight}}}"
        for name, (size, weight, _) in STYLES.items()
    )
    if theme == "auto":
        dark = _colours(accent, "dark")
        light = _colours(accent, "light")
        return f"{shapes}{light}@media (prefers-color-scheme:dark){{{dark}}}"
    return shapes + _colours(accent, theme)


def _colours(accent: str, scheme: Scheme) -> str:
    colours = palette(accent, scheme)
    texts = "".join(
        f"text.{name},tspan.{name}{{fill:{colours[one]}}}" for name, (*_, one) in STYLES.items()
    )
    tones = "".join(f".i-{name}{{color:{colours[one]}}}" for name, one in _TONES.items())
    return (
        f"{texts}{tones}.c0{{fill:{colours['surface']};stroke:{colours['line']}}}"
        f".r0,.k{{stroke:{colours['line']}}}.w{{color:{colours['ink']}}}"
        f".a{{stroke:{colours['sun']}}}.p{{stroke:{colours['rain']}}}"
        f".moon circle{{fill:{colours['moond']}}}.moon path{{fill:{colours['moonl']}}}"
    )
