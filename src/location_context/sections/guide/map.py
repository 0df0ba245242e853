"""The map of the restaurants card: the point in the middle, restaurants and rings around it.

North is up and bearings are true. Each ring marks the distance that a guest covers in a certain
time, on foot or by car (`travel.reach`). The map has no single scale, so that near restaurants stay
apart when others are far: it is linear only between two rings. A unit of the drawing is a pixel at
the usual text size. Restaurants that the list shows before a click have numbered marks, moved aside
where they would cover each other. Other restaurants are dots.
"""

import cmath
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, Self

from location_context.localisation.formatter import Formatter
from location_context.point import distance_km
from location_context.sections.guide.response import GuideBody, RestaurantBody
from location_context.sections.guide.travel import reach

Way = Literal["walk", "drive"]

START, RIM = 11.0, 98.0  # radii of the sign in the middle and of the outermost ring
SIDE = 110.0  # from the middle to each edge of the drawing
TIMES: tuple[tuple[Way, int], ...] = (
    ("walk", 5), ("walk", 15), ("walk", 30), ("drive", 10), ("drive", 20), ("drive", 40),
    *(("drive", 30 * half_hours) for half_hours in range(2, 480)),  # as far as any radius reaches
)  # fmt: skip
MAX_RINGS = 3  # more would leave no room for the labels with their times
EVEN = 0.6  # share of the radius divided evenly among rings; the rest by restaurants in each
FEWEST = 3  # restaurants; for one or two, the list says as much as a drawing
SIGN, LETTER, IDEOGRAPH = 15.0, 6.9, 12.0  # widths of the walk or drive icon and of characters
MARK, DOT, LABEL = 10.5, 3.0, 7.0  # radii, and half the height of a label
# directions in which a ring's label may stand: south first, then on either side
_TURNS = [
    (math.sin(math.radians(turn)), -math.cos(math.radians(turn)))
    for turn in (180, 200, 160, 225, 135, 250, 110, 270, 90, 290, 70, 315, 45, 340, 20, 0)
]


@dataclass(frozen=True)
class Ring:
    """A ring around the middle of the map, for a travel time, and the position of its label.

    The label's centre is at `x`, `y`; `half` is half the label's width.
    """

    kind: Way
    minutes: str
    radius: int
    x: int
    y: int
    half: int


@dataclass(frozen=True, kw_only=True)
class Map:
    """The rings, marks and dots for the template to draw.

    A mark is the number, x and y of a restaurant in view on the card; a dot is x and y of another
    restaurant. `walk` is the radius of the largest ring for walks, 0 if all rings are for drives.
    """

    rings: Sequence[Ring]
    marks: Sequence[tuple[int, int, int]]
    dots: Sequence[tuple[int, int]]
    walk: int


@dataclass(frozen=True)
class Scale:
    """The rings of a map, innermost first: travel times, distances in km, radii in the drawing.

    It converts distances and bearings to positions in the drawing.
    """

    times: Sequence[tuple[Way, int]]
    kms: Sequence[float]
    radii: Sequence[float]

    @classmethod
    def of(cls, distances: Sequence[float]) -> Self:
        """Choose at most `MAX_RINGS` rings for restaurants at these distances (km).

        Between any two neighbouring rings there is at least one restaurant.
        """
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
        """Return where to draw a restaurant: x to the east, y to the south of the middle."""
        at = min(bisect_left(self.kms, km), len(self.kms) - 1)
        near, inner = (self.kms[at - 1], self.radii[at - 1]) if at else (0.0, START)
        radius = inner + (km - near) / (self.kms[at] - near) * (self.radii[at] - inner)
        turn = math.radians(bearing)
        return radius * math.sin(turn), -radius * math.cos(turn)


@dataclass
class Taken:
    """The rectangles (left, right, top, bottom) in the drawing that marks and labels cover."""

    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)

    def take(self, x: float, y: float, half: float, half_height: float) -> None:
        self.boxes.append((x - half, x + half, y - half_height, y + half_height))

    def freest(self, places: Iterable[tuple[float, float]], half: float) -> tuple[int, int]:
        """Return the point of `places` at which a label would overlap the taken rectangles least.

        The label's own rectangle is then taken, too. `half` is half the label's width.
        """
        best, least = (0, 0), math.inf
        for x, y in places:
            left, right, top, bottom = x - half, x + half, y - LABEL, y + LABEL
            seen = left > -SIDE and right < SIDE and top > -SIDE and bottom < SIDE
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


def drawn(body: GuideBody, in_view: Sequence[RestaurantBody], fmt: Formatter) -> Map | None:
    """Return the map for an answer; None if the answer has fewer than three restaurants.

    Restaurants `in_view` get numbered marks, the others dots.
    """
    if len(body.restaurants) < FEWEST:
        return None
    point, found = body.point, body.restaurants
    distances = [distance_km(point.lat, point.lng, one.lat, one.lng) for one in found]
    scale = Scale.of(distances)
    numbers = {one.id: number for number, one in enumerate(in_view, 1)}
    places = {
        one.id: scale.place(km, one.bearing) for one, km in zip(found, distances, strict=True)
    }
    marks = _apart([places[one.id] for one in in_view])
    dots = [at for id_, at in places.items() if id_ not in numbers]
    taken = Taken()
    taken.take(0, 0, 9, 9)  # the sign in the middle
    for x, y in marks:
        taken.take(x, y, MARK, MARK)
    for x, y in dots:
        taken.take(x, y, DOT, DOT)
    walks = [r for (way, _), r in zip(scale.times, scale.radii, strict=True) if way == "walk"]
    return Map(
        rings=_rings(scale, taken, fmt),
        marks=[(number, round(x), round(y)) for number, (x, y) in enumerate(marks, 1)],
        dots=[(round(x), round(y)) for x, y in dots],
        walk=round(walks[-1]) if walks else 0,
    )


def _apart(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the marks' centres, moved apart so that no mark covers another or the middle."""
    moved = [complex(x, y) for x, y in places]
    for _ in range(60):
        for n in range(len(moved)):
            at, others = moved[n], [(one, 2 * MARK) for m, one in enumerate(moved) if m != n]
            for other, room in (*others, (0j, MARK + 9)):
                gap = at - other
                if abs(gap) < room:
                    way = gap / abs(gap) if gap else cmath.rect(1.0, n)
                    at += way * (room - abs(gap)) / 2
            moved[n] = at * min(1.0, RIM / abs(at)) if at else at
    return [(at.real, at.imag) for at in moved]


def _rings(scale: Scale, taken: Taken, fmt: Formatter) -> list[Ring]:
    """Return the rings, outermost first; the label of each is placed where it overlaps least."""
    rings = []
    for (way, count), radius in reversed([*zip(scale.times, scale.radii, strict=True)]):
        minutes = fmt.minutes(count)
        wide = sum(IDEOGRAPH if letter > "\u2fff" else LETTER for letter in minutes)
        half = (SIGN + wide) / 2
        places = ((radius * x, radius * y) for x, y in _TURNS)
        rings.append(Ring(way, minutes, round(radius), *taken.freest(places, half), round(half)))
    return rings
