"""Selection: chooses the events of an answer, at most 50 in total and 10 a day, and their order.

An event must be near enough, overlap the stay, and not be only for other regions. In each round, a
day gets one more event, from the category of which the day has the fewest chosen events. In a tie,
a category whose next event is a public holiday or major event comes first, then the category with
the fewest chosen events of the whole stay. Events of a week or longer count as one
category, so that they do not displace shorter events. Within a category, events are ordered by
rank, distance and time.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta

from location_context.point import Point, distance_km
from location_context.sections.events.providers.subdivisions import is_observed_at
from location_context.sections.events.records import LocalEvent, ProviderEvent
from location_context.sections.events.response import Category, Overlap
from location_context.stay import Stay

MAX_EVENTS, MAX_EVENTS_PER_DAY = 50, 10
_MAJOR_RANK = 80.0  # the rank from which an event affects the whole city
_LONG_RUN = timedelta(days=7)
_LONG_RUNNING = "long_running"  # the category in which longer events are counted
_CATEGORY_RANKS = {
    "public_holiday": 0, "festival": 1, "sport": 2, "concert": 3, "performing_arts": 4,
    "exhibition": 5,
}  # fmt: skip
_FAR = float("inf")
_DAY = timedelta(days=1)
_ELSEWHERE = timedelta(days=2)  # largest difference of dates between UTC-12 and UTC+14


def relevant_events(
    events: Iterable[ProviderEvent], point: Point, stay: Stay, radius: float
) -> list[LocalEvent]:
    """Return the events that a guest at the point could attend during the stay.

    Leave out events that only other regions observe, and events more than `radius` km away. Events
    of a whole region or country, and events without a known place, are kept at any distance.
    """
    first, last = stay.start - _ELSEWHERE, stay.end + _ELSEWHERE
    localised = (
        localise(event, point)
        for event in events  # a cheap check first: most events are on other days of the week
        if event.start.day <= last and (event.end or event.start).day >= first
    )
    return [
        event
        for event in localised
        if event is not None
        and event.first <= stay.end
        and event.last >= stay.start
        and (event.distance is None or event.distance <= radius or event.details.is_wide)
    ]


def localise(event: ProviderEvent, point: Point) -> LocalEvent | None:
    """Return the event with its dates local to the point, and its distance from the point.

    Return None if only other regions or countries observe the event (a holiday).
    """
    elsewhere = event.country and point.country and event.country != point.country
    if event.is_wide and elsewhere:
        return None
    observed = is_observed_at(event.regions, point)
    if observed is False:
        return None
    distance = None
    if (place := event.place) and place.lat is not None and place.lng is not None:
        distance = distance_km(point.lat, point.lng, place.lat, place.lng)
    first, last = event.span(point.zone)
    return LocalEvent(event, (event.source,), first, last, distance, uncertain=observed is None)


def select_events(
    events: Sequence[LocalEvent], stay: Stay
) -> tuple[list[LocalEvent], dict[Category, int]]:
    """Return the events to show, in order, and the number of omitted events by category."""
    by_day: dict[date, list[LocalEvent]] = defaultdict(list)
    for event in events:
        by_day[event.first_in(stay)].append(event)
    selected = _in_rounds([_Day(by_day[day]) for day in sorted(by_day)])
    ids = set(map(id, selected))
    omitted = Counter(event.details.category for event in events if id(event) not in ids)
    return sorted(selected, key=_display_order), dict(sorted(omitted.items()))


def _in_rounds(days: "Iterable[_Day]") -> list[LocalEvent]:
    selected: list[LocalEvent] = []
    counts: Counter[str] = Counter()
    for _ in range(MAX_EVENTS_PER_DAY):
        remaining = [day for day in days if day]
        for day in _spread(remaining, MAX_EVENTS - len(selected)):
            category, event = day.pop_next(counts)
            counts[category] += 1
            selected.append(event)
    return selected


def _spread(days: "Sequence[_Day]", room: int) -> "list[_Day]":
    """Return at most `room` of the days; for each of them, this round chooses one event.

    Days with a major event are taken first; the rest are days evenly spaced over the stay.
    """
    if len(days) <= room:
        return list(days)
    major = [day for day in days if day.has_major][:room]
    others = [day for day in days if not day.has_major]
    room -= len(major)
    return major + [others[(2 * n + 1) * len(others) // (2 * room)] for n in range(room)]


class _Day:
    """The events of one day that are not chosen yet, in a queue for each category.

    The best event of a category is at the head of its queue.
    """

    def __init__(self, events: Iterable[LocalEvent]) -> None:
        self._queues: dict[str, deque[LocalEvent]] = defaultdict(deque)
        self._uncertain: deque[LocalEvent] = deque()
        self._counts: Counter[str] = Counter()
        for event in sorted(events, key=_priority):
            (self._uncertain if event.uncertain else self._queues[_category(event)]).append(event)

    def __bool__(self) -> bool:
        return bool(self._queues or self._uncertain)

    @property
    def has_major(self) -> bool:
        return any(_is_major(queue[0]) for queue in self._queues.values())

    def pop_next(self, counts: Counter[str]) -> tuple[str, LocalEvent]:
        """Remove and return the event to choose next for this day, with its category.

        It is the best event of the category with the fewest chosen events on this day. Categories
        with equal numbers are taken in this order: those whose best event is major, then those with
        the fewest chosen events on all days (`counts`). Uncertain events (see
        `LocalEvent.uncertain`) come last.
        """
        if not self._queues:
            event = self._uncertain.popleft()
            return _category(event), event

        def turn(category: str) -> tuple[int, bool, int, int, tuple[object, ...]]:
            head = self._queues[category][0]
            minor, rank = not _is_major(head), _CATEGORY_RANKS.get(category, len(_CATEGORY_RANKS))
            return self._counts[category], minor, counts[category], rank, _priority(head)

        category = min(self._queues, key=turn)
        event = self._queues[category].popleft()
        if not self._queues[category]:
            del self._queues[category]
        self._counts[category] += 1
        return category, event


def _category(event: LocalEvent) -> str:
    is_long = event.last - event.first >= _LONG_RUN
    return _LONG_RUNNING if is_long and not event.details.is_wide else event.details.category


def _is_major(event: LocalEvent) -> bool:
    return event.details.category == "public_holiday" or (event.details.rank or 0.0) >= _MAJOR_RANK


def _priority(event: LocalEvent) -> tuple[float, bool, float, datetime, str, str]:
    """Return the sort key within a category: rank, then distance, then time.

    Unknown values come last.
    """
    details = event.details
    rank, distance = _rank_and_distance(event)
    return -rank, not details.is_wide, distance, moment_of(details), details.id, details.source


def _display_order(
    event: LocalEvent,
) -> tuple[bool, date, bool, bool, datetime, float, float, str, str]:
    """Return the sort key of events in the answer.

    Uncertain events (see `LocalEvent.uncertain`) come last. Within a date, all-day events come
    first, then those of unknown time, then the others by time; then rank, distance and id decide.
    """
    details = event.details
    rank, distance = _rank_and_distance(event)
    timed = details.start.at is not None
    return (
        event.uncertain, event.first, not details.all_day, timed, moment_of(details), -rank,
        distance, details.id, details.source,
    )  # fmt: skip


def _rank_and_distance(event: LocalEvent) -> tuple[float, float]:
    rank, distance = event.details.rank, event.distance
    return -1.0 if rank is None else rank, _FAR if distance is None else distance


def moment_of(event: ProviderEvent) -> datetime:
    """Return the event's start for sorting; without a time, it is midnight UTC of its date."""
    return event.start.at or datetime.combine(event.start.day, time(), UTC)


def overlaps(first: date, last: date, stay: Stay) -> list[Overlap]:
    """Return the parts of the stay that an event from `first` to `last` overlaps.

    The parts are `arrival` (the stay's first date), `stay` (the dates between) and `departure` (its
    last date). An event that covers both the first and the last date overlaps `stay` too, even
    if the stay has no dates between.
    """
    arrival, departure = first <= stay.start <= last, first <= stay.end <= last
    between = max(first, stay.start + _DAY) <= min(last, stay.end - _DAY)
    touched: dict[Overlap, bool] = {
        "arrival": arrival, "stay": between or (arrival and departure), "departure": departure,
    }  # fmt: skip
    return [part for part, is_touched in touched.items() if is_touched]
