"""The real widget on hosts' pages in Chromium: as tall as its content, whatever the host does.

Sized to within 1 px after load, resize, zoom and toggled details; a bounded number of messages; no
complaint in the console, no request elsewhere.
"""

import html
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Error as PlaywrightError

from tests.widget.browser import assert_becomes, shown
from tests.widget.service import DONOSTIA

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
PADDED = "<style>iframe { width: 90%; border: 2.5px solid; padding: 10px 1em 1.3em }</style>"
TIGHT = PADDED + "<style>* { box-sizing: border-box }</style>"
KINDS = ["plain", "sandboxed", "two", "amp", "percent", "tight", "padded", "rtl"]
CONTENT_BOX = """(one) => {
  const style = getComputedStyle(one);
  return ["borderTopWidth", "borderBottomWidth", "paddingTop", "paddingBottom"]
    .reduce((left, name) => left - parseFloat(style[name]), one.getBoundingClientRect().height);
}"""


def bare(frame: str) -> str:
    """The iframe without a style of its own, so that the host's holds."""
    return re.sub(r' style="[^"]*"', "", frame)


def body(service, kind: str) -> str:
    frame, script = service.code(DONOSTIA, plain="1").strip(), service.script
    arabic = service.code(DONOSTIA, plain="1", lang="ar")
    later = service.code(
        DONOSTIA, plain="1", place="Tokyo", lat="35.69", lng="139.69", end="2026-11-29"
    )
    return {
        "plain": re.sub(r' sandbox="[^"]*"', "", frame) + script,
        "sandboxed": frame + script,
        "two": frame + later + script + script,
        "amp": re.sub(r'sandbox="[^"]*"', 'sandbox="allow-scripts"', frame) + AMP,
        "percent": PERCENT + frame + script,
        "tight": TIGHT + bare(frame) + script,
        "padded": PADDED + bare(frame) + script,
        "rtl": f'<div dir="rtl" style="columns:1">{arabic}</div>{script}',
    }[kind]


@pytest.fixture
def hosted(service, open_host):
    """Opens a host's page of a kind, with its widgets in view."""

    def open_kind(kind: str, **options):
        size = {"width": 1000, "height": 700}
        watched = open_host(COUNT + body(service, kind), viewport=size, **options)
        for frame in watched.page.query_selector_all("iframe"):
            frame.scroll_into_view_if_needed()  # a lazy one waits for it
        return watched

    return open_kind


def misfits(page) -> list[str]:
    """The widgets that are not as tall as their content, to within 1 px, or have a scrollbar."""
    said = []
    for frame in page.frames[1:]:
        try:
            content = frame.evaluate("document.getElementById('w').getBoundingClientRect().height")
            inside = frame.evaluate("document.documentElement.scrollHeight - innerHeight")
            bar = frame.evaluate("innerWidth - document.documentElement.clientWidth")
        except PlaywrightError:
            said.append("not loaded")
            continue
        box = frame.frame_element().evaluate(CONTENT_BOX)
        if abs(box - content) > 1 or inside > 1 or bar:
            said.append(f"{box} px for {content} px, {inside} px hidden, scrollbar {bar} px")
    return said


def assert_fits(page) -> None:
    """Wait for the widgets to fit their content."""
    for _ in range(3000):
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
def test_iframe_is_as_tall_as_the_widget_on_each_kind_of_host_page(service, hosted, kind):
    watched = hosted(kind)
    page = watched.page
    assert_fits(page)
    for width in (400, 700, 1000):
        page.set_viewport_size({"width": width, "height": 700})
        assert_fits(page)
    widgets = len(page.frames) - 1
    assert at_rest(page) <= 12 * widgets
    assert misfits(page) == []
    assert watched.complaints == []
    assert watched.elsewhere(service.url, watched.origin) == []
    assert len([url for url in watched.requests if url.startswith(service.url)]) == widgets + (
        kind != "amp"
    )


def test_widget_fits_at_each_zoom(hosted):
    watched = hosted("sandboxed", fresh=True)
    session = watched.page.context.new_cdp_session(watched.page)
    assert_fits(watched.page)
    for zoom in (0.67, 1.25, 1.5, 2):
        size = {"width": round(1000 / zoom), "height": round(700 / zoom)}
        screen = {**size, "deviceScaleFactor": zoom, "mobile": False}
        session.send("Emulation.setDeviceMetricsOverride", screen)
        assert_fits(watched.page)
    assert at_rest(watched.page) <= 20


def test_widget_height_follows_opened_and_closed_details(hosted):
    watched = hosted("sandboxed")
    page = watched.page
    assert_fits(page)
    before = page.evaluate("document.querySelector('iframe').clientHeight")
    summaries = page.frames[1].query_selector_all("summary")
    assert summaries
    for summary in summaries:
        summary.click()
        assert_fits(page)
    assert page.evaluate("document.querySelector('iframe').clientHeight") > before
    for summary in summaries:
        summary.click()
        assert_fits(page)
    assert page.evaluate("document.querySelector('iframe').clientHeight") == before
    assert at_rest(page) <= 8 * len(summaries)


def test_iframe_is_as_tall_as_an_error_page(service, open_host):
    query = html.escape(urlencode({**DONOSTIA, "lat": "north"}))
    frame = f'<iframe title="x" src="{service.url}/v1/pulse?{query}" height="2000"></iframe>'
    page = open_host(frame + service.script).page
    assert_fits(page)
    assert_becomes(page, "document.querySelector('iframe').clientHeight < 600")


@pytest.mark.parametrize("policy", ["require-corp", "credentialless"])
@pytest.mark.parametrize(
    "query", [DONOSTIA, {**DONOSTIA, "lat": "north"}], ids=["widget", "error page"]
)
def test_host_with_an_embedder_policy_shows_and_sizes_the_widget(service, open_host, policy, query):
    address = html.escape(f"{service.url}/v1/pulse?{urlencode(query)}")
    frame = f'<iframe title="x" src="{address}" sandbox="allow-scripts" height="99"></iframe>'
    isolated = {
        "Cross-Origin-Embedder-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    watched = open_host(frame + service.script, isolated)
    assert_becomes(watched.page, "document.querySelector('iframe').style.height")
    assert_fits(watched.page)
    assert watched.page.evaluate("crossOriginIsolated")
    assert watched.page.frames[1].inner_text(".card")
    assert [text for text in watched.complaints if "400" not in text] == []


@pytest.mark.parametrize(
    "turn",
    [
        "frame.contentWindow.location.replace(next)",
        "const other = frame.cloneNode(); other.src = next; frame.replaceWith(other)",
    ],
    ids=["replace the address", "replace the element"],
)
def test_changing_the_dates_of_an_embedded_widget_adds_no_history_entry(service, hosted, turn):
    watched = hosted("sandboxed", fresh=True)
    page = watched.page
    assert_fits(page)
    before = page.evaluate("history.length")
    for nights in ("2026-11-29", "2026-12-12"):
        address = f"{service.url}/v1/pulse?{urlencode({**DONOSTIA, 'end': nights})}"
        page.evaluate(
            f"(next) => {{ const frame = document.querySelector('iframe'); {turn} }}", address
        )
        shown(page, address)
        assert_fits(page)
    assert page.evaluate("history.length") == before


def test_widget_has_its_reserved_height_without_javascript(service, hosted):
    watched = hosted("sandboxed", java_script_enabled=False)
    frame = watched.page.frames[1]
    assert frame.inner_text("h1")
    assert frame.frame_element().bounding_box()["height"] >= 900
    assert watched.elsewhere(service.url, watched.origin) == []
