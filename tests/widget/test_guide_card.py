"""The restaurants card shows the nearest of each tier first and loses none."""

import msgspec

from location_context.sections.guide import card as tables
from tests.widget.queries import WORDS, query
from tests.widget.samples.tables import guide


def test_guide_card_shows_six_restaurants_of_all_tiers_and_folds_the_other_restaurants(gazetteer):
    body = guide(query(gazetteer))
    view = tables.card(body, WORDS).view
    rows = [len(found) for _, found in view.tiers]
    assert rows == [2, 1, 1, 1, 1]
    assert [tier.tier for tier, _ in view.tiers] == [tier.tier for tier in body.tiers]
    assert sum(rows) + sum(len(found) for _, found in view.more) == len(body.restaurants)
    assert view.more_label == "Map and 12 more restaurants"
    assert sorted(view.numbers.values()) == [1, 2, 3, 4, 5, 6]


def test_guide_card_reserves_height_for_the_lines_of_its_notes(gazetteer):
    body = guide(query(gazetteer))
    plain = [msgspec.structs.replace(one, note=None) for one in body.restaurants]
    long = [msgspec.structs.replace(one, note="x" * 140) for one in body.restaurants]
    low, high = (
        tables.card(msgspec.structs.replace(body, restaurants=rows), WORDS).lines
        for rows in (plain, long)
    )
    assert high - low == 6 * 4


def test_restaurants_of_a_single_tier_fill_all_six_visible_rows(gazetteer):
    body = guide(query(gazetteer))
    stars = [one for one in body.restaurants if one.tier == "one_star"] * 2
    view = tables.card(msgspec.structs.replace(body, restaurants=stars), WORDS).view
    assert [len(found) for _, found in view.tiers] == [6]
    assert [len(found) for _, found in view.more] == [6]


def test_guide_key_fact_is_a_starred_restaurant_if_it_is_within_walking_distance(gazetteer):
    body = guide(query(gazetteer))
    fact = tables.card(body, WORDS).facts[0]
    assert (fact.value, fact.caption) == ("14\u00a0min", "on foot to starred Kresala")
    far = [one for one in body.restaurants if one.name != "Kresala"]
    fact = tables.card(msgspec.structs.replace(body, restaurants=far), WORDS).facts[0]
    assert (fact.value, fact.caption) == ("5\u00a0min", "on foot to Lanperna")
    stars = [one for one in far if one.stars]
    fact = tables.card(msgspec.structs.replace(body, restaurants=stars), WORDS).facts[0]
    assert fact.caption == "by car to Ataria 1899"
