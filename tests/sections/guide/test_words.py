"""Prices of every currency get a level, and awards of every year a tier."""

import pytest
from babel.numbers import list_currencies
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.guide.imports.formats import RowError
from location_context.sections.guide.imports.validation import CURRENCIES, price_level, tier_of


@given(st.sampled_from(sorted(CURRENCIES.signs)), st.integers(1, 4))
def test_a_sign_of_any_currency_repeated_is_its_level(sign: str, count: int) -> None:
    assert price_level(sign * count) == count
    assert price_level(" ".join([sign] * count)) == count


@given(
    st.sampled_from(sorted(CURRENCIES.per_euro)),
    st.sampled_from([(15, 1), (45, 2), (100, 3), (250, 4)]),
)
def test_an_amount_in_any_currency_gets_the_level_of_its_worth(
    code: str, worth: tuple[int, int]
) -> None:
    euros, level = worth
    units = euros * CURRENCIES.per_euro[code]
    amount = f"{units:,.0f}" if units >= 10 else f"{units:.2f}"
    assert price_level(amount, code) == level
    assert price_level(f"{amount} {code}") == level


def test_every_currency_in_use_has_a_rate() -> None:
    in_use = {code for code in CURRENCIES.per_euro if code in list_currencies()}
    assert len(in_use) >= 150


@pytest.mark.parametrize(
    ("text", "currency", "country", "level"),
    [
        ("€€–€€€", "", None, 3),
        ("45 - 90", "EUR", None, 3),
        ("from 45 to 90", "", "FR", 3),
        ("¥12,000", "", "JP", 3),
        ("¥300", "", "CN", 2),
        ("$120", "", "MX", 1),
        ("$120", "", "US", 3),
        ("1.500,50 TL", "", None, 2),
        ("350-500 kr", "", "DK", 2),
        ("350-500 kr", "", "IS", 1),
        ("1 500 Kč", "", None, 3),
        ("R 450", "", "ZA", 1),
        ("$$$$$", "", None, 4),
        ("", "", "FR", None),
        ("ask", "", "FR", None),
        ("€$", "", None, None),
    ],
)
def test_prices_of_the_world_are_read(
    text: str, currency: str, country: str | None, level: int | None
) -> None:
    assert price_level(text, currency, country) == level


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
def test_awards_of_every_year_are_known(award: str, tier: str) -> None:
    assert tier_of(award, "", "") == tier


@pytest.mark.parametrize("award", ["0 Stars", "4 Stars", "Starfish", "Green Star", "17", "?"])
def test_what_is_no_tier_is_answered_with_a_reason(award: str) -> None:
    with pytest.raises(RowError, match=" "):
        tier_of(award, "", "")
