"""The widget in an untouched WordPress: what its oEmbed consumer keeps, what its script does.

Played after WordPress 6.1: from a provider it does not trust, it keeps `a`, `blockquote` and
`iframe` with a few attributes, needs the `blockquote` to load its script, hides the iframe until it
speaks, and sets its height, 200 to 1000 px, on `{secret, message: "height", value}` from its own
window. `./scripts/check wordpress` tries the real one.
"""

import re
from html import escape, unescape
from html.parser import HTMLParser

import pytest
from playwright.sync_api import Frame

from tests.widget.browser import assert_becomes, assert_fits
from tests.widget.service import FORECAST

ALLOWED = {
    "a": {"href"},
    "blockquote": set(),
    "iframe": {"src", "width", "height", "frameborder", "marginwidth", "marginheight", "scrolling",
               "title"},
}  # fmt: skip
SECRET = "aB3dE6gH9k"
DEFAULT_SIZE = "&maxwidth=500&maxheight=750&dnt=1&format=json"
SCRIPT = """<script>
addEventListener("message", ({data, source}) => {
  if (!data || /[^a-zA-Z0-9]/.test(data.secret)) return;
  for (const one of document.querySelectorAll("blockquote[data-secret]"))
    one.style.display = "none";
  for (const frame of document.querySelectorAll(`iframe[data-secret="${data.secret}"]`)) {
    if (source !== frame.contentWindow) continue;
    frame.removeAttribute("style");
    if (data.message === "height")
      frame.height = Math.min(1000, Math.max(200, parseInt(data.value, 10)));
  }
});
addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe.wp-embedded-content"))
    frame.contentWindow.postMessage({message: "ready", secret: frame.dataset.secret}, "*");
});
</script>"""


class Filtered(HTMLParser):
    """What is left of a snippet: allowed tags with allowed attributes, and the text in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.left: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ALLOWED:
            attributes = (
                f' {name}="{escape(v or "")}"' for name, v in attrs if name in ALLOWED[tag]
            )
            self.left.append(f"<{tag}{''.join(attributes)}>")

    def handle_endtag(self, tag: str) -> None:
        self.left += [f"</{tag}>"] if tag in ALLOWED else []

    def handle_data(self, data: str) -> None:
        self.left.append(escape(data))


def embedded(service, address: str) -> str:
    """What stands on the blog's page for an address on a line of its own."""
    page = service.http.get(address).text
    link = re.search(r'<link rel="alternate" type="application/json\+oembed" href="([^"]+)"', page)
    answer = service.http.get(unescape(link[1]) + DEFAULT_SIZE).json()
    left = "".join(Filtered(answer["html"]).left)
    found = re.search(r"(<blockquote>.*?</blockquote>)?.*(<iframe.*?></iframe>)", left, re.DOTALL)
    quote, frame = found.groups()
    assert quote, "without it WordPress does not load its script"
    frame = re.sub(r' src="([^"]*)"', rf' src="\1#?secret={SECRET}" data-secret="{SECRET}"', frame)
    hidden = 'style="position: absolute; clip: rect(1px, 1px, 1px, 1px);"'
    wordpress = (
        f'class="wp-embedded-content" sandbox="allow-scripts" security="restricted" {hidden}'
    )
    quote = quote.replace("<blockquote", f'<blockquote data-secret="{SECRET}"')
    return quote + frame.replace("<iframe", f"<iframe {wordpress}")


def blog(body: str, script: str = SCRIPT) -> str:
    return f"{script}<p>Before</p>{body}<p>After</p>"


def speaks(watched) -> Frame:
    """Wait until WordPress shows the widget as tall as its content, and return its frame."""
    assert_becomes(watched.page, "document.querySelector('blockquote').style.display === 'none'")
    assert_fits(watched.page)
    assert watched.complaints == []
    return watched.page.frames[1]


@pytest.mark.parametrize("script_first", [True, False], ids=["script first", "script late"])
def test_short_widget_is_as_tall_as_its_content_in_wordpress(service, open_host, script_first):
    body = embedded(service, service.address(FORECAST, sections="weather"))
    watched = open_host(blog(body) if script_first else blog(body, "") + SCRIPT)
    speaks(watched)
    assert watched.page.is_visible("iframe")
    assert watched.page.query_selector("iframe").bounding_box()["width"] == 500, "no border"


@pytest.mark.parametrize("language", ["en", "de", "ja", "ar"])
def test_wordpress_shows_the_compact_widget_if_the_full_widget_is_too_tall(
    service, open_host, language
):
    body = embedded(service, service.address(lang=language))
    assert "layout=compact" in body
    assert 500 < int(re.search(r' height="(\d+)"', body)[1]) <= 750
    frame = speaks(open_host(blog(body)))
    assert frame.evaluate("document.querySelectorAll('section.sec').length") == 3


def test_full_layout_is_1000_px_tall_and_scrolls_in_wordpress(service, open_host):
    page = open_host(blog(embedded(service, service.address(layout="full")))).page
    assert_becomes(page, "document.querySelector('iframe').clientHeight === 1000")
    assert_becomes(page.frames[1], "innerWidth > document.documentElement.clientWidth")


def test_error_page_is_sized_in_wordpress(service, open_host):
    body = embedded(service, service.address()).replace("lat=43.3183", "lat=north")
    page = open_host(blog(body)).page
    assert_becomes(page, "document.querySelector('iframe').clientHeight < 500")
    assert page.is_visible("iframe")


def test_wordpress_shows_the_link_without_javascript(service, open_host):
    body = blog(embedded(service, service.address()))
    link = open_host(body, java_script_enabled=False).page.query_selector("blockquote a")
    assert link.is_visible()
    assert "lat=43.3183" in link.get_attribute("href")
    assert link.inner_text() == "Weather, sky, restaurants and events in San Sebastián"


@pytest.mark.parametrize("ending", ["", "#?secret=a%22b", "#?secret=", "#secret=abc"])
def test_widget_sends_no_wordpress_message_without_a_valid_secret(service, open_host, ending):
    address = escape(service.address(FORECAST))
    record = """<script>
    var messages = []; addEventListener('message', ({data}) => messages.push(data))</script>"""
    page = open_host(f'{record}<iframe title="x" src="{address}{ending}"></iframe>').page
    assert_becomes(page, "messages.length >= 2")
    assert not page.evaluate("messages.some((one) => one.secret !== undefined)")


def test_oembed_html_hides_the_link_on_a_page_without_wordpress(service, open_host):
    body = service.get("/v1/oembed", url=service.address()).json()["html"]
    assert open_host(body).page.is_hidden("blockquote")
