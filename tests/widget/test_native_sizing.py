"""Frames that the browser sizes itself: as tall as the widget, in whole pixels, without a script.

Chromium knows `frame-sizing` since 2026; with an older one these tests are skipped.
"""

import pytest

from tests.widget.full_app import FORECAST, STAY, STRADDLING

WIDTHS = [*range(300, 1300, 37)]
TALL = """(widths) => widths.map((width) => {
  const page = document.getElementById("w");
  page.style.width = width + "px";
  return page.getBoundingClientRect().height;
})"""


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("given", [FORECAST, STRADDLING, STAY], ids=["near", "both", "far"])
def test_the_page_is_a_whole_number_of_pixels_tall_at_every_width(full, open_page, given, scripts):
    watched = open_page(full.address(given), java_script_enabled=scripts)
    page = watched.page
    if not page.evaluate("CSS.supports('height', 'calc-size(auto, size)')"):
        pytest.skip("this Chromium has no calc-size()")
    tall = page.evaluate(TALL, WIDTHS)
    assert [height for height in tall if height % 1] == []
    page.evaluate("document.getElementById('w').style.height = 'auto'")
    natural = page.evaluate(TALL, WIDTHS)
    assert all(0 <= whole - own < 1 for whole, own in zip(tall, natural, strict=True))
    assert any(own % 1 for own in natural), "so that it would be cut"
