"""The snippets of docs/embedding.md on hosts in Chromium, as they stand there.

Those for React, Vue and Shopify's Liquid need npm: `./scripts/check hosts` runs them.
"""

import re
from html import escape, unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from location_context.parameters import WIDGET
from tests.serving import free_port
from tests.widget.browser import assert_becomes, assert_fits, shown
from tests.widget.embedding_page import blocks, code, sections, snippet

NEED_NPM = {"React", "Vue", "Shopify"}
RUN_HERE = {
    "The two lines", "A booking form", "What guests open", "Plain HTML", "Without our script",
    "Another stay, theme or language",
    "Other single-page apps", "AMP", "E-mail", "Security policies", "Good to know",
}  # fmt: skip
RUN_BY_TEST_BREAKAGES = {"What breaks it"}
FRAME = "document.querySelector('iframe')"
SCROLLBAR = "innerWidth - document.documentElement.clientWidth"
AMP_IFRAME = """<script>
customElements.define("amp-iframe", class extends HTMLElement {
  connectedCallback() {
    addEventListener("DOMContentLoaded", () => {
      const frame = document.createElement("iframe");
      for (const name of ["sandbox", "title", "frameborder"])
        frame.setAttribute(name, this.getAttribute(name) ?? "");
      frame.src = this.getAttribute("src") + "#amp=1";
      frame.scrolling = "no";
      frame.style = "width:100%;height:100%";
      this.style = `display:block;height:${this.getAttribute("height")}px`;
      const overflow = this.querySelector("[overflow]");
      overflow.hidden = true;
      addEventListener("message", ({source, data}) => {
        if (source !== frame.contentWindow || data.sentinel !== "amp") return;
        if (data.type !== "embed-size" || data.height < 100) return;
        if (!this.hasAttribute("resizable") || !overflow) return;
        this.resize = () => { this.style.height = data.height + "px"; overflow.hidden = true; };
        if (this.getBoundingClientRect().top > innerHeight) this.resize();
        else overflow.hidden = false;
      });
      overflow.onclick = () => this.resize();
      frame.onload = () => this.querySelector("[placeholder]").remove();
      this.append(frame);
    });
  }
});
</script>"""


def test_each_code_snippet_of_the_embedding_page_is_run_by_a_test_or_needs_npm():
    assert set(blocks()) == RUN_HERE | NEED_NPM | RUN_BY_TEST_BREAKAGES


@pytest.fixture
def opened(service, open_host):
    """Opens a host's page with a body once the widget fits, without a complaint."""

    def open_one(body: str, headers: dict[str, str] | None = None, **options):
        watched = open_host(body, headers, **options)
        assert_fits(watched.page)
        assert watched.complaints == []
        return watched

    return open_one


def test_documented_embed_code_shows_the_widget_without_other_requests_or_cookies(service, opened):
    watched = opened("".join(snippet(service.url)))
    assert watched.elsewhere(service.url, watched.origin) == []
    assert watched.page.context.cookies() == []


def builders_code(service, own: str, **more: str) -> str:
    """Return the builder's code for the stay in the address of the page's own code."""
    query = parse_qs(urlsplit(unescape(re.search(r'(?:src|href)="([^"]+)', own)[1])).query)
    return service.code({name: value for name, (value,) in query.items()}, **more)


def test_documented_embed_code_equals_the_code_of_the_builder(service):
    query = {"lat": "43.3183", "lng": "-1.9812", "days": "7", "lang": "en"}
    assert code("The two lines", service.url).split() == service.code(query).split()
    own, _ = snippet(service.url)
    plain = [
        re.sub(r"\s", "", re.sub(r' height="\d+"', "", one))
        for one in (own, builders_code(service, own, plain="1"))
    ]
    assert plain[0] == plain[1]


def test_documented_embed_code_shows_a_widget_that_follows_the_dates_of_a_form(service, opened):
    headings = ("The two lines", "A booking form", "What guests open")
    two, form, listener = (code(one, service.url) for one in headings)
    _, _, script = two.partition("\n")
    fields = "<input id=checkin type=date><input id=checkout type=date>"
    watched = opened(f"{fields}{form}{script}<script>{listener}</script>")
    page = watched.page
    assert "days=7" in page.frames[-1].url
    page.fill("#checkin", "2026-11-28")
    page.fill("#checkout", "2026-12-01")
    page.locator("#checkout").dispatch_event("change")
    shown(page, "start=2026-11-28&end=2026-12-01")
    assert watched.complaints == []


def test_documented_mail_code_equals_the_mail_code_of_the_builder(service, open_host):
    own = code("E-mail", service.url)
    of_the_stay = r'(?<=alt=")[^"]*|(?<= height=")\w+'
    plain = [
        re.sub(r"\s+", " ", re.sub(of_the_stay, "", one)).strip()
        for one in (own, builders_code(service, own, code="mail"))
    ]
    assert plain[0] == plain[1]
    watched = open_host(own)
    assert_becomes(
        watched.page, "document.images[0].complete && document.images[0].naturalWidth >= 600"
    )
    watched.page.click("a")
    watched.page.wait_for_url("**/v1/pulse?**")
    assert watched.complaints == []


def test_embedding_page_lists_each_widget_parameter():
    table = re.findall(r"^\| (`.+?`) \|", sections()["Plain HTML"], re.MULTILINE)
    names = [name for cell in table for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(names) == sorted(WIDGET)


@pytest.mark.parametrize(
    "late", [False, True], ids=["before the widget's message", "after the widget's message"]
)
def test_documented_message_listener_sizes_the_widget(service, open_host, late):
    frame, _ = snippet(service.url)
    listener = code("Without our script", service.url)
    watched = open_host(frame + ("" if late else listener))
    if late:
        assert_becomes(shown(watched.page), "document.readyState === 'complete'")
        watched.page.evaluate(re.sub(r"</?script>", "", listener))
    assert_fits(watched.page)
    assert watched.complaints == []


def test_documented_script_that_changes_the_widget_url_adds_no_history_entry(
    service, open_page, serve_host
):
    origin = serve_host("".join(snippet(service.url)))
    page = open_page(f"{origin}/?before", fresh=True).page
    page.goto(origin)
    assert_fits(page)
    page.add_script_tag(content=code("Another stay, theme or language", service.url))
    for choices, query in (
        ({"start": "2027-09-03", "end": "2027-09-10"}, "start=2027-09-03&end=2027-09-10"),
        ({"theme": "dark"}, "end=2027-09-10&lang=en&theme=dark"),
        ({"lang": "de"}, "lang=de&theme=dark"),
    ):
        page.evaluate(f"(choices) => change({FRAME}, choices)", choices)
        shown(page, query)
        assert_fits(page)
    page.go_back()
    assert page.url == f"{origin}/?before"


def test_changing_the_iframe_src_adds_a_history_entry(service, opened):
    page = opened("".join(snippet(service.url)), fresh=True).page
    before = page.evaluate("history.length")
    page.evaluate(f"{FRAME}.src += '&theme=dark'")
    shown(page, "theme=dark")
    assert page.evaluate("history.length") == before + 1


def test_iframe_that_is_moved_in_the_page_is_sized_again(service, opened):
    frame, script = snippet(service.url)
    page = opened(f"<main></main><div>{frame}</div>{script}").page
    for turn in (
        "document.querySelector('main').append(frame)",
        "frame.remove(); frame.style.height = ''; document.querySelector('div').append(frame)",
    ):
        with page.expect_event("framenavigated", lambda one: "/v1/pulse" in one.url):
            page.evaluate(f"{{ const frame = {FRAME}; {turn} }}")
        assert_fits(page)


def test_documented_custom_element_sizes_the_widget_in_its_shadow_root(service, opened):
    define, address = code("Other single-page apps", service.url), escape(service.address())
    element = f'<stay-widget title="A stay" src="{address}"></stay-widget>'
    watched = opened(f"{element}<script>{define}</script>")
    assert watched.elsewhere(service.url, watched.origin) == []


def test_embed_code_inside_a_fixed_iframe_of_the_host_has_a_single_scrollbar(
    service, opened, serve_host
):
    """As in Wix: a box of a fixed size on another origin, which the code inside cannot change."""
    sandbox = 'sandbox="allow-scripts allow-same-origin allow-popups" width="700" height="600"'
    block = serve_host("".join(snippet(service.url)))
    page = opened(f'<iframe title="x" {sandbox} src="{block}"></iframe>').page
    assert page.frames[1].evaluate(SCROLLBAR) > 0
    assert page.evaluate(SCROLLBAR) == 0


@pytest.mark.parametrize("place", ["in view", "below"])
def test_amp_page_sizes_a_widget_below_the_fold_and_shows_a_button_for_a_widget_in_view(
    service, open_host, place
):
    """A stand-in for AMP's runtime that keeps the documented rules of `amp-iframe`."""
    above = '<div style="height:3000px">Above</div>' if place == "below" else ""
    watched = open_host(AMP_IFRAME + above + code("AMP", service.url))
    page = watched.page
    if place == "in view":
        button = page.get_by_role("button", name="Show the whole widget")
        button.wait_for()
        assert page.evaluate(f"{FRAME}.clientHeight") == 600
        button.click()
    else:
        assert_becomes(page, f"{FRAME}.clientHeight > 700")
    page.query_selector("iframe").scroll_into_view_if_needed()
    assert_fits(page)
    assert page.frames[-1].url.endswith("#amp=1")
    assert page.query_selector("[placeholder]") is None
    assert watched.complaints == []


def test_documented_content_security_policy_allows_only_this_service(service, opened):
    name, _, policy = code("Security policies", service.url).strip().partition(": ")
    denied = "camera=(), geolocation=(), clipboard-write=(), fullscreen=(), microphone=()"
    headers = {name: policy, "Permissions-Policy": denied}
    watched = opened("".join(snippet(service.url)), headers)
    assert watched.elsewhere(service.url, watched.origin) == []


def test_nonce_with_strict_dynamic_loads_the_script(service, opened):
    body = "".join(snippet(service.url)).replace("<script", '<script nonce="abc"')
    policy = {"Content-Security-Policy": "script-src 'nonce-abc' 'strict-dynamic'"}
    watched = opened(body, policy)
    assert watched.elsewhere(service.url, watched.origin) == []


@pytest.mark.parametrize("up", [True, False])
def test_documented_code_hides_a_widget_whose_service_is_down(service, open_page, serve_host, up):
    url = service.url if up else f"http://127.0.0.1:{free_port()}"
    frame, _ = snippet(url)
    _, _, script = code("Good to know", url).partition("<script>")
    page = open_page("about:blank").page
    page.clock.install()
    page.goto(serve_host(f"{frame}<script>{script}"))
    assert page.is_visible("iframe")
    page.clock.fast_forward(5001)
    assert_becomes(page, f"{FRAME}.hidden === {'false' if up else 'true'}")
    assert page.is_visible("iframe") == up
