"""Write src/location_context/widget/heights.json: how tall the parts of a widget are, by width.

Chromium draws the sample sections of tests/widget, all folded, for a stay of three days and one of
nine, one of eight without events, a typical one and the compact card. `widget/embedding.py` and
embed.js add the parts up. Run it after a change of looks; tests/widget/test_heights.py says when.
Needs Chromium.
"""

import json
from pathlib import Path
from typing import Any

from scripts.stays import sampled

OUT = Path(__file__).parents[2] / "src" / "location_context" / "widget" / "heights.json"
# on both sides of every change of the layout
WIDTHS = (280, 320, 390, 431, 432, 500, 559, 560, 639, 640, 720, 879, 880, 1000, 1200)
HERE = "lat=43.3183&lng=-1.9812&place=San+Sebasti%C3%A1n"
STAYS = {
    "three": f"{HERE}&start=2026-11-26&end=2026-11-28",
    "nine": f"{HERE}&start=2026-11-24&end=2026-12-02",
    "bare": f"{HERE}&start=2026-11-26&end=2026-12-03&sections=weather,astronomy,guide",
    "typical": f"{HERE}&start=2027-08-08&end=2027-08-13",
    "compact": f"{HERE}&start=2026-11-26&end=2026-11-30&layout=compact",
}
GAP = 8  # px between cards
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
    found: dict[str, list[dict[str, Any]]] = {}
    with sampled() as (browser, url):
        page = browser.new_page(viewport={"width": 1300, "height": 800}, bypass_csp=True)
        for name, stay in STAYS.items():
            page.goto(f"{url}/v1/pulse?{stay}")
            found[name] = page.evaluate(MEASURE, list(WIDTHS))
    return {OUT: layout(parts(found))}


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
        "compact": [round(one["page"]) for one in found["compact"]],
    }


def layout(table: dict[str, list[int]]) -> str:
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items()]
    return "{" + ",\n".join(lines) + "}\n"
