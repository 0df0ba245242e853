"""The setting EMBED_HOSTS: which pages may show the widget."""

from collections.abc import Iterator
from contextlib import ExitStack
from html import escape

import httpx2
import pytest

from tests.widget.browser import host
from tests.widget.service import Service, serving


@pytest.fixture
def serve_for(tmp_path) -> Iterator:
    """Serves the widget with the hosts that may show it."""
    with ExitStack() as stack:
        yield lambda *hosts: stack.enter_context(serving(tmp_path, embed_hosts=hosts))


def ancestors(answer: httpx2.Response) -> str:
    return answer.headers["content-security-policy"].partition("frame-ancestors ")[2]


def test_frame_ancestors_of_page_and_error_page_list_allowed_hosts_and_own_origin(serve_for):
    service: Service = serve_for("https://a.example", "https://*.b.example:8443")
    expected = "'self' https://a.example https://*.b.example:8443"
    for _ in range(2):  # the second is cached
        assert ancestors(service.page()) == expected
    assert ancestors(service.page(lat="x")) == expected
    assert ancestors(service.http.post(service.address())) == expected


def test_page_cached_before_allowed_hosts_were_set_is_sent_again(serve_for):
    tag = serve_for().page().headers["etag"]
    answer = serve_for("https://a.example").page(headers={"If-None-Match": tag})
    assert answer.status_code == 200


def test_widget_is_shown_only_on_allowed_hosts(serve_for, open_page):
    page = '<!doctype html><html lang=en><title>A host</title><iframe title="x" src="{}"></iframe>'
    pages = {"/": ""}
    with host(pages) as listed, host(pages) as other:
        service = serve_for(listed)
        pages["/"] = page.format(escape(service.address()))
        assert open_page(listed).page.frames[1].query_selector(".card")
        refused = open_page(other)
        assert not refused.page.frames[1].query_selector(".card")
        assert refused.complains("frame-ancestors")
        preview = open_page(service.url).page.frames[1]
        assert preview.query_selector(".card"), "the builder's preview"


def test_widget_is_refused_inside_a_frame_with_an_opaque_origin_on_an_allowed_host(
    serve_for, open_page
):
    """As docs/embedding.md says of systems that put code into a sandboxed iframe."""
    pages = {"/": ""}
    between = '<!doctype html><title>x</title><iframe title="x" {} srcdoc="{}"></iframe>'
    with host(pages) as listed:
        service = serve_for(listed)
        widget = escape(f'<iframe title="x" src="{escape(service.address())}"></iframe>')
        pages["/"] = between.format('sandbox="allow-scripts"', widget)
        assert open_page(listed).complains("frame-ancestors")
        pages["/"] = between.format("", widget)
        assert open_page(listed).page.frames[-1].query_selector(".card")
