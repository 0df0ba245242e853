"""Changes of the local clock: where the offset of a zone differs from a moment to the next."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from location_context.sections.astronomy.sky.local_days import LocalDay

_PROBE = 43200  # seconds; two changes are never closer


class ClockChange(NamedTuple):
    """The instant of a change (unix seconds) and by how much the clock is put forward."""

    at: int
    forward: timedelta


def clock_changes(days: Sequence[LocalDay]) -> list[ClockChange]:
    """Every change on the dates, those at their first midnight included."""
    zone = days[0].zone
    start, end = days[0].start - 1, days[-1].end - 1
    probes = [*range(start, end, _PROBE), end]
    offsets = [_offset(probe, zone) for probe in probes]
    return [
        ClockChange(_instant(a, b, zone), after - before)
        for a, b, before, after in zip(probes, probes[1:], offsets, offsets[1:], strict=False)
        if before != after
    ]


def _offset(seconds: int, zone: ZoneInfo) -> timedelta:
    return datetime.fromtimestamp(seconds, zone).utcoffset() or timedelta()


def _instant(before: int, after: int, zone: ZoneInfo) -> int:
    """The first second with the new offset."""
    new = _offset(after, zone)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(middle, zone) == new:
            after = middle
        else:
            before = middle
    return after
