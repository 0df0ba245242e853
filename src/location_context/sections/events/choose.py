"""Choose: at most 50 events and 10 a day, spread over categories; and the order they stand in."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from location_context.sections.events.response import Category
    from location_context.sections.events.visible import Seen
    from location_context.stay import Stay

MOST, MOST_A_DAY = 50, 10
_FAR = float("inf")
_FIRST = ("public_holiday", "festival", "sport", "concert", "performing_arts", "exhibition")


def choose(seen: Sequence[Seen], stay: Stay) -> tuple[list[Seen], dict[Category, int]]:
    """What is shown, in order, and how many of each category are not."""
    days: dict[date, list[Seen]] = defaultdict(list)
    for event in seen:
        days[event.first_in(stay)].append(event)
    turns = [deque(_spread(days[day])) for day in sorted(days)]
    shown: list[Seen] = []
    for _ in range(MOST_A_DAY):  # day by day in turn, so that no day takes all of the 50
        shown += [turn.popleft() for turn in turns if turn]
    shown = shown[:MOST]
    kept = set(map(id, shown))
    omitted = Counter(event.told.category for event in seen if id(event) not in kept)
    return sorted(shown, key=_order), dict(sorted(omitted.items()))


def _spread(events: Iterable[Seen]) -> Iterator[Seen]:
    """The best of each category, then the second best of each; those of doubt come last."""
    sure: dict[str, deque[Seen]] = defaultdict(deque)
    doubtful = []
    for event in sorted(events, key=_worth):
        if event.doubtful:
            doubtful.append(event)
        else:
            sure[event.told.category].append(event)
    queues = sorted(sure.items(), key=lambda item: (_place(item[0]), _worth(item[1][0])))
    while any(queue for _, queue in queues):
        yield from [queue.popleft() for _, queue in queues if queue]
    yield from doubtful


def _place(category: str) -> int:
    return _FIRST.index(category) if category in _FIRST else len(_FIRST)


def _worth(event: Seen) -> tuple[float, float, float, datetime, str]:
    """Rank, then nearness, then time; what is not known comes last."""
    wide = 0.0 if event.told.scope in {"country", "region"} else 1.0
    distance = _FAR if event.distance is None else event.distance
    return -(event.told.rank or 0.0), wide, distance, _moment(event), event.told.id


def _order(event: Seen) -> tuple[bool, date, bool, datetime, float, float, str]:
    rank = -1.0 if event.told.rank is None else event.told.rank
    distance = _FAR if event.distance is None else event.distance
    told = event.told
    return event.doubtful, event.first, not told.all_day, _moment(event), -rank, distance, told.id


def _moment(event: Seen) -> datetime:
    start = event.told.start
    return start.at or datetime(start.day.year, start.day.month, start.day.day, tzinfo=UTC)
