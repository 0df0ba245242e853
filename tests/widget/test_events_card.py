"""The events are moments of the stay, each once, in words that a guest reads."""

import msgspec
import pytest

from location_context.sections.events import card as programme
from tests.widget.queries import NO_BREAK, NOW, WORDS, query, words_in
from tests.widget.samples.programme import events

TODAY = NOW.date()


def moments(body, fmt=WORDS):
    return {one.title: one for one in programme.card(body, fmt, TODAY).moments}


def changed(body, title, **fields):
    """The body with one event changed."""
    rows = [msgspec.structs.replace(e, **fields) if e.title == title else e for e in body.events]
    return msgspec.structs.replace(body, events=rows)


def test_each_event_appears_on_its_day_unless_it_lasts_the_whole_stay(gazetteer):
    body = events(query(gazetteer))
    found = moments(body)
    assert sorted(found) == sorted(event.title for event in body.events)
    whole = found["Aste Nagusia, the Big Week"]
    assert (whole.day, whole.kind) == (None, "lasting")
    assert found["Opening cannon shot"].day == body.stay.start
    assert found["Assumption Day"].kind == "holiday"
    assert found["Basque National Orchestra"].url.startswith("https://kursaal.example")
    assert found["Basque National Orchestra"].id == "Basque National Orchestra-3"


def test_event_text_shows_estimated_time_postponement_price_and_free_entry(gazetteer):
    found = {title: one.text for title, one in moments(events(query(gazetteer))).items()}
    assert found["Real Sociedad, league match"].startswith("About 21:30")
    assert found["Theatre in Basque: Amets"].startswith("Postponed")
    assert "from" + NO_BREAK + "€18" in found["Basque National Orchestra"]
    assert "free" in found["Perseids from Monte Urgull"]


@pytest.mark.parametrize(
    ("title", "fields", "said"),
    [
        ("Opening cannon shot", {"status": "estimated"}, "About 19:00"),
        ("Opening cannon shot", {"status": "estimated", "start": "2026-11-22", "end": None},
         "Date estimated"),
        ("Opening cannon shot", {"start": "2026-11-22", "end": "2026-11-23"},
         f"until Mon{NO_BREAK}23{NO_BREAK}Nov"),
        ("Assumption Day", {}, "shops and banks may close"),
        ("Assumption Day", {"status": "estimated"},
         f"Date estimated{NO_BREAK}· shops and banks may close"),
        ("Assumption Day", {"regions": ["ES-CT", "ES-PV"], "scope": "region", "uncertain": True},
         "holiday in parts of the country"),
        ("Jazz on the terrace", {"uncertain": True},
         f"21:00{NO_BREAK}· Koldo{NO_BREAK}· in parts of the country"),
    ],
)  # fmt: skip
def test_event_text_begins_with_time_or_date_or_region_name_and_has_no_codes(
    gazetteer, title, fields, said
):
    text = moments(changed(events(query(gazetteer)), title, **fields))[title].text
    assert text.startswith(said)
    assert "ES-" not in text


def test_upcoming_holidays_are_named_at_the_top_if_they_are_certain(gazetteer):
    body = events(query(gazetteer))
    (fact,) = programme.card(body, WORDS, TODAY).facts
    assert (fact.value, fact.caption) == (
        f"Sun{NO_BREAK}29", "Assumption Day: shops may close",
    )  # fmt: skip
    assert programme.card(body, WORDS, body.stay.end.replace(day=30)).facts == []
    doubted = changed(body, "Assumption Day", uncertain=True)
    assert programme.card(doubted, WORDS, TODAY).facts == []
    two = changed(body, "Jazz on the terrace", category="public_holiday")
    (fact,) = programme.card(two, WORDS, TODAY).facts
    assert fact.value == "2 holidays"


def test_arabic_event_text_puts_latin_names_into_bidi_isolates(gazetteer):
    """Isolated (UAX 9): else a distance after a Latin venue is read as part of it."""
    texts = [one.text for one in moments(events(query(gazetteer)), words_in("ar")).values()]
    assert any("\u2068Alde Eder\u2069" in text for text in texts)
    assert not any("\u2068" in one.text for one in moments(events(query(gazetteer))).values())
