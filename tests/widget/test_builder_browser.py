"""The builder in Chromium: set up by mouse and keyboard, copied, previewed, and read aloud."""

import socket
from collections.abc import Iterator

import pytest

from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.sections.weather.conftest import write_grid
from tests.serving import free_port, serve
from tests.widget.browser import SIDEWAYS, assert_becomes, host

CODE = "document.querySelector('#code code').textContent"


@pytest.fixture
def builder(service, open_page):
    """Opens the builder with a query string, in a window of 1280 px."""

    def open_one(query: str = "", **options):
        return open_page(
            f"{service.url}/{query}", **{"viewport": {"width": 1280, "height": 900}, **options}
        )

    return open_one


def fitting(page) -> int:
    """Wait until the preview has its height, and give it."""
    assert_becomes(page, "document.getElementById('widget')?.style.height.endsWith('px')")
    return page.evaluate("document.getElementById('widget').clientHeight")


def test_place_is_chosen_from_the_list_with_the_keyboard(service, builder):
    watched = builder()
    page = watched.page
    page.focus("#place")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text("bilb")
    page.wait_for_selector("#matches [role=option]")
    assert page.get_attribute("#place", "aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    active = page.get_attribute("#place", "aria-activedescendant")
    assert page.get_attribute(f"#{active}", "aria-selected") == "true"
    assert "Bilbao" in page.inner_text(f"#{active}")
    assert "place" in page.inner_text("#searched")
    page.keyboard.press("Enter")
    assert page.get_attribute("#place", "aria-expanded") == "false"
    assert_becomes(page, f"{CODE}.includes('data-place=\"Bilbao\"')")
    assert page.input_value("#lat").startswith("43.26")
    assert 1000 < fitting(page) < 4000
    assert "place=Bilbao" in page.url
    assert page.evaluate("document.activeElement.id") == "place"
    assert watched.complaints == []
    assert watched.elsewhere(service.url) == []


def test_selected_place_stays_selected_in_a_later_list_that_contains_the_place(builder):
    page, later = builder().page, []
    # playwright sets an attribute of the handler, which a bound built-in method does not have
    page.route("**/v1/places?q=bilbao&*", lambda route: later.append(route))  # noqa: PLW0108
    page.focus("#place")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text("bilb")
    page.wait_for_selector("#matches [role=option]")
    with page.expect_request("**/v1/places?q=bilbao&*"):
        page.keyboard.insert_text("ao")
    page.keyboard.press("ArrowDown")
    page.evaluate("document.querySelector('#matches').firstChild.dataset.earlier = ''")
    later[0].continue_()
    page.wait_for_selector("#matches:not(:has([data-earlier])) [role=option]")
    active = page.get_attribute("#place", "aria-activedescendant")
    assert "Bilbao" in page.inner_text(f"#{active}[aria-selected=true]")


def test_escape_closes_the_list_of_places_and_keeps_the_typed_name(builder):
    page = builder().page
    page.fill("#place", "Bilb")
    page.wait_for_selector("#matches [role=option]")
    page.keyboard.press("Escape")
    assert page.is_hidden("#matches")
    page.keyboard.press("Tab")
    assert_becomes(
        page, f"{CODE}.includes('data-lat=\"43.3183\"') && {CODE}.includes('data-place=\"Bilb\"')"
    )


def test_pasted_map_link_sets_place_name_and_coordinates(builder):
    watched = builder(permissions=["clipboard-read", "clipboard-write"])
    page = watched.page
    link = "https://www.google.com/maps/place/Hotel+Mar/@48.1,2.2,17z/data=!3d48.8566!4d2.3522"
    page.evaluate("(link) => navigator.clipboard.writeText(link)", link)
    page.focus("#place")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("ControlOrMeta+v")
    assert_becomes(page, f"{CODE}.includes('data-lat=\"48.8566\"')")
    assert page.input_value("#place") == "Hotel Mar"
    assert page.input_value("#lng") == "2.3522"
    assert page.is_hidden("#matches")
    assert "Hotel+Mar&lat=48.8566" in page.url
    page.keyboard.press("Tab")
    assert_becomes(page, f"{CODE}.includes('data-place=\"Hotel Mar\"')")
    assert watched.complaints == []


def test_typed_coordinates_are_accepted_with_enter(builder):
    page = builder().page
    page.focus("#place")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("43.3, -1.98")
    page.wait_for_selector("#matches [role=option]")
    assert_becomes(page, "document.querySelector('#match-0')?.textContent.includes('43.3, -1.98')")
    page.keyboard.press("Enter")
    assert_becomes(page, f'{CODE}.includes(\'data-lat="43.3" data-lng="-1.98"\')')
    assert page.input_value("#place") == ""


def test_place_is_chosen_from_the_list_with_the_mouse(builder):
    page = builder().page
    page.fill("#place", "tromso")
    page.click("#matches [role=option]")
    assert_becomes(page, f"{CODE}.includes('data-place=\"Tromsø\"')")


def test_copy_button_copies_the_code_and_says_so(builder):
    watched = builder(permissions=["clipboard-read", "clipboard-write"])
    page = watched.page
    fitting(page)
    page.click("#copy")
    assert_becomes(page, "document.getElementById('copied').textContent === 'Copied'")
    assert page.inner_text("#copy") == "Copied"
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.evaluate(CODE)
    assert copied.count("\n") == 1
    assert (
        '<div data-location-context data-lat="43.3183" data-lng="-1.9812" data-days="7"' in copied
    )
    assert_becomes(page, "document.querySelector('#copy span').textContent === 'Copy'")


def test_copy_button_selects_the_code_if_the_clipboard_is_blocked(builder):
    page = builder().page
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    select = "document.getElementById('copy').click(), getSelection().toString()"
    assert page.evaluate(select).startswith("<div")  # at once: later the code may be redrawn
    assert_becomes(page, "document.getElementById('copied').textContent !== ''")


def test_builder_switches_to_mail_code_copies_it_and_switches_back(builder):
    watched = builder(permissions=["clipboard-read", "clipboard-write"])
    page = watched.page
    page.check("input[name=code][value=mail]", force=True)
    assert_becomes(page, f"{CODE}.startsWith('<a href=')")
    assert page.is_hidden("#plain")
    assert "links to the widget" in page.inner_text("#lines")
    page.select_option("#days", "")
    page.fill("#end", page.input_value("#start"))
    assert_becomes(page, f"{CODE}.includes('end={page.input_value('#start')}')")
    page.click("#copy")
    assert_becomes(page, "document.getElementById('copied').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == page.evaluate(CODE)
    assert watched.axe() == []
    page.reload()
    assert page.evaluate(CODE).startswith("<a href=")
    page.check("input[name=code][value='']", force=True)
    assert_becomes(page, f"{CODE}.startsWith('<div')")
    assert page.is_visible("#plain")
    assert watched.complaints == []


@pytest.mark.parametrize("screen", [800, 375])
def test_mail_picture_is_600_px_wide_or_shrinks_to_a_narrower_screen(builder, open_page, screen):
    page = builder("?code=mail", java_script_enabled=False).page
    text = page.inner_text("#code code")
    with host({"/": f"<!doctype html><html lang=en><title>A</title>{text}"}) as origin:
        watched = open_page(origin, viewport={"width": screen, "height": 800})
        there = watched.page
        assert_becomes(there, "document.querySelector('img').complete")
        natural = there.evaluate("(i => [i.naturalWidth, i.naturalHeight])(document.images[0])")
        given = there.evaluate(
            "['width', 'height'].map((name) => +document.images[0].getAttribute(name))"
        )
        box = there.locator("img").bounding_box()
        assert natural == [2 * pixels for pixels in given]  # for sharp screens
        assert given[0] == 600
        assert box["width"] == min(600, screen - 16), "less the margin of a page"
        assert abs(box["height"] - box["width"] * given[1] / 600) < 1
        assert there.evaluate(SIDEWAYS) <= 0
        assert watched.complaints == []


def test_other_towns_of_the_same_name_stay_listed_until_a_field_changes(builder):
    page = builder("?place=springfield").page
    page.focus("#others a")
    assert_becomes(
        page, "location.search.includes('lat=')"
    )  # sent again, since the preview has spoken
    assert page.locator("#others a").count() > 1
    assert page.evaluate("document.activeElement.matches('#others a')")
    page.select_option("#days", "")
    page.fill("#end", page.input_value("#start"))
    assert_becomes(page, "!document.querySelector('#others a')")


def test_keyboard_focus_stays_when_the_focused_part_of_the_builder_is_replaced(builder):
    page = builder().page
    fitting(page)
    page.evaluate(
        """() => {
          document.querySelector("input[name=code][value=mail]").click();
          document.querySelector("#lines a").focus();
        }"""
    )
    assert_becomes(page, f"{CODE}.startsWith('<a href=')")
    assert page.evaluate("document.activeElement.matches('#lines a')")
    for part in ("#copy", "#code pre"):  # both disappear where a field is wrong
        page.fill("#lat", "abc")
        page.focus(part)
        page.wait_for_selector("#lat[aria-invalid=true]")
        assert page.evaluate("document.activeElement.id") == "code", part
        page.fill("#lat", "43")
        page.wait_for_selector("#code pre")


def test_each_changed_field_updates_embed_code_and_preview(builder):
    page = builder().page
    page.check("input[name=theme][value=dark]", force=True)
    page.check("input[name=accent][value='#7c3aed']", force=True)
    page.select_option("#units", "imperial")
    page.select_option("#font", "serif")
    page.fill("#radius", "0")
    page.check("#background")
    page.check("#title")
    page.select_option("#days", "")
    page.fill("#start", "2027-08-01")
    page.fill("#end", "2027-08-08")
    parts = [
        'data-font="serif"',
        'data-radius="0"',
        'data-background="none"',
        'data-title="none"',
        'data-theme="dark"',
        'data-accent="#7c3aed"',
        'data-units="imperial"',
        'data-start="2027-08-01"',
        'data-end="2027-08-08"',
    ]
    assert_becomes(page, f"(parts) => parts.every((part) => {CODE}.includes(part))", parts)
    assert page.input_value("#hex") == "#7c3aed"
    assert "Beyond the 16-day forecast" in page.inner_text("#about-dates")
    assert "on dark" in page.inner_text("#about-accent")


@pytest.fixture(scope="module")
def unreachable(tmp_path_factory) -> Iterator[str]:
    """The address of the real application with the fallback grid, where nothing outside answers."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        urls = {name: closed for name in Settings.__struct_fields__ if name.endswith("_url")}
        urls = {k: v for k, v in urls.items() if k not in {"database_url", "redis_url"}}
        port = free_port()
        settings = Settings(
            data_dir=tmp_path_factory.mktemp("unreachable"), contact="a@b.example",
            log_level="error", **{**urls, "public_url": f"http://127.0.0.1:{port}"},
        )  # fmt: skip
        write_grid(settings.data_dir)
        with serve(settings, clock=MovedClock(), port=port) as served:
            yield served.url


def shows(page) -> str:
    """Wait for what the builder says of the preview, and give it."""
    assert_becomes(page, "document.getElementById('shown').textContent !== ''")
    return page.inner_text("#shown")


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2026-11-28", "2026-12-05", "a forecast."),
        ("2026-12-03", "2026-12-10", "a forecast, then what past years were like."),
        ("2027-08-01", "2027-08-08", "what past years were like."),
    ],
)
def test_builder_says_if_the_preview_shows_a_forecast_or_past_years(builder, start, end, words):
    watched = builder(f"?place=x&lat=43&lng=-2&start={start}&end={end}")
    assert shows(watched.page) == f"The preview shows {words}"
    assert watched.axe() == []
    assert watched.complaints == []


def test_builder_says_that_the_weather_is_a_monthly_average_if_providers_are_unreachable(
    unreachable, open_page
):
    page = open_page(f"{unreachable}/?place=x&lat=43&lng=-2&start=2026-11-28&end=2026-12-05").page
    said = "No forecast is available at the moment. The preview shows monthly averages."
    assert shows(page) == said
    assert page.inner_text("#about-dates") == "7 nights. Within the 16-day forecast."
    badge = page.frame_locator("#widget").locator(".badge").inner_text()
    assert badge.startswith("Monthly average")
    page.select_option("#days", "")
    page.fill("#end", "2026-12-20")
    page.fill("#start", "2026-12-13")
    said = (
        "Data from past years is not available at the moment. The preview shows monthly averages."
    )
    assert_becomes(page, "(said) => document.getElementById('shown').textContent === said", said)


def test_preview_follows_changes_without_history_entries(builder):
    page = builder(fresh=True).page
    before = page.evaluate("history.length")
    for theme in ("dark", "auto", "light"):
        with page.expect_request(lambda request: "/v1/pulse?" in request.url):
            page.check(f"input[name=theme][value={theme}]", force=True)
    assert page.evaluate("history.length") == before


def test_preview_has_the_chosen_width(builder):
    page = builder().page
    for choice, width in (("390", 390), ("560", 560), ("full", 724)):
        page.check(f"input[name=width][value='{choice}']", force=True)
        assert page.evaluate("document.getElementById('widget').clientWidth") == width
        assert_becomes(page, f"document.querySelector('.measure').textContent === '{width} px'")


def test_wrong_builder_field_is_marked_while_typing_until_it_is_correct(builder):
    page = builder().page
    page.fill("#lat", "abc")
    page.wait_for_selector("#lat[aria-invalid=true]")
    assert "A number from -90 to 90." in page.inner_text("#about-place")
    assert page.is_disabled("#copy")
    page.fill("#lat", "43")
    assert_becomes(page, "document.querySelector('#code code')")
    assert page.get_attribute("#lat", "aria-invalid") is None
    assert page.is_enabled("#copy")


def test_builder_opened_with_a_wrong_field_shows_the_preview_after_correction(builder):
    watched = builder("?lat=abc&lng=2.35&place=Paris")
    page = watched.page
    assert page.query_selector("#widget") is None
    page.fill("#lat", "48.8566")
    assert_becomes(page, "document.getElementById('widget')?.style.height.endsWith('px')")
    fitting(page)
    assert watched.complaints == []


def test_departure_date_moves_if_the_arrival_date_is_set_after_the_departure_date(builder):
    page = builder("?place=x&lat=1&lng=1&start=2027-03-01&end=2027-03-06").page
    page.select_option("#days", "")
    page.fill("#start", "2027-08-01")
    assert page.input_value("#end") == "2027-08-06"
    page.fill("#start", "2027-08-03")
    assert page.input_value("#end") == "2027-08-06"
    assert_becomes(page, f'{CODE}.includes(\'data-start="2027-08-03" data-end="2027-08-06"\')')


def test_sections_can_be_chosen_and_reordered_but_not_all_removed(builder):
    page = builder().page
    page.uncheck("input[value=astronomy]")
    page.click("button[value=events]")
    assert_becomes(page, f"{CODE}.includes('data-sections=\"weather,events,guide\"')")
    assert page.evaluate("document.activeElement.value") == "events"
    page.click("button[value=events]")
    page.click("button[value=events]")
    assert_becomes(page, f"{CODE}.includes('data-sections=\"events,weather,guide\"')")
    assert "sections=events,weather,guide" in page.evaluate("location.search")
    for name in ("events", "weather", "guide"):
        page.locator(f"input[value={name}]").click()
    assert_becomes(page, f"{CODE}.includes('data-sections=\"guide\"')")
    assert page.is_checked("input[value=guide]")


def test_year_section_is_in_the_embed_code_only_if_it_is_ticked(builder):
    page = builder(java_script_enabled=False).page
    assert "data-sections" not in page.inner_text("#code code")
    page.check("input[value=year]")
    page.click("button[value=year]")
    assert 'data-sections="weather,astronomy,guide,year,events"' in page.inner_text("#code code")


def test_section_buttons_work_without_javascript(builder):
    page = builder(java_script_enabled=False).page
    page.uncheck("input[value=weather]")
    page.click("button[value=guide]")
    assert 'data-sections="guide,astronomy,events"' in page.inner_text("#code code")
    names = [one.get_attribute("value") for one in page.query_selector_all("#sections input")]
    assert names == ["guide", "astronomy", "events", "weather", "year"]
    page.check("input[value=weather]")
    page.press("#place", "Enter")
    assert 'data-sections="guide,astronomy,events,weather"' in page.inner_text("#code code")


def test_builder_form_works_without_javascript(service, builder):
    watched = builder(java_script_enabled=False)
    page = watched.page
    page.fill("#place", "Tromsø")
    page.select_option("#days", "")
    page.fill("#start", "2026-12-20")
    page.fill("#end", "2026-12-27")
    page.click("noscript button")
    assert page.input_value("#lat").startswith("69.6")
    assert 'data-start="2026-12-20" data-end="2026-12-27"' in page.inner_text("#code code")
    assert "Troms" in page.get_attribute("#widget", "src")
    assert page.is_hidden("#copy")
    assert watched.elsewhere(service.url) == []


@pytest.mark.parametrize(
    ("query", "locale", "schemes"),
    [
        ("", "en-GB", ["light", "dark"]),
        ("?lat=abc&lng=0&place=x", "de-DE", ["light", "dark"]),  # with colours of its own
        ("?place=springfield", "ar", ["light"]),
        ("?code=mail", "ja", ["dark"]),
    ],
)
def test_axe_finds_no_violation_in_the_builder_in_light_and_dark(builder, query, locale, schemes):
    watched = builder(query, locale=locale)
    for scheme in schemes:
        watched.page.emulate_media(color_scheme=scheme)
        assert watched.axe() == []
    assert watched.complaints == []


def test_keyboard_reaches_the_builder_in_page_order(builder):
    page = builder().page
    # marked by a property: with an attribute a part would differ from the server's and be replaced
    wanted = page.evaluate(
        """[...document.querySelectorAll("a, button, input, select, pre, iframe")]
            .filter((one) => one.type !== "hidden" && !one.disabled)
            .filter((one) => one.checkVisibility({visibilityProperty: true}))
            .filter((one) => one.type !== "radio" || one.checked)
            .map((one, index) => one.stop = `${index}`)"""
    )
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        stop = page.evaluate("document.activeElement.stop ?? null")
        if stop is not None and [stop] != reached[-1:]:  # a date has several stops inside
            reached.append(stop)
        if page.evaluate("document.activeElement.id") == "widget":
            break
    assert reached == wanted[: len(reached)]
    assert page.evaluate("document.activeElement.id") == "widget"


def test_axe_finds_no_violation_in_the_builder_with_an_open_place_list(builder):
    watched = builder()
    watched.page.fill("#place", "san")
    watched.page.wait_for_selector("#matches [role=option]")
    watched.page.keyboard.press("ArrowDown")
    assert watched.axe() == []


def test_builder_fits_the_window(builder):
    page = builder().page
    for width in (280, 320, 400, 768, 900, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(SIDEWAYS) <= 0, width


def test_builder_fits_the_window_at_200_percent_text(builder):
    page = builder(viewport={"width": 1280, "height": 800}).page
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.evaluate(SIDEWAYS) <= 0
    cut = page.evaluate(
        """[...document.querySelectorAll("label, button, h1, h2, .hint, dd, dt, nav a")]
            .filter((one) => !one.closest(".spoken, [hidden], .swatch"))
            .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
            .map((one) => one.textContent)"""
    )
    assert cut == []


def test_every_click_target_is_at_least_24_px_large(builder):
    page = builder(viewport={"width": 400, "height": 800}).page
    small = page.evaluate(
        """[...document.querySelectorAll("a, button, input, select, label:has(input)")]
            .filter((one) => one.offsetParent && !one.closest("p, .skip"))
            .filter((one) => one.type !== "hidden")
            .map((one) => [one, one.getBoundingClientRect()])
            .filter(([one, box]) => box.width < 24 || box.height < 24)
            .map(([one]) => one.outerHTML)"""
    )
    assert small == []


def test_builder_shows_the_date_fields_only_if_no_number_of_days_is_selected(service, open_page):
    page = open_page(service.url + "/").page
    assert page.input_value("#days") == "7"
    assert page.is_hidden("#start")
    page.select_option("#days", "")
    assert page.is_visible("#start")
    page.fill("#start", "2027-08-01")
    assert_becomes(page, f"{CODE}.includes('data-start=\"2027-08-01\"')")
    page.select_option("#days", "3")
    assert_becomes(page, f"{CODE}.includes('data-days=\"3\"')")
    assert page.evaluate(f"!{CODE}.includes('data-start')")


@pytest.fixture
def named_guides(service):
    """Guides with a name, once called."""
    guide = service.sample("guide")

    def name() -> None:
        guide.choices = {"guide": {"house", "rooftop"}}

    yield name
    guide.choices = {}


def test_chosen_guide_is_in_embed_code_preview_and_page_url(builder, named_guides):
    named_guides()
    watched = builder("?lat=43.3183&lng=-1.9812&days=7")
    page = watched.page
    page.select_option("#guide", "rooftop")
    assert_becomes(page, f"{CODE}.includes('data-guide=\"rooftop\"')")
    assert_becomes(
        page, "document.getElementById('widget').dataset.shown.includes('guide=rooftop')"
    )
    assert "guide=rooftop" in page.url
    page.select_option("#guide", "")
    assert_becomes(page, f"!{CODE}.includes('data-guide')")
    assert "guide" not in page.url
    assert watched.complaints == []


def test_builder_page_that_is_open_still_works_after_an_import_of_named_guides(
    builder, named_guides
):
    watched = builder("?lat=43.3183&lng=-1.9812&days=7")
    page = watched.page
    assert page.query_selector("#guide") is None
    named_guides()
    page.check("[name=theme][value=dark]", force=True)
    assert_becomes(page, f"{CODE}.includes('data-theme=\"dark\"')")
    assert_becomes(page, "location.search.includes('theme=dark')")
    assert watched.complaints == []


def test_kinds_of_embed_code_are_shown_in_two_rows_of_equal_boxes_on_a_phone(builder):
    page = builder(viewport={"width": 375, "height": 900}).page
    boxes = [one.bounding_box() for one in page.locator("#out .head label:visible").all()]
    assert [round(one["y"]) for one in boxes] == [round(boxes[n]["y"]) for n in (0, 0, 2, 2)]
    assert len({round(one["width"]) for one in boxes}) == 1
