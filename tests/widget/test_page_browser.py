"""The widget's page in Chromium: for everybody, at every width, and inert whatever comes in."""

import itertools
import re
from functools import partial

import msgspec
import pytest

from tests.widget.browser import SIDEWAYS
from tests.widget.hostile import LINKS, TEXTS
from tests.widget.service import EXTREMES, FORECAST, LANGUAGES, STAY, STRADDLING

TALL = 9000  # px that hold every page, so that no scrollbar takes of the width
WIDTHS = (280, 320, 360, 480, 559, 560, 639, 640, 720, 900, 1200)
OVERFLOWS = """() => {
  const page = document.getElementById('p').getBoundingClientRect();
  const wide = [...document.querySelectorAll('#p *')].filter((one) => {
    if (one.closest('.vh, svg')) return false;
    const box = one.getBoundingClientRect();
    return box.width && (box.right > page.right + 1 || box.left < page.left - 1);
  });
  return wide.map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 40)}`);
}"""
CLIPPED = """() => [...document.querySelectorAll('b, p, h3, dd, li > span')]
  .filter((one) => !one.closest('.vh') && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).overflowX !== 'visible')
  .map((one) => one.textContent)"""

# observers are called in the order in which they were made, and idle callbacks run in order
SEEN_AND_IDLE = """(one) => new Promise((done) => new IntersectionObserver((seen, own) => {
  own.disconnect(), requestIdleCallback(done);
}).observe(one))"""

# reading a box makes Chromium lay out the element, even inside a closed <details>
REMEMBER_LAID_OUT = """{
  const { getBoundingClientRect } = Element.prototype;
  window.laidOut = new Set();
  Element.prototype.getBoundingClientRect = function () {
    laidOut.add(this);
    return getBoundingClientRect.call(this);
  };
}"""


@pytest.mark.parametrize(
    ("language", "theme"),
    [
        *itertools.product(EXTREMES, ("light", "dark")),
        *zip((one for one in LANGUAGES if one not in EXTREMES), itertools.cycle(("light", "dark"))),
    ],
)
def test_axe_finds_no_violation_in_any_language_in_light_and_dark(
    service, open_page, language, theme
):
    watched = open_page(service.address(STRADDLING, lang=language, theme=theme))
    for details in watched.page.query_selector_all("summary"):
        details.click()
    assert watched.axe() == []
    assert watched.complaints == []
    assert watched.elsewhere(service.url) == []


@pytest.mark.parametrize("accent", ["#ffff00", "#ff00aa", "#ffffff"])
def test_axe_finds_no_violation_with_an_extreme_accent_colour(service, open_page, accent):
    watched = open_page(service.address(FORECAST, accent=accent, theme="auto"), color_scheme="dark")
    assert watched.axe() == []


@pytest.mark.parametrize("language", ["en", "de", "ar", "ja", "en-US"])
def test_page_fits_its_width_from_280_to_1200_px(service, open_page, language):
    long = "Bad Sankt Leonhard im Lavanttal an der Donaudampfschifffahrtsgesellschaft " + "x" * 40
    page = open_page(service.address(STRADDLING, lang=language, place=long)).page
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": TALL})
        assert page.evaluate(SIDEWAYS) <= 0, width
        assert page.evaluate(OVERFLOWS) == [], width
        assert page.evaluate(CLIPPED) == [], width


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_calendar_link_stands_beside_the_title_of_the_stay_card(service, open_page, language):
    page = open_page(service.address(STAY, lang=language)).page
    for width in (320, 375, 1000):
        page.set_viewport_size({"width": width, "height": TALL})
        link, title = (page.locator(one).bounding_box() for one in (".cal", "#h-stay"))
        assert abs(link["y"] - title["y"]) < 6, width
        beside = link["x"] + link["width"] <= title["x"], title["x"] + title["width"] <= link["x"]
        assert any(beside), width


TOPS = "(all) => all.map((one) => one.getBoundingClientRect().top)"


@pytest.mark.parametrize("sections", ["", "weather,astronomy,events", "astronomy"])
def test_sun_arc_fits_its_column(service, open_page, sections):
    given = {"sections": sections} if sections else {}
    page = open_page(service.address(STAY, **given)).page
    for width in (390, 500, 720, 1000, 1280):
        page.set_viewport_size({"width": width, "height": TALL})
        assert page.locator(".arc svg").bounding_box()["width"] >= 190, width
        assert len({*page.eval_on_selector_all(".times p", TOPS)}) == 1, width


@pytest.mark.parametrize("language", LANGUAGES)
def test_sunrise_and_sunset_times_are_in_one_row_on_a_phone(service, open_page, language):
    page = open_page(service.address(STAY, lang=language)).page
    for width in (360, 375, 390, 430):
        page.set_viewport_size({"width": width, "height": TALL})
        assert len({*page.eval_on_selector_all(".times p", TOPS)}) == 1, width


@pytest.mark.parametrize("width", [320, 640])
@pytest.mark.parametrize("language", ["de", "fr"])
def test_large_and_widely_spaced_text_is_not_cut_off(service, open_page, width, language):
    page = open_page(service.address(STAY, lang=language), bypass_csp=True).page
    page.set_viewport_size({"width": width, "height": 800})
    page.add_style_tag(content="html{font-size:200%}")
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate(OVERFLOWS) == []
    assert page.evaluate(SIDEWAYS) <= 0
    assert page.evaluate(TOUCHING, ".days .hi, .days .lo") == []
    spaced = (
        "*{line-height:1.5!important;letter-spacing:.12em!important;word-spacing:.16em!important}"
    )
    page.add_style_tag(content=spaced)
    assert page.evaluate(CLIPPED) == []


def test_folded_details_can_be_opened_with_the_keyboard(service, open_page):
    page = open_page(service.address(STAY, lang="en")).page
    for summary in page.query_selector_all("summary"):
        summary.focus()
        page.keyboard.press("Enter")
    assert page.evaluate("[...document.querySelectorAll('details')].every((one) => one.open)")


def test_page_lays_out_a_folded_list_as_soon_as_the_page_is_visible_and_idle(service, open_page):
    page = open_page(service.address(STAY, lang="en"), fresh=True).page
    page.add_init_script(REMEMBER_LAID_OUT)
    page.reload()
    lists = page.locator("details").all()
    assert lists
    for folded in lists:
        folded.scroll_into_view_if_needed()
        folded.evaluate(SEEN_AND_IDLE)
        assert folded.evaluate("(one) => laidOut.has(one.lastElementChild)")


def test_touch_on_a_list_selects_no_text_and_shows_no_tap_highlight(service, open_page):
    """Either costs a finger's first frame a third of its time on a phone."""
    line = open_page(service.address(STAY, lang="en")).page.locator("summary").first
    style = line.evaluate(
        "(one) => ['userSelect', 'webkitTapHighlightColor'].map((of) => getComputedStyle(one)[of])"
    )
    assert style == ["none", "rgba(0, 0, 0, 0)"]


def test_page_shows_everything_without_javascript(service, open_page):
    page = open_page(service.address(STAY, lang="en"), java_script_enabled=False).page
    for what in ("#stay .big", "#astronomy .light", "#guide .rest"):
        assert page.locator(what).first.is_visible()
    page.locator("#guide summary").click()
    assert page.locator("#guide details .rest").first.is_visible()


def test_drawings_have_screen_reader_text(service, open_page):
    tree = open_page(service.address(STAY, lang="en")).page.locator("body").aria_snapshot()
    assert "chance of rain" in tree
    assert "sunrise" in tree
    tree = open_page(service.address(FORECAST, lang="en")).page.locator("body").aria_snapshot()
    assert re.search("Sunday,? (22 November|November 22)", tree)
    assert "arrival" in tree


def test_every_click_target_is_at_least_24_px_large(service, open_page):
    page = open_page(service.address(STAY, lang="en")).page
    small = page.evaluate(
        """() => [...document.querySelectorAll('summary, .facts a')].filter((one) => {
          const box = one.getBoundingClientRect();
          return box.height < (one.closest('.foot') ? 24 : 32) || box.width < 24;
        }).map((one) => one.textContent)"""
    )
    assert small == []


TOUCHING = """(what) => {
  const boxes = [...document.querySelectorAll(what)].map((one) => {
    const range = document.createRange();
    range.selectNode(one.lastChild ?? one);
    return range.getBoundingClientRect();
  });
  const meet = (a, b) => a.left < b.right && b.left < a.right
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) => meet(a, b)));
}"""


def test_temperature_bars_of_all_days_share_a_scale(service, open_page):
    wide = {"width": 720, "height": TALL}
    page = open_page(service.address(FORECAST, lang="en"), viewport=wide).page
    bars = page.evaluate(
        """() => [...document.querySelectorAll('.days > li')].map((day) => {
          const inner = day.querySelector('.bar .s').getBoundingClientRect();
          const number = (one) => parseFloat(day.querySelector(one).textContent.replace('−', '-'));
          return [number('.hi'), inner.right - day.getBoundingClientRect().left];
        })"""
    )
    for high, top in bars:
        for other, other_top in bars:
            if high > other + 1:
                assert top > other_top


def test_printed_card_is_not_split_across_sheets(service, open_page):
    page = open_page(service.address(STAY)).page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).breakInside") == "avoid"


@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_printed_page_is_white_in_each_theme(service, open_page, theme):
    page = open_page(service.address(STAY, theme=theme), color_scheme="dark").page
    page.emulate_media(media="print")
    for what in ("html", ".card"):
        ground = f"getComputedStyle(document.querySelector('{what}')).backgroundColor"
        assert page.evaluate(ground) == "rgb(255, 255, 255)", what
    ink = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
    assert max(map(int, re.findall(r"\d+", ink))) < 60


def test_printed_page_shows_folded_parts(service, open_page):
    page = open_page(service.address(STAY, lang="en")).page
    shown = "document.querySelector('#guide details .rest').checkVisibility()"
    below = "document.querySelector('footer').getBoundingClientRect().top"
    assert not page.evaluate(shown)
    folded = page.evaluate(below)
    page.emulate_media(media="print")
    assert page.evaluate(shown)
    assert page.evaluate(below) > folded + 300
    assert not page.evaluate("document.querySelector('summary').checkVisibility()")


def test_page_has_no_animation(service):
    text = service.page(STAY).text
    assert "transition" not in text
    assert "animation" not in text


def test_page_loads_without_any_further_request(service, open_page):
    watched = open_page(service.address(STAY))
    assert watched.requests == [service.address(STAY)]


def test_two_hundred_hostile_names_and_urls_cannot_inject_markup(service, open_page):
    assert len(TEXTS) + len(LINKS) >= 200
    watched = open_page("about:blank", fresh=True)
    watched.page.on("dialog", lambda _: watched.complaints.append("dialog"))
    batches = [TEXTS[n : n + 12] for n in range(0, len(TEXTS), 12)]
    for number, batch in enumerate(batches):
        place = next((text for text in batch if len(text) <= 120), "x")
        where = {"lat": f"{40 + number / 100:.2f}", "place": place}
        with (
            service.answering("guide", partial(hostile_guide, batch)),
            service.answering("events", partial(hostile_events, batch)),
        ):
            watched.page.goto(service.address(STAY, **where))
        assert watched.page.evaluate(FOUND) == [], batch
        assert watched.page.title() != "owned"
        assert place[-5:].strip() in watched.page.inner_text("h1")
    assert watched.complaints == []
    assert watched.elsewhere(service.url) == []


FOUND = """() => {
  const said = [];
  const count = (what, most) => {
    const found = document.querySelectorAll(what).length;
    if (found > most) said.push(`${found} ${what}`);
  };
  count('script:not([type="application/ld+json"])', 1); count('script', 2); count('style', 1);
  count('img, iframe, object, embed, video, form, base', 0);
  for (const one of document.querySelectorAll('*'))
    for (const { name, value } of one.attributes) {
      if (name.startsWith('on') || name === 'style') said.push(name);
      const leads = name === 'href' && one.tagName === 'A';
      if (leads && !/^(https?:\\/\\/|#)/.test(value)) said.push(value);
    }
  return said;
}"""


def hostile_guide(batch, body):
    """The restaurants with the hostile texts as names and the like."""
    rows = [
        msgspec.structs.replace(
            row,
            name=batch[n % len(batch)],
            url=LINKS[n % len(LINKS)],
            cuisine=[batch[(n + 1) % len(batch)]],
            price=batch[(n + 2) % len(batch)],
            note=batch[(n + 3) % len(batch)],
        )
        for n, row in enumerate(body.restaurants)
    ]
    return msgspec.structs.replace(body, restaurants=rows)


def hostile_events(batch, body):
    """The events and notices with the hostile texts as titles, regions and addresses."""
    rows = [
        msgspec.structs.replace(
            row,
            title=batch[n % len(batch)],
            url=LINKS[(n + 3) % len(LINKS)],
            regions=[batch[(n + 4) % len(batch)]],
        )
        for n, row in enumerate(body.events)
    ]
    attribution = [
        msgspec.structs.replace(one, text=batch[0], url=LINKS[0]) for one in body.attribution
    ]
    return msgspec.structs.replace(body, events=rows, attribution=attribution)


@pytest.mark.parametrize("accent", ["#12345", "red;}", "#fff}body{", "</style>", "#ggg", "%00"])
def test_invalid_accent_value_never_appears_in_the_page(service, accent):
    answer = service.page(STAY, accent=accent)
    assert answer.status_code == 400
    assert "</style><" not in answer.text.split("<style>")[1].split("</head>")[0][:-8]
