"""/v1/pulse.svg: the stay as one picture, whose text stays in its place in any language."""

import re
from xml.etree import ElementTree as ET

import pytest

from location_context.widget import text_width
from location_context.widget.colour import contrast
from tests.parsed import hash_of
from tests.widget.browser import as_hex
from tests.widget.service import EXTREMES, FORECAST, LANGUAGES, STAY
from tests.widget.test_compact import (
    HALF_OF_KINDS,
    KINDS,
    LONG_PLACE,
    long_names,  # noqa: F401  a fixture
)
from tests.widget.test_page import words_of

MOST_BYTES = 16_896
SVG = "{http://www.w3.org/2000/svg}"
FONTS = ("", "DejaVu Sans", "Liberation Sans", "Liberation Serif", "DejaVu Sans Condensed")
OVER = """(font) => {
  const root = document.querySelector("svg");
  if (font) for (const one of root.querySelectorAll("text"))
    one.style.fontFamily = `"${font}", sans-serif`;
  const {width, height} = root.viewBox.baseVal, found = [];
  const boxes = [...root.querySelectorAll("text")].map((one) => [one.getBBox(), one.textContent]);
  for (const [box, text] of boxes)
    if (box.x < 8 || box.y < 4 || box.x + box.width > width - 8 || box.y + box.height > height)
      found.push(`outside: ${text}`);
  // lines may share the blank above and below their letters
  for (const [n, [one, text]] of boxes.entries()) for (const [other, said] of boxes.slice(n + 1)) {
    const across = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
    const down = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
    if (across > .5 && down > .35 * Math.min(one.height, other.height))
      found.push(`meet: ${text} / ${said}`);
  }
  return found;
}"""


ON = """() => [...document.querySelectorAll("text, tspan")].flatMap((one) => {
  const box = one.getBoundingClientRect(), down = box.top + box.height / 2;
  return [box.left + 1, box.left + box.width / 2, box.right - 1].map((across) => {
    const below = document.elementsFromPoint(across, down).filter((under) =>
      !under.matches("text, tspan, svg") && getComputedStyle(under).fill !== "none");
    const fill = below.length ? getComputedStyle(below[0]).fill : "none";
    return [getComputedStyle(one).fill, fill, one.textContent];
  });
})"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_svg_is_small_well_formed_and_loads_nothing(service, language):
    for given in KINDS.values():
        answer = service.picture(
            "svg", given, {"Accept-Encoding": "identity"}, lang=language, theme="auto"
        )
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("image/svg+xml")
        assert len(answer.content) <= MOST_BYTES
        root = ET.fromstring(answer.content)
        names = {one.tag.removeprefix(SVG) for one in root.iter()}
        assert names <= {
            "svg", "title", "desc", "style", "symbol", "rect", "path", "circle", "use", "text", "g",
            "tspan", "linearGradient", "stop",
        }  # fmt: skip
        for one in root.iter():
            for name, value in one.attrib.items():
                assert not name.startswith("on")
                assert name != "href" or value.startswith("#")
        assert not re.search(r"url\((?!#)|@import|var\(", answer.text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_svg_text_stays_within_its_reserved_box(service, open_page, language):
    page = open_page("about:blank", viewport={"width": 620, "height": 900}).page
    for kind in KINDS if language in EXTREMES else HALF_OF_KINDS:
        page.goto(str(service.picture("svg", KINDS[kind], lang=language).url))
        assert {font: page.evaluate(OVER, font) for font in FONTS} == {one: [] for one in FONTS}, (
            kind
        )


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_svg_breaks_long_names_into_lines(service, long_names, open_page, language):  # noqa: F811
    page = open_page("about:blank", viewport={"width": 620, "height": 900}).page
    answer = service.picture("svg", {**STAY, **long_names}, lang=language)
    page.goto(str(answer.url))
    assert page.evaluate(OVER, "") == []
    assert "".join(LONG_PLACE.split()) in re.sub(r"<[^>]+>|\s", "", answer.text)


def test_svg_has_title_and_description(service):
    root = ET.fromstring(service.picture("svg", lang="en").content)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "t d"
    said = root.find(f"{SVG}desc").text.replace("\u00a0", " ")
    assert root.find(f"{SVG}title").text == "San Sebastián"
    assert said.startswith("San Sebastián, Sat 7")
    for part in ("by day", "4 wet days in 10", "Sunset", "Restaurants: Goizargi (Three stars, ",
                 "Sat 14: Assumption Day."):  # fmt: skip
        assert part in said


def test_svg_obeys_theme_accent_sections_and_units_like_the_widget(service):
    dark = service.picture(
        "svg", theme="dark", accent="#b45309", sections="weather", units="imperial"
    ).text
    light = service.picture("svg", sections="weather").text
    assert "prefers-color-scheme" in service.picture("svg", theme="auto").text
    assert dark != light
    assert "Goizargi" not in dark
    assert "84–86°" in words_of(dark), "Fahrenheit"
    assert "29–30°" in words_of(light)


def test_svg_content_security_policy_allows_only_its_style_and_svg_is_cached_like_the_widget(
    service,
):
    answer = service.picture("svg")
    style = re.search(r"<style>(.*?)</style>", answer.text)[1]
    policy = answer.headers["content-security-policy"]
    assert policy == f"default-src 'none'; style-src {hash_of(style)}; frame-ancestors *"
    assert answer.headers["cache-control"] == service.page().headers["cache-control"]
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    again = service.picture("svg", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_error_for_a_picture_request_is_an_svg_with_the_http_status_of_the_error(service, ending):
    answer = service.picture(ending, lang="de", end="2027-08-01")
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.headers["cache-control"] == "no-store"
    assert "Wählen Sie die Daten Ihres Aufenthalts." in answer.text
    assert f"<!-- invalid_date_range {answer.headers['x-request-id']}: " in answer.text
    assert answer.headers["x-error-code"] == "invalid_date_range"
    assert ET.fromstring(service.picture(ending, theme="--><b>").content).tag == f"{SVG}svg"


def test_svg_text_has_no_outline(service, open_page):
    page = open_page(str(service.picture("svg", FORECAST, lang="en").url)).page
    strokes = "[...document.querySelectorAll('text')].map((one) => getComputedStyle(one).stroke)"
    assert set(page.evaluate(strokes)) == {"none"}


def test_query_values_cannot_inject_markup(service):
    evil = "</title><script>alert(1)</script>&<style>*{fill:red}"
    root = ET.fromstring(service.picture("svg", place=evil).content)
    assert root.find(f"{SVG}title").text == evil
    assert not list(root.iter(f"{SVG}script"))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("Donaudampfschifffahrt", ["Donaudam", "pfschifffah", "rt"]),
        ("東京は晴れ、風も弱い。", ["東京は晴", "れ、風も", "弱い。"]),
        ("16\u00a0km 20\u00a0km", ["16\u00a0km", "20\u00a0km"]),
    ],
)
def test_svg_text_breaks_at_spaces_or_inside_overlong_words_but_never_at_no_break_spaces(
    text, lines
):
    found = text_width.lines(text, 10, 60 if text[0] != "東" else 42)
    assert found == lines


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_svg_text_has_enough_contrast_with_its_background(service, open_page, kind, theme):
    address = str(service.picture("svg", KINDS[kind], lang="en", theme=theme).url)
    page = open_page(address, viewport={"width": 620, "height": 1200}).page
    seen = page.evaluate(ON)
    assert seen
    weak = [
        (ink, ground, text)
        for ink, ground, text in seen
        if contrast(as_hex(ink), as_hex(ground)) < 4.5
    ]
    assert weak == []
