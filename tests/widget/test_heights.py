"""The height that oEmbed and embed.js reserve, beside the height of the widget in Chromium."""

from datetime import date, timedelta

import msgspec
import pytest

from location_context.sections.contract import NotApplicable
from tests.widget.browser import HEIGHTS
from tests.widget.service import STAY

NARROW = (280, 320, 390, 480, 600, 700, 720)
ALL = (*NARROW, 860, 900, 1000, 1200)
NEAR, BOTH, FAR = date(2026, 11, 22), date(2026, 12, 3), date(2027, 8, 7)
WORST = 0.25  # what a place holds is unknown before its answer


def stay(start: date, days: int) -> dict[str, str]:
    return {"start": f"{start}", "end": f"{start + timedelta(days=days - 1)}"}


def true_heights(service, page, given: dict[str, str], widths) -> list[float]:
    page.goto(service.address(given))
    return page.evaluate(HEIGHTS, list(widths))


def reserved_height(service, given: dict[str, str], width: int) -> int:
    address = service.address(given)
    return service.get("/v1/oembed", url=address, maxwidth=str(width)).json()["height"]


@pytest.mark.parametrize(
    ("start", "days"),
    [(NEAR, 1), (NEAR, 3), (NEAR, 5), (NEAR, 9), (BOTH, 6), (FAR, 5), (FAR, 10), (FAR, 31)],
)
@pytest.mark.parametrize("lang", ["en", "ja", "ar"])
def test_reserved_height_is_near_the_true_height_of_the_widget(
    service, open_page, start, days, lang
):
    given = {**STAY, **stay(start, days), "lang": lang}
    page = open_page("about:blank").page
    for width, true in zip(NARROW, true_heights(service, page, given, NARROW), strict=True):
        assert reserved_height(service, given, width) == pytest.approx(true, rel=WORST), width


@pytest.mark.parametrize("sections", ["weather", "astronomy", "guide", "weather,guide"])
def test_reserved_height_follows_the_chosen_sections(service, open_page, sections):
    given = {**STAY, **stay(NEAR, 5), "lang": "en", "sections": sections}
    page = open_page("about:blank").page
    for width, true in zip(NARROW, true_heights(service, page, given, NARROW), strict=True):
        assert abs(reserved_height(service, given, width) - true) <= max(WORST * true, 300), width


def test_reserved_height_is_near_the_true_height_if_each_restaurant_has_a_note(service, open_page):
    """Notes of 60 characters on all six in view; six of 140 exceed the bound from 600 px on."""

    def noted(body):
        note = "Stand at the bar and order the mushrooms. Closed on Mondays."
        rows = [msgspec.structs.replace(one, note=note) for one in body.restaurants]
        return msgspec.structs.replace(body, restaurants=rows)

    given = {**STAY, **stay(NEAR, 5), "lang": "en", "lat": "44.31"}
    with service.answering("guide", noted):
        page = open_page("about:blank").page
        true_ones = true_heights(service, page, given, NARROW)
    for width, true in zip(NARROW, true_ones, strict=True):
        assert reserved_height(service, given, width) == pytest.approx(true, rel=WORST), width


def test_reserved_height_omits_a_section_without_an_answer(service):
    given = {**STAY, **stay(NEAR, 5), "lat": "44.01"}
    before = reserved_height(service, given, 390)
    with service.answering("guide", lambda _: NotApplicable(reason="x", message="x")):
        service.page(given)
    assert reserved_height(service, given, 390) < before - 200


@pytest.mark.parametrize(
    ("start", "days", "more"),
    [(NEAR, 5, {}), (FAR, 5, {}), (FAR, 31, {}), (NEAR, 5, {"layout": "compact"}),
     (NEAR, 5, {"sections": "weather,guide"})],
)  # fmt: skip
def test_embed_script_reserves_the_same_height_as_the_service(  # noqa: PLR0917  fixtures
    service, open_page, serve_host, start, days, more
):
    """At each width, by the same table; the script knows no answers of the service."""
    given = {**STAY, **stay(start, days), **more, "lang": "en", "lat": "44.2"}
    page = open_page("about:blank").page
    page.clock.install(time=service.clock())
    page.route("**/v1/pulse?**", lambda route: route.fulfill(body=""))
    page.goto(serve_host(service.script.replace(" async", "")))
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
        reserved = page.evaluate("document.querySelector('iframe').offsetHeight")
        if width <= 720:
            assert reserved == pytest.approx(reserved_height(service, given, width), abs=2), width
        else:
            true = true_heights(service, open_page("about:blank").page, given, [width])[0]
            assert reserved == pytest.approx(true, rel=WORST), width
