"""The compact layout: the same truth in a card that is low, small, and wholly in sight."""

import re
from datetime import date, timedelta

import msgspec
import pytest

from location_context.sections.card import PlainCard
from location_context.sections.contract import NotApplicable
from tests.parsed import Parsed, hash_of
from tests.widget.service import EXTREMES, FORECAST, LANGUAGES, STAY, STRADDLING
from tests.widget.test_page import words_of

TALLEST, MOST_BYTES = 720, 8_960
KINDS = {
    "near": FORECAST,
    "both": STRADDLING,
    "far": STAY,
    "near_two_weeks": {**FORECAST, "end": "2026-12-05"},
    "both_month": {**STRADDLING, "end": "2027-01-02"},
    "far_40_days": {**STAY, "end": "2027-09-15"},
    "far_92_days": {**STAY, "end": "2027-11-06"},
}
# the widest first; one that is not installed counts as the default
FONTS = ("DejaVu Sans", "Liberation Sans", "Noto Sans")
HALF_OF_KINDS = ("near", "far", "both_month", "far_92_days")
LONG_NAME = "Landgasthof zum Goldenen Hirschen am Alten Fischmarkt"
LONG_TITLE = "Internationales Musikfest der Kammerorchester: Eröffnungskonzert im Dom"
LONG_PLACE = "Ferienwohnung Haus Meeresblick am Alten Leuchtturm, Garmisch-Partenkirchen"
LAID_OUT = """(widths) => widths.map((width) => {
  const page = document.getElementById("w");
  page.style.width = width + "px";
  const edge = page.getBoundingClientRect();
  const outside = [...page.querySelectorAll("h1,h2,p,b,a,li,span:not(.vh),svg")].filter((one) => {
    const box = one.getBoundingClientRect();
    return one.getClientRects().length && !one.closest("details,.vh") &&
      (box.left < edge.left || box.right > edge.right + .5);
  });
  const cut = [...page.querySelectorAll("*")].filter((one) =>
    !one.closest(".vh") && /auto|scroll|hidden/.test(getComputedStyle(one).overflow));
  return [edge.height, outside.length + cut.length];
})"""


SET_IN = """(font) => {
  document.getElementById("w").style.fontFamily = `"${font}", sans-serif`;
}"""


def compact(service, given=STAY, headers=None, **more):
    return service.page(given, headers, layout="compact", **more)


@pytest.fixture
def long_names(service):
    """The samples with names as long as real ones become, at another point.

    For one test alone: what others ask for meanwhile would be cached with these names.
    """

    def restaurants(body):
        rows = [msgspec.structs.replace(one, name=LONG_NAME) for one in body.restaurants]
        return msgspec.structs.replace(body, restaurants=rows)

    def programme(body):
        rows = [
            one
            if one.category == "public_holiday"
            else msgspec.structs.replace(one, title=LONG_TITLE)
            for one in body.events
        ]
        return msgspec.structs.replace(body, events=rows)

    with service.answering("guide", restaurants), service.answering("events", programme):
        yield {"lat": "46.6", "place": LONG_PLACE}


@pytest.mark.parametrize("language", LANGUAGES)
def test_compact_page_with_all_sections_is_under_nine_kilobytes(service, language):
    for kind, given in KINDS.items():
        answer = compact(service, given, {"Accept-Encoding": "br"}, lang=language, theme="auto")
        assert int(answer.headers["content-length"]) <= MOST_BYTES, kind
        assert len(re.findall(r'<section class="sec', answer.text)) == 3  # days, sky, tables


@pytest.mark.parametrize("language", LANGUAGES)
def test_compact_page_is_at_most_720_px_tall_and_cuts_off_no_content(service, open_page, language):
    page = open_page("about:blank", viewport={"width": 1300, "height": 1300}).page
    for kind in KINDS if language in EXTREMES else HALF_OF_KINDS:
        page.goto(service.address(KINDS[kind], layout="compact", lang=language))
        for font in FONTS:
            page.evaluate(SET_IN, font)
            [(tall, wrong)] = page.evaluate(LAID_OUT, [500])
            assert (tall <= TALLEST, wrong) == (True, 0), (kind, font, tall)
        page.evaluate(SET_IN, FONTS[0])
        (narrow, _), *_ = found = page.evaluate(LAID_OUT, [280, 320, 463, 720, 1200])
        assert narrow < 2 * TALLEST, kind
        assert [wrong for _, wrong in found] == [0] * 5, kind


@pytest.mark.parametrize("language", ["en", "de", "ar", "ja"])
def test_compact_page_keeps_its_height_with_long_names(service, long_names, open_page, language):
    page = open_page("about:blank", viewport={"width": 1300, "height": 1300}).page
    for kind in KINDS if language == "en" else HALF_OF_KINDS:
        more = {**long_names, "layout": "compact", "lang": language}
        page.goto(service.address({**KINDS[kind], **more}))
        (tall, wrong), (_, narrow) = page.evaluate(LAID_OUT, [500, 280])
        assert (tall <= TALLEST, wrong, narrow) == (True, 0, 0), (kind, tall)


def test_compact_page_cuts_off_no_text_at_double_text_size(service, open_page):
    page = open_page(service.address(layout="compact", lang="de")).page
    page.evaluate("document.documentElement.style.fontSize = '32px'")
    assert [wrong for _, wrong in page.evaluate(LAID_OUT, [320, 500, 720])] == [0, 0, 0]


def test_compact_page_links_to_outside_pages_and_to_the_full_widget(service):
    answer = compact(service, theme="dark", accent="#b45309", lang="fr", sections="guide,weather")
    links = [attributes for tag, attributes in Parsed(answer.text).tags if tag == "a"]
    for attributes in links:
        assert attributes["rel"] == "noopener noreferrer nofollow"
        assert attributes["target"] == "_blank"
    [whole] = [one["href"] for one in links if one["href"].startswith(service.url)]
    assert "Tout sur ce séjour" in words_of(answer.text)
    shown = service.http.get(whole)
    assert (
        shown.text
        == service.page(theme="dark", accent="#b45309", lang="fr", sections="guide,weather").text
    )


def test_compact_page_has_each_source_with_its_full_notice(service):
    whole, low = service.page(lang="en").text, compact(service, lang="en").text
    notices, below = (
        text.partition("<footer")[2].partition('<div class="in">')[2].partition("</details>")[0]
        for text in (whole, low)
    )
    assert words_of(below).split() == words_of(notices).split()
    named = low.partition("<footer")[2].partition("<details")[0]
    for name in (
        "Open-Meteo",
        "Copernicus DEM",
        "OpenStreetMap",
        "Sample guide 2026, not current",
    ):
        assert name in words_of(named)


def test_compact_page_has_the_security_policy_and_script_of_the_full_page(service):
    answer, page = compact(service), Parsed(compact(service).text)
    policy = answer.headers["content-security-policy"]
    [style], [script] = page.blocks["style"], page.blocks["script"]
    assert f"style-src {hash_of(style)}" in policy
    assert f"script-src {hash_of(script)}" in policy
    assert Parsed(service.page().text).blocks["script"] == [script]
    assert answer.headers["cache-control"] == service.page().headers["cache-control"]
    for _, attributes in page.tags:
        assert not {"style", "src"} & set(attributes)


def test_each_layout_is_cached_separately_and_full_is_the_default(service):
    low, whole = compact(service), service.page()
    assert low.headers["etag"] != whole.headers["etag"]
    assert compact(service).content == low.content
    again = compact(service, headers={"If-None-Match": low.headers["etag"]})
    assert again.status_code == 304
    named = service.page(layout="full").text
    assert named.replace("%26layout%3Dfull", "") == whole.text


def test_wrong_layout_is_refused_and_a_misspelt_name_gets_a_hint(service):
    wrong = service.page(layout="small", lang="en")
    assert wrong.status_code == 400
    assert wrong.headers["x-error-code"] == "invalid_layout"
    assert "layout is &#39;small&#39;; accepted: full, compact. -->" in wrong.text
    assert "did you mean layout?" in service.page(layuot="compact").text


def test_oembed_link_of_a_compact_page_returns_the_compact_layout(service):
    link = re.search(r'href="(\S+oembed\S+)"', compact(service).text)[1]
    assert "layout%3Dcompact" in link
    assert "layout=compact" in service.http.get(link).json()["html"]


def rows_of(text):
    days = text.partition('<ol class="days')[2].partition("</ol>")[0]
    return re.findall(r'<div class="row"', days)


def test_compact_page_with_forecast_days_marks_the_days_with_typical_weather(service):
    text = compact(service, STRADDLING, lang="en").text
    assert len(rows_of(text)) == 5  # four of the forecast; the rest is one of its kind
    assert len(re.findall(r'<li class="\s*typ">', text)) == 1
    assert "Forecast to" in words_of(text)


@pytest.mark.parametrize(("days", "rows"), [(1, 0), (10, 0), (11, 2), (35, 5), (36, 4), (92, 4)])
def test_compact_page_of_a_long_stay_shows_weeks_and_if_cut_off_names_the_full_page(
    service, days, rows
):
    """Up to ten typical days are facts and dates; of weeks there is room for five."""
    end = date(2027, 8, 7) + timedelta(days=days - 1)
    text = compact(service, {**STAY, "end": f"{end}"}, lang="en").text
    assert len(rows_of(text)) == rows
    assert ("on the full page" in text) == (days > 35)
    assert ('<ul class="dated">' in text) == (rows == 0)


def test_compact_page_shows_the_restaurants_of_the_highest_tiers_and_a_holiday(service):
    said = words_of(compact(service, lang="en").text)
    for name in ("Goizargi", "Ataria 1899", "Kresala", "Assumption Day"):
        assert name in said
    assert "Three stars" in compact(service, lang="en").text


def test_compact_page_omits_a_section_without_an_answer(service):
    absent = NotApplicable(reason="no_guide_loaded", message="-")
    with service.answering("guide", lambda _: absent):
        text = compact(service, lat="43.9").text
    assert 'aria-labelledby="h-astronomy"' in text
    assert 'aria-labelledby="h-guide"' not in text


def test_compact_page_uses_the_place_name_as_title_if_the_full_title_is_too_long(
    service, long_names
):
    text = compact(service, {**FORECAST, **long_names}, lang="en").text
    assert LONG_TITLE not in text
    assert LONG_NAME in text


def test_axe_finds_no_violation_in_the_compact_page(service, open_page):
    for theme, lang in (("light", "de"), ("dark", "ar")):
        address = service.address(STRADDLING, layout="compact", theme=theme, lang=lang)
        watched = open_page(address, viewport={"width": 500, "height": 720})
        assert watched.axe() == []
        assert watched.complaints == []
        assert watched.elsewhere(service.url) == []


def test_card_without_its_own_compact_version_gets_a_generated_compact_version():
    plain = PlainCard(heading="Air", lead="Good air.", facts=[("Mon", "good"), ("Tue", "fair")])
    brief = plain.card().brief
    assert (brief.heading, brief.lead) == ("Air", "Good air.")
    assert [(item.name, item.note) for item in brief.items] == [("good", "Mon"), ("fair", "Tue")]
