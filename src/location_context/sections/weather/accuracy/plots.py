"""The drawings of the page: lines by lead, and reliability diagrams, as shapes for a template.

Coordinates are those of an SVG of `WIDTH` x `HEIGHT`; colours and strokes belong to the style.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDTH, HEIGHT = 340, 230
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 10, 36  # margins, which hold the labels of the axes
MIN_PAIRS = 10  # fewer would be a drawing of chance
LEAD_TICKS = (0, 3, 6, 9, 12, 15)
SMALLEST_DOT, LARGEST_DOT = 3.0, 8.0
Value = float | None


@dataclass(frozen=True)
class Tick:
    """A mark of an axis: where, and what it says."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """A series: its class in the style, and the points of each unbroken part."""

    kind: str
    parts: Sequence[str]
    ends: Sequence[tuple[float, float]]  # points that stand alone


@dataclass(frozen=True)
class Dot:
    """A point of a reliability diagram."""

    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Panel:
    """One drawing: `summary` says in words what it shows, `key` what each class of line is."""

    id: str
    title: str
    summary: str
    x_label: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    lines: Sequence[Line] = ()
    rule: float | None = None  # the height of a line of reference
    diagonal: bool = False
    dots: Sequence[Dot] = ()
    key: Sequence[tuple[str, str]] = ()


class Series(NamedTuple):
    """Values by lead: their class in the style, what they are, and a value for each lead."""

    kind: str
    words: str
    values: Sequence[Value]


@dataclass(frozen=True)
class Scale:
    """Maps values to places in the drawing."""

    x_max: float
    y_min: float
    y_max: float

    def x(self, value: float) -> float:
        return round(LEFT + value / self.x_max * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.y_min) / (self.y_max - self.y_min)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def by_lead(  # noqa: PLR0913  each is a part of the drawing
    id: str,  # noqa: A002  as in HTML
    title: str,
    summary: str,
    series: Sequence[Series],
    *,
    unit: str = "",
    y_range: tuple[float, float] | None = None,
    rule: float | None = None,
) -> Panel:
    """Values by lead, one line for each series; the first one lies on top."""
    known = [value for one in series for value in one.values if value is not None]
    low, high = y_range or (0.0, round_up(max(known, default=1.0)))
    scale = Scale(LEAD_TICKS[-1], low, high)
    step = (high - low) / 4
    y_ticks = [Tick(scale.y(low + step * n), f"{low + step * n:g}{unit}") for n in range(5)]
    return Panel(
        id=id,
        title=title,
        summary=summary,
        x_label="days ahead",
        x_ticks=[Tick(scale.x(lead), str(lead)) for lead in LEAD_TICKS],
        y_ticks=y_ticks,
        lines=[_line(one, scale) for one in reversed(series)],
        key=[(one.kind, one.words) for one in series],
        rule=None if rule is None else scale.y(rule),
    )


def reliability(
    id: str,  # noqa: A002  as in HTML
    title: str,
    summary: str,
    bins: Sequence[tuple[int, float, float]],
) -> Panel:
    """Share of wet days against the chance given; `bins` are pairs, chance and share in percent."""
    scale = Scale(100, 0, 100)
    shown = [one for one in bins if one[0] >= MIN_PAIRS]
    most = max((pairs for pairs, _, _ in shown), default=1)
    dots = [
        Dot(
            scale.x(chance),
            scale.y(share),
            round(SMALLEST_DOT + (LARGEST_DOT - SMALLEST_DOT) * math.sqrt(pairs / most), 1),
        )
        for pairs, chance, share in shown
    ]
    values = [(chance, share) for _, chance, share in shown]
    points = " ".join(f"{scale.x(x)},{scale.y(y)}" for x, y in values)
    return Panel(
        id=id,
        title=title,
        summary=summary,
        x_label="chance given in %",
        x_ticks=[Tick(scale.x(value), str(value)) for value in (0, 25, 50, 75, 100)],
        y_ticks=[Tick(scale.y(value), f"{value} %") for value in (0, 25, 50, 75, 100)],
        lines=[Line("best", [points], [])] if len(values) > 1 else [],
        diagonal=True,
        dots=dots,
    )


def round_up(value: float) -> float:
    """The next multiple of a number that four steps divide well."""
    step = next(step for step in (0.4, 1, 2, 4, 8, 20, 40, 100, math.inf) if value <= 4 * step)
    return value if math.isinf(step) else math.ceil(max(value, 1e-9) / step) * step


def share_range(values: Sequence[Value]) -> tuple[float, float]:
    """The part of 0 to 100 % to draw, which four steps divide well."""
    least = min((value for value in values if value is not None), default=100.0)
    return (next(low for low in (60.0, 20.0, 0.0) if low <= max(least, 0)), 100.0)


def _line(series: Series, scale: Scale) -> Line:
    """The unbroken parts of a series; a gap is where a value is unknown."""
    parts: list[list[tuple[float, float]]] = [[]]
    for lead, value in enumerate(series.values):
        if value is None:
            parts.append([])
        else:
            parts[-1].append((scale.x(lead), scale.y(value)))
    return Line(
        kind=series.kind,
        parts=[" ".join(f"{x},{y}" for x, y in part) for part in parts if len(part) > 1],
        ends=[part[0] for part in parts if len(part) == 1],
    )
