"""Choose: at most 50 events and 10 a day, spread over categories and days; and their order.

In rounds each day gives one event, of the category that the day has shown least: public holidays
and great events first, then the category that the whole answer has shown least. What runs for weeks
takes turns as one category, so that it does not crowd out what happens once. Within a category:
rank, nearness, time.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from location_context.sections.events.response import Category
    from location_context.sections.events.visible import Seen
    from location_context.stay import Stay

MOST, MOST_A_DAY = 50, 10
_FAR = float("inf")
_GREAT = 80.0  # rank from which an event is felt in the whole city
_LONG = timedelta(days=7)
_FIRST = ("public_holiday", "festival", "sport", "concert", "performing_arts", "exhibition")
_RUNNING = "running"  # the category of its own of what lasts longer


def choose(seen: Sequence[Seen], stay: Stay) -> tuple[list[Seen], dict[Category, int]]:
    """What is shown, in order, and how many of each category are not."""
    chances: dict[date, list[Seen]] = defaultdict(list)
    for event in seen:
        chances[event.first_in(stay)].append(event)
    days = [_Day(chances[day]) for day in sorted(chances)]
    shown = _in_rounds(days)
    kept = set(map(id, shown))
    omitted = Counter(event.told.category for event in seen if id(event) not in kept)
    return sorted(shown, key=_order), dict(sorted(omitted.items()))


def _in_rounds(days: Iterable[_Day]) -> list[Seen]:
    shown: list[Seen] = []
    counted: Counter[str] = Counter()
    for _ in range(MOST_A_DAY):
        ready = [day for day in days if day]
        for day in _some(ready, MOST - len(shown)):
            kind, event = day.give(counted)
            counted[kind] += 1
            shown.append(event)
    return shown


def _some(days: Sequence[_Day], room: int) -> list[_Day]:
    """All, or as many as there is room for: those of holidays and great events, others evenly."""
    if len(days) <= room:
        return list(days)
    great = [day for day in days if day.has_great][:room]
    others = [day for day in days if not day.has_great]
    room -= len(great)
    return great + [others[(2 * n + 1) * len(others) // (2 * room)] for n in range(room)]


class _Day:
    """What may be shown of one day: a queue for each kind, the best first."""

    def __init__(self, events: Iterable[Seen]) -> None:
        self._queues: dict[str, deque[Seen]] = defaultdict(deque)
        self._doubtful: deque[Seen] = deque()
        self._given: Counter[str] = Counter()
        for event in sorted(events, key=_worth):
            (self._doubtful if event.doubtful else self._queues[_kind(event)]).append(event)

    def __bool__(self) -> bool:
        return bool(self._queues or self._doubtful)

    @property
    def has_great(self) -> bool:
        return any(map(_is_great, self._heads))

    @property
    def _heads(self) -> list[Seen]:
        return [queue[0] for queue in self._queues.values()]

    def give(self, counted: Counter[str]) -> tuple[str, Seen]:
        """The next event and its kind; those of doubt come last."""
        if not self._queues:
            event = self._doubtful.popleft()
            return _kind(event), event

        def turn(kind: str) -> tuple[int, bool, int, int, tuple[object, ...]]:
            head = self._queues[kind][0]
            small = not _is_great(head)
            return self._given[kind], small, counted[kind], _place(kind), _worth(head)

        kind = min(self._queues, key=turn)
        event = self._queues[kind].popleft()
        if not self._queues[kind]:
            del self._queues[kind]
        self._given[kind] += 1
        return kind, event


def _kind(event: Seen) -> str:
    wide = event.told.scope in {"country", "region"}
    return _RUNNING if event.last - event.first >= _LONG and not wide else event.told.category


def _is_great(event: Seen) -> bool:
    return event.told.category == "public_holiday" or (event.told.rank or 0.0) >= _GREAT


def _place(kind: str) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _worth(event: Seen) -> tuple[float, float, float, datetime, str, str]:
    """Rank, then nearness, then time; what is not known comes last."""
    told = event.told
    wide = 0.0 if told.scope in {"country", "region"} else 1.0
    rank, distance = _rank_and_distance(event)
    return -rank, wide, distance, _moment(event), told.id, told.source


def _order(event: Seen) -> tuple[bool, date, bool, bool, datetime, float, float, str, str]:
    """By start, whole days first and those of unknown time next; then rank, distance, id."""
    told = event.told
    rank, distance = _rank_and_distance(event)
    timed = told.start.at is not None
    return (
        event.doubtful, event.first, not told.all_day, timed, _moment(event), -rank, distance,
        told.id, told.source,
    )  # fmt: skip


def _rank_and_distance(event: Seen) -> tuple[float, float]:
    rank, distance = event.told.rank, event.distance
    return -1.0 if rank is None else rank, _FAR if distance is None else distance


def _moment(event: Seen) -> datetime:
    start = event.told.start
    return start.at or datetime(start.day.year, start.day.month, start.day.day, tzinfo=UTC)
