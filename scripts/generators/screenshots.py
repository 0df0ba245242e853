"""Take the pictures of docs/screenshots: the widget in Chromium at several places, and the builder.

The sky, holidays and sample guide are the service's own; the weather is made up from a small
climate (tests/widget/samples), and San Sebastián's restaurants and events are invented, so that
no provider is called. Needs Chromium, and fonts with Japanese and Arabic (Inter and Noto drew those
in the folder). Each picture is at most 150 KB.
"""

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from location_context.sections.section import Section, SectionContext
from location_context.sections.weather.section import Weather
from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.browser import chromium_path
from tests.widget.samples.sections import SampleWeather, sample_sections
from tests.widget.samples.weather import weather

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs" / "screenshots"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MOST_BYTES = 150_000
OFF = dict.fromkeys(
    ("open_meteo_forecast_url", "open_meteo_archive_url", "met_norway_url", "nasa_power_url",
     "open_holidays_url", "ticketmaster_url", "predicthq_url"), ""
)  # fmt: skip
DONOSTIA = "lat=43.3183&lng=-1.9812&place=San+Sebasti%C3%A1n&lang=en"
WEEK = f"{DONOSTIA}&start=2027-08-08&end=2027-08-15"
TOKYO = "lat=35.6812&lng=139.7671&start=2026-12-28&end=2027-01-03&lang=ja"
TROMSO = "lat=69.6492&lng=18.9553&start=2026-12-08&end=2026-12-13&lang=de"
TONGA = "lat=-21.1393&lng=-175.2049&start=2027-01-02&end=2027-01-08&lang=en-US&units=imperial"
ASWAN = "lat=24.0889&lng=32.8998&start=2027-01-03&end=2027-01-08&lang=ar"


class Shot(NamedTuple):
    """`whole` takes all samples; `height` is the most that is shown."""

    whole: bool
    width: int
    height: int
    path: str


SHOTS = {
    "san-sebastian-light": Shot(True, 720, 2900, f"/v1/pulse?{WEEK}"),
    "san-sebastian-straddling-dark": Shot(
        True, 720, 800, f"/v1/pulse?{DONOSTIA}&start=2026-12-02&end=2026-12-09&theme=dark"
    ),
    "tokyo-japanese-dark": Shot(False, 720, 2300, f"/v1/pulse?{TOKYO}&theme=dark&accent=%23e11d48"),
    "tromso-december-german-narrow": Shot(False, 360, 2300, f"/v1/pulse?{TROMSO}&accent=%231d4ed8"),
    "tonga-imperial-light": Shot(False, 720, 2300, f"/v1/pulse?{TONGA}&accent=%237c3aed"),
    "aswan-arabic-narrow": Shot(False, 320, 2300, f"/v1/pulse?{ASWAN}&accent=%23b45309"),
    "san-sebastian-compact": Shot(True, 500, 720, f"/v1/pulse?{WEEK}&layout=compact"),
    "builder": Shot(True, 1280, 1400, f"/?{WEEK}"),
    "builder-narrow": Shot(True, 400, 1700, f"/?{WEEK}"),
}


class MadeUpWeather(SampleWeather):
    """Stands where the weather section is built."""

    @classmethod
    def build(cls, context: SectionContext) -> "Section":
        clock = context.clock
        return cls(clock, lambda query: weather(query, clock()))


@contextmanager
def served(*, whole: bool) -> "Iterator[str]":
    """Serve all samples, or the real sections with invented weather."""
    clock, port = MovedClock(NOW), free_port()
    sections: Sequence[Section] | None = sample_sections(clock) if whole else None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if not whole:
            command = Path(sys.executable).with_name("location-context")
            sample = ROOT / "src/location_context/sections/guide/sample.csv"
            environ = {**os.environ, "LOCATION_CONTEXT_DATA_DIR": str(folder)}
            environ["XDG_DATA_HOME"] = str(folder)  # or it would become this user's first store
            subprocess.run([command, "guide", "import", sample], env=environ, check=True)
            stack.enter_context(patch.object(Weather, "build", MadeUpWeather.build))
        url = f"http://127.0.0.1:{port}"
        settings = Settings(
            data_dir=folder, public_url=url, widget_per_minute=10_000, log_level="error", **OFF
        )
        stack.enter_context(serve(settings, clock=clock, sections=sections, port=port))
        yield url


def shoot(browser: Browser, url: str, name: str) -> bytes:
    """Take one picture, with few colours if it would be too large."""
    _, width, height, path = SHOTS[name]
    scale = 1.5 if width < 500 else 1.25 if width < 800 else 1
    page = browser.new_page(
        locale="en-GB", viewport={"width": width, "height": 400}, device_scale_factor=scale
    )
    page.goto(url + path)
    page.wait_for_load_state("networkidle")
    content = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(height, content)})
    page.wait_for_load_state("networkidle")
    if page.locator("iframe").count():  # a preview that was out of sight loads only now
        page.frame_locator("iframe").first.locator("h1").wait_for()
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    for colours in (256, 128, 64, 48, 32):
        small = image.quantize(
            colours, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
        )
        file = io.BytesIO()
        small.save(file, "PNG", optimize=True)
        if len(file.getvalue()) <= MOST_BYTES:
            break
    return file.getvalue()


def files() -> dict[Path, bytes]:
    found: dict[Path, bytes] = {}
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=arguments)
        for whole in (True, False):
            with served(whole=whole) as url:
                for name in (name for name, shot in SHOTS.items() if shot.whole is whole):
                    found[OUT / f"{name}.png"] = shoot(browser, url, name)
        browser.close()
    return found
