"""The score is symmetric, a probability, and high for equal events."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.events.deduplication.match_score import (
    MODEL,
    features,
    match_score,
    read_record,
    read_venue,
    venue_proximity,
)
from location_context.sections.events.deduplication.normalise import (
    canonical_tokens,
    has_cjk,
    is_non_latin,
    to_ascii,
    token_similarity,
)
from location_context.sections.events.deduplication.titles import (
    TokenWeights,
    matchup_similarity,
    read_matchup,
    read_title,
    shared_letters,
    title_features,
)
from location_context.sections.events.records import Place
from research import train_deduplication
from tests.sections.events.deduplication.labelled import acts, pairs

SETS = ("former", "development", "later", "training")
PAIRS = [pair for name in SETS for pair in pairs(name)]
TITLES = sorted({title for pair in PAIRS for title in (pair.one.title, pair.other.title)})
titles = st.sampled_from(TITLES)
words = st.text("abcdeiknorstuvz", min_size=1, max_size=12)


@given(st.sampled_from(PAIRS))
def test_match_score_is_symmetric_and_lies_between_0_and_1(pair):
    one, other = map(read_record, pair.events())
    assert match_score(one, other) == match_score(other, one)
    assert 0 <= match_score(one, other) <= 1


@given(titles, titles, st.frozensets(words, max_size=3))
def test_features_of_two_titles_do_not_depend_on_which_title_comes_first(one, other, local):
    weights = TokenWeights()
    a, b = read_title(one), read_title(other)
    there, back = title_features(a, b, local, weights), title_features(b, a, local, weights)
    assert there == back
    assert all(0 <= value <= 1 for value in there.values())


@given(st.sampled_from(PAIRS))
def test_event_is_a_duplicate_of_itself_at_another_provider(pair):
    record = read_record(pair.events()[0])
    assert match_score(record, replace(record, origin=("another", ""))) >= MODEL.threshold
    assert match_score(record, record) == 0


@given(st.sampled_from(PAIRS))
def test_larger_distance_never_raises_the_match_score(pair):
    one, other = map(read_record, pair.events())
    near = replace(other, venue=one.venue)
    unplaced = replace(other, venue=read_venue(Place(name=None)))
    assert match_score(one, unplaced) <= match_score(one, near) or one.venue is None
    away = Place(name="Elsewhere", lat=-40.0, lng=170.0)
    if one.venue and one.venue.lat is not None and "holiday" not in one.category:
        assert match_score(one, replace(other, venue=read_venue(away))) == 0


@given(words, words)
def test_similarity_of_words_is_symmetric_and_highest_for_equal_words(one, other):
    assert token_similarity(one, other) == token_similarity(other, one)
    assert token_similarity(one, one) == 1
    assert 0 <= token_similarity(one, other) <= 1


@given(titles)
def test_title_in_capitals_has_the_same_words_as_in_lower_case(title):
    read = read_title(title)
    assert read.words or not canonical_tokens(title)
    assert to_ascii(to_ascii(title)) == to_ascii(title)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Lakers v Kings", "Kings at Los Angeles Lakers", True),
        ("Deutschland - Italien", "Germany vs Italy", True),
        ("FC Bayern München - SC Freiburg", "Bayern Munich vs Freiburg", True),
        ("Dallas Stars vs. Chicago Blackhawks", "Dallas Mavericks vs. Chicago Bulls", False),
        ("Germany vs Austria", "Germany vs Australia", False),
    ],
)
def test_sports_match_is_recognised_by_its_opponents(one, other, same):
    first, second = read_matchup(one), read_matchup(other)
    assert first
    assert second
    assert (matchup_similarity(first, second) >= 0.7) is same
    assert matchup_similarity(first, second) == matchup_similarity(second, first)


@pytest.mark.parametrize(
    ("text", "non_latin", "cjk"),
    [("Zemfira", False, False), ("Земфира", True, False), ("周杰倫", False, True)],
)
def test_non_latin_and_cjk_scripts_are_detected(text, non_latin, cjk):
    assert (is_non_latin(text), has_cjk(text)) == (non_latin, cjk)


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        ("Beethoven: Missa solemnis", "Mozart: Missa brevis", True),
        ("Guided tour in English", "Visite guidée en français", True),
        ("Guided tour in English", "Führung auf Englisch", False),
        ("Sommerfest Nord", "Sommerfest Süd", True),
        ("Snow Queen on Ice", "Snow Queen", True),
        ("Stadtmuseum: Vernissage", "Stadtmuseum", True),
        ("Konzertabend", "Konzertabend", False),
    ],
)
def test_contradicting_words_in_two_titles_are_detected(one, other, contradict):
    first, second = read_title(one), read_title(other)
    assert first.contradicts(second) is second.contradicts(first) is contradict


@pytest.mark.parametrize(
    ("one", "other", "alias"),
    [
        ("Lantern Days (Lichtertage)", "Lichtertage", True),
        ("夜想会 Yasoukai", "Yasoukai", True),
        ("Lantern Days (Lichtertage)", "Lantern Nights", False),
        ("Phoenix (complet)", "Air", False),
    ],
)
def test_alias_in_brackets_or_in_another_script_matches_the_other_title(one, other, alias):
    first, second = read_title(one), read_title(other)
    assert first.is_alias(second) is second.is_alias(first) is alias


def test_names_spelt_with_symbols_or_in_arabic_script_match_their_latin_spelling():
    assert canonical_tokens("P!nk") == ["pink"]
    assert canonical_tokens("A$AP") == ["asap"]
    samira, another = read_title("سميرة نادر"), read_title("Katharina Bolt")
    assert shared_letters(samira, read_title("Samira Nader")) > 0.5
    assert shared_letters(samira, another) < 0.3


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Queens of the Stone Age", "Queen + Adam Lambert", False),
        ("Queen", "Queen + Adam Lambert", True),
        ("Zucchero Fornaciari", "ZUCCHERO - Overdose d'Amore", True),
    ],
)
def test_performers_whose_names_begin_with_a_similar_word_are_not_duplicates(one, other, same):
    concert = next(pair for pair in PAIRS if pair.one.category == "concert").events()[0]
    first, second = (
        replace(read_record(concert), title=read_title(title), origin=(title, ""))
        for title in (one, other)
    )
    assert (match_score(first, second) >= MODEL.threshold) is same


def test_different_public_holidays_on_one_day_are_not_duplicates():
    """In 2008 the first of May was Ascension Day as well."""
    day = next(pair for pair in PAIRS if pair.one.category == "public_holiday").events()[0]
    first, again, other = (
        replace(read_record(day), title=read_title(name), origin=(name, ""))
        for name in ("1. Mai", "Fête du Travail", "Christi Himmelfahrt")
    )
    assert match_score(first, again) >= MODEL.threshold
    assert match_score(first, other) == 0


def test_venues_with_the_same_name_count_as_near_only_within_five_km():
    one = read_venue(Place(name="Olympia", lat=48.87, lng=2.33))
    close = read_venue(Place(name="L'Olympia", lat=48.88, lng=2.33))
    far = read_venue(Place(name="L'Olympia", lat=48.97, lng=2.33))
    assert venue_proximity(one, close).name == "NEARBY"
    assert venue_proximity(one, far).name == "APART"


def test_features_and_weights_have_the_same_names():
    found = [features(*map(read_record, pair.events()), TokenWeights()) for pair in PAIRS]
    named = {name for row in found if row for name in row}
    assert named == set(MODEL.weights)
    assert 15 <= len(named) <= 25
    assert len(acts()) > 300


def test_shipped_weights_equal_those_that_the_training_script_computes():
    trained = train_deduplication.train()
    assert trained.threshold == pytest.approx(MODEL.threshold, abs=0.011)
    assert trained.bias == pytest.approx(MODEL.bias, abs=0.01)
    assert trained.weights == pytest.approx(MODEL.weights, abs=0.01)
