"""The documentation pages in Chromium: no region scrolls that the keyboard does not reach."""

import pytest

from tests.widget.browser import SIDEWAYS

SCROLLING = """() => [...document.querySelectorAll('body *')].filter((one) =>
  /auto|scroll/.test(getComputedStyle(one).overflowX)
  && (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight))"""
UNREACHED = f"""() => ({SCROLLING})().filter((one) =>
  !one.querySelector('a[href], button, summary')
  && !(one.tabIndex === 0 && one.hasAttribute('tabindex') && one.role && one.ariaLabel))
  .map((one) => one.outerHTML.slice(0, 80))"""


# Widths decide what scrolls and themes decide contrast, so each of them is taken once.
@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
@pytest.mark.parametrize("page", ["", "/embedding"])
def test_scrolling_regions_of_the_documents_are_reachable_and_named(
    service, open_page, page, width, scheme
):
    size = {"width": width, "height": 800}
    watched = open_page(f"{service.url}/v1/docs{page}", viewport=size, color_scheme=scheme)
    watched.page.eval_on_selector_all("details", "(all) => all.forEach((one) => one.open = true)")
    if width == 320:
        assert watched.page.evaluate(f"({SCROLLING})().length") > 1, "else the test proves nothing"
    assert watched.page.evaluate(UNREACHED) == []
    assert watched.page.evaluate(SIDEWAYS) <= 0
    assert watched.axe() == []
    assert watched.complaints == []
