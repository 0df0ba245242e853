"""The page of the score in Chromium: it fits, every region is reached, no engine complains."""

import pytest

from tests.moved_clock import MovedClock
from tests.sections.weather.accuracy.test_page import score_settings  # noqa: F401  a fixture
from tests.serving import serve
from tests.widget.browser import SIDEWAYS
from tests.widget.test_docs_page_browser import UNREACHED


@pytest.fixture(scope="module")
def served(score_settings):  # noqa: F811  pytest's way
    with serve(score_settings, clock=MovedClock()) as one:
        yield one


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_accuracy_page_fits_and_is_accessible(served, open_page, width, scheme):
    size = {"width": width, "height": 800}
    address = f"{served.url}/v1/docs/accuracy"
    watched = open_page(address, viewport=size, color_scheme=scheme)
    assert watched.page.locator("table.score").count() == 4
    assert watched.page.evaluate(UNREACHED) == []
    assert watched.page.evaluate(SIDEWAYS) <= 0
    assert watched.axe() == []
    assert watched.complaints == []
