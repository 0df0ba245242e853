"""The two lines of the snippet on hosts' pages, before the widget has spoken or without scripts."""

import html
import re

import pytest

from tests.widget.browser import host, until
from tests.widget.full_app import FORECAST, STAY, STRADDLING

WIDTHS = (280, 300, 340, 400, 500, 555, 563, 600, 637, 643, 680, 719, 720)
SILENT = "<!doctype html><title>x</title>"
WORST = 0.05  # between the CSS and the measured heights, of which the tests of heights tell
PAGE = "<!doctype html><html lang=en><title>A host</title>"
BOX = """() => {
  const frame = document.querySelector("iframe"), style = getComputedStyle(frame);
  return [frame.offsetWidth, frame.offsetHeight, style.borderTopWidth, style.display];
}"""


def lines(full, given: dict[str, str], **more: str) -> list[str]:
    """The code of the page at `/`."""
    text = full.http.get(f"{full.url}/", params={**given, **more}).text
    code = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.DOTALL)[1]
    return html.unescape(re.sub(r"</?[bi][^>]*>", "", code)).split("\n")


def reserved(full, given: dict[str, str], width: int) -> int:
    """What oEmbed reserves at a width up to 720 px, which is exact there."""
    asked = {"url": full.address(given), "maxwidth": str(width)}
    return full.http.get(f"{full.url}/v1/oembed", params=asked).json()["height"]


@pytest.fixture
def hosted(full, open_page):
    """Opens a host's page with a body and headers; the widget's page is silent and empty."""
    served = []

    def open_one(body: str, headers: dict[str, str] | None = None, **options):
        one = host({"/": PAGE + body}, headers)
        origin = one.__enter__()
        served.append(one)
        watched = open_page("about:blank", viewport={"width": 1300, "height": 700}, **options)
        watched.page.route(
            f"{full.url}/v1/pulse?**",
            lambda route: route.fulfill(body=SILENT, content_type="text/html"),
        )
        watched.page.goto(origin)
        return watched

    yield open_one
    for one in served:
        one.__exit__(None, None, None)


def misses(full, page, given: dict[str, str]) -> list[str]:
    """The widths at which the frame is not as wide as its column or not as tall as reserved."""
    said = []
    for width in WIDTHS:
        page.evaluate(
            "(width) => document.querySelector('#column').style.width = width", f"{width}px"
        )
        page.evaluate("dispatchEvent(new Event('resize'))")
        wide, tall, border, _ = page.evaluate(BOX)
        true = reserved(full, given, width)
        if wide != width or border != "0px" or abs(tall / true - 1) > WORST:
            said.append(f"{wide} x {tall} px, border {border} in {width} px, for {true} px")
    return said


@pytest.mark.parametrize("given", [FORECAST, STRADDLING, STAY], ids=["near", "both", "far"])
@pytest.mark.parametrize("sections", ["", "weather", "astronomy", "guide,events"])
def test_without_scripts_the_height_follows_the_width_of_the_column(full, hosted, given, sections):
    given = {**given, "sections": sections}
    column = f'<div id="column">{lines(full, given)[0]}</div>'
    page = hosted(column).page
    assert misses(full, page, given) == []


@pytest.mark.parametrize("column", ["float:left", "display:inline-block", "display:table-cell"])
def test_a_column_as_wide_as_its_content_is_as_wide_as_for_an_iframe(full, hosted, column):
    first = lines(full, STAY)[0]
    page = hosted(f'<div style="{column}">{first}</div>').page
    assert page.evaluate(BOX)[0] == 300
    assert hosted(f'<div style="display:flex">{first}</div>').page.evaluate(BOX)[0] > 1000


def test_without_a_style_a_strict_host_reserves_by_the_width_and_complains_of_nothing(full, hosted):
    frame, script = lines(full, FORECAST, strict="1")
    assert "style" not in frame
    policy = f"default-src 'none'; frame-src {full.url}; script-src {full.url}; style-src 'self'"
    column = f'<main id="column">{frame}</main>{script}'
    watched = hosted(column, {"Content-Security-Policy": policy})
    until(watched.page, "document.querySelector('iframe').style.height")
    assert misses(full, watched.page, FORECAST) == []
    assert watched.complaints == []
    refused = hosted(lines(full, FORECAST)[0], {"Content-Security-Policy": policy})
    assert any("style" in said for said in refused.complaints), "so that it would be heard"


def test_a_strict_host_gets_the_true_height_once_the_widget_speaks(full, open_page):
    frame, script = lines(full, FORECAST, strict="1")
    policy = f"default-src 'none'; frame-src {full.url}; script-src {full.url}; style-src 'self'"
    body = PAGE + frame + script
    with host({"/": body}, {"Content-Security-Policy": policy}) as origin:
        watched = open_page(origin)
        page = watched.page
        until(page, "document.querySelector('iframe').style.height.endsWith('px')")
        until(
            page.frames[1],
            "Math.abs(innerHeight - document.getElementById('w').clientHeight) < 1",
        )
        assert page.evaluate(
            "document.querySelector('iframe').offsetWidth === document.body.clientWidth"
        )
        assert watched.complaints == []


@pytest.mark.parametrize("strict", ["", "1"])
def test_a_host_without_styles_keeps_the_height_of_a_usual_column(full, hosted, strict):
    frame = re.sub(r' (style|data-reserve)="[^"]*"', "", lines(full, FORECAST, strict=strict)[0])
    page = hosted(frame).page
    assert page.evaluate(BOX)[1] - 4 == reserved(full, FORECAST, 720), "with its border"
