"""Joining: what an event holds that several providers tell of."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.point import Point
from location_context.sections.events.merging.merge import merge
from location_context.sections.events.records import Place, Told, When
from location_context.sections.events.visible import visible
from location_context.stay import Stay

POINT = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
STAY = Stay(date(2026, 12, 1), date(2026, 12, 10))
EVENING = datetime(2026, 12, 3, 19, tzinfo=UTC)
OLYMPIA = Place(name="L'Olympia", lat=48.8701, lng=2.3281)


def _told(
    source: str, title: str, start=EVENING, place=OLYMPIA, category="concert", **more
) -> Told:
    when = start if isinstance(start, When) else When.of(start)
    return Told(id=f"{source}-{title}", source=source, title=title, category=category, start=when,
                place=place, **more)  # fmt: skip


def _seen(*told: Told):
    return visible(told, POINT, STAY, 25)


def test_the_merged_event_has_what_each_knows():
    sold = _told("ticketmaster", "Phoenix", url="https://t.example/")
    ranked = _told(
        "predicthq", "Phoenix live", rank=61.0, end=When.of(EVENING + timedelta(hours=2))
    )
    (event,) = merge(_seen(ranked, sold))
    assert event.sources == ("ticketmaster", "predicthq")
    assert (event.told.title, event.told.rank, event.told.url) == (
        "Phoenix",
        61.0,
        "https://t.example/",
    )
    assert event.told.end is not None


def test_two_of_one_provider_are_never_the_same():
    assert (
        len(merge(_seen(_told("ticketmaster", "Phoenix"), _told("ticketmaster", "Phoenix ")))) == 2
    )


def test_a_time_is_taken_from_the_one_that_knows_it():
    vague = _told("ticketmaster", "Phoenix", start=When(date(2026, 12, 3)))
    (event,) = merge(_seen(vague, _told("predicthq", "Phoenix")))
    assert event.told.start.at == EVENING


def test_postponed_by_one_is_postponed():
    (event,) = merge(
        _seen(_told("ticketmaster", "Phoenix"), _told("predicthq", "Phoenix", status="postponed"))
    )
    assert event.told.status == "postponed"


def test_the_same_public_holiday_in_two_languages_is_one():
    holiday = {"place": None, "category": "public_holiday", "scope": "country", "country": "FR"}
    day = When(date(2026, 12, 8))
    (event,) = merge(
        _seen(
            _told("holidays", "Toussaint", start=day, **holiday),
            _told("predicthq", "All Saints' Day", start=day, **holiday),
        )
    )
    assert event.sources == ("holidays", "predicthq")
    assert event.told.title == "Toussaint"


@given(st.permutations(["calendars", "ticketmaster", "predicthq"]))
def test_the_order_in_which_providers_answer_does_not_matter(order: list[str]):
    (event,) = merge(_seen(*(_told(source, "Phoenix") for source in order)))
    assert event.sources == ("calendars", "ticketmaster", "predicthq")


def test_paris_is_where_the_point_is():
    assert POINT.zone == ZoneInfo("Europe/Paris")
    assert pytest.approx(2.3, abs=0.3) == _seen(_told("ticketmaster", "Phoenix"))[0].distance
