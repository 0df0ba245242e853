"""The year over the real stack, from each of its sources, beside plain statistics of the days."""

import csv
import gzip
from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.astronomy.day_records import day_records
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.astronomy.sky.local_days import local_days
from location_context.sections.weather.year import comfort, normals
from location_context.sections.weather.year.section import Year
from location_context.stay import Stay
from location_context.testing import check_section
from tests.moved_clock import MovedClock
from tests.sections.weather.climate.stores import read_city, seasons, write_store
from tests.sections.weather.conftest import write_grid
from tests.web.examples import QUARTERS
from tests.web.full_app import PARIS, full_app

YEARS = range(2015, 2025)
FIRST = date(2015, 12, 1)
PLACE = (49.0, 2.5)  # the cell of Paris in the store's grid
DAYS = {3: 31, 6: 30, 12: 31}  # in a month
LANGUAGES = Languages.load()


def year(client, **params):
    answer = client.get("/v1/pulse/year", {**PARIS, **params})
    assert answer.status_code == 200, answer.text
    return answer.json()


def calls(client) -> list[str]:
    """The providers that were called."""
    sections = client.get("/v1/status").json()["sections"].values()
    providers = [one for section in sections for one in section["providers"]]
    return [
        one["name"]
        for one in providers
        if one["last_success_at"] or one["last_error"] or any(b["used"] for b in one["budgets"])
    ]


def plain_months(path) -> dict[int, tuple[float, float]]:
    """Mean highs and wet days by month, counted row by row."""
    highs: dict[int, list[float]] = {month: [] for month in range(1, 13)}
    wet = dict.fromkeys(highs, 0)
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if int(row["YEAR"]) in YEARS:
                day = date.fromordinal(
                    date(int(row["YEAR"]), 1, 1).toordinal() + int(row["DOY"]) - 1
                )
                if float(row["T2M_MAX"]) > -900:
                    highs[day.month].append(float(row["T2M_MAX"]))
                wet[day.month] += float(row["PRECTOTCORR"]) >= 1
    return {month: (sum(found) / len(found), wet[month] / 10) for month, found in highs.items()}


def test_year_section_of_twenty_cities_agrees_with_averages_of_their_daily_data(
    shared_data, tmp_path
):
    paths = sorted(shared_data.glob("climate/nasa_weather_*.csv.gz"))
    cities = [read_city(path) for path in paths]
    write_store(tmp_path, {place: v for place, _, v in cities}, cities[0][1], years=YEARS)
    off_high, off_wet = [], []
    with full_app(tmp_path) as client:
        for path, ((lat, lng), _, _) in zip(paths, cities, strict=True):
            body = year(client, lat=f"{lat}", lng=f"{lng}")
            assert (body["source"], body["years"]) == ("climate_store", list(YEARS))
            for month, (high, wet) in plain_months(path).items():
                found = body["months"][month - 1]
                off_high.append(abs(found["temperature_max"] - high))
                off_wet.append(abs(found["wet_days"] - wet))
        assert calls(client) == []
    print(f"highs within {max(off_high):.2f} K, wet days within {max(off_wet):.2f}")
    assert len(paths) == 20
    assert max(off_high) <= 0.3
    assert max(off_wet) <= 0.5


def test_year_from_a_climate_store_calls_no_provider(tmp_path):
    write_store(tmp_path, {PLACE: seasons(FIRST, 3800)}, FIRST)
    with full_app(tmp_path) as client:
        body = year(client)
        assert calls(client) == []
        imperial = year(client, units="imperial", lang="de")
    assert body["source"] == "climate_store"
    assert not body["degraded"]
    assert "20–30 °C" in body["comfort_rule"]
    assert "68–86 °F" in imperial["comfort_rule"]
    assert imperial["sentence"].startswith("Am angenehmsten: ")
    assert imperial["comfortable_months"] == body["comfortable_months"]
    high = body["months"][0]["temperature_max"]
    assert imperial["months"][0]["temperature_max"] == pytest.approx(high * 1.8 + 32, abs=0.15)
    assert [month["month"] for month in body["months"]] == list(range(1, 13))
    assert body["months"][6]["temperature_max_p10"] < body["months"][6]["temperature_max"]


def test_year_from_stored_months_calls_no_provider(tmp_path):
    with full_app(tmp_path, open_meteo_budget=()) as client:
        for stay in QUARTERS:
            client.get("/v1/pulse/weather", {**PARIS, **stay})
    with full_app(tmp_path, open_meteo_budget=()) as client:
        body = year(client)
        assert calls(client) == []
    assert (body["source"], len(body["years"])) == ("stored_months", 10)
    assert all(month["sunshine_hours"] is not None for month in body["months"])


def test_whole_year_comes_from_the_fallback_grid_if_a_month_is_missing(tmp_path):
    write_grid(tmp_path)
    with full_app(tmp_path) as client:
        stay = {"start": "2027-02-01", "end": "2027-04-28"}
        client.get("/v1/pulse/weather", {**PARIS, **stay})
        body = year(client)
    assert (body["source"], body["degraded_reason"]) == ("monthly_mean", "archive_unavailable")
    assert body["years"] == []
    assert body["months"][0]["temperature_max"] is None
    assert body["months"][0]["temperature_mean"] == 10.0
    assert body["months"][11]["precipitation_total"] == 71.0
    assert body["comfortable_months"] == [6, 7, 8, 9, 10, 11, 12]


def test_year_without_any_data_is_not_applicable(tmp_path):
    with full_app(tmp_path) as client:
        body = year(client)
    assert (body["applicable"], body["reason"]) == (False, "no_climate_data")


def test_widget_shows_the_year_only_if_the_sections_parameter_includes_year(tmp_path):
    write_store(tmp_path, {PLACE: seasons(FIRST, 3800)}, FIRST)
    with full_app(tmp_path) as client:
        stay = {**PARIS, "start": "2027-05-01", "end": "2027-05-03"}
        default = client.get("/v1/pulse", stay, key=None).text
        named = client.get("/v1/pulse", {**stay, "sections": "weather,year"}, key=None)
        small = {**stay, "sections": "year", "layout": "compact"}
        compact = client.get("/v1/pulse", small, key=None).text
        picture = client.get("/v1/pulse.svg", {**stay, "sections": "year"}, key=None).text
    assert 'id="year"' not in default
    assert 'id="year"' in named.text
    assert named.text.count("<li><p") + named.text.count('<li class="ok"><p') == 12
    assert " style=" not in named.text.partition("<body>")[2]
    for text in (named.text, compact, picture):
        assert "Most comfortable:" in text


@pytest.mark.parametrize(
    ("months", "runs"),
    [
        ([], []),
        ([5, 6, 9], [[5, 6], [9]]),
        ([1, 2, 11, 12], [[11, 12, 1, 2]]),
        ([1, 3, 12], [[3], [12, 1]]),
    ],
)
def test_best_months_before_and_after_new_year_are_joined_into_one_period(months, runs):
    assert comfort.runs(months) == runs


@pytest.mark.parametrize(
    ("language", "months", "closest", "sentence"),
    [
        ("en", [5, 6, 9], 5, "Most comfortable: May, June and September."),
        ("en", [1, 2, 11, 12], 1, "Most comfortable: November to February."),
        ("en", list(range(1, 13)), 1, "Comfortable all year round."),
        ("en", [], 7, "No month is comfortable by this rule; July comes closest."),
        ("en", [], None, "It is not known which months are comfortable."),
        ("de", [4, 10, 11, 12], 4, "Am angenehmsten: April und Oktober bis Dezember."),
        ("fr", [5, 6, 7, 8], 5, "Mois les plus agréables\N{NO-BREAK SPACE}: mai à août."),
        ("es", [1, 2, 11, 12], 1, "Meses más agradables: de noviembre a febrero."),
        ("it", [5, 9, 10, 11], 5, "Mesi più gradevoli: maggio e da settembre a novembre."),
        ("pt", [5], 5, "Meses mais agradáveis: maio."),
        ("nl", [4, 5, 6], 5, "Het aangenaamst: april t/m juni."),
        ("ja", [4, 5, 6, 10], 5, "最も快適：4月から6月、10月。"),
        ("zh-Hans", [4, 5, 6, 10], 5, "最舒适：四月至六月和十月。"),
        ("ar", [3, 4, 5], 5, "الأشهر الأكثر راحة: من مارس إلى مايو."),
    ],
)
def test_best_months_sentence_names_the_months_in_each_language(
    language, months, closest, sentence
):
    fmt = Formatter(LANGUAGES.choose(language))
    assert comfort.sentence(months, closest, fmt) == sentence


@pytest.mark.parametrize("month", [3, 6, 12])
@pytest.mark.parametrize("lat", [-54.9, 0.0, 48.9, 66.0, 85.0])
def test_monthly_daylight_agrees_with_the_astronomy_section_within_five_minutes(lat, month):
    days = local_days(Stay(date(2027, month, 1), date(2027, month, DAYS[month])), ZoneInfo("UTC"))
    point = Point(lat, 0.0, "UTC", None, None)
    lengths = [one.sun.day_length_seconds / 3600 for one in day_records(days, point, Ephemeris())]
    found = normals.daylight(lat)[month - 1]
    assert found == pytest.approx(np.mean(lengths), abs=1 / 12)


@pytest.mark.parametrize("lat", [-90.0, 90.0])
def test_daylight_at_a_pole_is_about_half_of_the_year(lat):
    found = normals.daylight(lat)
    assert {0.0, 24.0} < set(found)
    assert found.mean() == pytest.approx(12.2, abs=0.3)  # refraction


def test_months_without_a_value_are_unknown_instead_of_zero():
    days = np.full((3, 10, 366), np.nan)
    days[:2] = 10.0
    columns = normals.of_days(days)
    assert np.isnan(columns["wet_days"]).all()
    assert np.isnan(comfort.BY_DAY.distance(columns)).all()
    assert columns["temperature_max_p90"].tolist() == [10.0] * 12


class NoMonths:
    """An archive's store that is empty."""

    async def load(self, source, cell, months):
        return []

    async def touch(self, cells):
        pass

    async def load_elevation(self, lat, lng):
        return None


class YearOfTheKit(Year):
    """The section over the kit's settings, which come without a database."""

    sample = staticmethod(Year.sample)

    @classmethod
    def build(cls, context):
        return super().build(replace(context, stores={"climate": NoMonths()}))


def test_year_section_passes_the_conformance_kit(tmp_path):
    write_store(tmp_path, {PLACE: seasons(FIRST, 3800)}, FIRST)
    check_section(YearOfTheKit, settings={"data_dir": str(tmp_path)}, clock=MovedClock())
