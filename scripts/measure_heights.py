"""Write src/location_context/widget/heights.json: how tall the parts of a full widget are.

Chromium draws the sample sections of tests/widget (restaurants of six tiers, a dozen events) by
width, days and kind of weather, with each folder of fonts, the full page in two languages; a height
is the mean of the lowest and the highest. `widget/embedding.py` adds the parts up. Run it after a
change of looks; tests/widget/test_heights.py says when it is due. Needs the test requirements,
Chromium and Debian's packages fonts-dejavu-core, fonts-noto-core and fonts-liberation.
Usage: python scripts/measure_heights.py [folder of fonts …]
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import Page, Playwright, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


from tests.moved_clock import MovedClock  # noqa: E402
from tests.serving import free_port, serve  # noqa: E402
from tests.widget.browser import chromium_path  # noqa: E402
from tests.widget.samples.sections import Sample, sample_sections  # noqa: E402

from location_context.sections.contract import Applicable, NotApplicable, Query  # noqa: E402
from location_context.sections.section import Section  # noqa: E402
from location_context.settings import Settings  # noqa: E402  the path comes first

OUT = ROOT / "src" / "location_context" / "widget" / "heights.json"
# on both sides of every change of the layout
WIDTHS = (280, 320, 360, 440, 559, 560, 639, 640, 680, 720, 900, 1200)
FONTS = [f"/usr/share/fonts/truetype/{name}" for name in ("dejavu", "noto", "liberation")]
LANGUAGES = ("en", "ja")  # ja has the shortest text
FONT_SETTINGS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{cache}</cachedir>
<include ignore_missing="yes">/etc/fonts/conf.d</include></fontconfig>"""
COMPACT_OUT = OUT.with_name("compact_heights.json")
COMPACT_WIDTHS = (280, 320, 367, 368, 384, 400, 420, 440, 463, 464, 500, 560, 640, 733, 900)
SHORT_DAYS = 3
LISTS = {"guide", "events"}  # sections that stand side by side there
SIDE_BY_SIDE = 464  # px from which cards of half the width share a row there
DAYS = (1, 4, 7, 8, 10, 11, 15, 22, 35, 36, 39, 40, 60, 92)
NEAR = date(2026, 11, 21)  # the clock's today
FAR = date(2027, 8, 7)
USUAL_DAYS = 8  # of stays whose length changes nothing
SPLIT_NEAR_DAYS = 4  # days within the horizon of a stay that reaches over it
MEASURE = """(widths) => {
  const page = document.getElementById("w"), tall = (one) => one.getBoundingClientRect().height;
  return widths.map((width) => {
    page.style.width = width + "px";
    const found = {};
    for (const card of document.querySelectorAll("section.card"))
      found[card.classList[1]] = tall(card);
    found.page = tall(page);
    return found;
  });
}"""


def main() -> None:
    """Measure and write."""
    folders = sys.argv[1:] or FONTS
    if missing := [folder for folder in folders if not Path(folder).is_dir()]:
        sys.exit(f"no such folder of fonts: {', '.join(missing)}")
    clock, port = MovedClock(), free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = Settings(
            data_dir=Path(folder), public_url=url, log_level="error", widget_per_minute=100_000
        )
        low, full = [], []
        for fonts, lang in product(folders, LANGUAGES):
            sections = sample_sections(clock)
            with (
                serve(settings, clock=clock, sections=sections, port=port),
                window(playwright, fonts, lang, Path(folder)) as page,
            ):
                if lang == LANGUAGES[0]:
                    low.append(compact(page, url, sections))
                full.append(measured(page, url, sections))
    COMPACT_OUT.write_text(
        json.dumps(middle(low), separators=(",", ":")).replace("],", "],\n") + "\n"
    )
    OUT.write_text(json.dumps(middle(full), separators=(",", ":")).replace("]],", "]],\n") + "\n")


@contextmanager
def window(playwright: Playwright, fonts: str, lang: str, folder: Path) -> Iterator[Page]:
    """A wide window of a browser that has only these fonts and asks for this language."""
    settings = folder / "fonts.conf"
    settings.write_text(FONT_SETTINGS.format(folder=fonts, cache=folder / "fonts"))
    browser = playwright.chromium.launch(
        executable_path=chromium_path(),
        args=["--no-sandbox", "--disable-dev-shm-usage"],
        env={**os.environ, "FONTCONFIG_FILE": f"{settings}"},
    )
    yield browser.new_page(viewport={"width": 1200, "height": 9000}, locale=lang)
    browser.close()


def middle(found: Any) -> Any:
    """The mean of the lowest and the highest of measurements of one shape."""
    first = found[0]
    if isinstance(first, dict):
        return {name: middle([one[name] for one in found]) for name in first}
    if isinstance(first, (list, tuple)):
        return [middle(alike) for alike in zip(*found, strict=True)]
    return round((min(found) + max(found)) / 2)


def measured(page: "Page", url: str, sections: "Sequence[Section]") -> dict[str, object]:
    """Every part in px: a row for each number of days, in it each width."""
    found: dict[str, object] = {"widths": WIDTHS, "days": DAYS, "split_near_days": SPLIT_NEAR_DAYS}
    near = Open(page, url, NEAR)
    straddling = Open(page, url, NEAR + timedelta(days=16 - SPLIT_NEAR_DAYS))
    far = Open(page, url, FAR)
    for one in sections:
        if one.splits_at_horizon:
            found[f"{one.name}.near"] = [near.part(min(n, 15), one.name) for n in DAYS]
            found[f"{one.name}.split"] = [straddling.part(n, one.name) for n in DAYS]
            found[f"{one.name}.far"] = [far.part(n, one.name) for n in DAYS]
        else:
            found[one.name] = [far.part(n, one.name) for n in DAYS]
    lists = [one for one in sections if isinstance(one, Sample) and not one.splits_at_horizon]
    found["rows"] = rows = {one.name: [0, 0] for one in lists}
    for one in lists:
        _count(one, rows[one.name], short=False)
    Open(page, url, FAR, lat=44).part(DAYS[0], lists[0].name)
    for one in lists:
        _count(one, rows[one.name], short=True)
    short = Open(page, url, FAR, lat=45)
    for one in lists:
        found[f"{one.name}.short"] = [short.part(n, one.name) for n in DAYS]
    found["frame"] = [far.rest(n, *(one.name for one in sections)) for n in DAYS]
    for one in sections:
        alone = Open(page, url, FAR, more=f"&sections={one.name}")
        found[f"frame.{one.name}"] = [alone.rest(USUAL_DAYS, one.name)] * len(DAYS)
    return found


def _count(section: "Sample", rows: list[int], *, short: bool) -> None:
    """Count the rows of a sample's next answers; a short one lists its first entry alone."""
    make = section.make

    def made(query: "Query") -> "Applicable | NotApplicable":
        body = make(query)
        fields = [name for name in ("restaurants", "events") if short and hasattr(body, name)]
        body = replace(body, **{name: getattr(body, name)[:1] for name in fields})
        rows[0 if short else 1] = section.rows(body)
        return body

    section.make = made


def compact(page: "Page", url: str, sections: "Sequence[Section]") -> dict[str, Sequence[int]]:
    """Every part of a compact page in px at each of its widths: with all sections, and alone."""
    halves = [name for name in (one.name for one in sections) if name in LISTS]
    whole = [one.name for one in sections if one.name not in LISTS]
    found: dict[str, Sequence[int]] = {"widths": COMPACT_WIDTHS}
    every, short = _means(page, url, ""), _means(page, url, "", SHORT_DAYS)
    for one in sections:
        found[one.name] = [heights[one.name] for heights in every]
    found["frame"] = [
        heights["page"]
        - sum(heights[name] for name in whole)
        - (max if width >= SIDE_BY_SIDE else sum)(heights[name] for name in halves)
        for width, heights in zip(COMPACT_WIDTHS, every, strict=True)
    ]
    for name in whole:
        found[f"{name}.short"] = [heights[name] for heights in short]
    alone = {one.name: _means(page, url, one.name) for one in sections}
    for name in halves:
        found[f"{name}.alone"] = [heights[name] for heights in alone[name]]
    found["frame.alone"] = [
        round(sum(heights["page"] - heights[name] for name, heights in same.items()) / len(same))
        for same in (
            dict(zip(alone, row, strict=True)) for row in zip(*alone.values(), strict=True)
        )
    ]
    return found


def _means(page: "Page", url: str, sections: str, days: int = 8) -> list[dict[str, int]]:
    """The mean heights of three stays at each width."""
    starts = (NEAR, NEAR + timedelta(days=16 - SPLIT_NEAR_DAYS), FAR)
    more = f"&layout=compact&sections={sections}"
    seen = [Open(page, url, start, more=more).at(days, COMPACT_WIDTHS) for start in starts]
    return [
        {name: round(sum(one[name] for one in same) / len(same)) for name in same[0]}
        for same in zip(*seen, strict=True)
    ]


class Open:
    """Widgets of stays that begin on a day, measured once for each number of days."""

    def __init__(
        self, page: "Page", url: str, start: date, more: str = "", lat: float = 43.3183
    ) -> None:
        self._page, self._start = page, start
        self._address = f"{url}/v1/pulse?lat={lat}&lng=-1.9812&place=San%20Sebastián{more}"
        self._seen: dict[int, list[dict[str, float]]] = {}

    def part(self, days: int, name: str) -> list[int]:
        """A card's height at each width."""
        return [round(one[name]) for one in self.at(days)]

    def rest(self, days: int, *names: str) -> list[int]:
        """What the page has besides some cards, at each width."""
        return [round(one["page"] - sum(one[name] for name in names)) for one in self.at(days)]

    def at(self, days: int, widths: Sequence[int] = WIDTHS) -> list[dict[str, float]]:
        """The heights of the page and of its cards at each width."""
        if days not in self._seen:
            end = self._start + timedelta(days=days - 1)
            self._page.goto(f"{self._address}&start={self._start}&end={end}")
            self._seen[days] = self._page.evaluate(MEASURE, list(widths))
        return self._seen[days]


if __name__ == "__main__":
    main()
