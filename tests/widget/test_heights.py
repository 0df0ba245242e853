"""The height that oEmbed and embed.js reserve, beside the height of the widget in Chromium."""

from datetime import date, timedelta

import pytest

from location_context.sections.contract import NotApplicable
from tests.widget.browser import host
from tests.widget.full_app import STAY

NARROW = (280, 320, 390, 480, 600, 700, 720)
ALL = (*NARROW, 860, 900, 1000, 1200)
NEAR, BOTH, FAR = date(2026, 11, 22), date(2026, 12, 3), date(2027, 8, 7)
TALL = """(widths) => widths.map((width) => {
  const page = document.getElementById("w");
  page.style.width = width + "px";
  return page.getBoundingClientRect().height;
})"""
WORST = 0.25  # what a place holds is not known before it is asked


def stay(start: date, days: int) -> dict[str, str]:
    return {"start": f"{start}", "end": f"{start + timedelta(days=days - 1)}"}


def true_heights(full, page, given: dict[str, str], widths) -> list[float]:
    page.goto(full.address(given))
    return page.evaluate(TALL, list(widths))


def said_by_oembed(full, given: dict[str, str], width: int) -> int:
    asked = {"url": full.address(given), "maxwidth": str(width)}
    return full.http.get(f"{full.url}/v1/oembed", params=asked).json()["height"]


@pytest.mark.parametrize(
    ("start", "days"),
    [(NEAR, 1), (NEAR, 3), (NEAR, 5), (NEAR, 9), (BOTH, 6), (FAR, 5), (FAR, 10), (FAR, 31)],
)
@pytest.mark.parametrize("lang", ["en", "ja", "ar"])
def test_reserved_height_is_near_the_true_height(full, open_page, start, days, lang):
    given = {**STAY, **stay(start, days), "lang": lang}
    page = open_page("about:blank").page
    for width, true in zip(NARROW, true_heights(full, page, given, NARROW), strict=True):
        assert said_by_oembed(full, given, width) == pytest.approx(true, rel=WORST), width


@pytest.mark.parametrize("sections", ["weather", "astronomy", "guide", "weather,guide"])
def test_reserved_height_follows_the_chosen_sections(full, open_page, sections):
    given = {**STAY, **stay(NEAR, 5), "lang": "en", "sections": sections}
    page = open_page("about:blank").page
    for width, true in zip(NARROW, true_heights(full, page, given, NARROW), strict=True):
        assert abs(said_by_oembed(full, given, width) - true) <= max(WORST * true, 300), width


def test_reserved_height_omits_a_section_without_an_answer(full):
    given = {**STAY, **stay(NEAR, 5), "lat": "44.01"}
    before = said_by_oembed(full, given, 390)
    guide = full.sample("guide")
    make, guide.make = guide.make, lambda _: NotApplicable(reason="x", message="x")
    try:
        full.get(given)
    finally:
        guide.make = make
    assert said_by_oembed(full, given, 390) < before - 200


@pytest.mark.parametrize(
    ("start", "days", "more"),
    [(NEAR, 5, {}), (FAR, 5, {}), (FAR, 31, {}), (NEAR, 5, {"layout": "compact"}),
     (NEAR, 5, {"sections": "weather,guide"})],
)  # fmt: skip
def test_script_reserves_the_same_height_as_the_service(full, open_page, start, days, more):
    """At each width, by the same table; the script knows no answers of the service."""
    given = {**STAY, **stay(start, days), **more, "lang": "en", "lat": "44.2"}
    line = f'<script src="{full.url}/v1/embed.js"></script>'
    with host({"/": f"<!doctype html><title>x</title><body>{line}"}) as origin:
        page = open_page("about:blank").page
        page.clock.install(time=full.clock())
        page.route("**/v1/pulse?**", lambda route: route.fulfill(body=""))
        page.goto(origin)
        for width in ALL:
            page.evaluate(
                """([width, data]) => {
                  const holder = document.createElement("div");
                  holder.style.width = width + "px";
                  holder.dataset.locationContext = "";
                  Object.assign(holder.dataset, data);
                  document.body.replaceChildren(holder);
                }""",
                [width, given],
            )
            page.wait_for_selector("iframe")
            held = page.evaluate("document.querySelector('iframe').offsetHeight")
            if width <= 720:
                assert held == pytest.approx(said_by_oembed(full, given, width), abs=2), width
            else:
                true = true_heights(full, open_page("about:blank").page, given, [width])[0]
                assert held == pytest.approx(true, rel=WORST), width
