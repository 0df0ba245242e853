"""The documentation pages in Chromium: no region scrolls that the keyboard does not reach."""

import pytest

from tests.widget.browser import SIDEWAYS

PHONE = {"width": 320, "height": 800}
SCROLLING = """() => [...document.querySelectorAll('body *')].filter((one) =>
  /auto|scroll/.test(getComputedStyle(one).overflowX)
  && (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight))"""
UNREACHED = f"""() => ({SCROLLING})().filter((one) =>
  !one.querySelector('a[href], button, summary')
  && !(one.tabIndex === 0 && one.hasAttribute('tabindex') && one.role && one.ariaLabel))
  .map((one) => one.outerHTML.slice(0, 80))"""


def assert_accessible(watched) -> None:
    """Look at the page on a phone in the light, and at its width and contrast on a dark desk."""
    assert watched.axe() == []
    for width, scheme in ((320, "light"), (1280, "dark")):
        watched.page.set_viewport_size({"width": width, "height": 800})
        watched.page.emulate_media(color_scheme=scheme)
        assert watched.page.evaluate(UNREACHED) == []
        assert watched.page.evaluate(SIDEWAYS) <= 0
    assert watched.axe("color-contrast") == []
    assert watched.complaints == []


@pytest.mark.parametrize("page", ["", "/embedding"])
def test_scrolling_regions_of_the_documents_are_reachable_and_named(service, open_page, page):
    watched = open_page(f"{service.url}/v1/docs{page}", viewport=PHONE)
    watched.page.eval_on_selector_all("details", "(all) => all.forEach((one) => one.open = true)")
    assert watched.page.evaluate(f"({SCROLLING})().length") > 1, "else the test proves nothing"
    assert_accessible(watched)
