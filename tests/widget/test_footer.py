"""The footer says whose data it is, under which licence and whether changed, as the JSON does."""

import re
from datetime import date
from functools import partial
from html import unescape

import msgspec
import pytest

from location_context.sections.astronomy.section import ATTRIBUTION as EPHEMERIS
from location_context.sections.contract import Attribution
from location_context.sections.events.providers.holidays import Holidays
from location_context.sections.events.providers.open_holidays import OpenHolidays
from location_context.sections.weather.providers.met_norway import MET_NORWAY
from location_context.sections.weather.providers.nasa_power import NASA_POWER, nasa_power
from location_context.sections.weather.providers.open_meteo import OPEN_METEO, copernicus
from location_context.sections.weather.retrieval.elevations import DEM
from location_context.widget.content import Part, source
from tests.widget.service import FORECAST, STAY

CC_BY = "https://creativecommons.org/licenses/by/4.0/"
ODBL = "https://opendatacommons.org/licenses/odbl/1-0/"
TYPICAL = {**STAY, "start": "2027-08-07", "end": "2027-08-11"}
OPEN_HOLIDAYS = OpenHolidays.attribution
HOLIDAYS = Holidays.attribution


def footer_of(service, given=STAY, **more: str) -> str:
    [found] = re.findall(
        r'<div class="in">((?:(?!<div).)*)</div></details></footer>',
        service.page(given, **more).text,
        flags=re.DOTALL,
    )
    return re.sub(r'<span class="vh"[^>]*>.*?</span>', "", unescape(found))


def words_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"</p>", " ", html).replace("\u00a0", " ")).strip()


def text_of(html: str) -> str:
    return words_of(re.sub(r"<(?!/p)[^>]+>", "", html))


def test_footer_shows_each_notice_once_and_the_time_of_the_data(service):
    said = text_of(footer_of(service, lang="en"))
    wanted = [OPEN_METEO, copernicus(2026), DEM, HOLIDAYS]
    for text in (
        *(one.text for one in wanted),
        "Sample guide 2026: a demonstration, not current, places up to 500 m off",
    ):
        assert said.count(text) == 1
    assert "Updated today, 11:00" in service.page(FORECAST, lang="en-GB").text


@pytest.mark.parametrize(
    ("given", "sections"),
    [(FORECAST, "guide"), (FORECAST, "astronomy,guide"), (TYPICAL, "weather,guide")],
    ids=["guide", "sky and guide", "usual weather and guide"],
)
def test_footer_shows_no_updated_time_if_all_data_come_from_datasets(service, given, sections):
    said = text_of(service.page(given, sections=sections, lang="en-GB").text)
    assert "Sample guide 2026" in said
    assert "Updated" not in said


def test_footer_names_each_source_without_a_click(service):
    text = service.page(lang="en").text
    names = text[text.index("<footer") : text.index("<details", text.index("<footer"))]
    for name in (
        "Open-Meteo",
        "Copernicus",
        "NASA JPL",
        "OpenStreetMap",
        "GeoNames",
        "Ticketmaster",
    ):
        assert name in names
    assert names.count("OpenStreetMap") == 1


def test_footer_links_sources_and_licences_and_says_that_data_were_adapted(service):
    html = footer_of(service, FORECAST, lang="en")
    assert text_of(html).startswith(
        "Weather: Weather data by Open-Meteo.com, CC BY 4.0, adapted · Elevation: Copernicus DEM, "
    )
    links = dict(re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)</a>', html))
    assert links["https://open-meteo.com/"] == "Open-Meteo.com"
    assert links[CC_BY] == "CC BY 4.0"
    assert links[ODBL] == "ODbL"
    assert links["https://www.openholidaysapi.org/"] == "OpenHolidays API"
    for attributes in re.findall(r"<a ([^>]+)>", html):
        assert 'rel="noopener noreferrer nofollow"' in attributes


@pytest.mark.parametrize(
    ("language", "word"), [("de", "bearbeitet"), ("fr", "adaptées"), ("ar", "معدّلة")]
)
def test_footer_translates_the_word_adapted(service, language, word):
    assert f"CC BY 4.0</a></bdi>, {word}".replace(", ", "، " if language == "ar" else ", ") in (
        footer_of(service, lang=language)
    )


def test_notice_that_ends_with_a_full_stop_gets_no_comma(service):
    notice = nasa_power(date(2026, 11, 21), "2.9.7")
    change = partial(msgspec.structs.replace, attribution=[notice])
    with service.answering("weather", change):
        said = text_of(footer_of(service, {**FORECAST, "lat": "44.4"}, lang="en"))
    assert said.startswith(f"Weather: NASA POWER: {notice.text} (adapted) Sky:")


def test_footer_names_a_shared_source_once_at_its_end(service):
    said = text_of(footer_of(service, lang="en"))
    shared = (
        "Time zones: © OpenStreetMap contributors, ODbL · "
        "Places and regions: GeoNames, CC BY 4.0, adapted"
    )
    assert said.count(shared) == 1
    assert said.index(shared) > said.index("Events:")


@pytest.mark.parametrize(
    ("one", "notice", "licence"),
    [
        (
            MET_NORWAY,
            [Part("Data from "), Part("MET Norway", "https://api.met.no/")],
            Part("CC BY 4.0", CC_BY),
        ),
        (  # the last of two words alike is the name
            HOLIDAYS,
            [
                Part("Public holidays: "), Part("holidays", HOLIDAYS.url), Part(" library, "),
                Part("MIT", HOLIDAYS.license_url), Part(" License"),
            ],
            None,
        ),
        (  # the licence's address becomes its link
            OPEN_HOLIDAYS,
            [
                Part("Contains information from the "), Part("OpenHolidays API", OPEN_HOLIDAYS.url),
                Part(", which is made available here under the Open Database License ("),
                Part("ODbL", ODBL), Part(")"),
            ],
            None,
        ),
        (  # a notice that does not name its source
            EPHEMERIS[0],
            [Part("NASA JPL DE421", EPHEMERIS[0].url), Part(f": {EPHEMERIS[0].text}")],
            Part("Public domain"),
        ),
        (
            NASA_POWER,
            [Part("NASA POWER", NASA_POWER.url), Part(f": {NASA_POWER.text}")],
            None,
        ),
        (  # an operator's own guide
            Attribution(name="A (b", url="https://a.example/", license="Ours (b", text="A (b"),
            [Part("A (b", "https://a.example/")],
            Part("Ours (b"),
        ),
        (
            Attribution(name="", url=None, license=None, text="CC BY 4.0"),
            [Part("CC BY 4.0")],
            None,
        ),
    ],
    ids=["plain", "two words", "address", "unnamed", "sentence", "operator's", "no name"],
)  # fmt: skip
def test_attribution_notice_links_the_names_in_its_text(one, notice, licence):
    made = source(one)
    assert list(made.notice) == notice
    assert made.licence == licence
    assert made.adapted == one.adapted


def test_attribution_notice_with_links_keeps_its_exact_words():
    for one in (OPEN_METEO, MET_NORWAY, NASA_POWER, DEM, copernicus(2026), HOLIDAYS):
        said = "".join(part.text for part in source(one).notice)
        assert said in {one.text, f"{one.name}: {one.text}"}
