"""Frames that the browser sizes itself: what the page has ready for them, and why it is not used.

Chromium knows `frame-sizing` since 2026; with an older one these tests are skipped.
"""

import pytest

from tests.widget.browser import HEIGHTS, assert_becomes, host
from tests.widget.service import FORECAST, STAY, STRADDLING

WIDTHS = [*range(300, 1300, 37)]
INNER = """<!doctype html><html lang=en><title>x</title>
<meta name="responsive-embedded-sizing" content="allow-origins=*">
<style>html { overflow: hidden }</style><p id="w">WORDS</p><script>
new ResizeObserver(() => self.requestResize?.()).observe(document.getElementById("w"));
</script>""".replace("WORDS", "some words of a text that wraps " * 200)
OUTER = """<!doctype html><html lang=en><title>A host</title><iframe title="x" src="{}"
style="frame-sizing:content-height;height:auto;width:720px" sandbox="allow-scripts"></iframe>"""
TALL_FRAME = "document.querySelector('iframe').offsetHeight"


@pytest.mark.parametrize(
    ("given", "scripts"),
    [(FORECAST, True), (STRADDLING, False), (STAY, True), (STAY, False)],
    ids=["forecast", "both kinds of days, no scripts", "typical", "typical, no scripts"],
)
def test_page_is_a_whole_number_of_pixels_tall_at_each_width(service, open_page, given, scripts):
    watched = open_page(service.address(given), java_script_enabled=scripts)
    page = watched.page
    if not page.evaluate("CSS.supports('height', 'calc-size(auto, size)')"):
        pytest.skip("this Chromium has no calc-size()")
    tall = page.evaluate(HEIGHTS, WIDTHS)
    assert [height for height in tall if height % 1] == []
    page.evaluate("document.getElementById('w').style.height = 'auto'")
    natural = page.evaluate(HEIGHTS, WIDTHS)
    assert all(0 <= whole - own < 1 for whole, own in zip(tall, natural, strict=True))
    assert any(own % 1 for own in natural), "so that it would be cut"


def test_native_frame_sizing_of_chromium_does_not_follow_a_change_of_width(open_page):
    """When this fails, try native sizing anew; docs/decisions/widget.md has what was wrong."""
    with host({"/": INNER}) as inner, host({"/": OUTER.format(inner)}) as origin:
        page = open_page(origin, viewport={"width": 1000, "height": 700}).page
        if not page.evaluate("CSS.supports('frame-sizing', 'content-height')"):
            pytest.skip("this Chromium does not size frames")
        assert_becomes(page, f"{TALL_FRAME} > 300")
        before = page.evaluate(TALL_FRAME)
        page.evaluate("document.querySelector('iframe').style.width = '300px'")
        frame = page.frames[1]
        assert_becomes(frame, "innerWidth <= 300")
        frame.evaluate("document.getElementById('w').append(' more words'.repeat(200))")
        assert_becomes(page, f"{TALL_FRAME} > {before}")
        content = frame.evaluate("document.getElementById('w').offsetHeight")
        measured = page.evaluate(TALL_FRAME)  # too small as a rule, and at times ten times too tall
        assert not content / 1.5 <= measured <= 1.5 * content
