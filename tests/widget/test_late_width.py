"""Frames that get their width late: no height of theirs is sent, taken or copied before."""

from html import escape

import pytest

from tests.widget.browser import host, until
from tests.widget.full_app import FORECAST

TALLEST = 5000  # px; the samples are 2,300 px high at 720 px, and 25,000 px without a width
HEARD = """if (parent === window) {
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


@pytest.mark.parametrize("asks", ["load", "again"])
def test_frame_without_a_width_sends_no_height(full, open_page, asks):
    address = escape(full.address(FORECAST))
    frames = "".join(
        f'<iframe title="x" style="border:0;{late}" src="{address}"></iframe>'
        for late in ("display:none", "width:0", "width:1px", "width:40px")
    )
    script = f'<script src="{full.url}/v1/embed.js"></script>'
    page = open_page("about:blank", fresh=True, viewport={"width": 800, "height": 600}).page
    page.add_init_script(HEARD)
    with host({"/": f"<!doctype html><title>A host</title>{frames}{script}"}) as origin:
        page.goto(origin)
        until(page, KNOCK)
        if asks == "again":
            page.set_viewport_size({"width": 820, "height": 600})
            page.evaluate("answered.clear()")
            until(page, KNOCK)
        assert page.evaluate("heights") == []
        page.evaluate(f"{FRAMES}.forEach((one) => one.style = 'border:0;width:720px')")
        until(page, FITS)
        assert max(page.evaluate("heights")) < TALLEST


def test_builder_copies_no_height_without_a_width_on_a_slow_processor(full, open_page):
    seen = []
    for _ in range(3):
        page = open_page("about:blank", fresh=True, viewport={"width": 1280, "height": 900}).page
        page.add_init_script(HEARD)
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.goto(f"{full.url}/?lat=43&lng=-2&place=x&start=2026-11-28&end=2026-12-05")
        until(page, FITS)
        seen += page.evaluate("heights")
        page.close()
    assert max(seen) < TALLEST


def test_eager_frame_without_a_width_sends_no_height_on_a_slow_processor(full, open_page):
    frame = f'<iframe title="x" width="700" src="{escape(full.address(FORECAST))}"></iframe>'
    script = f'<script src="{full.url}/v1/embed.js" async></script>'
    page = open_page("about:blank", fresh=True).page
    page.add_init_script(HEARD)
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    with host({"/": f"<!doctype html><title>A host</title>{frame * 5}{script}"}) as origin:
        page.goto(origin)
        until(page, "[...document.querySelectorAll('iframe')].every((one) => one.style.height)")
    assert max(page.evaluate("heights")) < TALLEST
