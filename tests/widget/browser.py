"""What browser tests share: the system's Chromium, pages that watch themselves, axe, and hosts.

A `Watched` page keeps what the browser complained of and every address it asked for, so that a
test can say: no console error, no CSP report, no request elsewhere.
"""

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium_path() -> str | None:
    """The browser that CHROMIUM names, or the system's."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def chromium(ci: bool) -> Iterator[Browser]:
    """One browser for a file: its loop must not outlive the tests that drive it."""
    path = chromium_path()
    if path is None:
        said = "no Chromium here: install Debian's package chromium, or set CHROMIUM to its path"
        pytest.fail(said) if ci else pytest.skip(said)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            ignore_default_args=["--hide-scrollbars"],  # as on Windows and Linux
        )
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, what its console said, and what it asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def elsewhere(self, *origins: str) -> list[str]:
        """The addresses asked for that are under none of the origins."""
        return [
            url
            for url in self.asked
            if not url.startswith(tuple(f"{origin}/" for origin in origins))
            and not url.startswith(("data:", "about:", "blob:"))
        ]

    def axe(self) -> list[str]:
        """What axe finds against WCAG 2.2 A and AA and its best practices, one line each."""
        source = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
        self.page.evaluate(source)
        found: list[dict[str, Any]] = self.page.evaluate(
            "async () => (await axe.run(document, {iframes: false})).violations"
        )
        return [
            f"{one['id']}: {one['help']}: {json.dumps([n['target'] for n in one['nodes']])}"
            for one in found
        ]


def until(page: Page, expression: str, arg: Any = None) -> None:
    """Wait until the expression is true; Playwright waits by eval, which our policy stops."""
    patience = time.monotonic() + 15
    while not page.evaluate(expression, arg):
        assert time.monotonic() < patience, f"in vain: {expression}"
        page.wait_for_timeout(15)


Open = Callable[..., Watched]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens pages, each in a context of its own; options are those of a browser context."""
    contexts = []

    def open_one(address: str, **options: Any) -> Watched:
        context = chromium.new_context(**{"locale": "en-GB", **options})
        contexts.append(context)
        watched = Watched(context.new_page())
        page = watched.page
        page.on("console", lambda message: _heard(watched, message.type, message.text))
        page.on("pageerror", lambda error: watched.complaints.append(f"error: {error}"))
        page.on("request", lambda request: watched.asked.append(request.url))
        page.goto(address)
        return watched

    yield open_one
    for context in contexts:
        context.close()


def _heard(watched: Watched, kind: str, text: str) -> None:
    if kind in {"error", "warning"}:
        watched.complaints.append(f"{kind}: {text}")


@contextmanager
def host(pages: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """A host's own web server with these pages by path, sent with headers; gives its origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that the library calls
            body = {"/favicon.ico": "", **pages}.get(self.path.partition("?")[0])
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def as_hex(colour: str) -> str:
    """`#0f766e` for the browser's `rgb(15, 118, 110)`."""
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour))
