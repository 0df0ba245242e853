"""A page made without late data requests them once more, and no cache keeps the first page."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tests.widget.browser import assert_becomes
from tests.widget.samples.sections import SampleWeather
from tests.widget.service import FORECAST, Service, serving

HAS_DAYS = "!!document.querySelector('.days')"
IS_LATE = "'late' in document.getElementById('w').dataset"
HOLD = """(() => {  // the page's own wait of four seconds, which the test ends
  const wait = window.setTimeout;
  window.setTimeout = (done, after) => after === 4000 ? (window.wake = done) : wait(done, after);
})()"""


class LateWeather(SampleWeather):
    """Answers once the test opens its gate."""

    def __init__(self, clock, make) -> None:
        super().__init__(clock, make)
        self.gate = threading.Event()

    async def read(self, query, deadline):
        await asyncio.to_thread(self.gate.wait, 60)
        return await super().read(query, deadline)


@pytest.fixture
def late(tmp_path) -> Iterator[Service]:
    """A service whose weather is late until the gate is opened."""

    def delay(sections):
        weather, *others = sections
        return [LateWeather(weather.clock, weather.make), *others]

    with serving(tmp_path, delay, widget_deadline=0.5) as service:
        yield service
        service.sample("weather").gate.set()


@pytest.fixture
def page(open_page):
    """A tab of a phone in which the page waits until the test wakes it."""
    tab = open_page("about:blank", fresh=True, viewport={"width": 390, "height": 800}).page
    tab.add_init_script(HOLD)
    return tab


@pytest.fixture
def requests(page) -> list[str]:
    """The addresses of the widget that the tab has requested."""
    found = list[str]()
    page.on("request", lambda one: found.append(one.url) if "/v1/pulse?" in one.url else None)
    return found


def reload(late, page) -> None:
    """Let the page's wait of four seconds end."""
    late.clock.advance(seconds=4)
    with page.expect_navigation():
        page.evaluate("wake()")


def test_page_with_late_weather_data_shows_the_data_after_a_second_request(late, page, requests):
    first = page.goto(late.address(FORECAST))
    assert first.headers["cache-control"] == "public, max-age=3"
    assert not page.evaluate(HAS_DAYS)
    late.sample("weather").gate.set()
    reload(late, page)
    assert page.evaluate(HAS_DAYS)
    assert not page.evaluate(IS_LATE)
    assert len(requests) == 2


def test_page_with_late_weather_data_sends_no_third_request(late, page, requests):
    page.goto(late.address(FORECAST))
    reload(late, page)
    assert page.evaluate(IS_LATE)
    assert page.evaluate("window.wake") is None
    assert len(requests) == 2


def test_page_with_late_weather_data_does_not_reload_while_a_list_is_open(late, page, requests):
    page.goto(late.address(FORECAST))
    page.locator("summary").first.click()
    page.evaluate("wake()")
    assert page.locator("[open]").count() == 1
    assert len(requests) == 1


def test_framed_page_with_late_weather_data_reloads_grows_and_adds_no_history_entry(
    late, page, requests, serve_host
):
    data = "".join(f' data-{name}="{value}"' for name, value in FORECAST.items())
    page.goto(serve_host(f"<div data-location-context{data}></div>{late.script}"))
    assert_becomes(page, "!!document.querySelector('iframe')")
    frame = page.frame_locator("iframe")
    frame.locator("#p").wait_for()
    before, entries = page.evaluate(
        "[document.querySelector('iframe').clientHeight, history.length]"
    )
    late.sample("weather").gate.set()
    late.clock.advance(seconds=4)
    page.frames[1].evaluate("wake()")
    frame.locator(".days").wait_for()
    assert page.evaluate("history.length") == entries
    assert len(requests) == 2
    assert_becomes(page.frames[1], "innerHeight >= document.getElementById('w').clientHeight - 1")
    assert page.evaluate("document.querySelector('iframe').clientHeight") != before
