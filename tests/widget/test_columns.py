"""Restaurants and events fill their cards: columns end at about the same height at every width."""

import random

import msgspec
import pytest

from tests.widget.full_app import STAY

WIDTHS = (640, 720, 919, 1080, 1200)
NUMBERS = (1, 2, 3, 5, 8, 12, 20, 40)
TIERS = ("three_star", "two_star", "one_star", "good_value", "selected")
MOST_EMPTY = 0.2  # of a card's area
# the share of a card's area below the last blocks of its columns, and the deepest such gap
EMPTY = """(widths) => widths.flatMap((width) => {
  document.getElementById("w").style.width = width + "px";
  return [...document.querySelectorAll("section.card")].map((card) => {
    const all = card.querySelector(".cols"), box = all.getBoundingClientRect();
    const most = parseInt(getComputedStyle(all).columnCount), room = box.width + 28;
    const columns = Math.max(1, Math.min(most, Math.floor(room / (264 + 28))));
    const slot = room / columns;
    const ends = new Array(columns).fill(box.top);
    const blocks = "div:not(.tier), h3, p, li, svg";
    for (const one of all.querySelectorAll(blocks)) for (const rect of one.getClientRects()) {
      const at = Math.floor((rect.left - box.left + 1) / slot);
      if (!one.closest(".vh") && rect.height > 1) ends[at] = Math.max(ends[at], rect.bottom);
    }
    const gaps = ends.map((end) => Math.max(0, box.bottom - end));
    const area = card.getBoundingClientRect();
    const empty = gaps.reduce((sum, gap) => sum + gap * (slot - 28), 0);
    return [width, card.className, empty / (area.width * area.height), Math.max(...gaps)];
  });
})"""


def some_restaurants(make, number: int, chance: random.Random):
    """A guide of so many restaurants, of one to five tiers, with names of one to nine words."""

    def made(query):
        body = make(query)
        tiers = sorted(chance.sample(range(5), chance.randint(1, min(number, 5))))
        model = {one.tier: one for one in body.restaurants}
        ranks = sorted([*tiers, *(chance.choice(tiers) for _ in range(number - len(tiers)))])
        found = [
            msgspec.structs.replace(
                model[TIERS[rank]],
                id=str(n),
                name=" ".join(["Goizargi", *["eta Lagunak"] * chance.choice((0, 0, 0, 1, 4))]),
            )
            for n, rank in enumerate(ranks)
        ]
        return msgspec.structs.replace(body, restaurants=found, total=number)

    return made


def some_events(make, number: int, chance: random.Random):
    """A programme of so many events, all on one date or on several."""

    def made(query):
        body = make(query)
        days = chance.choice((1, 3, 8))
        found = [
            msgspec.structs.replace(
                one, id=str(n), start=f"2027-08-{7 + chance.randrange(days):02}T19:00:00+02:00"
            )
            for n, one in enumerate(chance.sample(body.events, number))
        ]
        return msgspec.structs.replace(body, events=sorted(found, key=lambda one: one.start))

    return made


@pytest.mark.parametrize("language", ["de", "ar"])
def test_little_of_a_card_is_empty_whatever_it_holds(full, open_page, language):
    guide, events = full.sample("guide"), full.sample("events")
    makers, chance = (guide.make, events.make), random.Random(7)
    page, found = open_page("about:blank").page, []
    try:
        for number in NUMBERS:
            guide.make = some_restaurants(makers[0], number, chance)
            events.make = some_events(makers[1], min(number, 12), chance)
            where = {"lat": f"{30 + number / 10:.2f}", "sections": "guide,events"}
            page.goto(full.address(STAY, lang=language, **where))
            found += [(number, *one) for one in page.evaluate(EMPTY, list(WIDTHS))]
    finally:
        guide.make, events.make = makers
    assert len(found) == len(NUMBERS) * len(WIDTHS) * 2
    worst = [f"{n} {w} {c} {e:.2f} {g:.0f}" for n, w, c, e, g in found if e > MOST_EMPTY]
    assert worst == []
