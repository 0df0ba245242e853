"""The real widget on hosts' pages in Chromium: as tall as its content, whatever the host does.

Sized to within 1 px after load, resize, zoom and toggled details; a bounded number of messages; no
complaint in the console, no request elsewhere.
"""

from __future__ import annotations

import html
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Error as PlaywrightError

from tests.widget.browser import host, until
from tests.widget.site import DONOSTIA

COUNT = """<script>
var messages = 0;
addEventListener("message", ({data}) => { if (data.type === "pulse:resize") messages++; });
</script>"""
AMP = """<script>
addEventListener("message", ({data, source}) => {
  if (data.sentinel !== "amp" || data.type !== "embed-size") return;
  for (const one of document.querySelectorAll("iframe"))
    if (one.contentWindow === source) one.style.height = data.height + "px";
});
</script>"""
PERCENT = "<style>html, body, iframe { height: 100%; min-height: 100% }</style>"
TIGHT = "<style>* { box-sizing: border-box } iframe { border: 3px solid }</style>"
KINDS = ["plain", "sandboxed", "two", "amp", "percent", "tight", "rtl"]


def snippet(site, **fields: str) -> list[str]:
    """The two lines, as the builder gives them."""
    text = site.get("/", **{**DONOSTIA, **fields}).text
    code = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.DOTALL)[1]
    return html.unescape(re.sub(r"</?[bi][^>]*>", "", code)).split("\n")


def body(site, kind: str) -> str:
    frame, script = snippet(site)
    later, _ = snippet(site, place="Tokyo", lat="35.69", lng="139.69", end="2026-11-29")
    return {
        "plain": re.sub(r' sandbox="[^"]*"', "", frame) + script,
        "sandboxed": frame + script,
        "two": frame + later + script + script,
        "amp": re.sub(r'sandbox="[^"]*"', 'sandbox="allow-scripts"', frame) + AMP,
        "percent": PERCENT + frame + script,
        "tight": TIGHT + frame.replace(' style="border:0"', "") + script,
        "rtl": f'<div dir="rtl" style="columns:1">{snippet(site, lang="ar")[0]}</div>{script}',
    }[kind]


@pytest.fixture
def hosted(site, open_page):
    """Opens a host's page of a kind and waits until its widgets have their heights."""
    served = []

    def open_one(kind: str, **options):
        page = f"<!doctype html><html lang=en><title>A host</title><body>{COUNT}{body(site, kind)}"
        one = host({"/": page})
        origin = one.__enter__()
        served.append(one)
        watched = open_page(origin, viewport={"width": 1000, "height": 700}, **options)
        for frame in watched.page.query_selector_all("iframe"):
            frame.scroll_into_view_if_needed()  # a lazy one waits for it
        return watched, origin

    yield open_one
    for one in served:
        one.__exit__(None, None, None)


def misfits(page) -> list[str]:
    """The widgets that are not as tall as their content, to within 1 px."""
    said = []
    for frame in page.frames[1:]:
        try:
            content = frame.evaluate("document.getElementById('w').getBoundingClientRect().height")
            inside = frame.evaluate("document.documentElement.scrollHeight - innerHeight")
        except PlaywrightError:
            said.append("not loaded")
            continue
        box = frame.frame_element().evaluate("(one) => one.clientHeight")
        if abs(box - content) > 1 or inside > 1:
            said.append(f"{box} px for {content} px, {inside} px hidden")
    return said


def fits(page) -> None:
    """Wait for the widgets to fit their content."""
    for _ in range(150):
        if len(page.frames) > 1 and not (said := misfits(page)):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"in vain: {said}")


def at_rest(page) -> int:
    """The number of messages once no more come for a while."""
    before = -1
    while (now := page.evaluate("messages")) != before:
        before = now
        page.wait_for_timeout(120)
    return now


@pytest.mark.parametrize("kind", KINDS)
def test_the_widget_is_as_tall_as_its_content_on_every_host(site, hosted, kind):
    watched, origin = hosted(kind)
    page = watched.page
    fits(page)
    for width in (400, 700, 1000):
        page.set_viewport_size({"width": width, "height": 700})
        fits(page)
    widgets = len(page.frames) - 1
    assert at_rest(page) <= 12 * widgets
    assert misfits(page) == []
    assert watched.complaints == []
    assert watched.elsewhere(site.url, origin) == []
    assert len([url for url in watched.asked if url.startswith(site.url)]) == widgets + (
        kind != "amp"
    )


def test_the_widget_fits_at_every_zoom(hosted):
    watched, _ = hosted("sandboxed")
    session = watched.page.context.new_cdp_session(watched.page)
    fits(watched.page)
    for zoom in (0.67, 1.25, 1.5, 2):
        size = {"width": round(1000 / zoom), "height": round(700 / zoom)}
        screen = {**size, "deviceScaleFactor": zoom, "mobile": False}
        session.send("Emulation.setDeviceMetricsOverride", screen)
        fits(watched.page)
    assert at_rest(watched.page) <= 20


def test_the_widget_follows_its_details_open_and_closed(hosted):
    watched, _ = hosted("sandboxed")
    page = watched.page
    fits(page)
    before = page.evaluate("document.querySelector('iframe').clientHeight")
    summaries = page.frames[1].query_selector_all("summary")
    assert summaries
    for summary in summaries:
        summary.click()
        fits(page)
    assert page.evaluate("document.querySelector('iframe').clientHeight") > before
    for summary in summaries:
        summary.click()
        fits(page)
    assert page.evaluate("document.querySelector('iframe').clientHeight") == before
    assert at_rest(page) <= 8 * len(summaries)


def test_an_error_page_of_the_widget_takes_its_own_height(site, open_page):
    query = html.escape(urlencode({**DONOSTIA, "lat": "north"}))
    frame = f'<iframe title="x" src="{site.url}/v1/pulse?{query}" height="2000"></iframe>'
    page = f"<!doctype html><title>A host</title>{frame}{snippet(site)[1]}"
    with host({"/": page}) as origin:
        watched = open_page(origin)
        fits(watched.page)
        until(watched.page, "document.querySelector('iframe').clientHeight < 600")


def test_without_javascript_the_widget_is_there_at_its_reserved_height(site, hosted):
    watched, origin = hosted("sandboxed", java_script_enabled=False)
    frame = watched.page.frames[1]
    assert frame.inner_text("h1")
    assert frame.frame_element().bounding_box()["height"] >= 1800
    assert watched.elsewhere(site.url, origin) == []
