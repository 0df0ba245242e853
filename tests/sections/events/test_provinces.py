"""Provinces: the maps, put to towns whose province their name or everybody knows."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.point import Point
from location_context.sections.events.providers.open_holidays import TABLES
from location_context.sections.events.providers.subdivisions import (
    PROVINCE_MAPS,
    PROVINCES_BY_REGION,
    collapse_provinces,
    is_observed_at,
    province_of,
)

SEATS = (  # towns that give their name to a Czech district, with its code
    "201 Benešov;202 Beroun;203 Kladno;204 Kolín;205 Kutná Hora;206 Mělník;207 Mladá Boleslav;"
    "208 Nymburk;20B Příbram;20C Rakovník;311 České Budějovice;312 Český Krumlov;"
    "313 Jindřichův Hradec;314 Písek;315 Prachatice;316 Strakonice;317 Tábor;321 Domažlice;"
    "322 Klatovy;323 Plzeň;326 Rokycany;327 Tachov;411 Cheb;412 Karlovy Vary;413 Sokolov;"
    "421 Děčín;422 Chomutov;423 Litoměřice;424 Louny;425 Most;426 Teplice;427 Ústí nad Labem;"
    "511 Česká Lípa;512 Jablonec nad Nisou;513 Liberec;514 Semily;521 Hradec Králové;522 Jičín;"
    "523 Náchod;524 Rychnov nad Kněžnou;525 Trutnov;531 Chrudim;532 Pardubice;533 Svitavy;"
    "534 Ústí nad Orlicí;631 Havlíčkův Brod;632 Jihlava;633 Pelhřimov;634 Třebíč;"
    "635 Žďár nad Sázavou;641 Blansko;642 Brno;644 Břeclav;645 Hodonín;646 Vyškov;647 Znojmo;"
    "711 Jeseník;712 Olomouc;713 Prostějov;714 Přerov;715 Šumperk;721 Kroměříž;"
    "722 Uherské Hradiště;723 Vsetín;724 Zlín;801 Bruntál;802 Frýdek-Místek;803 Karviná;"
    "804 Nový Jičín;805 Opava;806 Ostrava"
)
TOWNS = {
    "Almería": "ES-AL", "El Ejido": "ES-AL", "Cadiz": "ES-CA", "Algeciras": "ES-CA",
    "Jerez de la Frontera": "ES-CA", "Córdoba": "ES-CO", "Lucena": "ES-CO", "Granada": "ES-GR",
    "Motril": "ES-GR", "Huelva": "ES-H", "Ayamonte": "ES-H", "Jaén": "ES-J", "Linares": "ES-J",
    "Málaga": "ES-MA", "Marbella": "ES-MA", "Ronda": "ES-MA", "Antequera": "ES-MA",
    "Sevilla": "ES-SE", "Écija": "ES-SE", "Bolzano": "IT-BZ", "Merano": "IT-BZ",
    "Brunico": "IT-BZ", "Bressanone": "IT-BZ", "Trento": "IT-TN", "Rovereto": "IT-TN",
    "Arco": "IT-TN", "Pergine Valsugana": "IT-TN",
}  # fmt: skip


def _point_of(gazetteer, name: str, country: str) -> Point | None:
    """The most populous town of that name."""
    found = [c for c in gazetteer.search(name, 30) if c.name == name and c.country == country]
    return gazetteer.point(found[0].lat, found[0].lng) if found else None


def test_town_lies_in_the_district_that_bears_its_name(gazetteer):
    seats = {name: f"CZ-{code}" for code, name in (one.split(" ", 1) for one in SEATS.split(";"))}
    points = {name: _point_of(gazetteer, name, "CZ") for name in seats}
    districts = {name: province_of(point) for name, point in points.items() if point}
    assert len(districts) >= len(seats) - 2
    assert {name for name, code in districts.items() if code not in {seats[name], None}} == set()
    unknown = [name for name, code in districts.items() if code is None]
    print(f"{len(districts)} seats, unknown: {unknown}")
    assert len(unknown) <= len(districts) * 0.15


@pytest.mark.parametrize("name", TOWNS)
def test_town_lies_in_its_province(gazetteer, name):
    province = TOWNS[name]
    point = _point_of(gazetteer, name, province[:2])
    assert province_of(point) == province


def test_open_holidays_provinces_have_regions_and_province_maps_use_only_known_codes():
    known = frozenset[str]().union(*PROVINCES_BY_REGION.values())
    assert known == set(TABLES.provinces.values())
    for each in PROVINCE_MAPS.values():
        assert set("".join(each.cells.splitlines())) - {"."} == set(each.codes)


@given(st.floats(-90, 90), st.floats(-180, 180), st.sampled_from(["CZ", "ES", "IT", "FR", None]))
def test_province_of_a_point_lies_in_the_country_of_the_point(lat, lng, country):
    province = province_of(Point(lat, lng, "UTC", country))
    assert province is None or province.startswith(f"{country}-")


def test_provinces_are_replaced_by_their_region_only_if_all_are_present():
    andalusia = sorted(PROVINCES_BY_REGION["ES-AN"])
    assert collapse_provinces([*andalusia, "ES-CT"]) == ("ES-AN", "ES-CT")
    assert collapse_provinces(andalusia[1:]) == tuple(andalusia[1:])


def test_observance_of_a_provincial_holiday_is_unknown_if_the_province_is_unknown():
    border = Point(46.24, 11.21, "Europe/Rome", "IT", "IT-32")  # Salorno
    assert province_of(border) is None
    assert is_observed_at(("IT-BZ",), border) is None
    assert is_observed_at(("IT-32",), border) is True
    assert is_observed_at(("IT-25",), border) is False
    assert is_observed_at((), border) is True


async def test_holidays_of_a_province_are_shown_only_in_that_province(opened):
    places = {"Bolzano": (46.498, 11.354), "Trento": (46.067, 11.121), "Riva": (45.886, 10.841)}
    opened.clock.now = datetime(2026, 1, 15, 8, tzinfo=UTC)
    shown = {}
    for name, place in places.items():
        for day in ("2026-05-25", "2026-06-26"):
            body = (await opened.read(place, day, day)).body
            shown[name, day[5:]] = [e.title for e in getattr(body, "events", ())]
    assert shown == {
        ("Bolzano", "05-25"): ["Pentecost Monday"], ("Bolzano", "06-26"): [],
        ("Trento", "05-25"): [], ("Trento", "06-26"): ["Saint Vigilius's Day"],
        ("Riva", "05-25"): [], ("Riva", "06-26"): [],
    }  # fmt: skip
