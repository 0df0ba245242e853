"""The year over the real stack, from each of its sources, beside plain statistics of the days."""

import csv
import gzip
from datetime import date

from location_context.localisation.language import Languages
from tests.sections.weather.climate.stores import read_city, seasons, write_store
from tests.sections.weather.conftest import write_grid
from tests.web.full_app import PARIS, full_app

YEARS = range(2015, 2025)
FIRST = date(2015, 12, 1)
PLACE = (49.0, 2.5)  # the cell of Paris in the store's grid
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


def test_year_of_twenty_cities_agrees_with_their_own_months(shared_data, tmp_path):
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
    assert body["source"] == "climate_store"
    assert not body["degraded"]
    assert [month["month"] for month in body["months"]] == list(range(1, 13))
    assert body["months"][6]["temperature_max_p10"] < body["months"][6]["temperature_max"]


def test_year_from_stored_months_calls_no_provider(tmp_path):
    with full_app(tmp_path, open_meteo_budget=()) as client:
        for month in (1, 4, 7, 10):
            stay = {"start": f"2027-{month:02}-01", "end": f"2027-{month + 2:02}-28"}
            client.get("/v1/pulse/weather", {**PARIS, **stay})
    with full_app(tmp_path, open_meteo_budget=()) as client:
        body = year(client)
        assert calls(client) == []
    assert (body["source"], len(body["years"])) == ("stored_months", 10)
    assert all(month["sunshine_hours"] is not None for month in body["months"])


def test_year_without_one_of_the_months_comes_from_the_grid(tmp_path):
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
