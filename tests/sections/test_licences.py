"""Every notice tells its licence, where its terms stand, and whether the data was changed."""

import re
from datetime import date

import msgspec
import pytest

from location_context.point import Point
from location_context.sections import registry
from location_context.sections.astronomy.section import ATTRIBUTION as EPHEMERIS
from location_context.sections.contract import CC_BY, ODBL, Attribution, point_notices, terms_of
from location_context.sections.events.providers.base import EventProvider
from location_context.sections.weather.fallback_grid import ITU
from location_context.sections.weather.providers.met_norway import MET_NORWAY
from location_context.sections.weather.providers.nasa_power import NASA_POWER, nasa_power
from location_context.sections.weather.providers.open_meteo import OPEN_METEO, copernicus
from location_context.sections.weather.retrieval.elevations import DEM
from location_context.settings import Settings
from tests.conftest import ROOT

PARIS = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
EVENTS = [
    one.attribution
    for one in registry.load(registry.EVENT_PROVIDERS, EventProvider)
    if one.attribution
]
ALL = [
    OPEN_METEO, MET_NORWAY, NASA_POWER, ITU, DEM, copernicus(2026), *point_notices(PARIS), *EVENTS,
    *EPHEMERIS,
]  # fmt: skip


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_attribution_has_the_url_of_its_licence_terms(one):
    fields = msgspec.to_builtins(one)
    assert set(fields) == {"name", "url", "license", "text", "license_url", "adapted"}
    terms = {
        "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
        "ODbL 1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
        "MIT": "https://opensource.org/license/mit",
        "Public domain": None,
        None: None,
    }
    assert fields["license_url"] == terms[fields["license"]]


def test_cc_by_licensed_data_that_the_service_changed_are_marked_as_adapted():
    assert [one.name for one in ALL if one.license == CC_BY.name and not one.adapted] == []


def test_licence_is_recognised_by_its_name_or_by_its_spdx_identifier():
    assert terms_of(" odbl-1.0 ") == terms_of("ODbL 1.0") == ODBL.url
    assert terms_of("All rights reserved") is terms_of("") is terms_of(None) is None


def test_explicit_licence_url_is_never_replaced():
    own = Attribution(
        name="A", url=None, license="CC BY 4.0", text="A", license_url="https://a.example/terms"
    )
    assert own.license_url == "https://a.example/terms"
    assert msgspec.structs.replace(own, text="B").license_url == "https://a.example/terms"


def test_nasa_power_attribution_names_the_service_its_version_and_the_date():
    one = nasa_power(date(2026, 11, 21), "2.9.7")
    assert one.text == (
        "The data was obtained from the National Aeronautics and Space Administration (NASA) "
        "Langley Research Center (LaRC) Prediction of Worldwide Energy Resource (POWER) Project "
        "funded through the NASA Earth Science/Applied Science Program. The data was obtained from "
        "the POWER Project's Daily 2.9.7 version on 2026/11/21."
    )
    assert one.adapted


def test_each_licence_url_is_written_in_one_source_file_only():
    addresses = ("creativecommons.org/", "opendatacommons.org/", "opensource.org/")
    package = ROOT / "src/location_context"
    found = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*")
        if file.suffix in {".py", ".html", ".js"}
        if any(address in file.read_text("utf-8") for address in addresses)
    }
    assert found == {"sections/contract.py"}


PAGE = (ROOT / "docs" / "providers.md").read_text("utf-8")
ITEMS = [
    " ".join(item.split()) for item in re.split(r"\n(?=\n|[-|#])", PAGE)
]  # rows, points, lines
# addresses that are not a provider's
OURS = {"database_url", "redis_url", "public_url"}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_providers_docs_page_names_each_source_with_its_licence(one):
    terms = f"[{one.license}]({one.license_url})" if one.license_url else one.license or ""
    assert [item for item in ITEMS if one.name in item and terms in item]


def test_providers_docs_page_names_the_url_and_key_setting_of_each_provider():
    names = {one.name for one in msgspec.structs.fields(Settings)}
    wanted = {name for name in names if name.endswith(("_url", "_api_key"))} - OURS
    assert sorted(name for name in wanted if f"`{name.upper()}`" not in PAGE) == []
