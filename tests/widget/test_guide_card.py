"""The restaurants card shows the nearest of each tier first and loses none."""

import msgspec

from location_context.sections.guide import card as tables
from tests.widget.queries import WORDS, query
from tests.widget.samples.tables import guide


def test_restaurants_in_view_are_eight_from_all_tiers_and_none_is_lost(gazetteer):
    body = guide(query(gazetteer))
    card = tables.card(body, WORDS)
    rows = [len(found) for _, found in card.tiers]
    assert rows == [2, 2, 2, 1, 1]
    assert [tier.tier for tier, _ in card.tiers] == [tier.tier for tier in body.tiers]
    assert sum(rows) + sum(len(found) for _, found in card.more) == len(body.restaurants)
    assert card.more_label == "10 more restaurants"


def test_a_tier_alone_takes_all_the_places_in_view(gazetteer):
    body = guide(query(gazetteer))
    stars = [one for one in body.restaurants if one.tier == "one_star"] * 2
    card = tables.card(msgspec.structs.replace(body, restaurants=stars), WORDS)
    assert [len(found) for _, found in card.tiers] == [8]
    assert [len(found) for _, found in card.more] == [4]


def test_the_guides_sentence_names_the_nearest_of_the_highest_tier(gazetteer):
    body = guide(query(gazetteer))
    assert tables.lead(body, WORDS) == (
        "Goizargi (Three stars) is about 10 min away by car; 17 more restaurants within reach."
    )
    one = msgspec.structs.replace(body, restaurants=body.restaurants[-1:], total=1)
    assert tables.lead(one, WORDS) == "Errekalde (Selected) is about 12 min away on foot."
