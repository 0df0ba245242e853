"""The code for a host's page: what a person reads there, and what the script makes of it."""

import html
import re

import pytest

from tests.widget.browser import host, until
from tests.widget.full_app import FORECAST, STAY

PAGE = "<!doctype html><html lang=en><title>A host</title>"
FRAME = """() => {
  const frame = document.querySelector("iframe"), style = getComputedStyle(frame);
  return [frame.offsetWidth, frame.offsetHeight, style.borderTopWidth];
}"""
FITS = "Math.abs(innerHeight - document.getElementById('w')?.clientHeight) < 1.5"


def lines(full, given: dict[str, str], **more: str) -> list[str]:
    """The code of the page at `/`."""
    text = full.http.get(f"{full.url}/", params={**given, **more}).text
    code = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.DOTALL)[1]
    return [line for line in html.unescape(re.sub(r"</?[bi][^>]*>", "", code)).split("\n") if line]


PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
MOVED = """() => {
  window.moved = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) window.moved += one.value;
  }).observe({ type: "layout-shift" });
}"""


@pytest.fixture
def hosted(full, open_page):
    """Opens a host's page with a body and headers."""
    served = []

    def open_one(body: str, headers: dict[str, str] | None = None, **options):
        one = host({"/": PAGE + body}, headers)
        origin = one.__enter__()
        served.append(one)
        return open_page(origin, **options)

    yield open_one
    for one in served:
        one.__exit__(None, None, None)


def test_code_is_plain_attributes_and_a_script(full):
    first, second = lines(full, FORECAST)
    room = r'<svg width="1" height="\d{3,4}"></svg>'
    assert re.fullmatch(rf'<div data-location-context( data-[a-z]+="[^"]*")+>{room}</div>', first)
    assert f'data-start="{FORECAST["start"]}"' in first
    assert second == f'<script src="{full.url}/v1/embed.js" async></script>'


def test_first_screen_keeps_its_layout_when_the_script_comes_late(full, hosted):
    first, second = lines(full, FORECAST)
    address = re.search(r'src="([^"]+)"', second)[1]
    watched = hosted(f"{first}<p>Below</p>", viewport={"width": 390, "height": 800})
    page = watched.page
    page.evaluate(PAINTED)
    page.evaluate(MOVED)
    page.evaluate(
        "(src) => document.body.append(Object.assign(document.createElement('script'), { src }))",
        address,
    )
    page.frame_locator("iframe").locator("#w").wait_for()
    until(page.frames[1], FITS)
    page.evaluate(PAINTED)
    assert page.evaluate("window.moved") <= 0.02


def test_plain_code_has_a_height_and_no_style(full):
    (line,) = lines(full, FORECAST, plain="1")
    assert line.startswith("<iframe ")
    assert "style" not in line
    assert 500 < int(re.search(r'height="(\d+)"', line)[1]) < 3000


@pytest.mark.parametrize("width", [320, 390, 720, 1100])
def test_script_makes_a_titled_frame_as_tall_as_its_content(full, hosted, width):
    watched = hosted("".join(lines(full, FORECAST)), viewport={"width": width, "height": 700})
    page = watched.page
    until(page, "!!document.querySelector('iframe')")
    assert page.evaluate("document.querySelector('iframe').title").startswith("About the stay")
    until(page.frames[1], FITS)
    wide, tall, border = page.evaluate(FRAME)
    assert border == "0px"
    assert wide == page.evaluate("document.body.clientWidth")
    assert tall > 400
    assert watched.complaints == []


def test_script_obeys_a_strict_policy_of_the_host(full, hosted):
    policy = f"default-src 'none'; frame-src {full.url}; script-src {full.url}; style-src 'self'"
    watched = hosted("".join(lines(full, FORECAST)), {"Content-Security-Policy": policy})
    until(watched.page, "!!document.querySelector('iframe')")
    until(watched.page.frames[1], FITS)
    assert watched.page.evaluate(FRAME)[2] == "0px"
    assert watched.complaints == []


FORM = """<form><input id=checkin type=date><input id=checkout type=date></form>
<div data-location-context data-lat="{lat}" data-lng="{lng}" data-start-from="#checkin"
data-end-from="#checkout" data-days="3"></div>"""


def test_widget_follows_a_form_s_dates_without_history_entries(full, hosted):
    watched = hosted(FORM.format(**STAY) + lines(full, STAY)[1])
    page = watched.page
    source = "document.querySelector('iframe').src"
    until(page, f"document.querySelector('iframe') && {source}.includes('days=3')")
    before = page.evaluate("history.length")
    page.fill("#checkin", "2026-11-28")
    page.fill("#checkout", "2026-12-01")
    page.locator("#checkout").dispatch_event("change")
    until(page, f"{source}.includes('start=2026-11-28&end=2026-12-01')")
    assert "days" not in page.evaluate(source)
    page.fill("#checkout", "2026-11-20")
    page.locator("#checkout").dispatch_event("change")
    until(page, f"{source}.includes('days=3')")
    assert page.evaluate("history.length") == before


def test_script_fills_a_holder_added_later(full, hosted):
    watched = hosted(lines(full, FORECAST)[1])
    page = watched.page
    until(page, "document.readyState === 'complete'")
    page.evaluate(
        "(line) => document.body.insertAdjacentHTML('beforeend', line)", lines(full, FORECAST)[0]
    )
    until(page, "!!document.querySelector('[data-location-context] iframe')")


def test_host_receives_the_link_that_a_guest_follows(full, hosted):
    watched = hosted("".join(lines(full, FORECAST)))
    page = watched.page
    until(page, "!!document.querySelector('iframe')")
    until(page.frames[1], FITS)
    page.evaluate("addEventListener('pulse:open', ({ detail }) => { window.opened = detail; })")
    with page.expect_popup():
        page.frames[1].locator("#guide a").first.click()
    until(page, "!!window.opened")
    opened = page.evaluate("window.opened")
    assert opened["section"] == "guide"
    assert opened["id"]
    assert opened["url"].startswith("https://guide.example/")


def test_jump_inside_the_widget_scrolls_the_host(full, hosted):
    watched = hosted(
        "".join(lines(full, FORECAST)), viewport={"width": 390, "height": 600},
        reduced_motion="reduce",
    )  # fmt: skip
    page = watched.page
    until(page, "!!document.querySelector('iframe')")
    until(page.frames[1], FITS)
    page.frames[1].locator(".facts a[href='#guide']").first.click()
    until(page, "scrollY > 500")
