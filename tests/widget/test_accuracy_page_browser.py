"""The page of the score in Chromium: it fits, every region is reached, no engine complains."""

import pytest

from tests.moved_clock import MovedClock
from tests.sections.weather.accuracy.test_page import score_settings  # noqa: F401  a fixture
from tests.serving import serve
from tests.widget.test_docs_page_browser import PHONE, assert_accessible


@pytest.fixture(scope="module")
def served(score_settings):  # noqa: F811  pytest's way
    with serve(score_settings, clock=MovedClock()) as one:
        yield one


def test_accuracy_page_fits_its_window_and_is_accessible(served, open_page):
    watched = open_page(f"{served.url}/v1/docs/accuracy", viewport=PHONE)
    assert watched.page.locator("table.score").count() == 4
    assert_accessible(watched)
