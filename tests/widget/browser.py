"""What browser tests share: the system's Chromium, pages that watch themselves, axe, and hosts.

A `Watched` page keeps what the browser complained of and every address it requested, so that a
test can say: no console error, no CSP report, no request elsewhere. A window of Chromium takes most
of a second of a processor and a tab half of one, so the tests of a file share them.
"""

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, sync_playwright

from tests.patience import PATIENCE_SECONDS

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
    """A page, what its console said, and what it requested."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hears what the page says and asks for until the end of the block."""
        hears = {
            "console": lambda message: self._hear(message.type, message.text),
            "pageerror": lambda error: self._hear("error", str(error)),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, hear in hears.items():
            self.page.on(event, hear)
        yield
        for event, hear in hears.items():
            self.page.remove_listener(event, hear)

    def _hear(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(f"{kind}: {text}")

    @property
    def origin(self) -> str:
        """The origin of the page."""
        return "/".join(self.page.url.split("/")[:3])

    def complains(self, part: str) -> bool:
        """Wait until a complaint has this part: the browser sends them after the page's events."""
        for _ in range(500):
            if any(part in said for said in self.complaints):
                return True
            self.page.wait_for_timeout(20)
        return False

    def elsewhere(self, *origins: str) -> list[str]:
        """The requested addresses that are under none of the origins."""
        return [
            url
            for url in self.requests
            if not url.startswith(tuple(f"{origin}/" for origin in origins))
            and not url.startswith(("data:", "about:", "blob:"))
        ]

    def axe(self, *rules: str) -> list[str]:
        """What axe finds against WCAG 2.2 A and AA and its best practices, one line each.

        With `rules`, against these alone.
        """
        source = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
        self.page.evaluate(source)
        found: list[dict[str, Any]] = self.page.evaluate(
            """async (rules) => (await axe.run(document, {iframes: false,
                resultTypes: ["violations"], ...(rules.length && {runOnly: rules})})).violations""",
            rules,
        )
        return [
            f"{one['id']}: {one['help']}: {json.dumps([n['target'] for n in one['nodes']])}"
            for one in found
        ]


def assert_becomes(page: Page | Frame, expression: str, arg: Any = None) -> None:
    """Wait until the expression is true; Playwright waits by eval, which our policy stops."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while not page.evaluate(expression, arg):
        assert time.monotonic() < patience, f"in vain: {expression}"
        page.wait_for_timeout(15)


def shown(page: Page, part: str = "/v1/pulse") -> Frame:
    """Wait until the last frame shows an address with this part, and return the frame."""
    for _ in range(500):
        if part in page.frames[-1].url:
            return page.frames[-1]
        page.wait_for_timeout(20)
    pytest.fail(f"in vain: {part}")


def assert_fits(page: Page) -> None:
    """Wait until the last frame is as tall as its content, without a scrollbar."""
    assert_becomes(
        shown(page),
        """Math.abs(innerHeight - document.getElementById('w')?.clientHeight) < 1
          && innerWidth === document.documentElement.clientWidth""",
    )


HOST_PAGE = "<!doctype html><html lang=en><title>A host</title><body>"
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# the heights of the widget at these widths in px
HEIGHTS = """(widths) => widths.map((width) => {
  const page = document.getElementById("w");
  page.style.width = width + "px";
  return page.getBoundingClientRect().height;
})"""
SIZE = {"width": 1280, "height": 720}
MEDIA = {"color_scheme": "light", "forced_colors": "none", "reduced_motion": "no-preference"}
Open = Callable[..., Watched]


class Windows:
    """A browser's windows by the options of their contexts, and the tabs that are free."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: dict[str, BrowserContext] = {}
        self._free: dict[str, list[Page]] = {}

    @contextmanager
    def tab(self, options: Mapping[str, Any], *, fresh: bool) -> Iterator[Page]:
        """An empty tab; one that is not `fresh` may have a history of other tests."""
        name = json.dumps(options, sort_keys=True)
        if name not in self._contexts:
            self._contexts[name] = self._browser.new_context(**options)
            self._free[name] = [self._contexts[name].new_page()]
        free = self._free[name]
        page = self._contexts[name].new_page() if fresh or not free else free.pop()
        yield page
        if fresh or page.is_closed():
            page.close()
            return
        page.unroute_all()
        page.goto("about:blank")
        page.mouse.move(0, 0)
        free.append(page)


@pytest.fixture(scope="module")
def windows(chromium: Browser) -> Windows:
    return Windows(chromium)


@pytest.fixture
def open_page(windows: Windows) -> Iterator[Open]:
    """Opens pages, each in a tab of its own; options are those of a browser context.

    A test needs a `fresh` one if it counts the history, listens to the page, or runs scripts and
    sessions of its own there.
    """
    with ExitStack() as tabs:

        def open_one(address: str, *, fresh: bool = False, **options: Any) -> Watched:
            media = {name: options.pop(name, usual) for name, usual in MEDIA.items()}
            size = options.pop("viewport", SIZE)
            page = tabs.enter_context(windows.tab({"locale": "en-GB", **options}, fresh=fresh))
            page.set_viewport_size(size)
            page.emulate_media(media="null", **media)
            watched = Watched(page)
            tabs.enter_context(watched.listening())
            page.goto(address)
            return watched

        yield open_one


@pytest.fixture
def serve_host() -> Iterator[Callable[..., str]]:
    """Serves a host's page with a body and headers, and gives its origin."""
    with ExitStack() as hosts:

        def serve_one(body: str, headers: Mapping[str, str] | None = None) -> str:
            return hosts.enter_context(host({"/": HOST_PAGE + body}, headers))

        yield serve_one


@pytest.fixture
def open_host(open_page: Open, serve_host: Callable[..., str]) -> Open:
    """Opens a host's page with a body and headers; options are those of `open_page`."""

    def open_one(body: str, headers: Mapping[str, str] | None = None, **options: Any) -> Watched:
        return open_page(serve_host(body, headers), **options)

    return open_one


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
