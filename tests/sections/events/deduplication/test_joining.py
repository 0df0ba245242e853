"""Duplicates are merged into one event that has the best fields of each."""

from datetime import UTC, date, datetime, timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.point import Point
from location_context.sections.events.deduplication.merge_records import merge_duplicates
from location_context.sections.events.records import LocalEvent, Place, ProviderEvent, When
from location_context.sections.events.response import Price
from location_context.sections.events.selection import relevant_events
from location_context.stay import Stay
from tests.sections.events.deduplication.labelled import is_duplicate

POINT = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
STAY = Stay(date(2026, 12, 1), date(2026, 12, 10))
EVENING = datetime(2026, 12, 3, 19, tzinfo=UTC)
OLYMPIA = Place(name="L'Olympia", lat=48.8701, lng=2.3281)


def _event(
    source: str, title: str, start=EVENING, place=OLYMPIA, category="concert", **more
) -> ProviderEvent:
    when = start if isinstance(start, When) else When.of(start)
    return ProviderEvent(id=more.pop("id", f"{source}-{title}"), source=source, title=title,
                category=category, start=when, place=place, **more)  # fmt: skip


def _local_events(*accounts: ProviderEvent) -> list[LocalEvent]:
    return relevant_events(accounts, POINT, STAY, 25)


def _merged(*accounts: ProviderEvent) -> list[LocalEvent]:
    return merge_duplicates(_local_events(*accounts))


def _titles(events: list[LocalEvent]) -> set[frozenset[str]]:
    """The ids that each event was merged from."""
    return {frozenset(one.details.id for one in event.merged_from or (event,)) for event in events}


def test_merged_event_takes_missing_fields_from_each_provider():
    sold = _event("ticketmaster", "Phoenix", url="https://t.example/")
    ranked = _event(
        "predicthq", "Phoenix live", rank=61.0, end=When.of(EVENING + timedelta(hours=2))
    )
    (event,) = _merged(ranked, sold)
    details = event.details
    assert event.sources == ("ticketmaster", "predicthq")
    assert (details.title, details.rank, details.url) == ("Phoenix", 61.0, "https://t.example/")
    assert details.end == ranked.end


def test_merged_fields_come_from_operator_then_ticketmaster_then_predicthq():
    price = Price(min=40, max=60, currency="EUR")
    accounts = [
        _event("predicthq", "PHOENIX LIVE", rank=61.0, image="https://p.example/i"),
        _event(
            "ticketmaster", "Phoenix: Alpha Zulu Tour", price=price, image="https://t.example/i"
        ),
        _event("calendars", "Concert: Phoenix", category="other"),
    ]
    (event,) = _merged(*accounts)
    assert event.sources == ("calendars", "ticketmaster", "predicthq")
    details = event.details
    assert (details.title, details.category) == ("Concert: Phoenix", "concert")
    assert (details.price, details.image, details.rank) == (price, "https://t.example/i", 61.0)


def test_merged_event_takes_missing_coordinates_and_distance_from_its_duplicate():
    named = _event("calendars", "Phoenix", place=Place(name="Olympia"))
    (event,) = _merged(named, _event("ticketmaster", "Phoenix"))
    assert event.details.place == Place(name="Olympia", lat=OLYMPIA.lat, lng=OLYMPIA.lng)
    assert event.distance == pytest.approx(2.3, abs=0.3)


def test_events_of_one_provider_are_never_duplicates():
    accounts = [_event("ticketmaster", "Phoenix"), _event("ticketmaster", "Phoenix ")]
    assert len(_merged(*accounts)) == 2


def test_event_in_two_calendars_of_the_operator_has_one_source():
    accounts = [_event("calendars", "Phoenix", id=f"{calendar}:phoenix") for calendar in ("a", "b")]
    (event,) = _merged(*accounts)
    assert event.sources == ("calendars",)
    same_calendar = [_event("calendars", "Phoenix", id=f"a:{n}") for n in (1, 2)]
    assert len(_merged(*same_calendar)) == 2


def test_merged_event_takes_the_start_time_from_the_provider_that_has_a_time():
    vague = _event("ticketmaster", "Phoenix", start=When(date(2026, 12, 3)))
    (event,) = _merged(vague, _event("predicthq", "Phoenix"))
    assert event.details.start.at == EVENING


def test_end_before_the_start_is_dropped():
    late = _event("ticketmaster", "Phoenix", start=EVENING + timedelta(minutes=80))
    doors = _event("predicthq", "Phoenix", end=When.of(EVENING + timedelta(minutes=60)))
    (event,) = _merged(late, doors)
    assert event.details.end is None


def test_merged_event_is_postponed_if_either_provider_reports_a_postponement():
    (event,) = _merged(
        _event("ticketmaster", "Phoenix"), _event("predicthq", "Phoenix", status="postponed")
    )
    assert event.details.status == "postponed"


def test_public_holiday_in_two_languages_is_one_event():
    holiday = {"place": None, "category": "public_holiday", "scope": "country", "country": "FR"}
    day = When(date(2026, 12, 8))
    (event,) = _merged(
        _event("holidays", "Toussaint", start=day, **holiday),
        _event("predicthq", "All Saints' Day", start=day, **holiday),
    )
    assert event.sources == ("holidays", "predicthq")
    assert event.details.title == "Toussaint"


def test_most_similar_of_several_candidate_events_is_merged():
    accounts = [
        _event("ticketmaster", "Phoenix - VIP Package"),
        _event("ticketmaster", "Phoenix"),
        _event("predicthq", "Phoenix"),
    ]
    assert _titles(_merged(*accounts)) == {
        frozenset({"ticketmaster-Phoenix", "predicthq-Phoenix"}),
        frozenset({"ticketmaster-Phoenix - VIP Package"}),
    }


def test_hourly_tours_of_two_providers_are_merged_only_at_the_same_hour():
    hours = [EVENING - timedelta(hours=n) for n in (9, 8, 7)]
    accounts = [
        _event(source, "Guided tour", start=at, id=f"{source}:{at:%H}", category="community")
        for source, some in (("ticketmaster", hours), ("predicthq", hours[1:]))
        for at in some
    ]
    events = _merged(*accounts)
    assert len(events) == 3
    assert all(len({one.details.start for one in event.merged_from}) <= 1 for event in events)


def test_events_linked_only_by_a_third_similar_event_are_not_merged():
    """Doors at seven, a show at eight, another at half past nine: neighbours alike, ends not."""
    starts = {"calendars": 0, "ticketmaster": 70, "predicthq": 140}
    seen = _local_events(
        *(_event(source, "Phoenix", EVENING + timedelta(minutes=n)) for source, n in starts.items())
    )
    assert is_duplicate(seen[0], seen[1])
    assert is_duplicate(seen[1], seen[2])
    assert not is_duplicate(seen[0], seen[2])
    assert sorted(len(event.sources) for event in merge_duplicates(seen)) == [1, 2]


def test_word_common_to_many_titles_does_not_merge_their_events():
    """If a venue gives its name to every evening, that name alone merges no two."""
    series = [f"Klangkosmos Weltmusik {name}" for name in
              ("Mali", "Peru", "Iran", "Korea", "Tuva", "Laos", "Cuba", "Fado", "Gnawa", "Joik",
               "Samba", "Raga", "Klezmer", "Rebetiko", "Qawwali", "Gamelan")]  # fmt: skip
    others = [
        _event("ticketmaster", title, EVENING + timedelta(days=1 + n % 6))
        for n, title in enumerate(series[2:])
    ]
    two = [_event("ticketmaster", series[0]), _event("predicthq", series[1])]
    assert len(_merged(*two)) == 1
    assert len(_merged(*two, *others)) == len(series)


def test_name_of_the_town_in_a_title_is_ignored():
    """What three addresses end with is the town: "Mime Lutèce" there is "Mime"."""
    halls = [
        _event("ticketmaster", name, EVENING + timedelta(days=1),
              Place(name=name, address=f"{n} Rue Neuve, Lutèce", lat=48.85, lng=2.3 + n / 50))
        for n, name in enumerate(("Forum", "Comœdia", "Thermes"))
    ]  # fmt: skip
    two = [_event("ticketmaster", "Mime"), _event("predicthq", "Mime Lutèce")]
    assert len(_merged(*two)) == 2
    assert len(_merged(*two, *halls)) == 1 + len(halls)


_accounts = st.lists(
    st.builds(
        lambda source, title, minutes, metres, name, day: (
            source, title, day, minutes, metres, name,
        ),
        st.sampled_from(["calendars", "ticketmaster", "predicthq", "open_holidays"]),
        st.sampled_from(["Phoenix", "Phoenix: Alpha Zulu Tour", "Phoenix (complet)", "Air",
                         "Candlelight: Queen", "Queen", "Fenix", "Phoenix with Air", "Air Phoenix",
                         "Concert", "Festival Air"]),
        st.sampled_from([None, 0, 30, 60, 90, 120]),
        st.sampled_from([0, 100, 300, 900, 4000]),
        st.sampled_from([None, "Olympia", "L'Olympia", "Zénith"]),
        st.integers(0, 1),
    ),
    max_size=9,
)  # fmt: skip


def _some(rows) -> list[LocalEvent]:
    return _local_events(*(
        _event(
            source, title, id=f"{n % 2}:{n}",
            start=When(EVENING.date() + timedelta(days=day)) if minutes is None
            else EVENING + timedelta(days=day, minutes=minutes),
            place=Place(name=name, lat=48.87 + metres / 111_195, lng=2.3281),
        )
        for n, (source, title, day, minutes, metres, name) in enumerate(rows)
    ))  # fmt: skip


@given(_accounts, st.randoms(use_true_random=False))
def test_merging_does_not_depend_on_the_order_of_events(rows, random):
    seen = _some(rows)
    shuffled = list(seen)
    random.shuffle(shuffled)
    assert merge_duplicates(shuffled) == merge_duplicates(seen)


@given(_accounts)
def test_merging_loses_no_event_and_merges_at_most_one_event_of_each_provider(rows):
    seen = _some(rows)
    events = merge_duplicates(seen)
    accounts = [one.details.id for event in events for one in event.merged_from or (event,)]
    assert sorted(accounts) == sorted(one.details.id for one in seen)
    for event in events:
        for one, other in combinations(event.merged_from, 2):
            assert one.details.source != other.details.source or one.details.source == "calendars"
            assert one.first == other.first


@given(_accounts)
def test_duplicate_check_of_two_events_is_symmetric(rows):
    for one, other in combinations(_some(rows), 2):
        assert is_duplicate(one, other) == is_duplicate(other, one)
