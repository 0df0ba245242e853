"""Track: when something is above a line, from one moment to another, to the second."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import repeat


@dataclass(frozen=True, slots=True)
class Track:
    """Crossings of one line in time order (unix seconds); `begins_up` before the first."""

    times: list[int]
    ups: list[bool]
    begins_up: bool

    def first(self, up: bool, start: float, end: float) -> int | None:
        """The first crossing in that direction with start <= time < end."""
        times, ups = self.times, self.ups
        for index in range(bisect_left(times, start), len(times)):
            if times[index] >= end:
                return None
            if ups[index] is up:
                return times[index]
        return None

    def last(self, up: bool, start: float, end: float) -> int | None:
        """The last crossing in that direction with start <= time < end."""
        index = bisect_left(self.times, end) - 1
        while index >= 0 and self.times[index] >= start:
            if self.ups[index] is up:
                return self.times[index]
            index -= 1
        return None

    def is_up(self, moment: float) -> bool:
        index = bisect_right(self.times, moment)
        return self.ups[index - 1] if index else self.begins_up

    def spans(self, start: int, end: int, *, up: bool = True) -> list[tuple[int, int]]:
        """The parts of start..end that are above the line, or below it."""
        times, index = self.times, bisect_right(self.times, start)
        inside = (self.ups[index - 1] if index else self.begins_up) is up
        found, begin = [], start
        while index < len(times) and times[index] < end:
            if inside and times[index] > begin:
                found.append((begin, times[index]))
            begin, inside, index = times[index], not inside, index + 1
        if inside and end > begin:
            found.append((begin, end))
        return found


def between(low: Track, high: Track) -> Track:
    """Up where the one is up and the other is not."""
    edges = [*zip(low.times, low.ups, repeat(True)), *zip(high.times, high.ups, repeat(False))]
    above, under = low.begins_up, not high.begins_up
    begins = inside = above and under
    times, ups = [], []
    for time, up, is_low in sorted(edges):
        if is_low:
            above = up
        else:
            under = not up
        if (above and under) is not inside:
            inside = not inside
            times.append(time)
            ups.append(inside)
    return Track(times, ups, begins)


def both(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The moments that lie in a span of each list."""
    return [(max(c, a), min(d, b)) for a, b in one for c, d in other if a < d and c < b]
