"""/v1/oembed: the widget for content systems, after oembed.com."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.errors import PublicError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.language import Languages
from location_context.parameters import WIDGET, parse
from location_context.sections.cached_section import CachedSection
from location_context.service import chosen
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.widget import embedding, oembed
from tests.moved_clock import MovedClock
from tests.parsed import Parsed
from tests.widget.samples.sections import sample_sections
from tests.widget.service import DONOSTIA, Service


def widget_url(service: Service, **more: str) -> str:
    return f"{service.url}/v1/pulse?{urlencode({**DONOSTIA, **more})}"


def test_oembed_answers_with_a_rich_embed(service):
    answer = service.get(
        "/v1/oembed", url=widget_url(service, place="Donostia & bay", accent="#1d4ed8")
    )
    assert answer.status_code == 200
    body = answer.json()
    assert (body["type"], body["version"], body["provider_name"]) == (
        "rich",
        "1.0",
        "Location Context",
    )
    assert body["provider_url"] == f"{service.url}/"
    assert body["title"] == "Weather, sky, restaurants and events in Donostia & bay"
    _, _, (frame, attributes), (script, source) = Parsed(body["html"]).tags
    assert (frame, script) == ("iframe", "script")
    assert attributes["title"] == body["title"]
    assert attributes["sandbox"] == "allow-scripts allow-popups allow-popups-to-escape-sandbox"
    assert (attributes["width"], attributes["height"]) == (str(body["width"]), str(body["height"]))
    assert source == {"src": f"{service.url}/v1/embed.js", "async": None}


def test_oembed_html_has_the_parameters_of_the_requested_widget(service):
    request = {"place": "Donostia & bay", "accent": "#1d4ed8", "theme": "auto", "lang": "en-US"}
    body = service.get("/v1/oembed", url=widget_url(service, units="imperial", **request)).json()
    source = urlsplit(Parsed(body["html"]).tags[2][1]["src"])
    expected = {**DONOSTIA, **request, "units": "imperial"}
    assert parse_qs(source.query) == {name: [value] for name, value in expected.items()}


def test_oembed_names_the_language_so_that_a_cdn_can_cache_the_page(service):
    body = service.get("/v1/oembed", url=widget_url(service)).json()
    query = parse_qs(urlsplit(Parsed(body["html"]).tags[2][1]["src"]).query)
    assert query["lang"] == ["en"], "that of its title"


@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere.example/v1/pulse",
        "{url}/v1/pulse/weather",
        "{url}/v1/pulses",
        "{url}/",
        "{url}.evil.example/v1/pulse",
        "http://someone@{host}/v1/pulse",
        "ftp://{host}/v1/pulse",
        "//{host}/v1/pulse",
        "/v1/pulse",
        "http://[/v1/pulse",
        "http://127.0.0.1:99999/v1/pulse",
    ],
)
def test_oembed_request_for_a_url_that_is_not_a_widget_is_not_found(service, address):
    address = address.format(url=service.url, host=service.url.removeprefix("http://"))
    answer = service.get("/v1/oembed", url=f"{address}?{urlencode(DONOSTIA)}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_oembed_request_for_a_widget_with_a_wrong_parameter_is_not_found_and_says_why(service):
    answer = service.get("/v1/oembed", url=widget_url(service, theme="blue"))
    assert answer.status_code == 404
    assert "theme is 'blue'; accepted: light, dark, auto." in answer.json()["error"]["message"]


@pytest.mark.parametrize("form", ["xml", "yaml", "JSON"])
def test_oembed_supports_only_the_json_format(service, form):
    answer = service.get("/v1/oembed", url=widget_url(service), format=form)
    assert (answer.status_code, answer.json()["error"]["code"]) == (501, "format_not_implemented")
    assert service.get("/v1/oembed", url=widget_url(service), format="json").status_code == 200


def test_oembed_requires_exactly_one_url(service):
    assert service.get("/v1/oembed").json()["error"]["code"] == "missing_parameter"
    assert service.get("/v1/oembed?url=a&url=b").json()["error"]["code"] == "duplicate_parameter"


def test_oembed_obeys_maxwidth_and_maxheight(service):
    free = service.get("/v1/oembed", url=widget_url(service)).json()
    narrow = service.get("/v1/oembed", url=widget_url(service), maxwidth="320").json()
    low = service.get("/v1/oembed", url=widget_url(service), maxheight="400").json()
    assert free["width"] == 720
    assert narrow["width"] == 320
    assert narrow["height"] > free["height"]
    assert low["height"] == 400
    assert "<script" not in low["html"], "the script would make the iframe taller than it may be"
    assert "<script" in narrow["html"]


def test_oembed_uses_the_compact_layout_if_only_the_compact_layout_fits(service):
    def given(height, **more):
        body = service.get("/v1/oembed", url=widget_url(service, **more), maxheight=height).json()
        return "layout=compact" in body["html"], body["height"], "<script" in body["html"]

    is_compact, height, has_script = given("750")
    assert (is_compact, has_script) == (True, True)
    assert 500 < height <= 750
    assert given("400") == (False, 400, False), "it would not fit either"
    assert given("5000")[0] is False
    assert given("750", layout="full") == (False, 750, False)
    assert given("5000", layout="compact")[:2] == (True, height)


@pytest.mark.parametrize("size", ["0", "-1", "1.5", "wide", "１２", "9" * 30])
def test_oembed_refuses_a_size_that_is_not_a_number_of_pixels(service, size):
    answer = service.get("/v1/oembed", url=widget_url(service), maxwidth=size)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("maxwidth is ")


def test_oembed_uses_public_url_and_ignores_the_default_port(gazetteer):
    service = _Parts("https://stays.example/context/", gazetteer)
    request = {"url": f"https://STAYS.example:443/context/v1/pulse?{urlencode(DONOSTIA)}"}
    answer = oembed.read(service, urlencode(request).encode())
    assert "https://stays.example/context/v1/pulse?lat=43.3183&amp;lng=-1.9812" in answer.html
    assert "https://stays.example/context/v1/embed.js" in answer.html


SECTIONS = chosen([CachedSection(one, system_clock) for one in sample_sections(system_clock)], ())


class _Parts:
    """As much of a Service as oEmbed reads."""

    def __init__(self, public_url: str, gazetteer: Gazetteer) -> None:
        self.settings = Settings(public_url=public_url)
        self.languages = Languages.load()
        self.gazetteer, self.clock, self.sections = gazetteer, MovedClock(), ()
        self.choices = {}


@given(
    place=st.text(min_size=1, max_size=120),
    lat=st.floats(-90, 90),
    lng=st.floats(-180, 180),
    guide=st.sampled_from(("", "house")),
)
def test_oembed_html_parses_back_to_the_same_place_and_guide(place, lat, lng, guide):
    languages, settings = Languages({}), Settings()
    fields = {**DONOSTIA, "lat": f"{lat:.6f}", "lng": f"{lng:.6f}", "place": place, "guide": guide}
    try:
        parameters = parse(urlencode(fields, errors="replace").encode(), WIDGET, languages)
    except PublicError:
        return
    first, second = embedding.snippet(settings, parameters, 1480)
    [(holder, attributes), room, (script, _)] = Parsed(first + second).tags
    assert room == ("svg", {"width": "1", "height": "1480"})
    assert (holder, script) == ("div", "script")
    assert attributes.pop("data-location-context") is None
    given = {name.removeprefix("data-"): value for name, value in attributes.items()}
    assert parse(urlencode(given).encode(), WIDGET, languages) == parameters


def test_discovery_link_of_a_widget_leads_to_its_oembed_answer(service):
    languages, settings = Languages({}), Settings(public_url=service.url)
    parameters = parse(urlencode({**DONOSTIA, "place": 'A "b" <c>'}).encode(), WIDGET, languages)
    link = oembed.discovery(
        settings, parameters, embedding.title(SECTIONS, parameters.place, languages.english)
    )
    ((tag, attributes),) = Parsed(str(link)).tags
    assert (tag, attributes["rel"], attributes["type"]) == (
        "link",
        "alternate",
        "application/json+oembed",
    )
    assert attributes["title"] == 'Weather, sky, restaurants and events in A "b" <c>'
    path = attributes["href"].removeprefix(service.url)
    assert service.get(path).json()["title"] == attributes["title"]
