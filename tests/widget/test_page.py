"""The widget's page over HTTP: whole in one file, strict policy, right headers, honest states."""

import re
from datetime import date, timedelta
from functools import partial
from importlib import resources

import msgspec
import pytest

from location_context.errors import UpstreamUnavailable
from location_context.sections.contract import NotApplicable
from tests.parsed import Parsed, hash_of
from tests.widget.service import FORECAST, LANGUAGES, STAY, STRADDLING

FIRST_FLIGHT = 14_336  # bytes that come in the first round trip


def words_of(text: str) -> str:
    hidden = r"<(style|script)>.*?</\1>|<span class=\"vh\">.*?</span>"
    bare = re.sub(hidden, "", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)).replace("\u2060", "")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "given", [STAY, FORECAST, STRADDLING], ids=["typical", "forecast", "both kinds"]
)
def test_page_of_a_week_fits_the_first_tcp_flight_and_the_size_that_the_builder_states(
    service, given, language
):
    template = resources.files("location_context.widget.builder") / "builder.html"
    said = int(re.search(r">(\d+) KB<", template.read_text("utf-8"))[1])
    for theme in ("light", "dark", "auto"):
        answer = service.page(given, {"Accept-Encoding": "br"}, lang=language, theme=theme)
        assert answer.headers["content-encoding"] == "br"
        assert int(answer.headers["content-length"]) <= min(said * 1000, FIRST_FLIGHT), theme
        assert len(Parsed(answer.text).tags) > 300


def test_content_security_policy_has_the_hashes_of_style_and_script_of_the_page(service):
    answer = service.page(theme="auto", accent="#b45309")
    page, policy = Parsed(answer.text), answer.headers["content-security-policy"]
    [style], [script] = page.blocks["style"], page.blocks["script"]
    assert f"style-src {hash_of(style)}" in policy
    assert f"script-src {hash_of(script)}" in policy
    for part in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert part in policy
    assert "frame-ancestors *" in policy
    assert "unsafe" not in policy


def test_page_has_no_style_attribute_no_event_handler_and_no_src_attribute(service):
    for tag, attributes in Parsed(service.page().text).tags:
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert "src" not in attributes
        assert tag not in {"img", "iframe", "object", "embed", "base"}
        if tag == "link":
            assert attributes["rel"] == "alternate"


def test_page_may_be_framed_anywhere_and_sets_no_cookie(service):
    headers = service.page().headers
    assert "x-frame-options" not in headers
    assert "set-cookie" not in headers
    assert headers["cross-origin-embedder-policy"] == "require-corp"
    assert headers["cross-origin-resource-policy"] == "cross-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-robots-tag"] == "noindex"
    assert "ratelimit" not in headers


def test_page_links_send_no_referrer(service):
    tags = Parsed(service.page().text).tags
    links = [a for tag, a in tags if tag == "a" and not a["href"].startswith("#")]
    assert len(links) > 8
    for attributes in links:
        assert attributes["href"].startswith(("https://", f"{service.url}/v1/pulse.ics?"))
        assert attributes["rel"] == "noopener noreferrer nofollow"
        assert attributes["target"] == "_blank"


def test_page_is_revalidated_by_etag(service):
    first = service.page(headers={"Accept-Encoding": "br"})
    plain = service.page(headers={"Accept-Encoding": "identity"})
    assert first.headers["etag"] != plain.headers["etag"]
    again = service.page(headers={"Accept-Encoding": "br", "If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_page_max_age_follows_the_shortest_lived_section(service):
    stored = service.page().headers["cache-control"]
    assert stored == "public, max-age=1800, stale-while-revalidate=60, stale-if-error=3600"


def test_page_without_the_lang_parameter_has_the_language_of_the_visitor(service):
    answer = service.page(headers={"Accept-Language": "de-AT, en;q=0.5"})
    assert answer.headers["content-language"] == "de-AT"
    assert "Accept-Language" in answer.headers["vary"]
    assert '<html lang="de-AT" dir="ltr">' in answer.text
    request = service.page(headers={"Accept-Language": "de"}, lang="ar")
    assert "Accept-Language" not in request.headers["vary"]
    assert '<html lang="ar" dir="rtl">' in request.text


def test_page_omits_a_failing_section_and_is_cached_for_a_minute(service):
    guide = service.sample("guide")
    guide.broken = True
    try:
        answer = service.page(lat="43.4")
    finally:
        guide.broken = False
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert 'aria-labelledby="h-guide"' not in answer.text
    assert "Fireworks contest" in answer.text


def test_page_omits_a_section_that_does_not_apply(service):
    absent = NotApplicable(reason="no_events", message="None.")
    with service.answering("events", lambda _: absent):
        text = service.page(lat="43.5").text
    assert "Fireworks contest" not in text
    assert "None." not in text


def test_stay_partly_beyond_the_forecast_shows_forecast_days_then_typical_days(service):
    text = service.page(STRADDLING, lang="en").text
    said = words_of(text)
    assert "Forecast to Sun 6, then typical" in said
    assert "Typical for these dates, Dec 7" in said or "Typical for these dates, 7" in said
    kinds = re.findall(r'<li class="( typ)?"><p class="vh">', text)
    assert kinds[:4] == [""] * 4
    assert set(kinds[4:]) == {" typ"}


def test_page_shows_only_the_forecast_days_of_a_stay_if_climatology_is_missing(service):
    def near_alone(body):
        if len(body.days) == 8:
            raise UpstreamUnavailable("It holds nothing.", 5)
        return body

    with service.answering("weather", near_alone):
        answer = service.page(STRADDLING, lang="en", lat="43.29")
    assert answer.text.count('<div class="row"') == 4
    assert "Typical" not in words_of(answer.text)
    assert answer.headers["cache-control"] == "public, max-age=60"


def test_page_omits_a_card_that_fails_to_render(service):
    with service.answering("guide", lambda body: msgspec.structs.replace(body, restaurants=[])):
        answer = service.page(lat="43.28", lang="en")
    assert answer.status_code == 200
    assert 'aria-labelledby="h-guide"' not in answer.text
    assert "Your stay, day by day" in answer.text or "A typical day" in answer.text


def test_typical_weather_is_never_called_a_forecast(service):
    said = words_of(service.page(STAY, lang="en").text)
    assert "Typical · 2016–2025" in said
    assert "Forecast" not in said


def test_page_with_only_forecast_days_shows_no_weather_of_past_years(service):
    said = words_of(service.page(FORECAST, lang="en").text)
    assert "last ten years" not in said
    assert "Typical" not in said


def test_page_without_a_place_is_titled_by_city_or_coordinates(service):
    given = {name: value for name, value in STAY.items() if name != "place"}
    assert ">San Sebastián</h1>" in service.page(given, lang="en").text or (
        "Donostia" in service.page(given, lang="en").text
    )
    at_sea = service.page({**given, "lat": "-40.5", "lng": "-120.25"}, lang="en").text
    assert ">40.50° S, 120.25° W</h1>" in at_sea


def test_page_announces_a_clock_change_with_its_date(service):
    text = service.page({**STAY, "start": "2027-03-25", "end": "2027-04-01"}, lang="en").text
    assert "clocks go forward on Sun\u00a028\u00a0Mar" in text


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"lat": "north"}, "invalid_latitude"),
        ({"end": "2027-08-01"}, "invalid_date_range"),
        ({"accent": "red"}, "invalid_accent"),
        ({"sections": "weather,moon"}, "invalid_sections"),
        ({"theme": "neon"}, "invalid_theme"),
        ({"lang": "!!"}, "invalid_language"),
        ({"start": ""}, "missing_parameter"),
        ({"place": "x" * 121}, "invalid_place"),
        ({"layout": "small"}, "invalid_layout"),
    ],
)
def test_error_page_has_its_error_code_request_id_and_theme(service, wrong, code):
    answer = service.page({**STAY, "theme": "dark", **wrong})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    page = Parsed(answer.text)
    assert hash_of(page.blocks["script"][0]) in answer.headers["content-security-policy"]
    assert "pulse:resize" in page.blocks["script"][0]
    assert answer.headers["x-error-code"] == code
    assert answer.headers["x-request-id"].startswith("req_")
    [said] = re.findall(rf"<!-- {code} {answer.headers['x-request-id']}: (.*?) -->", answer.text)
    assert next(iter(wrong)) in said
    assert code not in words_of(re.sub(r"<!--.*?-->", "", answer.text))
    if "theme" not in wrong:
        assert "color-scheme:dark" in answer.text


def test_error_page_is_translated(service):
    answer = service.page({**STAY, "end": "2027-08-01"}, lang="de")
    assert "Wählen Sie die Daten Ihres Aufenthalts." in answer.text
    assert answer.headers["content-language"] == "de"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"lat": ""}, "The place is missing."),
        ({"lng": "400"}, "The place is missing."),
        ({"start": "", "end": ""}, "Choose the dates of your stay."),
        ({"days": "0"}, "Choose the dates of your stay."),
        ({"theme": "neon"}, "This part of the page is not set up correctly."),
    ],
)
def test_error_page_says_what_is_missing_without_parameter_names(service, wrong, sentence):
    answer = service.page({**STAY, **wrong}, lang="en")
    said = words_of(re.sub(r"<!--.*?-->", "", answer.text))
    assert f" Cannot show this stay {sentence} " in said


def test_html_comment_of_the_error_page_escapes_the_wrong_parameter_value(service):
    answer = service.page({**STAY, "theme": "--><b>--!>"})
    [comment] = re.findall(r"<!--(.*?)-->", answer.text, flags=re.DOTALL)
    assert "invalid_theme" in comment
    assert "--" not in comment
    assert "<b>" not in answer.text


def test_page_with_a_stale_forecast_states_the_age_of_the_forecast(service):
    made = service.clock() - timedelta(hours=3)
    stale = partial(msgspec.structs.replace, stale=True, as_of=made)
    with service.answering("weather", stale):
        said = words_of(service.page(FORECAST, lang="en", lat="43.3").text)
    assert "Forecast from 21 Nov 2026, 10:00" in said or "Forecast from Nov 21" in said


@pytest.mark.parametrize("days", [1, 2, 11, 36, 92])
def test_page_shows_a_stay_of_any_length(service, days):
    end = date(2027, 1, 1) + timedelta(days=days - 1)
    answer = service.page({**STAY, "start": "2027-01-01", "end": f"{end}"}, lang="en")
    assert answer.status_code == 200
    assert answer.text.count('<div class="row"') == (0 if days <= 10 else -(-days // 7))
    assert ("A typical day of your stay" in answer.text) == (days <= 10)
