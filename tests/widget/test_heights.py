"""The height that oEmbed and the snippet reserve, beside the height of the widget in Chromium.

The snippet's is read from a host's page by its style alone, without a script.
"""

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta

import msgspec
import pytest

from location_context.sections.contract import NotApplicable
from tests.widget.full_app import STAY

WIDTHS = (280, 300, 340, 400, 500, 558, 562, 600, 638, 642, 680, 719, 720, 800, 900, 1050, 1200)
ALL_SAID_BY_OEMBED = 720  # px, the widest that it gives
NEAR, BOTH, LATE, FAR = (
    date(2026, 11, 22),
    date(2026, 12, 3),
    date(2026, 11, 28),
    date(2027, 8, 7),
)
STAYS = [
    *((NEAR, days) for days in (1, 2, 3, 6, 10, 14)),
    *((BOTH, days) for days in (6, 10, 18, 30, 39, 41, 50, 70)),
    *((LATE, days) for days in (10, 15, 25, 60)),
    *((FAR, days) for days in (1, 2, 3, 6, 10, 18, 30, 35, 36, 50, 75)),
]
TALL = """(widths) => widths.map((width) => {
  const page = document.getElementById("w");
  page.style.width = width + "px";
  return page.getBoundingClientRect().height;
})"""
RESERVED = """(widths) => widths.map((width) => {
  document.body.style.width = width + "px";
  return document.querySelector("iframe").offsetHeight;
})"""
WORST = 0.15


def reserved(full, address: str, width: int) -> int:
    asked = {"url": address, "maxwidth": str(width)}
    return full.http.get(f"{full.url}/v1/oembed", params=asked).json()["height"]


def misses(
    full, page, start: date, days: int, lang: str = "en", *, widths, **more: str
) -> list[str]:
    """The widths at which what is reserved is further than it may be from the true height."""
    dates = {"start": f"{start}", "end": f"{start + timedelta(days=days - 1)}"}
    given = {**STAY, **dates, "lang": lang, **more}
    address = full.address(given)
    page.goto(address)
    true_heights = page.evaluate(TALL, list(widths))
    code = full.http.get(f"{full.url}/", params=given).text
    line = re.search(r"<pre[^>]*><code>(.*?)\n", code, re.DOTALL)[1]
    line = html.unescape(re.sub(r"</?[bi][^>]*>", "", line))
    page.goto("about:blank")
    page.set_content(re.sub(r' src="[^"]*"', "", line))
    styled = page.evaluate(RESERVED, list(widths))
    said = []
    for width, true, by_style in zip(widths, true_heights, styled, strict=True):
        both = {"style": by_style}
        if width <= ALL_SAID_BY_OEMBED:
            both["oEmbed"] = reserved(full, address, width)
        said += [
            f"{start} {days} days {lang} at {width} px by {name}: {held} for {true:.0f} px"
            for name, held in both.items()
            if abs(held / true - 1) > WORST
        ]
    return said


def all_misses(full, page, stays, **more: str) -> list[str]:
    """Those of each stay at every other width; the next stay takes the widths between."""
    found: list[str] = []
    for number, (start, days) in enumerate(stays):
        found += misses(full, page, start, days, widths=WIDTHS[number % 2 :: 2], **more)
    return found


def test_what_is_reserved_is_within_15_percent_for_every_kind_and_length_of_stay(full, open_page):
    page = open_page("about:blank").page
    assert all_misses(full, page, STAYS) == []


@pytest.mark.parametrize("lang", ["de", "ja", "ar"])
def test_what_is_reserved_is_within_15_percent_in_other_languages(full, open_page, lang):
    page = open_page("about:blank").page
    stays = [(NEAR, 8), (BOTH, 10), (FAR, 8), (FAR, 30)]
    assert all_misses(full, page, stays, lang=lang) == []


@pytest.mark.parametrize(
    "absent",
    [{"guide"}, {"events"}, {"guide", "events"}],
    ids=lambda names: ",".join(sorted(names)),
)
def test_what_is_reserved_leaves_out_sections_known_to_say_nothing(full, open_page, absent):
    page = open_page("about:blank").page
    nothing = NotApplicable(reason="x", message="x")
    stays = [(NEAR, 8), (BOTH, 10), (FAR, 3)]
    where = {"lat": f"{44 + len(','.join(absent)) / 100}"}
    with answers(full, {name: lambda _: nothing for name in absent}):
        assert all_misses(full, page, stays, **where) == []


@contextmanager
def answers(full, makers: Mapping) -> Iterator[None]:
    """Samples answer with these instead, by name."""
    before = {name: full.sample(name).make for name in makers}
    try:
        for name, make in makers.items():
            full.sample(name).make = make
        yield
    finally:
        for name, make in before.items():
            full.sample(name).make = make


@pytest.mark.parametrize(("restaurants", "events"), [(1, 1), (2, 12), (18, 1), (4, 3)])
def test_what_is_reserved_is_less_for_places_known_to_have_little(
    full, open_page, restaurants, events
):
    page = open_page("about:blank").page
    guide, programme = full.sample("guide").make, full.sample("events").make

    def few_restaurants(query):
        body = guide(query)
        found = body.restaurants[:: 18 // restaurants][:restaurants]
        return msgspec.structs.replace(body, restaurants=found, total=restaurants)

    def few_events(query):
        body = programme(query)
        return msgspec.structs.replace(body, events=body.events[:events])

    stays = [(NEAR, 4), (FAR, 8)]
    where = {"lat": f"{45 + restaurants / 100 + events / 1000}"}
    with answers(full, {"guide": few_restaurants, "events": few_events}):
        for sections in ("", "guide,events"):
            more = {**where, "sections": sections}
            assert all_misses(full, page, stays, **more) == []
