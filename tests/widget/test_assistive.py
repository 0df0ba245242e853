"""What no engine judges of the widget's page: what is spoken, its order, how it is operated."""

import itertools
import re

import pytest

from location_context.widget.colour import contrast
from tests.widget.browser import as_hex, assert_becomes
from tests.widget.service import FORECAST, LANGUAGES, STAY, STRADDLING

LONG = {**STAY, "start": "2027-07-01", "end": "2027-07-28"}
OPEN = "document.querySelectorAll('details').forEach((one) => one.open = true)"
TARGETS = "a[href], summary, button, input, select, [tabindex='0']"
# WCAG 2.5.8: smaller targets are allowed in a sentence, and where a circle of 24 px around each
# does not meet another target or another small target's circle.
SMALL_TARGETS = f"""() => {{
  const boxes = [...document.querySelectorAll("{TARGETS}")]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 1)
    .map((one) => ({{one, box: one.getBoundingClientRect()}}));
  const inSentence = (one) => [...one.parentElement.childNodes].some((beside) =>
    beside.nodeType === Node.TEXT_NODE && /[\\p{{L}}\\p{{N}}]/u.test(beside.data))
    || one.closest("footer p");
  const small = boxes.filter(({{box}}) => box.width < 24 || box.height < 24);
  const centre = (box) => [box.x + box.width / 2, box.y + box.height / 2];
  const reaches = (from, {{one, box}}) => {{
    const [x, y] = centre(from);
    const dx = Math.max(box.left - x, 0, x - box.right);
    const dy = Math.max(box.top - y, 0, y - box.bottom);
    const [ox, oy] = centre(box), isSmall = box.width < 24 || box.height < 24;
    return Math.hypot(dx, dy) < 12 || (isSmall && Math.hypot(ox - x, oy - y) < 24);
  }};
  return small.filter(({{one}}) => !inSentence(one))
    .filter((a) => boxes.some((b) => b.one !== a.one && reaches(a.box, b)))
    .map(({{one}}) => one.outerHTML.slice(0, 120));
}}"""
# Texts in the order of the document; one that lies wholly above the one before it must begin a
# column beside it.
BACKWARDS = """() => {
  const rtl = document.documentElement.dir === 'rtl';
  const what = 'h1, h2, h3, p, dt, dd, li > .nm, .meta, .km, summary';
  const texts = [...document.querySelectorAll(what)]
    .filter((one) => one.checkVisibility() && !one.closest('[aria-hidden]'))
    .map((one) => ({one, box: one.getBoundingClientRect()})).filter(({box}) => box.width > 1);
  return texts.slice(1).flatMap(({one, box}, n) => {
    const before = texts[n].box;
    const beside = rtl ? box.right <= before.left + 1 : box.left >= before.right - 1;
    return box.bottom <= before.top && !beside ? [one.textContent] : [];
  });
}"""


@pytest.mark.parametrize("language", ["en", "ja", "ar"])
def test_screen_reader_text_has_no_word_joiner_characters(service, open_page, language):
    page = open_page(service.address(FORECAST, lang=language)).page
    spoken = page.eval_on_selector_all(".vh", "(all) => all.map((one) => one.textContent)")
    assert len(spoken) > 30
    assert [text for text in spoken if "\u2060" in text] == []


def test_screen_reader_sentence_has_each_number_of_its_drawing(service, open_page):
    page = open_page(service.address(FORECAST, lang="en")).page
    rows = page.eval_on_selector_all(
        ".days > li, .moons > li",
        """(all) => all.map((one) => [one.querySelector('.vh').textContent,
          [...one.querySelectorAll('.hi, .lo, .row .d, li > [aria-hidden]:not(.row)')]
            .map((value) => value.firstChild?.data ?? "")])""",
    )
    assert len(rows) == 8 + 7
    for sentence, values in rows:
        plain = sentence.replace("\u00a0", " ")
        numbers = {n for value in values for n in re.findall(r"[\d:]+", value)}
        assert numbers
        assert [n for n in numbers if n not in plain] == [], sentence


def test_screen_readers_announce_each_drawing_once_in_words(service, open_page):
    page = open_page(service.address(STRADDLING, lang="en")).page
    unlabelled = """(all) => all.filter((one) => !one.closest('[aria-hidden], [hidden]')
      && !one.ariaLabel).length"""
    assert page.eval_on_selector_all("svg", unlabelled) == 0
    for row in page.query_selector_all(".days > li:not(.sep), .moons > li"):
        spoken = row.evaluate(
            "(one) => [...one.children].filter((part) => !part.ariaHidden).map((p) => p.className)"
        )
        assert [part for part in spoken if part != "ev"] == ["vh"]


def test_english_notices_on_pages_in_other_languages_are_marked_as_english(service, open_page):
    page = open_page(service.address(STAY, lang="de")).page
    spoken_in = "(all) => all.map((one) => one.closest('[lang]').lang)"
    assert set(page.eval_on_selector_all("footer bdi", spoken_in)) == {"en"}
    assert set(page.eval_on_selector_all("footer a .vh", spoken_in)) == {"de"}
    assert set(page.eval_on_selector_all("footer p > b", spoken_in)) == {"de"}
    page = open_page(service.address(STAY, lang="en")).page
    assert page.locator("#p [lang]").count() == 0


def test_lists_without_bullets_are_still_announced_as_lists_in_safari(service, open_page):
    """WebKit takes `list-style: none` for no list at all, and an empty string for a list."""
    page = open_page(service.address(STAY)).page
    kinds = "(all) => [...new Set(all.map((one) => getComputedStyle(one).listStyleType))]"
    assert page.eval_on_selector_all("ul, ol", kinds) == ['""']


def test_heading_levels_increase_by_at_most_one(service, open_page):
    page = open_page(service.address(STRADDLING, lang="en")).page
    page.evaluate(OPEN)
    levels = page.eval_on_selector_all("h1,h2,h3,h4", "(all) => all.map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize("language", ["en", "ar"])
def test_reading_order_follows_the_visual_order_of_the_page(service, open_page, language):
    page = open_page(service.address(STRADDLING, lang=language)).page
    page.evaluate(OPEN)
    for width in (320, 720, 1200):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BACKWARDS) == [], width


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_click_target_is_24_px_large_or_has_that_much_space_around_it(
    service, open_page, language
):
    page = open_page(service.address(LONG, lang=language)).page
    page.evaluate(OPEN)
    for width in (320, 1000):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(SMALL_TARGETS) == [], width


@pytest.mark.parametrize("width", [320, 1000])
def test_tab_key_moves_a_visible_focus_in_page_order_and_out_of_the_page(service, open_page, width):
    size = {"width": width, "height": 600}
    page = open_page(service.address(STAY, lang="en"), viewport=size).page
    page.evaluate(OPEN)
    wanted = page.evaluate("document.querySelectorAll('a[href], summary').length")
    order = []
    for _ in range(wanted):
        page.keyboard.press("Tab")
        order.append(
            page.evaluate(
                """() => {
                  const one = document.activeElement, box = one.getClientRects()[0];
                  const x = box.x + box.width / 2, y = box.y + box.height / 2;
                  const at = document.elementFromPoint(x, y);
                  const all = [...document.querySelectorAll('a[href], summary')];
                  const isSeen = one.contains(at) && getComputedStyle(one).outlineStyle === "solid";
                  return isSeen ? all.indexOf(one) : -1;
                }"""
            )
        )
    assert order == list(range(wanted))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.body")


@pytest.mark.parametrize("language", LANGUAGES)
def test_wcag_text_spacing_hides_nothing(service, open_page, language):
    page = open_page(service.address(STRADDLING, lang=language), bypass_csp=True).page
    page.evaluate(OPEN)
    page.add_style_tag(
        content="*{line-height:1.5!important;letter-spacing:.12em!important;"
        "word-spacing:.16em!important}p{margin-bottom:2em!important}"
    )
    for width in (320, 720):
        page.set_viewport_size({"width": width, "height": 900})
        cut = page.evaluate(
            """() => [...document.querySelectorAll('#p *')].filter((one) => {
              if (one.closest('.vh, svg') || !one.checkVisibility()) return false;
              const style = getComputedStyle(one), box = one.getBoundingClientRect();
              const hides = style.overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1;
              return hides || box.right > innerWidth + 1 || box.left < -1;
            }).map((one) => one.className + one.textContent)"""
        )
        assert cut == [], width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_map_text_has_enough_contrast_with_its_background(service, open_page, theme):
    page = open_page(service.address(STAY, lang="en", theme=theme)).page
    fills = "(all) => [...new Set(all.map((one) => getComputedStyle(one).fill))]"
    [ink] = page.eval_on_selector_all(".map g text", fills)[:1]
    [ground] = page.eval_on_selector_all(".map rect", fills)
    [number] = page.eval_on_selector_all(".map .mt", fills)
    [mark] = page.eval_on_selector_all(".map .mk", fills)
    for one, behind in ((ink, ground), (number, mark)):
        assert contrast(as_hex(one), as_hex(behind)) >= 4.5


def test_drawings_use_system_colours_in_forced_colours_mode(service, open_page):
    page = open_page(service.address(STRADDLING, lang="en"), forced_colors="active").page
    text = page.evaluate("getComputedStyle(document.body).color")
    drawn = page.evaluate(
        """() => [['.bar .c', 'stroke'], ['.days .w', 'stroke'], ['.arc .dy', 'stroke'],
          ['.moon circle', 'stroke']]
          .map(([what, how]) => getComputedStyle(document.querySelector(what))[how])"""
    )
    assert set(drawn) == {text}


def test_page_works_without_hover_in_any_orientation_and_has_no_single_key_shortcuts(service):
    text = service.page(STAY).text.partition("<body")[2]
    banned = (":hover", " title=", "orientation", "keydown", "keyup", "accesskey", "mousedown")
    assert [word for word in banned if word in text] == []


def test_each_link_tells_screen_readers_that_it_opens_a_new_tab(service, open_page):
    page = open_page(service.address(STAY, lang="en")).page
    page.evaluate(OPEN)
    links = page.eval_on_selector_all(
        "a",
        """(all) => all.filter((a) => !a.hash || a.target)
          .map((a) => [
            a.target, a.ariaLabel, a.firstChild.data ?? 'Add to calendar', a.textContent.trim(),
          ])""",
    )
    assert len(links) > 10
    for target, label, seen, spoken in links:
        assert (target, label, spoken) == ("_blank", None, f"{seen} (opens in a new tab)")


def test_links_outside_the_facts_are_underlined(service, open_page):
    page = open_page(service.address(STAY)).page
    lines = "(all) => [...new Set(all.map((one) => getComputedStyle(one).textDecorationLine))]"
    assert page.eval_on_selector_all("a:not(.facts a)", lines) == ["underline"]


@pytest.mark.parametrize("path", ["/", "/v1/docs"])
def test_focus_is_not_covered_in_builder_and_documentation(service, open_page, path):
    options = {"viewport": {"width": 1000, "height": 600}, "reduced_motion": "reduce"}
    page = open_page(service.url + path, **options).page
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        tag = page.evaluate("document.activeElement.tagName")
        if tag == "BODY":  # on its way into the frame, which has a process of its own
            assert_becomes(page, "document.activeElement.tagName === 'IFRAME'")
            break
        if tag == "IFRAME":  # the widget, see above
            break
        covered = page.evaluate(
            """() => {
              const one = document.activeElement, box = one.getClientRects()[0];
              const x = box.x + Math.min(box.width / 2, 30);
              const y = box.y + Math.min(box.height / 2, 20);
              const at = document.elementFromPoint(x, y);
              const free = at && (one.contains(at) || one.labels?.[0]?.contains(at));
              return [one.outerHTML.slice(0, 90), !free];
            }"""
        )
        assert not covered[1], covered[0]
        seen.add(covered[0])
    assert len(seen) > 15
