"""The selection limits, sorts and counts events, and names the part of the stay they touch."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.point import Point
from location_context.sections.events.records import Place, ProviderEvent, When
from location_context.sections.events.selection import (
    MAX_EVENTS,
    MAX_EVENTS_PER_DAY,
    overlaps,
    relevant_events,
    select_events,
)
from location_context.stay import Stay

POINT = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
STAY = Stay(date(2026, 12, 1), date(2026, 12, 7))
CATEGORIES = ("concert", "sport", "festival", "community", "other")


def _event(
    number: int, first: date, last: date | None = None, category="concert", **more
) -> ProviderEvent:
    return ProviderEvent(
        id=f"{number:04}", source="calendars", title=f"Event {number}", category=category,
        start=When(first), end=When(last or first), all_day=True, **more,
    )  # fmt: skip


def _select(events: list[ProviderEvent], point: Point = POINT):
    return select_events(relevant_events(events, point, STAY, 25), STAY)


some = st.lists(
    st.tuples(
        st.integers(-3, 9), st.integers(0, 5), st.sampled_from(CATEGORIES),
        st.one_of(st.none(), st.floats(0, 100)),
    ),
    max_size=150,
)  # fmt: skip


def _events(rows) -> list[ProviderEvent]:
    days = [STAY.start + timedelta(days=n) for n in range(-3, 15)]
    return [
        _event(n, days[at + 3], days[at + 3 + length], kind, rank=rank)
        for n, (at, length, kind, rank) in enumerate(rows)
    ]


@given(some)
def test_selection_respects_its_limits_and_counts_omitted_events(given_events):
    events = _events(given_events)
    relevant = relevant_events(events, POINT, STAY, 25)
    shown, omitted = select_events(relevant, STAY)
    counted = [event.first_in(STAY) for event in shown]
    assert len(shown) <= MAX_EVENTS
    assert all(counted.count(day) <= MAX_EVENTS_PER_DAY for day in counted)
    assert len(shown) + sum(omitted.values()) == len(relevant)
    starts = [event.first for event in shown]
    assert starts == sorted(starts)


def test_day_with_many_concerts_still_shows_other_categories():
    day = STAY.start
    events = [_event(n, day, rank=90.0) for n in range(30)]
    events += [
        _event(100, day, category="sport", rank=10.0),
        _event(101, day, category="community"),
    ]
    shown, omitted = _select(events)
    assert [event.details.category for event in shown].count("concert") == 8
    assert {"sport", "community"} <= {event.details.category for event in shown}
    assert omitted == {"concert": 22}


@given(some, st.randoms(use_true_random=False))
def test_selection_does_not_depend_on_the_order_of_events(given_events, chance):
    events = _events(given_events)
    shown, omitted = _select(events)
    chance.shuffle(events)
    again, omitted_again = _select(events)
    assert [event.details.id for event in again] == [event.details.id for event in shown]
    assert omitted_again == omitted


@given(some)
def test_each_category_of_a_day_is_shown_once_before_any_category_is_shown_twice(given_events):
    """Where there is room for all days' first choices, as in a week."""
    events = [
        _event(n, STAY.start + timedelta(days=max(0, at)), None, kind, rank=rank)
        for n, (at, _, kind, rank) in enumerate(given_events)
    ]  # fmt: skip
    relevant = relevant_events(events, POINT, STAY, 25)
    shown, _ = select_events(relevant, STAY)
    for day in {event.first for event in relevant}:
        offered = Counter(event.details.category for event in relevant if event.first == day)
        given_ = Counter(event.details.category for event in shown if event.first == day)
        for kind in offered:
            most = max(given_.values(), default=0)
            assert given_[kind] >= min(offered[kind], most - 1)


LONG = Stay(date(2026, 12, 1), date(2027, 3, 2))  # 92 days


def _select_long(events: list[ProviderEvent]):
    shown, _ = select_events(relevant_events(events, POINT, LONG, 25), LONG)
    return shown


def test_selected_events_are_spread_up_to_the_end_of_a_long_stay():
    events = [
        _event(10 * n + m, LONG.start + timedelta(days=n)) for n in range(92) for m in range(3)
    ]
    shown = [event.first for event in _select_long(events)]
    assert len(shown) == len(set(shown)) == MAX_EVENTS
    gaps = [(b - a).days for a, b in pairwise(sorted(shown))]
    assert max(gaps) <= 2
    assert (LONG.end - max(shown)).days <= 2


def test_long_stay_shows_every_category():
    kinds = ("festival", *CATEGORIES)
    events = [
        _event(10 * n + m, LONG.start + timedelta(days=n), category=kind)
        for n in range(92)
        for m, kind in enumerate(kinds)
    ]
    counted = Counter(event.details.category for event in _select_long(events))
    assert counted.keys() == set(kinds)
    assert max(counted.values()) - min(counted.values()) <= 1


def test_holidays_and_major_events_are_always_shown():
    events = [
        _event(100 * n + m, LONG.start + timedelta(days=n), category="festival", rank=70.0)
        for n in range(92)
        for m in range(5)
    ]
    great = [LONG.start + timedelta(days=n) for n in (7, 60, 91)]
    events += [_event(10_000 + n, day, category="sport", rank=85.0) for n, day in enumerate(great)]
    holiday = LONG.start + timedelta(days=24)
    events.append(_event(20_000, holiday, category="public_holiday", scope="country", country="FR"))
    shown = {event.details.id for event in _select_long(events)}
    assert {"10000", "10001", "10002", "20000"} <= shown


def test_events_lasting_for_weeks_do_not_displace_single_day_events():
    first, last = STAY.start - timedelta(days=20), STAY.end + timedelta(days=20)
    kinds = ("exhibition", "performing_arts", "festival", "other")
    running = [_event(n, first, last, kinds[n % 4], rank=60.0) for n in range(60)]
    once = [_event(100 + n, STAY.start, category="exhibition") for n in range(8)]
    shown, omitted = _select(running + once)
    shown_ids = {event.details.id for event in shown}
    assert len([event for event in once if event.id in shown_ids]) == MAX_EVENTS_PER_DAY / 2
    assert sum(omitted.values()) == 58


def test_school_holidays_lasting_for_weeks_are_always_shown():
    first, last = STAY.start - timedelta(days=20), STAY.end + timedelta(days=20)
    running = [_event(n, first, last, "exhibition", rank=60.0) for n in range(20)]
    school = _event(99, first, last, "school_holiday", scope="country", country="FR")
    shown, _ = _select([*running, school])
    assert "0099" in {event.details.id for event in shown}


def test_all_day_events_come_before_timed_ones_in_any_time_zone():
    tokyo = Point(35.68, 139.69, "Asia/Tokyo", "JP", None)
    morning = When.of(datetime(2026, 12, 1, 23, tzinfo=UTC))  # the 2nd, 8 o'clock
    events = [
        ProviderEvent(id="timed", source="s", title="t", category="sport", start=morning),
        ProviderEvent(
            id="untimed", source="s", title="u", category="sport", start=When(date(2026, 12, 2))
        ),
        _event(1, date(2026, 12, 2)),
    ]
    shown, _ = select_events(relevant_events(events, tokyo, STAY, 25), STAY)
    assert [event.details.id for event in shown] == ["0001", "untimed", "timed"]


def test_events_are_selected_by_rank_then_distance_then_time():
    day, evening = STAY.start, datetime(2026, 12, 1, 18, tzinfo=UTC)
    near, far = Place(lat=48.86, lng=2.35), Place(lat=48.95, lng=2.35)
    events = [_event(n, day, rank=50.0, place=far) for n in range(20)]
    events.append(_event(90, day, rank=60.0, place=far))
    events.append(ProviderEvent(id="91", source="calendars", title="near", category="concert",
                     start=When.of(evening), place=near, rank=50.0))  # fmt: skip
    shown, _ = _select(events)
    assert {"0090", "91"} <= {event.details.id for event in shown}


def test_events_are_ordered_by_start_then_rank_then_distance_then_id():
    day = STAY.start
    at_noon = When.of(datetime(2026, 12, 1, 11, tzinfo=UTC))
    events = [
        ProviderEvent(id="e", source="s", title="e", category="sport", start=at_noon, rank=99.0),
        _event(4, day), _event(3, day, rank=5.0), _event(2, day, rank=50.0),
        _event(1, day + timedelta(days=1)), _event(0, day - timedelta(days=3), day),
    ]  # fmt: skip
    shown, _ = _select(events)
    assert [event.details.id for event in shown] == ["0000", "0002", "0003", "0004", "e", "0001"]


def test_holidays_of_unknown_regions_come_after_all_other_holidays():
    nowhere = Point(48.8566, 2.3522, "Europe/Paris", "FR", None)
    events = [
        _event(1, STAY.start, category="public_holiday", scope="region", country="FR",
              regions=("FR-6AE",)),
        _event(2, STAY.end),
    ]  # fmt: skip
    shown, _ = _select(events, nowhere)
    assert [event.details.id for event in shown] == ["0002", "0001"]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 1, ["arrival"]), (7, 7, ["departure"]), (3, 4, ["stay"]), (-5, 1, ["arrival"]),
        (7, 20, ["departure"]), (1, 2, ["arrival", "stay"]), (6, 7, ["stay", "departure"]),
        (-5, 20, ["arrival", "stay", "departure"]),
    ],
)  # fmt: skip
def test_overlaps_field_names_the_parts_of_the_stay_that_an_event_overlaps(first, last, expected):
    zero = date(2026, 11, 30)
    touched = overlaps(zero + timedelta(days=first), zero + timedelta(days=last), STAY)
    assert touched == expected


def test_event_overlaps_both_arrival_and_departure_of_a_stay_of_one_or_two_days():
    for stay in (Stay(STAY.start, STAY.start), Stay(STAY.start, STAY.start + timedelta(days=1))):
        assert overlaps(stay.start, stay.end, stay) == ["arrival", "stay", "departure"]


def test_event_that_ends_at_midnight_does_not_overlap_the_next_day():
    ended = ProviderEvent(id="a", source="s", title="a", category="other",
                 start=When.of(datetime(2026, 11, 30, 18, tzinfo=UTC)),
                 end=When.of(datetime(2026, 11, 30, 23, tzinfo=UTC)))  # fmt: skip
    assert relevant_events([ended], POINT, STAY, 25) == []


@given(st.integers(-40, 40), st.integers(0, 60))
def test_event_is_relevant_if_it_overlaps_the_stay(at, length):
    first = STAY.start + timedelta(days=at)
    last = first + timedelta(days=length)
    shown = bool(relevant_events([_event(1, first, last)], POINT, STAY, 25))
    assert shown is (first <= STAY.end and last >= STAY.start)
