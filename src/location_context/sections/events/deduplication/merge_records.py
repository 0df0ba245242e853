"""Merging: several providers' records of one event become one record with all its `sources`.

The pairs that match best are joined first. Two groups are joined only if every record of one is a
duplicate of every record of the other (complete linkage). Otherwise a chain of similar records
could join two different events. The order of records does not change the result.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import cache, reduce
from itertools import chain, combinations

import msgspec

from location_context.sections.events.deduplication.match_score import (
    MAX_TIME_APART,
    MIN_DAYS_OF_A_RUN,
    MODEL,
    MatchRecord,
    categories_agree,
    match_score,
    origin_of,
    read_record,
    read_venue,
    venue_proximity,
)
from location_context.sections.events.deduplication.titles import TokenWeights, read_title
from location_context.sections.events.records import LocalEvent, Place, When

Scores = dict[tuple[int, int], tuple[float, bool]]

# the operator's calendars come first; an unlisted provider comes last
_PRIORITIES = ("calendars", "ticketmaster", "holidays", "open_holidays", "predicthq")


def merge_duplicates(events: Iterable[LocalEvent]) -> list[LocalEvent]:
    """Return the events with duplicates merged, sorted by `source_priority`."""
    ordered = sorted(events, key=source_priority)
    groups = _groups(len(ordered), _duplicates(ordered))
    return [_merged([ordered[n] for n in group]) for group in groups]


def _mark_repeated(records: Sequence[MatchRecord]) -> list[MatchRecord]:
    """Return the records, with `repeated` set if a provider lists a title several times a day."""
    keys = [(r.origin, r.event.first, r.title.unique) for r in records]
    count = Counter(keys)
    return [
        replace(record, repeated=True) if count[key] > 1 else record
        for record, key in zip(records, keys, strict=True)
    ]


def _duplicates(events: Sequence[LocalEvent]) -> Scores:
    """Return the pairs of events that are duplicates, as pairs of indexes in `events`.

    Each pair is mapped to its match score, and to whether the two titles are identical.
    """
    candidates = list(_candidates(events))
    if not candidates:
        return {}  # the usual case: only one provider has more than holidays
    title, venue = cache(read_title), cache(read_venue)  # many events share a title or venue
    records = _mark_repeated([read_record(event, title, venue) for event in events])
    venues = {record.venue for record in records if record.venue}
    weights = TokenWeights.from_titles((r.title for r in records), (v.town for v in venues))
    proximity = cache(venue_proximity)
    found = {}
    for a, b in candidates:
        one, other = records[a], records[b]
        if (score := match_score(one, other, weights, proximity)) >= MODEL.threshold:
            found[a, b] = score, one.title.text == other.title.text
    return found


def _candidates(events: Sequence[LocalEvent]) -> Iterator[tuple[int, int]]:
    """Yield pairs of events that may be duplicates, as pairs of indexes in `events`.

    The two events are from different providers (or calendars) and have categories that agree. They
    begin within 90 minutes of each other, or on the same day at an unknown time, or both last at
    least three days.
    """
    days: defaultdict[date, defaultdict[tuple[str, str], list[int]]]
    days = defaultdict(lambda: defaultdict(list))
    running = []
    origins = [origin_of(event) for event in events]
    for n, event in enumerate(events):
        days[event.first][origins[n]].append(n)
        if (event.last - event.first).days >= MIN_DAYS_OF_A_RUN:
            running.append(n)
    together = (
        _of_one_day(one, other, events)
        for day in days.values()
        for one, other in combinations(day.values(), 2)
    )
    apart = (
        (a, b)
        for a, b in combinations(running, 2)
        if events[a].first != events[b].first and origins[a] != origins[b]
    )
    for a, b in chain(chain.from_iterable(together), apart):
        if categories_agree(events[a].details.category, events[b].details.category):
            yield a, b


def _of_one_day(
    one: Sequence[int], other: Sequence[int], events: Sequence[LocalEvent]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of an event in `one` and an event in `other` that may start together.

    `one` has the indexes of one provider's events on a day, `other` those of another provider's on
    the same day. Two events may start together if their starts are at most 90 minutes apart, or if
    one start is unknown.
    """
    starts = {n: events[n].details.start.at for n in (*one, *other)}
    timed = sorted((at, m) for m in other if (at := starts[m]) is not None)
    moments, in_order = [at for at, _ in timed], [m for _, m in timed]
    untimed = [m for m in other if starts[m] is None]
    for n in one:
        at = starts[n]
        if at is None:
            near = other
        else:
            first = bisect_left(moments, at - MAX_TIME_APART)
            last = bisect_right(moments, at + MAX_TIME_APART)
            near = in_order[first:last] + untimed
        for m in near:
            yield (n, m) if n < m else (m, n)


def _groups(count: int, scores: Scores) -> list[list[int]]:
    """Return groups of event indexes; within a group every two events are duplicates.

    Pairs with high scores are joined first. An event without duplicates is a group of its own.
    """
    group = {n: [n] for n in range(count)}
    for a, b in sorted(scores, key=lambda pair: (*(-part for part in scores[pair]), pair)):
        one, other = group[a], group[b]
        if one is not other and all((min(x, y), max(x, y)) in scores for x in one for y in other):
            one += other
            for n in other:
                group[n] = one
    return [sorted(members) for n, members in group.items() if n == min(members)]


def source_priority(event: LocalEvent) -> tuple[int, str, str]:
    """Return the sort key that orders records by provider.

    The operator's calendars come first. When duplicates are merged, the first record's values are
    used.
    """
    source = event.details.source
    rank = _PRIORITIES.index(source) if source in _PRIORITIES else len(_PRIORITIES)
    return rank, source, event.details.id


def _merged(events: Sequence[LocalEvent]) -> LocalEvent:
    """Merge duplicates into the first event, whose missing values are filled from the others."""
    if len(events) == 1:
        return events[0]
    whole = reduce(_completed, events)
    sources = tuple(dict.fromkeys(event.details.source for event in events))
    return replace(whole, sources=sources, merged_from=tuple(events))


def _completed(one: LocalEvent, other: LocalEvent) -> LocalEvent:
    """Return `one` with missing values from `other`; it is postponed if either event is."""
    a, b = one.details, other.details
    details = msgspec.structs.replace(
        a,
        category=b.category if a.category == "other" else a.category,
        start=b.start if a.start.at is None and b.start.at and not a.all_day else a.start,
        status="postponed" if "postponed" in {a.status, b.status} else a.status,
        place=_place(a.place, b.place),
        rank=b.rank if a.rank is None else a.rank,
        url=a.url or b.url,
        image=a.image or b.image,
        price=a.price or b.price,
    )
    details = msgspec.structs.replace(details, end=a.end or _end(details.start, b.end))
    distance = other.distance if one.distance is None else one.distance
    last = max(one.last, other.last) if a.end is None and details.end else one.last
    return replace(one, details=details, distance=distance, last=last)


def _place(one: Place | None, other: Place | None) -> Place | None:
    """Return the place `one`, with its missing values filled from `other`."""
    if one is None or other is None:
        return one or other
    missing = one.lat is None or one.lng is None
    return Place(
        name=one.name or other.name,
        address=one.address or other.address,
        lat=other.lat if missing else one.lat,
        lng=other.lng if missing else one.lng,
    )


def _end(start: When, end: When | None) -> When | None:
    """Return `end`, or None if both have a time and `end` is not later than `start`."""
    if end and end.at and start.at and end.at <= start.at:
        return None
    return end
