"""The snippets of docs/embedding.md on hosts in Chromium, as they stand there.

Those for React, Vue and Shopify's Liquid need npm: `./scripts/check hosts` runs them.
"""

import re
from html import escape, unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from location_context.parameters import WIDGET
from tests.serving import free_port
from tests.widget.browser import host, until
from tests.widget.embedding_page import blocks, code, sections, snippet
from tests.widget.full_app import STAY

NEED_NPM = {"React", "Vue", "Shopify"}
RUN_HERE = {
    "The two lines", "A booking form", "What guests open", "Plain HTML", "Without our script",
    "Another stay, theme or language",
    "Other single-page apps", "AMP", "E-mail", "Security policies", "Good to know",
}  # fmt: skip
RUN_BY_TEST_BREAKAGES = {"What breaks it"}
FRAME = "document.querySelector('iframe')"
OUTER = "innerWidth - document.documentElement.clientWidth"
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


def page(body: str) -> dict[str, str]:
    return {"/": f"<!doctype html><html lang=en><title>A host</title>{body}"}


def comes(page, part: str = "/v1/pulse"):
    """Wait until the last frame shows an address with this part; gives the frame."""
    for _ in range(500):
        if part in page.frames[-1].url:
            return page.frames[-1]
        page.wait_for_timeout(20)
    pytest.fail(f"in vain: {part}")


def fits(page) -> None:
    """Wait until the last frame is as tall as its content, without a scrollbar."""
    frame = comes(page)
    until(frame, "document.getElementById('w') !== null")
    whole = "Math.abs(innerHeight - document.getElementById('w').clientHeight) < 1"
    until(frame, f"{whole} && {OUTER} === 0")


def test_each_snippet_is_run_by_a_test():
    assert set(blocks()) == RUN_HERE | NEED_NPM | RUN_BY_TEST_BREAKAGES


def test_two_lines_size_the_widget(full, open_page):
    frame, script = snippet(full.url)
    with host(page(frame + script)) as origin:
        watched = open_page(origin)
        fits(watched.page)
        assert watched.complaints == []
        assert watched.elsewhere(full.url, origin) == []
        assert watched.page.context.cookies() == []


def made(full, own: str, part: str = "", **more: str) -> str:
    """What the page at `/` gives for the stay in the address of the guide's own code."""
    query = parse_qs(urlsplit(unescape(re.search(r'(?:src|href)="([^"]+)', own)[1])).query)
    return builders_code(full, {**query, "code": part, **more})


def builders_code(full, asked: dict) -> str:
    text = full.http.get(f"{full.url}/", params=asked).text
    found = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.DOTALL)[1]
    return unescape(re.sub(r"</?[bi][^>]*>", "", found))


def test_documented_lines_are_those_of_the_builder(full):
    two = code("The two lines", full.url)
    asked = {"lat": "43.3183", "lng": "-1.9812", "days": "7", "lang": "en"}
    assert two.split() == builders_code(full, asked).split()
    own, _ = snippet(full.url)
    plain = [
        re.sub(r"\s", "", re.sub(r' height="\d+"', "", one))
        for one in (own, made(full, own, plain="1"))
    ]
    assert plain[0] == plain[1]


def test_two_lines_show_the_widget_and_follow_a_form(full, open_page):
    headings = ("The two lines", "A booking form", "What guests open")
    two, form, listener = (code(one, full.url) for one in headings)
    _, _, script = two.partition("\n")
    fields = "<input id=checkin type=date><input id=checkout type=date>"
    with host(page(f"{fields}{form}{script}<script>{listener}</script>")) as origin:
        watched = open_page(origin)
        fits(watched.page)
        assert "days=7" in watched.page.frames[-1].url
        watched.page.fill("#checkin", "2026-11-28")
        watched.page.fill("#checkout", "2026-12-01")
        watched.page.locator("#checkout").dispatch_event("change")
        comes(watched.page, "start=2026-11-28&end=2026-12-01")
        assert watched.complaints == []


def test_documented_mail_code_is_that_of_the_builder(full, open_page):
    own = code("E-mail", full.url)
    given = made(full, own, "mail")
    said = r'(?<=alt=")[^"]*|(?<= height=")\w+'
    plain = [re.sub(r"\s+", " ", re.sub(said, "", one)).strip() for one in (own, given)]
    assert plain[0] == plain[1]
    with host(page(own)) as origin:
        watched = open_page(origin)
        until(watched.page, "document.images[0].complete && document.images[0].naturalWidth >= 600")
        watched.page.click("a")
        watched.page.wait_for_url("**/v1/pulse?**")
        assert watched.complaints == []


def test_table_of_parameters_is_complete():
    table = re.findall(r"^\| (`.+?`) \|", sections()["Plain HTML"], re.MULTILINE)
    names = [name for cell in table for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(names) == sorted(WIDGET)


@pytest.mark.parametrize("late", [False, True], ids=["at once", "after the widget spoke"])
def test_documented_listener_sizes_the_widget(full, open_page, late):
    frame, _ = snippet(full.url)
    listener = code("Without our script", full.url)
    with host(page(frame + ("" if late else listener))) as origin:
        watched = open_page(origin)
        if late:
            until(comes(watched.page), "document.readyState === 'complete'")
            watched.page.evaluate(re.sub(r"</?script>", "", listener))
        fits(watched.page)
        assert watched.complaints == []


def test_documented_change_leaves_the_history_alone(full, open_page):
    change = code("Another stay, theme or language", full.url)
    frame, script = snippet(full.url)
    with host({**page("before"), "/stay": page(frame + script)["/"]}) as origin:
        there = open_page(origin, fresh=True).page
        there.goto(f"{origin}/stay")
        fits(there)
        there.add_script_tag(content=change)
        for choices, said in (
            ({"start": "2027-09-03", "end": "2027-09-10"}, "start=2027-09-03&end=2027-09-10"),
            ({"theme": "dark"}, "end=2027-09-10&lang=en&theme=dark"),
            ({"lang": "de"}, "lang=de&theme=dark"),
        ):
            there.evaluate(f"(choices) => change({FRAME}, choices)", choices)
            comes(there, said)
            fits(there)
        there.go_back()
        assert there.url == f"{origin}/"


def test_changed_src_adds_a_history_entry(full, open_page):
    frame, script = snippet(full.url)
    with host(page(frame + script)) as origin:
        there = open_page(origin, fresh=True).page
        fits(there)
        before = there.evaluate("history.length")
        there.evaluate(f"{FRAME}.src += '&theme=dark'")
        comes(there, "theme=dark")
        assert there.evaluate("history.length") == before + 1


def test_moved_iframe_is_sized_again(full, open_page):
    frame, script = snippet(full.url)
    with host(page(f"<main></main><div>{frame}</div>{script}")) as origin:
        there = open_page(origin).page
        fits(there)
        for turn in (
            "document.querySelector('main').append(frame)",
            "frame.remove(); frame.style.height = ''; document.querySelector('div').append(frame)",
        ):
            with there.expect_event("framenavigated", lambda one: "/v1/pulse" in one.url):
                there.evaluate(f"{{ const frame = {FRAME}; {turn} }}")
            fits(there)


def test_documented_element_sizes_the_widget_in_its_shadow_root(full, open_page):
    define = code("Other single-page apps", full.url)
    address = escape(full.address(STAY))
    body = f'<stay-widget title="A stay" src="{address}"></stay-widget><script>{define}</script>'
    with host(page(body)) as origin:
        watched = open_page(origin)
        fits(watched.page)
        assert watched.complaints == []


def test_code_in_an_iframe_of_the_host_scrolls_in_a_single_place(full, open_page):
    """As in Wix: a box of a fixed size on another origin, which the code inside cannot change."""
    sandbox = 'sandbox="allow-scripts allow-same-origin allow-popups" width="700" height="600"'
    pages = {"/": ""}
    with host(page("".join(snippet(full.url)))) as block, host(pages) as origin:
        pages |= page(f'<iframe title="x" {sandbox} src="{block}"></iframe>')
        watched = open_page(origin)
        fits(watched.page)
        assert watched.page.frames[1].evaluate(OUTER) > 0
        assert watched.page.evaluate(OUTER) == 0
        assert watched.complaints == []


def test_address_in_an_iframe_of_the_host_scrolls_inside(full, open_page):
    box = f'<iframe title="x" src="{escape(full.address(STAY))}" width="700" height="600"></iframe>'
    with host(page(box)) as origin:
        watched = open_page(origin)
        until(comes(watched.page), f"{OUTER} > 0")
        assert watched.complaints == []


@pytest.mark.parametrize("place", ["in view", "below"])
def test_amp_sizes_the_widget_or_offers_to(full, open_page, place):
    """A stand-in for AMP's runtime that keeps the documented rules of `amp-iframe`."""
    above = '<div style="height:3000px">Above</div>' if place == "below" else ""
    with host(page(AMP_IFRAME + above + code("AMP", full.url))) as origin:
        watched = open_page(origin)
        there = watched.page
        if place == "in view":
            button = there.get_by_role("button", name="Show the whole widget")
            button.wait_for()
            assert there.evaluate(f"{FRAME}.clientHeight") == 600
            button.click()
        else:
            until(there, f"{FRAME}.clientHeight > 700")
        there.query_selector("iframe").scroll_into_view_if_needed()
        fits(there)
        assert there.frames[-1].url.endswith("#amp=1")
        assert there.query_selector("[placeholder]") is None
        assert watched.complaints == []


def test_documented_policy_needs_only_the_service(full, open_page):
    name, _, policy = code("Security policies", full.url).strip().partition(": ")
    frame, script = snippet(full.url)
    body = f"{frame}{script}"
    denied = "camera=(), geolocation=(), clipboard-write=(), fullscreen=(), microphone=()"
    headers = {name: policy, "Permissions-Policy": denied}
    with host(page(body), headers) as origin:
        watched = open_page(origin)
        fits(watched.page)
        assert watched.complaints == []


def test_nonce_with_strict_dynamic_loads_the_script(full, open_page):
    frame, script = snippet(full.url)
    policy = "script-src 'nonce-abc' 'strict-dynamic'"
    body = frame + script.replace("<script", '<script nonce="abc"')
    with host(page(body), {"Content-Security-Policy": policy}) as origin:
        watched = open_page(origin)
        fits(watched.page)
        assert watched.complaints == []


@pytest.mark.parametrize("up", [True, False])
def test_documented_code_hides_a_widget_whose_service_is_down(full, open_page, up):
    service = full.url if up else f"http://127.0.0.1:{free_port()}"
    frame, _ = snippet(service)
    _, _, script = code("Good to know", service).partition("<script>")
    there = open_page("about:blank").page
    there.clock.install()
    with host(page(f"{frame}<script>{script}")) as origin:
        there.goto(origin)
        assert there.is_visible("iframe")
        there.clock.fast_forward(5001)
        until(there, f"{FRAME}.hidden === {'false' if up else 'true'}")
        assert there.is_visible("iframe") == up
