"""Zone, country and region at points whose truth is known."""

import math
from zoneinfo import ZoneInfo, available_timezones

import pytest
import tzfpy
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.gazetteer.zones import (
    boundary_zone,
    main_zone,
    nautical,
    zone_at,
    zone_countries,
)

PLACES = {  # name: lat, lng, zone, country, region
    "Hanoi": (21.03, 105.85, "Asia/Ho_Chi_Minh", "VN", None),
    "Dien Bien Phu": (21.386, 103.02, "Asia/Ho_Chi_Minh", "VN", None),
    "Vientiane": (17.97, 102.61, "Asia/Vientiane", "LA", None),
    "Mukdahan": (16.545, 104.72, "Asia/Bangkok", "TH", None),
    "Chiang Rai": (19.91, 99.83, "Asia/Bangkok", "TH", None),
    "Pristina": (42.663, 21.162, "Europe/Belgrade", "XK", None),
    "Presevo": (42.309, 21.649, "Europe/Belgrade", "RS", None),
    "Novi Pazar": (43.137, 20.512, "Europe/Belgrade", "RS", None),
    "Prizren": (42.214, 20.74, "Europe/Belgrade", "XK", None),
    "Vatican": (41.9022, 12.4539, "Europe/Vatican", "VA", None),
    "Monaco": (43.7384, 7.4246, "Europe/Monaco", "MC", None),
    "Munich": (48.137, 11.575, "Europe/Berlin", "DE", "DE-BY"),
    "Berlin": (52.52, 13.405, "Europe/Berlin", "DE", "DE-BE"),
    "Büsingen": (47.697, 8.689, "Europe/Busingen", "DE", "DE-BW"),
    "Prague": (50.083, 14.42, "Europe/Prague", "CZ", "CZ-10"),
    "Kladno": (50.147, 14.103, "Europe/Prague", "CZ", "CZ-20"),
    "České Budějovice": (48.974, 14.474, "Europe/Prague", "CZ", "CZ-31"),
    "Plzeň": (49.747, 13.378, "Europe/Prague", "CZ", "CZ-32"),
    "Karlovy Vary": (50.231, 12.872, "Europe/Prague", "CZ", "CZ-41"),
    "Ústí nad Labem": (50.661, 14.032, "Europe/Prague", "CZ", "CZ-42"),
    "Liberec": (50.767, 15.056, "Europe/Prague", "CZ", "CZ-51"),
    "Hradec Králové": (50.209, 15.832, "Europe/Prague", "CZ", "CZ-52"),
    "Pardubice": (50.041, 15.777, "Europe/Prague", "CZ", "CZ-53"),
    "Jihlava": (49.396, 15.591, "Europe/Prague", "CZ", "CZ-63"),
    "Brno": (49.195, 16.608, "Europe/Prague", "CZ", "CZ-64"),
    "Olomouc": (49.594, 17.251, "Europe/Prague", "CZ", "CZ-71"),
    "Zlín": (49.224, 17.663, "Europe/Prague", "CZ", "CZ-72"),
    "Ostrava": (49.835, 18.292, "Europe/Prague", "CZ", "CZ-80"),
    "Barcelona": (41.385, 2.173, "Europe/Madrid", "ES", "ES-CT"),
    "San Sebastián": (43.318, -1.981, "Europe/Madrid", "ES", "ES-PV"),
    "Edinburgh": (55.953, -3.188, "Europe/London", "GB", "GB-SCT"),
    "Zürich": (47.377, 8.54, "Europe/Zurich", "CH", "CH-ZH"),
    "Sydney": (-33.868, 151.209, "Australia/Sydney", "AU", "AU-NSW"),
    "Honolulu": (21.307, -157.858, "Pacific/Honolulu", "US", "US-HI"),
    "Strasbourg": (48.573, 7.752, "Europe/Paris", "FR", "FR-6AE"),
    "Metz": (49.12, 6.175, "Europe/Paris", "FR", "FR-57"),
    "Nancy": (48.69, 6.18, "Europe/Paris", "FR", "FR-GES"),
    "Liuli": (-11.085, 34.637, "Africa/Dar_es_Salaam", "TZ", None),
    "Karonga": (-9.933, 33.933, "Africa/Blantyre", "MW", None),
    "Ürümqi": (43.805, 87.575, "Asia/Urumqi", "CN", None),
    "Lhasa": (29.645, 91.1, "Asia/Shanghai", "CN", None),
    "Jan Mayen": (70.922, -8.715, "Europe/Oslo", "SJ", None),
    "Wasa, Antarctica": (-73.04, -13.41, "Etc/UTC", "AQ", None),
    "South Pole": (-90.0, 0.0, "Antarctica/McMurdo", "AQ", None),
    "North Pole": (90.0, 0.0, "Etc/GMT", None, None),
    "mid-Atlantic": (0.0, -30.0, "Etc/GMT+2", None, None),
    "the date line": (0.0, 180.0, "Etc/GMT-12", None, None),
}
TOWNS = {  # a town of each region
    "NL": "DR Assen;FL Lelystad;FR Leeuwarden;GE Arnhem;GR Groningen;LI Maastricht;NB Eindhoven;"
    "NH Amsterdam;OV Enschede;UT Utrecht;ZE Middelburg;ZH Rotterdam",
    "PL": "02 Wrocław;04 Bydgoszcz;06 Lublin;08 Zielona Góra;10 Łódź;12 Kraków;14 Warsaw;16 Opole;"
    "18 Rzeszów;20 Białystok;22 Gdańsk;24 Katowice;26 Kielce;28 Olsztyn;30 Poznań;32 Szczecin",
    "SK": "BC Banská Bystrica;BL Bratislava;KI Košice;NI Nitra;PV Prešov;TC Trenčín;TA Trnava;"
    "ZI Žilina",
    "RO": "AB Alba Iulia;AR Arad;AG Piteşti;BC Bacău;BH Oradea;BN Bistriţa;BT Botoşani;BR Brăila;"
    "BV Braşov;B Bucharest;BZ Buzău;CS Reşiţa;CJ Cluj-Napoca;CT Constanţa;CV Sfântu Gheorghe;"
    "DB Târgovişte;DJ Craiova;GL Galaţi;GJ Târgu Jiu;HR Odorheiu Secuiesc;HD Hunedoara;IL Slobozia;"
    "IS Iaşi;MM Baia Mare;MH Drobeta-Turnu Severin;MS Târgu Mureş;NT Piatra Neamţ;OT Slatina;"
    "PH Ploieşti;SJ Zalău;SM Satu Mare;SB Sibiu;SV Suceava;TR Alexandria;TM Timişoara;TL Tulcea;"
    "VS Bârlad;VL Râmnicu Vâlcea;VN Focșani;CL Olteniţa;GR Giurgiu;IF Voluntari",
}


@pytest.mark.parametrize("name", PLACES)
def test_known_place_has_the_expected_time_zone_country_and_region(gazetteer, name):
    lat, lng, zone, country, region = PLACES[name]
    point = gazetteer.point(lat, lng)
    assert (point.timezone, point.country, point.region) == (zone, country, region)
    assert zone_at(lat, lng) == zone


@pytest.mark.parametrize("country", TOWNS)
def test_listed_town_has_its_region(gazetteer, country):
    truth = dict(one.split(" ", 1)[::-1] for one in TOWNS[country].split(";"))
    for name, code in truth.items():
        towns = (c for c in gazetteer.search(name, 30) if (c.name, c.country) == (name, country))
        assert next(towns).region == f"{country}-{code}", name


@pytest.mark.parametrize(
    ("lat", "lng", "regions"),
    [
        (45.4215, -75.6972, {"CA-ON", "CA-QC"}),  # Ottawa
        (48.137, 11.575, set()),  # Munich, whose region is known
        (0.0, -150.0, set()),
    ],
)
def test_point_near_a_border_has_several_possible_regions(gazetteer, lat, lng, regions):
    point = gazetteer.point(lat, lng)
    assert set(point.possible_regions) == regions
    assert not regions or point.region is None


def test_every_zone_of_the_boundary_data_is_an_iana_time_zone():
    known = zone_countries()
    assert len(known) > 400
    assert set(known) <= available_timezones()


@pytest.mark.parametrize(
    ("country", "zone"),
    [("DE", "Europe/Berlin"), ("US", "America/New_York"), ("VN", "Asia/Ho_Chi_Minh"), ("ZZ", None)],
)
def test_country_has_a_main_time_zone(country, zone):
    assert main_zone(country) == zone


@settings(deadline=None, max_examples=300)
@given(lat=st.floats(-90, 90), lng=st.floats(-180, 180))
def test_every_point_has_a_time_zone_and_normalising_coordinates_twice_changes_nothing(
    gazetteer, lat, lng
):
    point = gazetteer.point(lat, lng)
    assert ZoneInfo(point.timezone)
    assert gazetteer.point(point.lat, point.lng) == point
    if point.region is not None:
        assert point.region.startswith(f"{point.country}-")


def test_boundary_time_zone_agrees_with_tzfpy():
    for number in range(10_000):
        lat = round(math.degrees(math.asin((2 * number + 1) / 10_000 - 1)), 4)
        lng = 180.0 if number % 50 == 0 else round(number * 222.4922 % 360 - 180, 4)
        assert boundary_zone(lat, lng) in (tzfpy.get_tzs(lng, lat) or [nautical(lng)]), (lat, lng)


@pytest.mark.parametrize(("lng", "zone"), [(0, "Etc/GMT"), (7.4, "Etc/GMT"), (7.6, "Etc/GMT-1"),
                                           (-179, "Etc/GMT+12"), (180, "Etc/GMT-12")])  # fmt: skip
def test_time_zone_at_sea_is_fifteen_degrees_wide(lng, zone):
    assert nautical(lng) == zone
