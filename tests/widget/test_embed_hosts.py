"""The setting EMBED_HOSTS: which pages may show the widget."""

from collections.abc import Iterator
from html import escape

import httpx2
import pytest

from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.browser import host
from tests.widget.full_app import STAY, Full
from tests.widget.samples.sections import sample_sections


@pytest.fixture
def serving(tmp_path) -> Iterator:
    """Serves the widget with hosts that may show it; gives what `full` gives."""
    open_ones = []

    def make(*hosts: str) -> Full:
        clock, port = MovedClock(), free_port()
        url = f"http://127.0.0.1:{port}"
        settings = Settings(data_dir=tmp_path, public_url=url, embed_hosts=hosts)
        sections = sample_sections(clock)
        served = serve(settings, clock=clock, sections=sections, port=port)
        served.__enter__()
        http = httpx2.Client(trust_env=False, timeout=20)
        open_ones.append((served, http))
        return Full(url, clock, sections, http)

    yield make
    for served, http in open_ones:
        http.close()
        served.__exit__(None, None, None)


def ancestors(answer: httpx2.Response) -> str:
    return answer.headers["content-security-policy"].partition("frame-ancestors ")[2]


def test_policy_of_page_and_error_page_names_the_hosts_and_its_own_origin(serving):
    full = serving("https://a.example", "https://*.b.example:8443")
    expected = "'self' https://a.example https://*.b.example:8443"
    for _ in range(2):  # the second is given again
        assert ancestors(full.get()) == expected
    assert ancestors(full.get(lat="x")) == expected
    assert ancestors(full.http.post(full.address())) == expected


def test_page_cached_before_the_setting_is_sent_again(serving):
    tag = serving().get().headers["etag"]
    answer = serving("https://a.example").get(headers={"If-None-Match": tag})
    assert answer.status_code == 200


def test_only_a_listed_host_shows_the_widget(serving, open_page):
    page = '<!doctype html><html lang=en><title>A host</title><iframe title="x" src="{}"></iframe>'
    pages = {"/": ""}
    with host(pages) as listed, host(pages) as other:
        full = serving(listed)
        pages["/"] = page.format(full.address(STAY).replace("&", "&amp;"))
        assert open_page(listed).page.frames[1].query_selector(".card")
        refused = open_page(other)
        assert not refused.page.frames[1].query_selector(".card")
        assert refused.complains("frame-ancestors")
        assert open_page(full.url).page.frames[1].query_selector(".card"), "the builder's preview"


def test_frame_with_an_opaque_origin_cannot_be_listed(serving, open_page):
    """As docs/embedding.md says of systems that put code into a sandboxed iframe."""
    pages = {"/": ""}
    between = '<!doctype html><title>x</title><iframe title="x" {} srcdoc="{}"></iframe>'
    with host(pages) as listed:
        full = serving(listed)
        widget = escape(f'<iframe title="x" src="{escape(full.address(STAY))}"></iframe>')
        pages["/"] = between.format('sandbox="allow-scripts"', widget)
        refused = open_page(listed)
        assert refused.complains("frame-ancestors")
        pages["/"] = between.format("", widget)
        assert open_page(listed).page.frames[-1].query_selector(".card")
