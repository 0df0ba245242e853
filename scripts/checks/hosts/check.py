"""Test the components of docs/embedding.md in apps of their frameworks, in Chromium.

`./scripts/check hosts` runs it. The code is taken from the page. A column of the table is an app
and its build; a row is something that a host relies on. An app starts without widgets and shows
those that it is given.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    ElementHandle,
    Error,
    Frame,
    Page,
    sync_playwright,
)
from rich.console import Console
from rich.table import Table

from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.browser import assert_becomes, chromium_path, host
from tests.widget.embedding_page import code
from tests.widget.samples.sections import sample_sections

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WORK = ROOT / ".hosts"
COMPONENTS = {"React": "Stay.jsx", "Vue": "Stay.vue"}
MODES = ("development", "production")  # React's StrictMode is strict in development only
WEEK = {"lat": 43.3183, "lng": -1.9812, "start": "2027-08-08", "end": "2027-08-15"}
SHORT = {**WEEK, "sections": "astronomy", "lang": "de"}
LATER = {**WEEK, "start": "2027-09-03", "end": "2027-09-10"}
COUNT_LISTENERS = """if (parent === window) {
  const live = new Set();
  window.listeners = () => live.size;
  for (const [name, act] of [["addEventListener", "add"], ["removeEventListener", "delete"]]) {
    const own = window[name];
    window[name] = function (type, listener, ...rest) {
      if (type === "message" && (this ?? window) === window) live[act](listener);
      return own.call(this ?? window, type, listener, ...rest);
    };
  }
}"""
SHOWS = """([place, end]) => document.querySelectorAll("iframe")[place].src.includes(end)"""
FITS = """() => {
  const page = document.getElementById("w");
  const bar = innerWidth - document.documentElement.clientWidth;
  return page !== null && Math.abs(innerHeight - page.clientHeight) < 1 && bar === 0;
}"""


@dataclass
class Tried:
    """An app's page, where it was before, and what its console and network said."""

    page: Page
    before: str
    service: str
    complaints: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def show(self, *stays: dict[str, Any]) -> list[Frame]:
        """Have the app show widgets for these stays, and wait until they fit."""
        self.page.evaluate("(stays) => show(stays)", list(stays))
        assert_becomes(
            self.page, "(all) => document.querySelectorAll('iframe').length === all", len(stays)
        )
        for place, stay in enumerate(stays):
            assert_becomes(self.page, SHOWS, [place, stay["end"]])
        return self.fit()

    def fit(self) -> list[Frame]:
        """Wait until all widgets are as tall as they ask."""
        shown = [loaded(one, self.page) for one in self.page.query_selector_all("iframe")]
        for frame in shown:
            assert_becomes(frame, FITS)
        return shown

    def listeners(self) -> int:
        return int(self.page.evaluate("listeners()"))


def loaded(element: ElementHandle, page: Page) -> Frame:
    """Scroll to an iframe and return its frame once it shows a widget."""
    element.scroll_into_view_if_needed()
    for _ in range(500):
        frame = element.content_frame()
        if frame and "/v1/pulse" in frame.url:
            return frame
        page.wait_for_timeout(20)
    raise AssertionError("in vain: a widget")


def mounted(app: Tried) -> bool:
    return len(app.show(WEEK)) == 1 and app.listeners() == 1


def unmounted(app: Tried) -> bool:
    return not app.show() and app.listeners() == 0


def remounted(app: Tried) -> bool:
    return len(app.show(WEEK)) == 1 and app.listeners() == 1


def two_at_once(app: Tried) -> bool:
    tall, short = (one.evaluate("innerHeight") for one in app.show(WEEK, SHORT))
    return bool(tall > short) and app.listeners() == 2


def stay_changed(app: Tried) -> bool:
    (frame,) = app.show(LATER)
    return "2027-09-03" in frame.url and app.listeners() == 1


def height_followed(app: Tried) -> bool:
    heights = []
    for width in (1000, 420):
        app.page.set_viewport_size({"width": width, "height": 700})
        heights += [one.evaluate("innerHeight") for one in app.fit()]
    for summary in app.page.frames[-1].query_selector_all("summary"):
        summary.click()
        app.fit()
    return len(set(heights)) == 2


def no_history(app: Tried) -> bool:
    app.page.go_back()
    return app.page.url == app.before


def quiet(app: Tried) -> bool:
    """Check that the console is silent, and that no other host was contacted."""
    known = (f"{app.service}/", app.before)
    return not app.complaints and all(url.startswith(known) for url in app.requested)


CHECKS: dict[str, Callable[[Tried], bool]] = {
    "mounted": mounted,
    "unmounted": unmounted,
    "remounted": remounted,
    "two at once": two_at_once,
    "stay changed": stay_changed,
    "height followed": height_followed,
    "no history": no_history,
    "console quiet": quiet,
}


def run(command: list[str], given: str = "") -> str:
    """Return the output of a command of Node.js."""
    done = subprocess.run(
        command, cwd=WORK, input=given, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(service: str) -> None:
    """Install what is locked, unless it is there, and build each app with the page's component."""
    wanted = (HERE / "package-lock.json").read_text()
    stamp = WORK / "installed"
    if not (stamp.is_file() and stamp.read_text() == wanted):
        print("Installing package-lock.json …", file=sys.stderr)
        shutil.rmtree(WORK, ignore_errors=True)
        shutil.copytree(HERE, WORK, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        stamp.write_text(wanted)
    shutil.copytree(
        HERE, WORK, ignore=shutil.ignore_patterns("*.py", "__pycache__"), dirs_exist_ok=True
    )
    for heading, name in COMPONENTS.items():
        (WORK / name).write_text(code(heading, service))
    run(["node", "build.js"])


def text(body: str) -> str:
    return f"<!doctype html><html lang=en><title>An app</title>{body}"


@contextmanager
def opened(browser: Browser, service: str, pages: dict[str, str]) -> Iterator[Tried]:
    """Open a host's page at `/app`, after the one at `/`."""
    with host({"/": text("Before"), **pages}) as origin:
        page = browser.new_page(viewport={"width": 900, "height": 700})
        tried = Tried(page, f"{origin}/", service)
        page.on("pageerror", lambda error: tried.complaints.append(str(error)))
        page.on("request", lambda request: tried.requested.append(request.url))
        page.on(
            "console",
            lambda said: said.type in {"error", "warning"} and tried.complaints.append(said.text),
        )
        page.add_init_script(COUNT_LISTENERS)
        page.goto(tried.before)
        page.goto(f"{origin}/app")
        yield tried
        page.close()


def passed(name: str, check: Callable[[], bool]) -> str:
    """`yes` if the check holds."""
    try:
        return "yes" if check() else "NO"
    except (AssertionError, Error) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return "NO"


def tried_apps(browser: Browser, service: str) -> dict[str, list[str]]:
    """Check each app, in the order of the checks."""
    results = {}
    page = text('<div id="app"></div><script src="/app.js"></script>')
    for name, mode in [(name, mode) for name in COMPONENTS for mode in MODES]:
        app = (WORK / "built" / f"{name.lower()}-{mode}" / "app.js").read_text()
        with opened(browser, service, {"/app": page, "/app.js": app}) as tried:
            results[f"{name}, {mode}"] = [
                passed(f"{name}, {mode}, {title}", partial(check, tried))
                for title, check in CHECKS.items()
            ]
        for said in tried.complaints:
            print(f"{name}, {mode}: {said}", file=sys.stderr)
    return results


def shop(browser: Browser, service: str) -> bool:
    """Return whether the Liquid template shows a widget of its product's place, sized and quiet."""
    made = run(["node", "liquid.js"], code("Shopify", service))
    with opened(browser, service, {"/app": text(made)}) as tried:
        (frame,) = tried.fit()
        title = tried.page.get_attribute("iframe", "title")
        place = frame.inner_text("h1")
    return title == "Around Room & <View>" and "Room & <View>" in place and quiet(tried)


def main() -> None:
    clock, port = MovedClock(), free_port()
    service = f"http://127.0.0.1:{port}"
    build(service)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = Settings(data_dir=Path(folder), public_url=service, log_level="error")
        browser = playwright.chromium.launch(
            executable_path=chromium_path(),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            ignore_default_args=["--hide-scrollbars"],
        )
        with serve(settings, clock=clock, sections=sample_sections(clock), port=port):
            results = tried_apps(browser, service)
            template = passed("Shopify", lambda: shop(browser, service))
        browser.close()
    table = Table("", *results)
    for row in zip(CHECKS, *results.values(), strict=True):
        table.add_row(*row)
    Console().print(table)
    print(f"Shopify's template, rendered by LiquidJS, is sized and quiet: {template}")
    sys.exit(0 if {template, *chain(*results.values())} == {"yes"} else 1)


if __name__ == "__main__":
    main()
