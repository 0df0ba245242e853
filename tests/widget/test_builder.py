"""The builder page over HTTP: all it does without JavaScript, and its search of places."""

import html
import re
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.widget import png
from location_context.widget.builder import form
from tests.parsed import Parsed, hash_of
from tests.widget.service import DONOSTIA, LANGUAGES
from tests.widget.service import code_of as code

LANGUAGES_OF_ALL = Languages.load()
CODE = re.compile(r"<pre[^>]*><code>(.*?)</code></pre>", re.DOTALL)

WITHIN = "Within the 16-day forecast."
STRADDLES = "The first days are within the 16-day forecast, the others beyond it."
PAST = "These dates are in the past. Not shown: weather and events."
BEYOND = "Beyond the 16-day forecast."


def page(service, language: str = "en", **fields: str) -> str:
    answer = service.get("/", headers={"Accept-Language": language}, **fields)
    assert answer.status_code == 200
    return answer.text


def hint(text: str, name: str) -> str:
    """The words under a field, without marks."""
    found = re.search(rf'<p class="hint" id="about-{name}"[^>]*>(.*?)</p>', text, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", "", html.unescape(found[1])).split())


def values(text: str) -> dict[str, str]:
    fields = re.findall(
        r'<input id="\w+" type="\w+" name="(\w+)"(?: [\w-]+="[^"]*")*? value="([^"]*)"', text
    )
    return {name: html.unescape(value) for name, value in fields}


def test_builder_shows_the_week_from_today_on_a_first_visit(service):
    text = page(service)
    assert values(text)["place"] == "San Sebastián"
    assert 'data-days="7"' in code(text)
    assert hint(text, "dates") == "The stay always begins on the current day."
    assert (
        hint(text, "place")
        == "Choose a place, or paste coordinates or a map link. Europe/Madrid time."
    )


def test_builder_dates_default_to_seven_nights_within_the_forecast(service):
    text = page(service, days="", start="", end="")
    assert 'data-start="2026-11-28" data-end="2026-12-05"' in code(text)
    assert hint(text, "dates") == "7 nights. Within the 16-day forecast."


def test_days_parameter_of_the_builder_takes_precedence_over_dates(service):
    text = page(service, **{**DONOSTIA, "days": "3"})
    assert 'data-days="3"' in code(text)
    assert "data-start" not in code(text)


def test_embed_code_is_two_lines_with_escaped_values_and_an_absolute_script_url(service):
    text = code(page(service, **DONOSTIA, place='Río & "Sol"', accent="#1d4ed8", radius="0"))
    first, second = [line for line in text.split("\n") if line]
    height = re.search(r'height="(\d+)"', first)[1]
    assert first == (
        '<div data-location-context data-lat="43.3183" data-lng="-1.9812" '
        'data-start="2026-11-28" data-end="2026-12-05" data-place="Río &amp; &quot;Sol&quot;" '
        'data-accent="#1d4ed8" data-radius="0" data-lang="en">'
        f'<svg width="1" height="{height}"></svg></div>'
    )
    assert 800 < int(height) < 2500
    assert second == f'<script src="{service.url}/v1/embed.js" async></script>'


def test_embed_code_without_script_is_an_iframe(service):
    line = code(page(service, **DONOSTIA, plain="1"))
    height = re.search(r' height="(\d+)"', line)[1]
    assert line == (
        f'<iframe src="{service.url}/v1/pulse?lat=43.3183&amp;lng=-1.9812&amp;start=2026-11-28'
        '&amp;end=2026-12-05&amp;lang=en" title="Weather, sky, restaurants and events" '
        f'width="100%" height="{height}" frameborder="0" loading="lazy" '
        'sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"></iframe>'
    )


@pytest.mark.parametrize(("chosen", "said"), [("", "de-AT"), ("fr", "fr"), ("en-US", "en-US")])
def test_embed_code_names_the_language_so_that_a_cdn_can_cache_the_page(service, chosen, said):
    text = page(service, "de-AT,de;q=0.9", **DONOSTIA, lang=chosen)
    address = html.unescape(re.search(r'<iframe id="widget" src="([^"]+)"', text)[1])
    assert f'data-lang="{said}"' in code(text)
    assert parse_qs(urlsplit(address).query)["lang"] == [said]
    assert re.findall(r'<option value="([^"]+)" lang="[^"]+" selected>', text) == [said]
    answer = service.get(f"/{address}", headers={"Accept-Language": "ja"})
    assert answer.headers["content-language"] == said
    assert answer.headers["vary"] == "Accept-Encoding"


def mail(service, **fields: str) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Link and picture of the code for an e-mail, which has nothing else."""
    elements = Parsed(code(page(service, code="mail", **fields)))
    assert [name for name, _ in elements.tags] == ["a", "img"]
    assert elements.text == ""
    return elements.tags[0][1], elements.tags[1][1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_mail_code_states_the_text_and_size_and_language_of_its_picture(service, language):
    link, picture = mail(service, language=language, **DONOSTIA, place="Río & “Sol”")
    assert link["lang"] == language
    assert link.get("dir", "ltr") == ("rtl" if language == "ar" else "ltr")
    assert parse_qs(urlsplit(link["href"]).query)["lang"] == [language]
    drawn_here = png.missing_letters(LANGUAGES_OF_ALL).find(f" {language}") < 0
    address = picture["src"].removeprefix(service.url)
    assert address.startswith(f"/v1/pulse.{'png' if drawn_here else 'svg'}?")
    shown = ET.fromstring(service.get(address.replace(".png", ".svg")).content)
    assert picture["alt"] == shown.find("{http://www.w3.org/2000/svg}desc").text
    assert "Río & “Sol”" in picture["alt"]
    assert (picture["width"], picture["height"]) == (shown.get("width"), shown.get("height"))


def test_mail_code_uses_svg_and_the_page_warns_if_the_png_extra_is_not_installed(
    service, monkeypatch
):
    with_png = page(service, code="mail", **DONOSTIA)
    assert "that every e-mail program shows" in with_png
    assert "<code>/v1/pulse.svg</code>" in with_png
    monkeypatch.setattr(png, "is_installed", lambda: False)
    _, picture = mail(service, **DONOSTIA)
    assert picture["src"].startswith(f"{service.url}/v1/pulse.svg?")
    assert "Gmail and Outlook show only that text." in page(service, code="mail", **DONOSTIA)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("43.3183, -1.9812", ""),
        ("https://www.openstreetmap.org/#map=15/43.3183/-1.9812", ""),
        (
            "https://www.google.com/maps/place/Hotel+Mar%C3%ADa/@1,2,17z/data=!3d43.31832!4d-1.98121",
            "Hotel María",
        ),
    ],
)
def test_coordinates_or_map_link_in_the_place_field_set_latitude_and_longitude(service, text, name):
    was = "40,3,San Sebastián"
    shown = page(service, place=text, lat="40", lng="3", was=was, days="3")
    assert values(shown) | {"place": name, "lat": "43.3183", "lng": "-1.9812"} == values(shown)
    assert 'data-lat="43.3183" data-lng="-1.9812"' in code(shown)
    assert html.escape(f'data-pasted="{text}"', quote=False) in shown


def test_map_link_without_coordinates_gets_a_hint_to_open_the_link(service):
    text = page(service, place="https://maps.app.goo.gl/Ab1Cd2Ef3", lat="40", lng="3")
    assert hint(text, "place") == (
        "This link contains no coordinates: open it and copy the full address."
    )
    assert code(text) == ""
    assert values(text)["place"] == "https://maps.app.goo.gl/Ab1Cd2Ef3"


def test_coordinates_out_of_range_get_a_hint(service):
    assert hint(page(service, place="99.5, 200.1"), "place") == "A number from -90 to 90."


def test_place_search_accepts_coordinates_and_map_links(service):
    for text in ("43.3183, -1.9812", "https://maps.apple.com/?ll=43.3183,-1.9812"):
        assert service.get("/v1/places", q=text).json()["places"] == [
            {"name": "", "detail": "43.3183, -1.9812", "lat": 43.3183, "lng": -1.9812}
        ]


def test_mail_code_links_to_the_full_widget_of_the_same_stay(service):
    chosen = {"theme": "dark", "accent": "#1d4ed8", "units": "imperial", "lang": "de"}
    some = {"sections": "guide,weather", "layout": "compact"}
    link, picture = mail(service, **DONOSTIA, **chosen, **some)
    address = urlsplit(link["href"])
    assert f"{address.scheme}://{address.netloc}" == service.url
    assert address.path == "/v1/pulse"
    assert picture["src"] == f"{service.url}/v1/pulse.png?{address.query}"
    sent = {name: value for name, (value,) in parse_qs(address.query).items()}
    assert sent == {**DONOSTIA, **chosen, "sections": "guide,weather"}
    assert service.get("/v1/pulse?" + address.query).status_code == 200


def test_mail_code_escapes_the_place_name(service):
    evil = "\"><script>alert(1)</script>'&quot;<img src=x onerror=alert(1)>"
    link, picture = mail(service, **DONOSTIA, place=evil)
    assert evil in picture["alt"]
    assert parse_qs(urlsplit(link["href"]).query)["place"] == [evil]
    assert set(link) == {"href", "lang"}
    assert set(picture) == {"src", "alt", "width", "height", "style"}


@pytest.mark.parametrize(("kind", "path"), [("address", "pulse"), ("calendar", "pulse.ics")])
def test_builder_can_show_only_the_url_of_the_widget_or_of_its_calendar(service, kind, path):
    chosen = {**DONOSTIA, "place": "Río & Sol", "lang": "de"}
    address = urlsplit(code(page(service, **chosen, code=kind, theme="dark", layout="compact")))
    assert f"{address.scheme}://{address.netloc}{address.path}" == f"{service.url}/v1/{path}"
    sent = {name: value for name, (value,) in parse_qs(address.query).items()}
    own = {"theme": "dark", "layout": "compact"} if kind == "address" else {}
    assert sent == {**chosen, **own}
    assert service.get(f"/v1/{path}?{address.query}").status_code == 200


def test_unknown_kind_of_embed_code_falls_back_to_the_code_for_a_web_page(service):
    text = page(service, code="sms")
    assert "data-location-context" in code(text)
    assert re.search(r'<input type="radio" name="code" value=""[^>]* checked>', text)


def test_builder_shows_no_mail_code_while_a_field_is_invalid(service):
    assert code(page(service, **{**DONOSTIA, "lat": "91"}, code="mail")) == ""


def test_preview_has_the_same_query_as_the_code(service):
    text = page(service, **DONOSTIA, theme="auto", units="imperial", lang="en-US", plain="1")
    preview = html.unescape(re.search(r'<iframe id="widget" src="([^"]+)"', text)[1])
    address = html.unescape(re.search(r'src="([^"]+)"', code(text))[1])
    assert preview.startswith("v1/pulse?"), "of this origin, however the page was reached"
    assert urlsplit(preview).query == urlsplit(address).query
    assert parse_qs(urlsplit(address).query)["units"] == ["imperial"]


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2026-11-28", "2026-12-06", f"8 nights. {WITHIN}"),
        ("2026-12-06", "2026-12-07", f"1 night. {STRADDLES}"),
        ("2026-12-07", "2026-12-09", f"2 nights. {BEYOND}"),
        ("2026-11-10", "2026-11-20", f"10 nights. {PAST}"),
        ("2026-11-21", "2026-11-21", f"One day, no night. {WITHIN}"),
        ("2026-12-05", "2026-12-01", "Depart on the day of arrival or later."),
        ("2026-12-01", "2027-06-01", "At most 92 days."),
        ("2026-02-30", "2026-03-01", "A date from 1900 to 2050."),
        ("", "2026-03-01", "A date from 1900 to 2050."),
    ],
)  # fmt: skip
def test_hint_of_the_date_fields_states_nights_and_forecast_range_or_the_error(
    service, start, end, words
):
    assert hint(page(service, **{**DONOSTIA, "start": start, "end": end}), "dates") == words


@pytest.mark.parametrize(
    ("field", "value", "where", "words"),
    [
        ("lat", "91", "place", "A number from -90 to 90."),
        ("lat", "", "place", "A number from -90 to 90."),
        ("lng", "west", "place", "A number from -180 to 180."),
        ("accent", "teal", "accent", "A colour such as #0f766e."),
        ("theme", "blue", "rest", "theme is 'blue'; accepted: light, dark, auto."),
        ("lang", "d_e", "rest", "lang is 'd_e'; accepted: a BCP 47 tag such as en or de-AT."),
    ],
)
def test_invalid_field_is_marked_and_explained_and_no_code_is_shown(
    service, field, value, where, words
):
    text = page(service, **{**DONOSTIA, "place": "", field: value})
    assert hint(text, where) == words
    assert code(text) == ""
    assert "<iframe" not in text
    assert "Correct the marked field" in text
    if where != "rest":
        assert len(re.findall('aria-invalid="true"', text)) == 1


@pytest.mark.parametrize("name", ["place", "lat", "start", "theme", "accent", "lang", "was", "hex"])
@pytest.mark.parametrize(
    "evil", ['"><script>alert(1)</script>', "'-alert(1)-'", "{{ 7 * 7 }}", "javascript:alert(1)"]
)
def test_query_values_cannot_inject_markup(service, name, evil):
    text = page(service, **{**DONOSTIA, name: evil})
    assert text.count("<script") - code(text).count("<script") <= 2
    assert "alert(1)</script>" not in text
    assert 'href="javascript' not in text
    assert ">49<" not in text


def test_place_name_without_coordinates_finds_the_largest_town_and_offers_other_towns(service):
    text = page(service, place="springfield")
    assert values(text)["place"] == "Springfield"
    assert float(values(text)["lat"]) == pytest.approx(37.2, abs=0.1)
    assert hint(text, "place").endswith("America/Chicago time.")
    others = re.findall(r'<li><a href="\?([^"]+)"><span>(.*?)</span><small>(.*?)</small>', text)
    assert ("Springfield", "IL, United States") in [(name, detail) for _, name, detail in others]
    query = parse_qs(html.unescape(others[0][0]))
    assert code(page(service, **{name: value for name, (value,) in query.items()}))


def test_changed_place_name_is_looked_up_or_used_as_a_label(service):
    was = "43.3183,-1.9812,San Sebastián"
    shown = {**DONOSTIA, "was": was}
    assert values(page(service, **shown, place="Bilbao"))["lat"].startswith("43.26")
    text = page(service, **shown, place="Bilbao")
    back = html.unescape(re.findall(r'<li><a href="\?([^"]+)"', text)[-1])
    assert parse_qs(back)["lat"] == ["43.3183"]
    assert parse_qs(back)["place"] == ["Bilbao"]
    stored = page(service, **shown, place="Hotel of no such town")
    assert values(stored)["lat"] == "43.3183"
    moved = page(service, **{**shown, "lat": "43"}, place="Bilbao")
    assert values(moved)["lat"] == "43", "coordinates typed by hand stay"


def test_unknown_place_name_gets_a_hint_to_type_coordinates(service):
    assert hint(page(service, place="Qwxyz"), "place") == (
        "No place with that name; enter its coordinates instead."
    )


def test_hex_colour_field_is_used_if_no_colour_swatch_is_chosen(service):
    assert 'data-accent="#abcdef"' in code(page(service, **DONOSTIA, accent="", hex="#abcdef"))
    assert 'data-accent="#1d4ed8"' in code(
        page(service, **DONOSTIA, accent="#1d4ed8", hex="#abcdef")
    )
    assert "accent" not in code(page(service, **DONOSTIA, accent="", hex=""))


@pytest.mark.parametrize(
    ("colour", "theme", "words"),
    [
        ("#0f766e", "light", ["Contrast on white: 5.4:1, readable."]),
        ("#ff0", "light", ["Contrast on white: 1.0:1, so text uses "]),
        ("#0f766e", "dark", ["Contrast on dark: 3.2:1, so text uses #72cac0 (9."]),
        ("#1d4ed8", "auto", ["Contrast on white: 6.7:1, readable.", "dark: 2.6:1, so "]),
    ],
)  # fmt: skip
def test_hint_of_the_accent_field_states_the_contrast_ratio(colour, theme, words):
    said = form.contrasts(colour, theme, Formatter(Languages({}).english))
    assert len(said) == len(words)
    for one, part in zip(said, words, strict=True):
        assert part in one.sentence


def test_content_security_policy_of_the_builder_allows_only_its_own_style_and_script(service):
    answer = service.get("/")
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )
    style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL)[1]
    script = re.search(r"<script>(.*?)</script>", answer.text, re.DOTALL)[1]
    assert policy == {
        "default-src": "'none'",
        "style-src": hash_of(style),
        "script-src": f"'self' {hash_of(script)}",
        "connect-src": "'self'",
        "frame-src": "'self'",
        "img-src": "data:",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert "set-cookie" not in answer.headers
    assert not re.search(r"\sstyle=|\son\w+=", CODE.sub("", answer.text))


def test_builder_links_to_documents_and_geonames(service):
    text = page(service)
    for path in ("v1/docs", "v1/openapi.json", "v1/status"):
        assert f'<a href="{path}">' in text
        assert service.get(f"/{path}").status_code == 200
    assert "https://www.geonames.org/" in text
    assert "https://creativecommons.org/licenses/by/4.0/" in text


def test_builder_page_is_revalidated_by_etag(service):
    answer = service.get("/")
    assert answer.headers["cache-control"] == "no-cache"
    assert "Accept-Language" in answer.headers["vary"]
    assert answer.headers["content-language"] == "en"
    stored = service.get("/", headers={"If-None-Match": answer.headers["etag"]})
    assert stored.status_code == 304


def test_search_finds_places_by_the_beginning_of_a_name(service):
    answer = service.get("/v1/places", q="san seb", lang="en")
    body = answer.json()
    assert body["places"][0] == {
        "name": "Donostia / San Sebastián",
        "detail": "Spain",
        "lat": pytest.approx(43.31, abs=0.02),
        "lng": pytest.approx(-1.98, abs=0.02),
    }
    assert body["summary"] == f"{len(body['places'])} places found."
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers
    assert service.get("/v1/places", q="koln", lang="en").json()["places"][0]["detail"] == "Germany"
    assert service.get("/v1/places", q="").json() == {"places": [], "summary": "0 places found."}


def test_search_distinguishes_places_of_the_same_name(service):
    found = service.get("/v1/places", q="san jose", lang="en").json()["places"]
    assert len({(place["name"], place["detail"]) for place in found}) == len(found)
