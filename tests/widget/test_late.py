"""A page made without what was on its way asks for it once more, and nobody holds the first."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.browser import host, until
from tests.widget.full_app import FORECAST, Full
from tests.widget.samples.sections import SampleWeather, sample_sections

HAS_DAYS = "!!document.querySelector('.days')"
PHONE = {"width": 390, "height": 800}
HOLD = """(() => {  // the page's own wait of four seconds, which the test ends
  const wait = window.setTimeout;
  window.setTimeout = (done, after) => after === 4000 ? (window.wake = done) : wait(done, after);
})()"""


class LateWeather(SampleWeather):
    """Answers once the test lets it."""

    def __init__(self, clock, make) -> None:
        super().__init__(clock, make)
        self.gate = threading.Event()

    async def read(self, query, deadline):
        await asyncio.to_thread(self.gate.wait, 60)
        return await super().read(query, deadline)


@pytest.fixture
def late(tmp_path) -> Iterator[Full]:
    """Its weather is late until the gate is opened."""
    clock, port = MovedClock(), free_port()
    settings = Settings(
        data_dir=tmp_path,
        public_url=f"http://127.0.0.1:{port}",
        widget_per_minute=100_000,
        widget_deadline=0.5,
    )
    weather, *others = sample_sections(clock)
    weather = LateWeather(clock, weather.make)
    with serve(settings, clock=clock, sections=[weather, *others], port=port) as served:
        yield Full(served.url, clock, [weather, *others], None)
        weather.gate.set()


@pytest.fixture
def asked():
    """The pages of the widget that a browser asks for."""

    def watch(page) -> list[str]:
        found = list[str]()
        page.on("request", lambda one: found.append(one.url) if "/v1/pulse?" in one.url else None)
        return found

    return watch


def test_page_shows_late_weather_after_a_second_request(late, open_page, asked):
    page = open_page("about:blank", fresh=True, viewport=PHONE).page
    page.add_init_script(HOLD)
    requests = asked(page)
    first = page.goto(late.address(FORECAST))
    assert first.headers["cache-control"] == "public, max-age=3"
    assert not page.evaluate(HAS_DAYS)
    late.sample("weather").gate.set()
    late.clock.advance(seconds=4)
    with page.expect_navigation():
        page.evaluate("wake()")
    assert page.evaluate(HAS_DAYS)
    assert not page.evaluate("'late' in document.getElementById('w').dataset")
    assert len(requests) == 2


def test_late_page_sends_no_third_request(late, open_page, asked):
    page = open_page("about:blank", fresh=True, viewport=PHONE).page
    page.add_init_script(HOLD)
    requests = asked(page)
    page.goto(late.address(FORECAST))
    late.clock.advance(seconds=4)
    with page.expect_navigation():
        page.evaluate("wake()")
    assert page.evaluate("'late' in document.getElementById('w').dataset")
    assert page.evaluate("window.wake") is None
    assert len(requests) == 2


def test_late_page_with_an_opened_list_does_not_reload(late, open_page, asked):
    page = open_page("about:blank", fresh=True, viewport=PHONE).page
    page.add_init_script(HOLD)
    requests = asked(page)
    page.goto(late.address(FORECAST))
    page.locator("summary").first.click()
    page.evaluate("wake()")
    assert page.locator("[open]").count() == 1
    assert len(requests) == 1


def test_framed_late_page_grows_and_adds_no_history(late, open_page, asked):
    script = f'<script src="{late.url}/v1/embed.js" async></script>'
    given = "".join(f' data-{name}="{value}"' for name, value in FORECAST.items())
    page = open_page("about:blank", fresh=True, viewport=PHONE).page
    page.add_init_script(HOLD)
    requests = asked(page)
    markup = f"<!doctype html><title>A host</title><div data-location-context{given}></div>{script}"
    with host({"/": markup}) as origin:
        page.goto(origin)
        until(page, "!!document.querySelector('iframe')")
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
        until(page.frames[1], "innerHeight >= document.getElementById('w').clientHeight - 1")
        assert page.evaluate("document.querySelector('iframe').clientHeight") != before
