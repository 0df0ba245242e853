"""Draw twelve stays of the widget in Chromium: print how high each is, and take pictures.

The sky is the service's own; weather, restaurants and events are the samples of tests/widget.
Needs the test requirements and Chromium.
Usage: python -m scripts.stays [--pictures FOLDER] [name ...]
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from location_context.settings import Settings
from tests.moved_clock import NOON, MovedClock
from tests.serving import free_port, serve
from tests.widget.browser import chromium_path
from tests.widget.samples.sections import sample_sections

WIDTHS = (320, 390, 500, 720, 1000, 1280)
HERE = "lat=43.3183&lng=-1.9812&place=San+Sebasti%C3%A1n"
STAYS = {
    "near": f"{HERE}&start=2026-11-26&end=2026-11-30",
    "crossing": f"{HERE}&start=2026-12-02&end=2026-12-10",
    "typical": f"{HERE}&start=2027-08-08&end=2027-08-14",
    "month": f"{HERE}&start=2027-08-01&end=2027-08-31",
    "season": f"{HERE}&start=2027-06-01&end=2027-08-31",
    "in-progress": f"{HERE}&start=2026-11-18&end=2026-11-24",
    "polar-night": "lat=69.6492&lng=18.9553&place=Troms%C3%B8&start=2026-12-01&end=2026-12-06",
    "no-guide": f"{HERE}&start=2026-11-26&end=2026-11-30&sections=weather,astronomy,events",
    "no-events": f"{HERE}&start=2026-11-26&end=2026-11-30&sections=weather,astronomy,guide",
    "tokyo": "lat=35.6812&lng=139.7671&start=2026-12-01&end=2026-12-05&lang=ja",
    "cairo": "lat=30.0444&lng=31.2357&start=2026-11-26&end=2026-11-30&lang=ar",
    "new-york": "lat=40.7128&lng=-74.006&start=2026-11-26&end=2026-11-30&lang=en-US&units=imperial",
    "compact": f"{HERE}&start=2026-11-26&end=2026-11-30&layout=compact",
}


def main(arguments: list[str]) -> None:
    folder = None
    if "--pictures" in arguments:
        at = arguments.index("--pictures")
        folder = Path(arguments[at + 1])
        folder.mkdir(parents=True, exist_ok=True)
        del arguments[at : at + 2]
    with sampled(NOON) as (browser, url):
        print(f"{'':12}" + "".join(f"{width:>7}" for width in WIDTHS))
        for name in arguments or STAYS:
            address = f"{url}/v1/pulse?{STAYS[name]}"
            print(f"{name:12}" + "".join(f"{one:7}" for one in heights(browser, address)))
            if folder:
                for width, theme in ((390, "light"), (1000, "light"), (390, "dark")):
                    file = folder / f"{name}-{width}-{theme}.png"
                    shoot(browser, f"{address}&theme={theme}", file, width)


@contextmanager
def sampled(now: datetime = NOON) -> Iterator[tuple[Browser, str]]:
    """Serve the samples at a time that stands, beside a browser; give that and the address."""
    clock, port = MovedClock(now), free_port()
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        settings = Settings(
            data_dir=Path(data), public_url=f"http://127.0.0.1:{port}", log_level="critical",
            widget_per_minute=100_000,
        )  # fmt: skip
        browser = playwright.chromium.launch(
            executable_path=chromium_path(),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        with serve(settings, clock=clock, sections=sample_sections(clock), port=port) as served:
            yield browser, served.url
        browser.close()


def heights(browser: Browser, address: str) -> list[int]:
    """Return the height of the page at each width, everything folded."""
    page = browser.new_page(viewport={"width": 390, "height": 600})
    page.goto(address)
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 600})
        found.append(page.evaluate("Math.ceil(document.getElementById('w').offsetHeight)"))
        over = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if over:
            print(f"  wider than {width}: {address}")
    page.close()
    return found


def shoot(browser: Browser, address: str, file: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 600})
    page.goto(address)
    page.screenshot(path=file, full_page=True)
    page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
