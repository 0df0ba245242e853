"""The code for a host's page: what a person reads there, and what the script makes of it."""

import pytest

from tests.widget.browser import assert_becomes, assert_fits
from tests.widget.service import FORECAST, STAY

FRAME = """() => {
  const frame = document.querySelector("iframe"), style = getComputedStyle(frame);
  return [frame.offsetWidth, frame.offsetHeight, style.borderTopWidth];
}"""
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
MOVED = """() => {
  window.moved = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) window.moved += one.value;
  }).observe({ type: "layout-shift" });
}"""


@pytest.fixture
def open_code(service, open_host):
    """Opens a host's page with the code of the builder, once the widget fits."""

    def open_one(headers: dict[str, str] | None = None, **options):
        watched = open_host(service.code(FORECAST), headers, **options)
        assert_becomes(watched.page, "!!document.querySelector('iframe')")
        assert_fits(watched.page)
        return watched

    return open_one


def test_host_page_does_not_shift_when_the_widget_script_loads_late(service, open_host):
    holder = service.code(FORECAST).partition("<script")[0]
    page = open_host(f"{holder}<p>Below</p>", viewport={"width": 390, "height": 800}).page
    page.evaluate(PAINTED)
    page.evaluate(MOVED)
    page.evaluate(
        "(src) => document.body.append(Object.assign(document.createElement('script'), { src }))",
        f"{service.url}/v1/embed.js",
    )
    page.frame_locator("iframe").locator("#w").wait_for()
    assert_fits(page)
    page.evaluate(PAINTED)
    assert page.evaluate("window.moved") <= 0.02


def test_embed_script_makes_a_titled_frame_as_tall_as_its_content(open_code):
    watched = open_code(viewport={"width": 320, "height": 700})
    page = watched.page
    title = "Weather, sky, restaurants and events in San Sebastián"
    assert page.evaluate("document.querySelector('iframe').title") == title
    for width in (320, 390, 720, 1100):
        page.set_viewport_size({"width": width, "height": 700})
        assert_fits(page)
        wide, tall, border = page.evaluate(FRAME)
        assert border == "0px"
        assert wide == page.evaluate("document.body.clientWidth")
        assert tall > 400
    assert watched.complaints == []


def test_embed_script_works_under_a_strict_content_security_policy_of_the_host_page(
    service, open_code
):
    policy = (
        f"default-src 'none'; frame-src {service.url}; script-src {service.url}; style-src 'self'"
    )
    watched = open_code({"Content-Security-Policy": policy})
    assert watched.page.evaluate(FRAME)[2] == "0px"
    assert watched.complaints == []


FORM = """<form><input id=checkin type=date><input id=checkout type=date></form>
<div data-location-context data-lat="{lat}" data-lng="{lng}" data-start-from="#checkin"
data-end-from="#checkout" data-days="3"></div>"""


def test_widget_follows_the_dates_of_a_form_without_adding_history_entries(service, open_host):
    page = open_host(FORM.format(**STAY) + service.script).page
    source = "document.querySelector('iframe').src"
    assert_becomes(page, f"document.querySelector('iframe') && {source}.includes('days=3')")
    before = page.evaluate("history.length")
    page.fill("#checkin", "2026-11-28")
    page.fill("#checkout", "2026-12-01")
    page.locator("#checkout").dispatch_event("change")
    assert_becomes(page, f"{source}.includes('start=2026-11-28&end=2026-12-01')")
    assert "days" not in page.evaluate(source)
    page.fill("#checkout", "2026-11-20")
    page.locator("#checkout").dispatch_event("change")
    assert_becomes(page, f"{source}.includes('days=3')")
    assert page.evaluate("history.length") == before


def test_embed_script_fills_a_placeholder_element_that_is_added_later(service, open_host):
    page = open_host(service.script).page
    assert_becomes(page, "document.readyState === 'complete'")
    holder = service.code(FORECAST).partition("<script")[0]
    page.evaluate("(holder) => document.body.insertAdjacentHTML('beforeend', holder)", holder)
    assert_becomes(page, "!!document.querySelector('[data-location-context] iframe')")


def test_host_page_is_notified_when_a_visitor_follows_a_link_in_the_widget(open_code):
    page = open_code().page
    page.evaluate("addEventListener('pulse:open', ({ detail }) => { window.opened = detail; })")
    with page.expect_popup():
        page.frames[1].locator("#guide a").first.click()
    assert_becomes(page, "!!window.opened")
    opened = page.evaluate("window.opened")
    assert opened["section"] == "guide"
    assert opened["id"]
    assert opened["url"].startswith("https://guide.example/")


def test_anchor_link_in_the_widget_scrolls_the_host_page(open_code):
    page = open_code(viewport={"width": 390, "height": 600}, reduced_motion="reduce").page
    page.frames[1].locator(".facts a[href='#guide']").first.click()
    assert_becomes(page, "scrollY > 500")
