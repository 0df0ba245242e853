"""The page of the score in Chromium: it fits, every region is reached, contrast holds."""

import pytest

from location_context.widget.colour import contrast
from tests.moved_clock import MovedClock
from tests.sections.weather.accuracy.test_page import score_settings  # noqa: F401  a fixture
from tests.serving import serve
from tests.widget.browser import as_hex
from tests.widget.test_docs_page_browser import SIDEWAYS, UNREACHED

CLEAR = "rgba(0, 0, 0, 0)"
INKS = "(all) => [...new Set(all.map((one) => getComputedStyle(one).fill))]"


@pytest.fixture(scope="module")
def served(score_settings):  # noqa: F811  pytest's way
    with serve(score_settings, clock=MovedClock()) as one:
        yield one


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_the_page_of_the_score_fits_is_reached_and_read(served, open_page, width, scheme):
    size = {"width": width, "height": 800}
    address = f"{served.url}/v1/docs/accuracy"
    watched = open_page(address, viewport=size, color_scheme=scheme)
    watched.page.eval_on_selector_all("details", "(all) => all.forEach((one) => one.open = true)")
    assert watched.page.locator("svg.plot").count() == 8
    assert watched.page.evaluate(UNREACHED) == []
    assert watched.page.evaluate(SIDEWAYS) <= 0
    assert watched.axe() == []
    ground = watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
    if ground == CLEAR:  # then that of the root shows
        ground = watched.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    inks = watched.page.eval_on_selector_all(".plot text", INKS)
    assert inks
    assert [ink for ink in inks if contrast(as_hex(ink), as_hex(ground)) < 4.5] == []
    assert watched.complaints == []
