"""The map of the restaurants card: where they lie around the stay, tiers told apart by form.

North is up and bearings are true. The distance from the middle is drawn so that the near is not
lost beside the far: from ring to ring it grows evenly, and a ring is as far as one gets in a time
on foot or by car (`travel.reach`). A unit of the drawing is a pixel at the usual size of text.
Restaurants are where they are; where marks would hide one another, the highest tier's stands for
all, with how many more there are.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, Self

from markupsafe import Markup, escape

from location_context.localisation.formatter import Formatter
from location_context.point import distance_km
from location_context.sections.guide.records import TIERS
from location_context.sections.guide.response import GuideBody, RestaurantBody
from location_context.sections.guide.travel import reach

Way = Literal["walk", "drive"]

START, RIM = 11.0, 112.0  # the radii of the stay's own sign and of the outermost ring
SIDE, TOP, BOTTOM = 128.0, -128.0, 120.0  # of the drawing; the letter for north is above the rim
TIMES: tuple[tuple[Way, int], ...] = (
    ("walk", 5), ("walk", 15), ("walk", 30), ("drive", 10), ("drive", 20), ("drive", 40),
    *(("drive", 30 * half_hours) for half_hours in range(2, 480)),  # as far as any radius reaches
)  # fmt: skip
MAX_RINGS = 4  # more would leave no room for the times on them
EVEN = 0.6  # of the radius is shared out evenly, the rest by how many lie between two rings
FEWEST = 3  # rows of one or two restaurants say as much as a drawing
HALF_WIDTHS, HALF_HEIGHT = {3: 16.0, 2: 10.5, 1: 5.5, 0: 6.0}, 5.5  # of marks, by stars
APART = 1.2  # of their sizes; marks that are closer are drawn as one, and leave room for numbers
SIGN, LETTER, IDEOGRAPH = 15.0, 6.9, 12.0  # widths of the sign of a way and of characters
NUMBER, LABEL = 9.0, 7.0  # half the width of `+12`, half the height of a label
_SIGN_OF = dict(zip(TIERS, ("m3", "m2", "m1", "mg", "ms"), strict=True))
# where a ring's time may stand: the south first, then to both sides of it
_TURNS = [
    (math.sin(math.radians(turn)), -math.cos(math.radians(turn)))
    for turn in (180, 200, 160, 225, 135, 250, 110, 270, 90, 290, 70, 315, 45, 340, 20, 0)
]


@dataclass(frozen=True)
class Sign:
    """A tier's mark: the icon of its heading, as often and at these x."""

    name: str
    icon: str
    size: int
    xs: Sequence[float]


SIGNS = {
    sign.name: sign
    for sign in (
        Sign("m3", "star", 11, (-16, -5.5, 5)), Sign("m2", "star", 11, (-10.5, -0.5)),
        Sign("m1", "star", 12, (-6,)), Sign("mg", "good_value", 14, (-7,)),
        Sign("ms", "selected", 14, (-7,)),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Ring:
    """As far as one gets in a time; x, y and `half` are the middle and half width of its label."""

    kind: Way
    minutes: str
    radius: int
    x: int
    y: int
    half: int


@dataclass
class Mark:
    """A restaurant at x, y, with the names of those that it hides."""

    sign: str
    stars: int
    x: float
    y: float
    names: list[str]
    number_at: tuple[int, int] = (0, 0)

    @property
    def hidden(self) -> int:
        return len(self.names) - 1

    def markup(self, fmt: Formatter) -> Markup:
        """Its sign, which tells its names, and how many it hides."""
        names = escape(fmt.comma.join(self.names))
        place = f'x="{self.x:.0f}" y="{self.y:.0f}"'
        sign = f'<use href="#{self.sign}" {place}><title>{names}</title></use>'
        if self.hidden:
            x, y = self.number_at
            sign += f'<text x="{x}" y="{y + 4}">+{self.hidden}</text>'
        return Markup(sign)  # noqa: S704  the names are escaped


@dataclass(frozen=True, kw_only=True)
class Map:
    """What the template draws; `walk` is the radius of what can be walked, 0 for none."""

    rings: Sequence[Ring]
    marks: Markup
    signs: Sequence[Sign]
    walk: int
    key: str


@dataclass(frozen=True)
class Scale:
    """The rings of a map from the inside: times, distances in km, radii in the drawing."""

    times: Sequence[tuple[Way, int]]
    kms: Sequence[float]
    radii: Sequence[float]

    @classmethod
    def of(cls, distances: Sequence[float]) -> Self:
        """At most `MAX_RINGS`, each with a restaurant between it and the ring before."""
        farthest, bands, inner = max(distances), list[tuple[tuple[Way, int], float, int]](), -1.0
        for time in TIMES:
            km = reach(*time)
            held = sum(inner < one <= km for one in distances)
            if held:
                bands.append((time, km, held))
                inner = km
            if km >= farthest:
                break
        while len(bands) > MAX_RINGS:
            _, at = min((a[2] + b[2], at) for at, (a, b) in enumerate(pairwise(bands)))
            time, km, held = bands[at + 1]
            bands[at : at + 2] = [(time, km, held + bands[at][2])]
        shares = [EVEN / len(bands) + (1 - EVEN) * held / len(distances) for *_, held in bands]
        radii = [START + (RIM - START) * sum(shares[: n + 1]) for n in range(len(bands))]
        return cls([time for time, *_ in bands], [km for _, km, _ in bands], radii)

    def place(self, km: float, bearing: float) -> tuple[float, float]:
        """Its x, to the east, and y, to the south."""
        at = min(bisect_left(self.kms, km), len(self.kms) - 1)
        near, inner = (self.kms[at - 1], self.radii[at - 1]) if at else (0.0, START)
        radius = inner + (km - near) / (self.kms[at] - near) * (self.radii[at] - inner)
        turn = math.radians(bearing)
        return radius * math.sin(turn), -radius * math.cos(turn)


@dataclass
class Taken:
    """What the drawing holds already: the left, right, top and bottom of boxes."""

    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)

    def take(self, x: float, y: float, half: float, half_height: float) -> None:
        self.boxes.append((x - half, x + half, y - half_height, y + half_height))

    def freest(self, places: Iterable[tuple[float, float]], half: float) -> tuple[int, int]:
        """Of these middles the first at which such a label covers least; it is taken then."""
        best, least = (0, 0), math.inf
        for x, y in places:
            left, right, top, bottom = x - half, x + half, y - LABEL, y + LABEL
            seen = left > -SIDE and right < SIDE and top > TOP and bottom < BOTTOM
            covered = 0.0 if seen else 1e6
            for at_left, at_right, at_top, at_bottom in self.boxes:
                if at_top < bottom and at_bottom > top and at_left < right and at_right > left:
                    wide = min(right, at_right) - max(left, at_left)
                    covered += wide * (min(bottom, at_bottom) - max(top, at_top))
            if covered < least:
                best, least = (round(x), round(y)), covered
            if not covered:
                break
        self.take(*best, half, LABEL)
        return best


def drawn(body: GuideBody, fmt: Formatter) -> Map | None:
    """The map of a response; None for so few restaurants that it would not help."""
    if len(body.restaurants) < FEWEST:
        return None
    point, found = body.point, body.restaurants
    distances = [distance_km(point.lat, point.lng, one.lat, one.lng) for one in found]
    scale = Scale.of(distances)
    bearings = (one.bearing for one in found)
    marks = _marks(found, map(scale.place, distances, bearings))
    taken = Taken()
    taken.take(0, 0, 8, 8)  # the stay
    taken.take(0, TOP + 6, 6, 6)  # the letter for north
    for mark in marks:
        taken.take(mark.x, mark.y, HALF_WIDTHS[mark.stars], HALF_HEIGHT)
    for mark in marks:
        if mark.hidden:
            aside, below = HALF_WIDTHS[mark.stars] + NUMBER, HALF_HEIGHT + LABEL
            beside = ((aside, 0), (-aside, 0), (0, below), (0, -below))
            mark.number_at = taken.freest(((mark.x + x, mark.y + y) for x, y in beside), NUMBER)
    walks = [r for (way, _), r in zip(scale.times, scale.radii, strict=True) if way == "walk"]
    return Map(
        rings=_rings(scale, taken, fmt),
        marks=Markup("").join(one.markup(fmt) for one in marks),
        signs=[SIGNS[name] for name in dict.fromkeys(one.sign for one in marks)],
        walk=round(walks[-1]) if walks else 0,
        key=_key(marks, fmt),
    )


def _marks(found: Sequence[RestaurantBody], places: Iterable[tuple[float, float]]) -> list[Mark]:
    """A mark for each, or one for several that would hide one another; the highest tier first."""
    marks = list[Mark]()
    for one, (x, y) in zip(found, places, strict=True):
        half = HALF_WIDTHS[one.stars]
        for mark in marks:
            if (
                abs(mark.y - y) < 2 * HALF_HEIGHT * APART
                and abs(mark.x - x) < (HALF_WIDTHS[mark.stars] + half) * APART
            ):
                mark.names.append(one.name)
                break
        else:
            marks.append(Mark(_SIGN_OF[one.tier], one.stars, x, y, [one.name]))
    return marks


def _rings(scale: Scale, taken: Taken, fmt: Formatter) -> list[Ring]:
    """The outermost first, whose time has the most places to stand."""
    rings = []
    for (way, count), radius in reversed([*zip(scale.times, scale.radii, strict=True)]):
        minutes = fmt.minutes(count)
        wide = sum(IDEOGRAPH if letter > "\u2fff" else LETTER for letter in minutes)
        half = (SIGN + wide) / 2
        places = ((radius * x, radius * y) for x, y in _TURNS)
        rings.append(Ring(way, minutes, round(radius), *taken.freest(places, half), round(half)))
    return rings


def _key(marks: Sequence[Mark], fmt: Formatter) -> str:
    rings = fmt.gettext("Rings: estimated times from your stay.")
    numbers = fmt.gettext("A number counts others close by.")
    return fmt.join_sentences([rings, numbers if any(one.hidden for one in marks) else ""])
