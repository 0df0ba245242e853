"""Write src/location_context/widget/heights.json: how tall the parts of a widget are, by width.

Chromium draws the sample sections of tests/widget, all folded, for a stay of three days and one of
nine, one of eight without events, a typical one, the year and the compact card.
`widget/embedding.py` and embed.js add the parts up. Run it after a change of looks;
tests/widget/test_heights.py says when.
Each part is the lowest of three families of fonts: languages shorter than English are then near it.
Needs Chromium, and Debian's fonts-dejavu-core, fonts-liberation and fonts-noto-core.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from scripts.stays import HERE, sampled

OUT = Path(__file__).parents[2] / "src" / "location_context" / "widget" / "heights.json"
# on both sides of every change of the layout
WIDTHS = (280, 320, 390, 431, 432, 500, 559, 560, 639, 640, 720, 879, 880, 1000, 1200)
STAYS = {
    "three": f"{HERE}&start=2026-11-26&end=2026-11-28",
    "nine": f"{HERE}&start=2026-11-24&end=2026-12-02",
    "bare": f"{HERE}&start=2026-11-26&end=2026-12-03&sections=weather,astronomy,guide",
    "typical": f"{HERE}&start=2027-08-08&end=2027-08-13",
    "year": f"{HERE}&start=2026-11-26&end=2026-11-28&sections=year",
    "compact": f"{HERE}&start=2026-11-26&end=2026-11-30&layout=compact",
}
GAP = 8  # px between cards
FAMILIES = ("dejavu", "liberation", "noto")  # folders of Debian's fonts
FONTCONFIG = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>/usr/share/fonts/truetype/{family}</dir><cachedir>{folder}</cachedir>
<include ignore_missing="yes">/etc/fonts/conf.d</include></fontconfig>"""
MEASURE = """(widths) => {
  const page = document.getElementById("w"), tall = (one) => one.getBoundingClientRect().height;
  for (const card of document.querySelectorAll(".col > .card")) card.style.flex = "none";
  return widths.map((width) => {
    page.style.width = width + "px";
    const found = { page: tall(page), frame: 0 };
    for (const card of document.querySelectorAll(".card"))
      if (card.id) found[card.id] = tall(card);
      else found.frame += tall(card);
    return found;
  });
}"""


def files() -> dict[Path, str]:
    tables = [measured(family) for family in FAMILIES]
    lowest = {
        name: list(map(min, zip(*(table[name] for table in tables), strict=True)))
        for name in tables[0]
    }
    return {OUT: layout(lowest)}


@contextmanager
def only_fonts(family: str) -> Iterator[None]:
    """Let programs that use fontconfig see one family alone."""
    if not Path("/usr/share/fonts/truetype", family).is_dir():
        raise SystemExit(
            f"/usr/share/fonts/truetype/{family} is missing: install its Debian package"
        )
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder, "fonts.conf")
        file.write_text(FONTCONFIG.format(family=family, folder=folder))
        patch.setenv("FONTCONFIG_FILE", str(file))
        yield


def measured(family: str) -> dict[str, list[int]]:
    found: dict[str, list[dict[str, Any]]] = {}
    with only_fonts(family), sampled() as (browser, url):
        page = browser.new_page(viewport={"width": 1300, "height": 800}, bypass_csp=True)
        for name, stay in STAYS.items():
            page.goto(f"{url}/v1/pulse?{stay}")
            found[name] = page.evaluate(MEASURE, list(WIDTHS))
    return parts(found)


def parts(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[int]]:
    """Each part with the gap below it; `row` is what a day adds."""
    three, nine = found["three"], found["nine"]
    rows = [(b["stay"] - a["stay"]) / 6 for a, b in zip(three, nine, strict=True)]
    return {
        "widths": list(WIDTHS),
        "frame": [round(one["frame"] + GAP) for one in nine],
        "stay": [round(one["stay"] + GAP - 3 * row) for one, row in zip(three, rows, strict=True)],
        "row": [round(row) for row in rows],
        "bare": [
            round((one["stay"] - few["stay"] + 3 * row) / 8)
            for one, few, row in zip(found["bare"], three, rows, strict=True)
        ],
        "typical": [round(one["stay"] + GAP) for one in found["typical"]],
        "astronomy": [round(one["astronomy"] + GAP) for one in nine],
        "guide": [round(one["guide"] + GAP) for one in nine],
        "year": [round(one["year"] + GAP) for one in found["year"]],
        "compact": [round(one["page"]) for one in found["compact"]],
    }


def layout(table: dict[str, list[int]]) -> str:
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items()]
    return "{" + ",\n".join(lines) + "}\n"
