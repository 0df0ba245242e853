"""The height that oEmbed and the code reserve, beside the height of the widget in Chromium."""

from datetime import date, timedelta

import pytest

from location_context.sections.contract import NotApplicable
from tests.widget.full_app import STAY

WIDTHS = (300, 340, 400, 500, 558, 562, 600, 638, 642, 680, 719, 720)
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
WORST = 0.15


def reserved(full, address: str, width: int) -> int:
    asked = {"url": address, "maxwidth": str(width)}
    return full.http.get(f"{full.url}/v1/oembed", params=asked).json()["height"]


def misses(full, page, start: date, days: int, lang: str = "en", **more: str) -> list[str]:
    """The widths at which what is reserved is further than it may be from the true height."""
    dates = {"start": f"{start}", "end": f"{start + timedelta(days=days - 1)}"}
    address = full.address({**STAY, **dates, "lang": lang, **more})
    page.goto(address)
    said = []
    for width, true in zip(WIDTHS, page.evaluate(TALL, list(WIDTHS)), strict=True):
        held = reserved(full, address, width)
        if abs(held / true - 1) > WORST:
            said.append(f"{start} {days} days {lang} at {width} px: {held} for {true:.0f} px")
    return said


def test_what_is_reserved_is_within_15_percent_for_every_kind_and_length_of_stay(full, open_page):
    page = open_page("about:blank").page
    assert [miss for start, days in STAYS for miss in misses(full, page, start, days)] == []


@pytest.mark.parametrize("lang", ["de", "ja", "ar"])
def test_what_is_reserved_is_within_15_percent_in_other_languages(full, open_page, lang):
    page = open_page("about:blank").page
    stays = [(NEAR, 8), (BOTH, 10), (FAR, 8), (FAR, 30)]
    assert [miss for stay in stays for miss in misses(full, page, *stay, lang)] == []


@pytest.mark.parametrize(
    "absent",
    [{"guide"}, {"events"}, {"guide", "events"}],
    ids=lambda names: ",".join(sorted(names)),
)
def test_what_is_reserved_leaves_out_sections_known_to_say_nothing(full, open_page, absent):
    page = open_page("about:blank").page
    makers = {name: full.sample(name).make for name in absent}
    try:
        for name in absent:
            full.sample(name).make = lambda _: NotApplicable(reason="x", message="x")
        stays = [(NEAR, 8), (BOTH, 10), (FAR, 3)]
        where = {"lat": f"{44 + len(','.join(absent)) / 100}"}
        assert [miss for stay in stays for miss in misses(full, page, *stay, **where)] == []
    finally:
        for name, make in makers.items():
            full.sample(name).make = make
