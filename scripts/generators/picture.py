"""Draw docs/performance.svg from the tables of docs/performance.md.

On top is the profile of a cold page of the widget, before and after; below, each figure with a goal
as a multiple of it: 1 reaches it, 2 is twice as good. So does
`python -m benchmarks.report --write`.
"""

import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURE = DOCS / "performance.md", DOCS / "performance.svg"
PROFILE, END = "<!-- profile: benchmarks.cold --profile -->\n", "<!-- end of profile -->\n"
_FIGURE = re.compile(
    r"\| (?P<what>[^|]+) \| (?P<value>-?[\d.,]+)[^|]*\| (?P<way>[≤≥]) (?P<goal>[\d.,]+)[^|]*"
    r"(?P<mark>[✓✗]) \| (?P<beside>[^|]*)\|"
)

WIDE, MARGIN, LABELS = 760, 16, 330
LINE, BAR = 20, 12
LEAST, MOST = 0.25, 4.0  # of a goal; longer bars end at the edge
# one hue for each part of the profile; dark enough for white and light enough for black
HUES = (
    "#2f6fb5", "#c9692b", "#3f8f5b", "#8a63b8", "#b8860b", "#3a9aa8", "#b0527a", "#7a7f3a",
    "#6b7785", "#a05a4a",
)  # fmt: skip
STYLE = """text{font:12px system-ui,sans-serif;fill:#1f2328}.quiet{fill:#59636e}
.head{font-weight:600;font-size:14px}.met{fill:#2b8a4b}.missed{fill:#c4562c}
.goal{stroke:#1f2328}.grid{stroke:#d1d9e0}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.goal{stroke:#e6edf3}
.grid{stroke:#3d444d}.met{fill:#3fb26b}.missed{fill:#e0733f}}"""


class Part(NamedTuple):
    """A part of the profile, in milliseconds of CPU."""

    name: str
    before: float
    after: float


class Figure(NamedTuple):
    """A figure as a multiple of its goal, and whether it was reached before rounding."""

    what: str
    ratio: float
    met: bool


def parts(page: str) -> list[Part]:
    """Return the lines of the profile's table."""
    table = page.partition(PROFILE)[2].partition(END)[0].splitlines()[2:]
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    return [Part(name, float(before), float(after)) for name, before, after in cells]


def reached(page: str) -> list[Figure]:
    """Return the figures that have a goal."""
    found = []
    for match in _FIGURE.finditer(page):
        value, goal = (float(match[name].replace(",", "")) for name in ("value", "goal"))
        what, beside = match["what"], match["beside"].strip()
        if what == "the same":
            what = f"… beside {beside}"
        small = goal / value if value > 0 else MOST  # a negative cost
        ratio = value / goal if match["way"] == "≥" else small
        found.append(Figure(what, ratio, match["mark"] == "✓"))
    return found


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def profile(shown: Sequence[Part], top: float) -> Iterator[str]:
    """Yield two bars, and a legend with both figures."""
    totals = {"before": sum(p.before for p in shown), "after": sum(p.after for p in shown)}
    scale = (WIDE - 2 * MARGIN - 120) / max(totals.values())
    yield text(MARGIN, top, "CPU of a cold page of the widget, by part of the service", "head")
    for number, (when, total) in enumerate(totals.items()):
        x, y = MARGIN + 120.0, top + 14 + number * 26
        yield text(MARGIN, y + 14, f"{when}, {total:.0f} ms")
        for part, hue in zip(shown, HUES, strict=False):
            wide = scale * (part.before if when == "before" else part.after)
            yield f'<rect x="{x:.1f}" y="{y:g}" width="{wide:.1f}" height="20" fill="{hue}"/>'
            x += wide
    for number, (part, hue) in enumerate(zip(shown, HUES, strict=False)):
        column, row = number % 2, number // 2
        x, y = MARGIN + column * (WIDE - 2 * MARGIN) / 2, top + 78 + row * LINE
        yield f'<rect x="{x:g}" y="{y:g}" width="12" height="12" fill="{hue}"/>'
        yield text(x + 20, y + 11, f"{part.name}: {part.before:.1f} → {part.after:.1f} ms")


def ratios(shown: Sequence[Figure], top: float) -> Iterator[str]:
    """Yield a bar for each figure from its goal, to the right where it is better."""
    wide = WIDE - LABELS - 3 * MARGIN - 50

    def x(ratio: float) -> float:
        share = math.log(min(MOST, max(LEAST, ratio)) / LEAST) / math.log(MOST / LEAST)
        return LABELS + 2 * MARGIN + share * wide

    yield text(MARGIN, top, "How far each figure is from its goal", "head")
    bottom = top + 30 + len(shown) * LINE
    for mark in (0.25, 0.5, 1, 2, 4):
        kind = "goal" if mark == 1 else "grid"
        label = "goal" if mark == 1 else f"{mark:g} ×"
        yield text(x(mark), top + 20, label, "quiet", "middle")
        yield f'<path class="{kind}" d="M{x(mark):.1f} {top + 26:g}V{bottom:g}"/>'
    for number, one in enumerate(shown):
        y = top + 32 + number * LINE
        left, right = sorted((x(1), x(one.ratio)))
        kind = "met" if one.met else "missed"
        size = f'width="{max(right - left, 2):.1f}" height="{BAR}"'
        yield text(LABELS + MARGIN, y + 10, one.what, "", "end")
        yield f'<rect class="{kind}" x="{left:.1f}" y="{y:g}" {size}/>'
        yield text(WIDE - MARGIN, y + 10, f"{one.ratio:.2f} ×", "quiet", "end")


def picture(page: str) -> str:
    """Return the whole file, for light and dark."""
    spent, figures = parts(page), reached(page)
    middle = 130 + (len(spent) + 1) // 2 * LINE
    height = middle + 50 + len(figures) * LINE
    drawn = [*profile(spent, 28.0), *ratios(figures, middle)]
    view = f'viewBox="0 0 {WIDE} {height}" width="{WIDE}" height="{height}"'
    title = "<title>Profile of a cold page before and after, and figures beside their goals</title>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {view} role="img">{title}'
    return "\n".join([head, f"<style>{STYLE}</style>", *drawn, "</svg>", ""])


def files() -> dict[Path, str]:
    return {PICTURE: picture(PAGE.read_text("utf-8"))}
