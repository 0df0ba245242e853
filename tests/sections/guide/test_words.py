"""Signs of every currency get a level, and awards of every year a tier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.guide.imports.formats import RowError
from location_context.sections.guide.imports.validation import price_level, tier_of


@given(st.characters(categories=["Sc"]), st.integers(1, 4))
def test_number_of_repeated_currency_signs_is_the_price_level(sign, count):
    assert price_level(sign * count) == count
    assert price_level(" ".join([sign] * count)) == count


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("€€–€€€", 3),
        ("$$$$$", 4),
        ("", None),
        ("45 - 90 EUR", None),
        ("¥12,000", None),
        ("ask", None),
        ("€$", None),
    ],
)
def test_only_repeated_currency_signs_have_a_price_level(text, level):
    assert price_level(text) == level


@pytest.mark.parametrize(
    ("award", "tier"),
    [
        ("3 Stars", "three_star"),
        ("2 ACME Stars", "two_star"),
        ("1 Acme Star", "one_star"),
        ("One Star", "one_star"),
        ("★★", "two_star"),
        ("3★", "three_star"),
        ("Acme Gourmand", "good_value"),
        ("Good value", "good_value"),
        ("Selected Restaurants", "selected"),
        ("The Plate Acme", "selected"),
        ("1 Star, Green Star", "one_star"),
        ("Green Star; 2 Stars", "two_star"),
        ("three_star", "three_star"),
    ],
)
def test_award_names_of_every_year_map_to_a_tier(award, tier):
    assert tier_of(award, "", "") == tier


@pytest.mark.parametrize("award", ["0 Stars", "4 Stars", "Starfish", "Green Star", "17", "?"])
def test_unknown_award_is_refused_with_a_reason(award):
    with pytest.raises(RowError, match=" "):
        tier_of(award, "", "")
