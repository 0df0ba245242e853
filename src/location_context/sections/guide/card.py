"""The widget's card of restaurants: at most six are in view; a click shows the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from location_context.localisation.formatter import Formatter
from location_context.sections.card import Brief, BriefItem, Card, Fact
from location_context.sections.guide.map import FEWEST, Map, drawn
from location_context.sections.guide.response import GuideBody, RestaurantBody, TierBody

TEMPLATE = "location_context.sections.guide:card.html"
MAX_SHOWN = 6  # restaurants in view; the rest is shown after a click
MAX_WALK = 30  # longest walk to a starred restaurant that the facts mention, in minutes
SIGNS = ("€", "£", "$", "¥")


Shown: TypeAlias = tuple[TierBody, list[RestaurantBody]]  # a tier, and its restaurants to show


@dataclass(frozen=True, kw_only=True)
class View:
    """The input of the card's template.

    Restaurants in `tiers` are in view, those in `more` appear after a click on a button. The button
    has the label `more_label`, or `wide_label` on a wide card. `numbers` has, by restaurant id, the
    number that list and map show. `whereabouts` says in which direction the restaurants are,
    `footnote` how many there are, and how distances and times were computed.
    """

    map: Map | None
    whereabouts: str
    tiers: Sequence[Shown]
    numbers: Mapping[str, int]
    more: Sequence[Shown]
    more_label: str
    wide_label: str
    footnote: str

    @staticmethod
    def sign(price: str | None) -> str:
        """Return the currency sign in a restaurant's price, or the euro sign if it has none."""
        return next((sign for sign in SIGNS if price and sign in price), "€")

    @staticmethod
    def quoted(note: str, fmt: Formatter) -> str:
        """Return the operator's note in the quotation marks of the page's language.

        The note may be written from right to left on a page written from left to right. Isolating
        characters keep the note from changing the order of the text around it.
        """
        quoted = fmt.gettext("“{note}”").format(note=note)
        return f"\u2068{quoted}\u2069"

    @staticmethod
    def spoken_way(one: RestaurantBody, fmt: Formatter) -> str:
        """Return the travel time to a restaurant in words, such as `12 min on foot`."""
        walk, drive = fmt.gettext("{minutes} on foot"), fmt.gettext("{minutes} by car")
        text = walk if one.travel.kind == "walk" else drive
        return text.format(minutes=fmt.minutes(one.travel.minutes))


def card(body: GuideBody, fmt: Formatter) -> Card:
    tiers = [(tier, [r for r in body.restaurants if r.tier == tier.tier]) for tier in body.tiers]
    counts = _in_view([len(found) for _, found in tiers])
    shown = [(tier, found[:count]) for (tier, found), count in zip(tiers, counts, strict=True)]
    rest = [(tier, found[count:]) for (tier, found), count in zip(tiers, counts, strict=True)]
    in_view = [one for _, found in shown for one in found]
    more = sum(len(found) for _, found in rest)
    drawing, label = drawn(body, in_view, fmt), fmt.gettext("On the map")
    wide = label
    if more:
        label = wide = fmt.ngettext("{count} more restaurant", "{count} more restaurants", more)
    if more and drawing:
        label = fmt.ngettext(
            "Map and {count} more restaurant", "Map and {count} more restaurants", more
        )
    view = View(
        map=drawing,
        whereabouts=whereabouts(body, fmt),
        tiers=[one for one in shown if one[1]],
        numbers={one.id: number for number, one in enumerate(in_view, 1)},
        more=[one for one in rest if one[1]],
        more_label=label.format(count=fmt.number(more)),
        wide_label=wide.format(count=fmt.number(more)),
        footnote=_footnote(body, fmt),
    )
    notes = sum(1 + len(one.note) // 45 for one in in_view if one.note)
    lines = 4 + 2.4 * len(in_view) + notes + (9 if drawing else 0)
    return Card(
        template=TEMPLATE,
        view=view,
        lines=lines,
        facts=[_fact(body, fmt)],
        brief=_brief(tiers, fmt),
    )


def _fact(body: GuideBody, fmt: Formatter) -> Fact:
    """Return the travel time to the nearest starred restaurant within a 30 min walk.

    Without such a restaurant, return the travel time to the nearest one of any tier.
    """
    near = min(body.restaurants, key=lambda one: one.distance)
    starred = [one for one in body.restaurants if one.stars and one.travel.kind == "walk"]
    star = min(starred, key=lambda one: one.distance, default=None)
    if star is not None and star.travel.minutes > MAX_WALK:
        star = None
    one = star or near
    walk = one.travel.kind == "walk"
    text = fmt.gettext("on foot to {name}") if walk else fmt.gettext("by car to {name}")
    if star:
        text = fmt.gettext("on foot to starred {name}")
    return Fact(
        value=fmt.minutes(one.travel.minutes),
        caption=text.format(name=fmt.bidi_isolate(one.name)),
        icon="star" if one.stars else one.tier,
        weight=50,
    )


def _in_view(sizes: Sequence[int]) -> list[int]:
    """Return how many restaurants of each tier are shown before a click, at most six in all.

    `sizes` has the number of restaurants in each tier. The tiers take turns, one place each time.
    """
    counts = [0] * len(sizes)
    for _ in range(MAX_SHOWN):
        for tier, size in enumerate(sizes):
            if counts[tier] < size and sum(counts) < MAX_SHOWN:
                counts[tier] += 1
    return counts


def whereabouts(body: GuideBody, fmt: Formatter) -> str:
    """Return up to two sentences: where most restaurants are, and which restaurant is nearest."""
    found, sides = body.restaurants, directions(fmt)
    said, best = "", max(range(8), key=lambda side: _towards(found, side))
    if len(found) >= FEWEST:
        held = _towards(found, best)
        if held == len(found):
            said = fmt.gettext("All are to the {direction}.").format(direction=sides[best])
        elif 2 * held > len(found):
            said = fmt.gettext("Most are to the {direction}.").format(direction=sides[best])
        elif all(_towards(found, side) for side in range(8)):
            said = fmt.gettext("They are in every direction.")
    starred = [one for one in found if one.stars]
    one = min(starred or found, key=lambda one: one.distance)
    text = fmt.gettext("{name} is {distance} to the {direction}.")
    if len(found) > 1 and starred:
        text = fmt.gettext(
            "The nearest starred restaurant is {name}, {distance} to the {direction}."
        )
    elif len(found) > 1:
        text = fmt.gettext("The nearest is {name}, {distance} to the {direction}.")
    nearest = text.format(
        name=fmt.bidi_isolate(one.name),
        distance=fmt.distance(one.distance, body.units.distance),
        direction=sides[round(one.bearing / 45) % 8],
    )
    return fmt.join_sentences([said, nearest])


def _towards(found: Sequence[RestaurantBody], side: int) -> int:
    """Count the restaurants within 67.5° of a compass direction: `side` * 45°, north being 0°."""
    return sum(abs((one.bearing - 45 * side + 180) % 360 - 180) <= 67.5 for one in found)


def directions(fmt: Formatter) -> tuple[str, ...]:
    """Return the localised names of the eight compass directions, clockwise from north."""
    return (
        fmt.gettext("north"), fmt.gettext("north-east"), fmt.gettext("east"),
        fmt.gettext("south-east"), fmt.gettext("south"), fmt.gettext("south-west"),
        fmt.gettext("west"), fmt.gettext("north-west"),
    )  # fmt: skip


def _footnote(body: GuideBody, fmt: Formatter) -> str:
    said = fmt.ngettext(
        "{count} restaurant from the guide nearby.",
        "{count} restaurants from the guide nearby.",
        body.total,
    ).format(count=fmt.number(body.total))
    listed, distances = "", fmt.gettext("Straight-line distances.")
    if body.total > len(body.restaurants):
        text = fmt.gettext("The best {count} are listed.")
        listed = text.format(count=len(body.restaurants))
    if any(one.travel.estimated for one in body.restaurants):
        distances = fmt.gettext("Straight-line distances, estimated times.")
    return fmt.join_sentences([said, listed, distances])


def _brief(tiers: Sequence[Shown], fmt: Formatter) -> Brief:
    """Return the card's short form: the nearest restaurant of each tier."""
    items = [
        BriefItem(
            name=fmt.bidi_isolate(one.name),
            note=fmt.bidi_isolate(", ".join(one.cuisine)),
            url=one.url or one.website or "",
            icon="star" if one.stars else one.tier,
            icons=one.stars or 1,
            spoken=one.label,
            end=fmt.minutes(one.travel.minutes),
            end_icon=one.travel.kind,
            end_spoken=View.spoken_way(one, fmt),
        )
        for _, found in tiers
        for one in found[:1]
    ]
    return Brief(heading=fmt.gettext("Restaurants"), items=items)
