"""Frames that get their width late: no height of theirs is sent, taken or copied before."""

from html import escape

import pytest

from tests.widget.browser import assert_becomes
from tests.widget.service import FORECAST

TALLEST = 5000  # px; the samples are 2,300 px high at 720 px, and 25,000 px without a width
RECORD = """if (parent === window) {
  window.heights = [];
  window.latest = new Map();
  window.answered = new Set();
  addEventListener("message", ({ source, data }) => {
    if (data.type === "pulse:resize") heights.push(data.height), latest.set(source, data.height);
    if (data.type === "pulse:description") answered.add(source);
  });
}"""
FRAMES = "[...document.querySelectorAll('iframe')]"
FITS = f"{FRAMES}.every((one) => one.clientHeight === latest.get(one.contentWindow))"
KNOCK = f"""() => {{
  for (const one of {FRAMES}) one.contentWindow.postMessage({{type: "pulse:describe"}}, "*");
  return answered.size === {FRAMES}.length;
}}"""


@pytest.fixture
def page(open_page):
    """A tab that records the heights which its frames send."""
    page = open_page("about:blank", fresh=True, viewport={"width": 800, "height": 600}).page
    page.add_init_script(RECORD)
    return page


def slow_down(page) -> None:
    """Let the tab have a quarter of the processor."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})


@pytest.mark.parametrize("asks", ["load", "again"])
def test_frame_without_a_width_sends_no_height(service, page, serve_host, asks):
    address = escape(service.address(FORECAST))
    frames = "".join(
        f'<iframe title="x" style="border:0;{late}" src="{address}"></iframe>'
        for late in ("display:none", "width:0", "width:1px", "width:40px")
    )
    page.goto(serve_host(frames + service.script.replace(" async", "")))
    assert_becomes(page, KNOCK)
    if asks == "again":
        page.set_viewport_size({"width": 820, "height": 600})
        page.evaluate("answered.clear()")
        assert_becomes(page, KNOCK)
    assert page.evaluate("heights") == []
    page.evaluate(f"{FRAMES}.forEach((one) => one.style = 'border:0;width:720px')")
    assert_becomes(page, FITS)
    assert max(page.evaluate("heights")) < TALLEST


@pytest.mark.parametrize("turn", range(3))
def test_builder_ignores_heights_that_its_preview_sends_before_the_preview_has_a_width(
    service, page, turn
):
    page.set_viewport_size({"width": 1280, "height": 900})
    slow_down(page)
    page.goto(f"{service.url}/?lat=43&lng=-2&place=x&start=2026-11-28&end=2026-12-05")
    assert_becomes(page, FITS)
    assert max(page.evaluate("heights")) < TALLEST


def test_eager_frame_without_a_width_sends_no_height_on_a_slow_processor(service, page, serve_host):
    frame = f'<iframe title="x" width="700" src="{escape(service.address(FORECAST))}"></iframe>'
    slow_down(page)
    page.goto(serve_host(frame * 5 + service.script))
    assert_becomes(page, f"{FRAMES}.every((one) => one.style.height)")
    assert max(page.evaluate("heights")) < TALLEST
