"""Frames that get their width late: no height of theirs is sent, taken or copied before."""

from html import escape

import pytest

from tests.widget.browser import host, until
from tests.widget.full_app import FORECAST

TALLEST = 5000  # px; the samples are 2,300 px high at 720 px, and 25,000 px without a width
HEARD = """if (parent === window) {
  window.heights = [];
  window.loaded = 0;
  addEventListener("message", ({ data }) => {
    if (data.type === "pulse:resize") heights.push(data.height);
    if (data.type === "pulse:description") loaded++;
  });
}"""
FITS = "document.querySelector('iframe').clientHeight === heights.at(-1)"
KNOCK = """() => {
  document.querySelector("iframe").contentWindow.postMessage({type: "pulse:describe"}, "*");
  return loaded;
}"""


@pytest.mark.parametrize("late", ["display:none", "width:0", "width:1px", "width:40px"])
@pytest.mark.parametrize("asks", ["load", "again"])
def test_a_frame_that_gets_its_width_late_says_no_height_before(full, open_page, late, asks):
    frame = f'<iframe title="x" style="border:0;{late}" src="{escape(full.address(FORECAST))}">'
    script = f'<script src="{full.url}/v1/embed.js"></script>'
    page = open_page("about:blank", viewport={"width": 800, "height": 600}).page
    page.add_init_script(HEARD)
    with host({"/": f"<!doctype html><title>A host</title>{frame}</iframe>{script}"}) as origin:
        page.goto(origin)
        until(page, KNOCK)
        if asks == "again":
            page.set_viewport_size({"width": 820, "height": 600})
            until(page, KNOCK)
        assert page.evaluate("heights") == []
        page.evaluate("document.querySelector('iframe').style = 'border:0;width:720px'")
        until(page, f"heights.length && {FITS}")
        assert max(page.evaluate("heights")) < TALLEST


def test_the_builder_copies_no_height_without_a_width_on_a_slow_processor(full, open_page):
    seen = []
    for _ in range(6):
        page = open_page("about:blank", viewport={"width": 1280, "height": 900}).page
        page.add_init_script(HEARD)
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.goto(f"{full.url}/?lat=43&lng=-2&place=x&start=2026-11-28&end=2026-12-05")
        until(page, f"heights.length && {FITS}")
        seen += page.evaluate("heights")
        page.context.close()
    assert max(seen) < TALLEST


def test_eager_frames_on_a_slow_processor_say_no_height_without_a_width(full, open_page):
    frame = f'<iframe title="x" width="700" src="{escape(full.address(FORECAST))}"></iframe>'
    script = f'<script src="{full.url}/v1/embed.js" async></script>'
    page = open_page("about:blank").page
    page.add_init_script(HEARD)
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    with host({"/": f"<!doctype html><title>A host</title>{frame * 10}{script}"}) as origin:
        page.goto(origin)
        until(page, "[...document.querySelectorAll('iframe')].every((one) => one.style.height)")
    assert max(page.evaluate("heights")) < TALLEST
