"""The events card shows every event once, in words that a guest reads."""

import msgspec
import pytest

from location_context.sections import registry
from location_context.sections.events import card as programme
from location_context.sections.events.card import headline
from location_context.sections.events.providers.base import EventProvider
from location_context.sections.events.response import Coverage
from tests.widget.queries import NO_BREAK, WORDS, query, words_in
from tests.widget.samples.programme import events

PROVIDERS = registry.load(registry.EVENT_PROVIDERS, EventProvider)
NAMES = {one.name: one.label(WORDS.language) for one in PROVIDERS}


def _card(body, fmt=WORDS, names=NAMES):
    return programme.card(body, fmt, names)


def test_every_event_is_shown_once_and_holidays_are_in_view(gazetteer):
    body = events(query(gazetteer))
    card = _card(body)
    shown = [event.title for day in card.dates for event in day.events]
    rest = [event.title for day in card.more for event in day.events]
    assert len(shown) == 8
    assert sorted(shown + rest) == sorted(event.title for event in body.events)
    assert "Assumption Day" in shown
    assert card.dates[0].events[0].title == "Aste Nagusia, the Big Week"
    assert card.dates[0].day == "22–\u206029"
    assert (card.dates[1].below, card.dates[-1].below) == ("Arrive", "Leave")


def test_the_events_sentence_says_when_the_holiday_is(gazetteer):
    body = events(query(gazetteer))
    said = "Assumption Day on the day you leave; Aste Nagusia, the Big Week all through the stay."
    assert headline(body, WORDS) == said
    few = [event for event in body.events if event.category == "concert"]
    few = msgspec.structs.replace(body, events=few, omitted={})
    assert headline(few, WORDS) == "2 events during the stay."


def test_the_events_sentence_counts_events_that_are_not_listed(gazetteer):
    body = events(query(gazetteer))
    concerts = [event for event in body.events if event.category == "concert"]
    many = msgspec.structs.replace(body, events=concerts, omitted={"concert": 15, "sport": 4})
    assert headline(many, WORDS) == "21 events during the stay."


def test_an_uncertain_holiday_is_counted_and_never_the_sentence(gazetteer):
    body = changed(events(query(gazetteer)), "Assumption Day", uncertain=True)
    assert headline(body, WORDS) == "Aste Nagusia, the Big Week all through the stay."
    alone = [event for event in body.events if event.title == "Assumption Day"]
    alone = msgspec.structs.replace(body, events=alone, omitted={})
    assert headline(alone, WORDS) == "1 event during the stay."


def test_an_uncertain_event_is_said_to_be_of_parts_of_the_country(gazetteer):
    body = changed(events(query(gazetteer)), "Jazz on the terrace", uncertain=True)
    card = _card(body)
    metas = {e.title: e.meta for part in (card.dates, card.more) for d in part for e in d.events}
    assert metas["Jazz on the terrace"].endswith("in parts of the country")


def test_what_is_estimated_or_postponed_is_said_in_words(gazetteer):
    body = events(query(gazetteer))
    card = _card(body)
    metas = {e.title: e.meta for part in (card.dates, card.more) for d in part for e in d.events}
    assert metas["Real Sociedad, league match"].startswith("About 21:30")
    assert metas["Theatre in Basque: Amets"].startswith("Postponed")
    assert "from" + NO_BREAK + "€18" in metas["Basque National Orchestra"]
    assert "free" in metas["Perseids from Monte Urgull"]


def changed(body, title, **fields):
    """The body with one event changed."""
    rows = [msgspec.structs.replace(e, **fields) if e.title == title else e for e in body.events]
    return msgspec.structs.replace(body, events=rows)


@pytest.mark.parametrize(
    ("title", "fields", "said"),
    [
        ("Opening cannon shot", {"status": "estimated"}, "About 19:00"),
        ("Opening cannon shot", {"status": "estimated", "start": "2026-11-22", "end": None},
         "Date estimated"),
        ("Opening cannon shot", {"start": "2026-11-22", "end": "2026-11-23"},
         f"until Mon{NO_BREAK}23{NO_BREAK}Nov"),
        ("Assumption Day", {"status": "estimated"},
         "Public holiday. Shops and banks may close. Date estimated."),
        ("Assumption Day", {"regions": ["ES-CT", "ES-PV"], "scope": "region"},
         "Public holiday in this region. Shops and banks may close."),
        ("Assumption Day", {"regions": ["ES-CT", "ES-AN"], "scope": "region", "uncertain": False},
         "Public holiday in this region. Shops and banks may close."),
        ("Assumption Day", {"regions": ["ES-CT", "ES-PV"], "scope": "region", "uncertain": True},
         "Public holiday in parts of the country."),
    ],
)  # fmt: skip
def test_a_time_is_about_and_a_date_is_estimated_and_no_code_is_shown(
    gazetteer, title, fields, said
):
    body = changed(events(query(gazetteer)), title, **fields)
    metas = {e.title: e.meta for day in _card(body).dates for e in day.events}
    assert metas[title].startswith(said)
    assert "ES-" not in metas[title]


def test_the_footnote_is_silent_about_providers_that_are_not_connected(gazetteer):
    coverage = [Coverage(provider=code, status="not_configured") for code in NAMES]
    body = msgspec.structs.replace(events(query(gazetteer)), coverage=coverage, omitted={})
    assert _card(body).footnote == ""


@pytest.mark.parametrize("status", ["unavailable", "not_configured", "stale", "partial"])
def test_the_footnote_names_providers_as_guests_know_them(gazetteer, status):
    body = events(query(gazetteer))
    coverage = [Coverage(provider=code, status=status) for code in [*NAMES, "no_name"]]
    note = _card(msgspec.structs.replace(body, coverage=coverage)).footnote
    assert "_" not in note
    named = "OpenHolidays, Ticketmaster and PredictHQ" in note
    assert named == (status in {"unavailable", "partial"})
    assert ("Not read in full:" in note) == (status == "partial")


def test_the_footnote_names_a_provider_of_another_package(gazetteer):
    coverage = [Coverage(provider="harbour", status="unavailable")]
    body = msgspec.structs.replace(events(query(gazetteer)), coverage=coverage, omitted={})
    note = _card(body, names={**NAMES, "harbour": "Port of Hamburg"}).footnote
    assert note == "Not reached just now: Port of Hamburg."


def test_a_range_over_two_months_may_break_after_its_dash_alone(gazetteer):
    day = _card(events(query(gazetteer, start="2026-12-27"))).dates[0]
    assert (day.months, day.day.replace("\u2009", " ")) == (True, "27 Dec – 3 Jan")


def test_latin_names_do_not_turn_arabic_around_them(gazetteer):
    """Isolated (UAX 9): else a distance after a Latin venue is read as part of it."""
    card = _card(events(query(gazetteer)), words_in("ar"))
    metas = [event.meta for day in card.dates for event in day.events]
    assert any("\u2068Alde Eder\u2069" in meta for meta in metas)
    assert not any(
        "\u2068" in e.meta for d in _card(events(query(gazetteer))).dates for e in d.events
    )
