"""The stay's card joins what the sections offer, and loses none of it."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.card import Card, Fact, Moment, Row, Timeline
from location_context.stay import Stay
from location_context.widget.stay import FULL, KINDS, facts, joined
from tests.widget.queries import WORDS

START = date(2026, 11, 26)
STAY = Stay(START, START + timedelta(4))
moments = st.builds(
    Moment,
    day=st.one_of(st.none(), st.integers(0, 4).map(lambda n: START + timedelta(n))),
    title=st.text("abc", min_size=1, max_size=5),
    kind=st.sampled_from([*KINDS]),
    weight=st.floats(0, 100),
)


def rows(lengths):
    """Rows of so many days each."""
    found, first = [], START
    for length in lengths:
        last = first + timedelta(length - 1)
        found.append(Row(first=first, last=last, spoken="said"))
        first = last + timedelta(1)
    return found


def card(*found: Moment, lengths=()) -> list[tuple[str, Card]]:
    timeline = Timeline(heading="Days", rows=rows(lengths)) if lengths else None
    return [("weather", Card(timeline=timeline)), ("events", Card(moments=found))]


@given(st.lists(moments, max_size=30), st.sampled_from([(), (1,) * 5, (1, 1, 3), (5,)]))
def test_stay_shows_each_sky_entry_and_event_exactly_once(found, lengths):
    stay = joined(card(*found, lengths=lengths), STAY, START, WORDS)
    if not found and not lengths:
        assert stay is None
        return
    lines = [*stay.past, *stay.rows, *stay.dated]
    shown = [one.moment for line in (*lines, *stay.rest) for one in line.moments]
    assert sorted(map(id, shown)) == sorted(map(id, found))
    assert stay.rest_label.startswith(str(sum(len(line.moments) for line in stay.rest)))
    for line in lines:
        assert len(line.moments) <= FULL.moments
        for one in line.moments:
            if line.row:
                assert line.row.first <= one.moment.day <= line.row.last


@given(st.lists(moments, min_size=3, max_size=30))
def test_row_of_a_day_shows_its_most_important_entries(found):
    stay = joined(card(*found, lengths=(5,)), STAY, START, WORDS)
    (line,) = stay.rows
    ranks = [(KINDS[one.kind], -one.weight) for one in found if one.day]
    assert [(KINDS[one.moment.kind], -one.moment.weight) for one in line.moments] == sorted(ranks)[
        : FULL.moments
    ]
    left = len(ranks) - len(line.moments)
    assert line.more == (f"+{left} more" if left else "")


def test_row_that_joins_several_days_names_the_day_of_each_entry():
    found = [Moment(day=START + timedelta(2), title="Market", text="11:00")]
    stay = joined(card(*found, lengths=(5,)), STAY, START, WORDS)
    assert stay.rows[0].moments[0].text.replace("\u00a0", " ") == "Sat 28 · 11:00"
    alone = joined(card(*found, lengths=(1,) * 5), STAY, START, WORDS)
    assert alone.rows[2].moments[0].text == "11:00"


def test_stay_card_marks_arrival_day_today_and_departure_day_and_folds_past_days():
    stay = joined(card(lengths=(1,) * 5), STAY, START + timedelta(2), WORDS)
    assert [line.note for line in stay.past] == ["arrival", ""]
    assert [line.note for line in stay.rows] == ["Today", "", "departure"]
    assert [line.today for line in stay.rows] == [True, False, False]
    assert stay.rows[0].spoken == "Today, said"
    assert stay.past_label.endswith("past")
    assert (
        joined(card(lengths=(1,)), Stay(START, START), START - timedelta(1), WORDS).rows[0].note
        == ""
    )


@pytest.mark.parametrize("sections", [0, 1, 6])
def test_stay_card_shows_the_four_most_important_facts_of_all_sections(sections):
    offered = [
        (f"own{n}", Card(template="a:b", facts=[Fact(value=str(n), caption="c", weight=n)]))
        for n in range(sections)
    ]
    weather = Card(template="x:y", timeline=Timeline(heading="h"), facts=[
        Fact(value="13°", caption="by day", weight=100)
    ])  # fmt: skip
    shown = facts([*offered, ("weather", weather)])
    assert len(shown) == min(4, sections + 1)
    assert shown[0][0] == "stay"
    assert [fact.weight for _, fact in shown] == sorted(
        (fact.weight for _, fact in shown), reverse=True
    )
