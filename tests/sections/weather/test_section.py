"""The weather section answers with mode, dates, heights, units and words, at a bounded cost."""

import calendar
import math
from datetime import UTC, date, datetime, timedelta
from statistics import fmean

import msgspec
import pytest

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.weather.response import WeatherBody
from location_context.sections.weather.section import FREE_ACCESS
from location_context.sections.weather.summary_text import stay_text
from location_context.settings import Settings
from location_context.stay import Stay, horizon
from tests.fakes import weather_truth
from tests.fakes.open_meteo import ARCHIVE, FORECAST
from tests.sections.weather.conftest import CUSTOMER, FAR, NEAR, PARIS, TODAY, query


async def test_stay_within_the_forecast_horizon_gets_a_daily_forecast(weather):
    reading = await weather.read(query(NEAR))
    body = reading.body
    assert (body.mode, body.basis.kind, body.basis.provider) == (
        "forecast", "forecast", "Open-Meteo",
    )  # fmt: skip
    assert [day.date for day in body.days] == list(NEAR.dates())
    assert body.forecast_until == TODAY + timedelta(15)
    assert reading.complete
    assert body.history == []
    assert body.as_of == weather.clock()
    assert reading.fresh_until == weather.clock() + timedelta(minutes=30)


async def test_values_as_issued_and_values_never_calibrated_equal_those_of_the_provider(weather):
    body = (await weather.read(query(NEAR))).body
    height = weather_truth.terrain(PARIS.lat, PARIS.lng)
    for day in body.days:
        truth = weather_truth.day(PARIS.lat, PARIS.lng, day.date, height)
        high, low = truth["temperature_2m_max"], truth["temperature_2m_min"]
        assert day.issued.temperature_max == pytest.approx(high, abs=0.06)
        assert day.issued.temperature_min == pytest.approx(low, abs=0.06)
        assert day.issued.precipitation_probability == truth["precipitation_probability_max"]
        assert day.precipitation_sum == truth["precipitation_sum"]
        assert day.weather_code == truth["weather_code"]
        assert day.sunshine_hours == truth["sunshine_duration"] / 3600
        assert day.uv_index_max == 4.2


async def test_stay_beyond_the_forecast_horizon_gets_the_climatology_of_ten_years(weather):
    reading = await weather.read(query(FAR))
    body = reading.body
    assert (body.mode, body.basis.kind) == ("climatology", "reanalysis")
    assert body.basis.model == "era5_seamless"
    assert body.basis.years == list(range(2016, 2026))
    assert body.basis.samples_per_day == 310
    assert [year.year for year in body.history] == body.basis.years
    assert body.as_of == datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert not weather.open_meteo.calls(FORECAST)
    assert reading.complete
    assert body.summary.text.startswith("Typically ")
    names = {notice.name for notice in body.attribution}
    assert {"Open-Meteo", "Copernicus Climate Change Service"} <= names


def in_year(stay: Stay, year: int) -> list[date]:
    """The dates of a stay that begins in that year; 29 February is the 28th in most years."""
    leap = calendar.isleap
    shifts = [(day.year - stay.start.year, day.month, day.day) for day in stay.dates()]
    return [
        date(year + after, month, 28 if (month, day) == (2, 29) and not leap(year + after) else day)
        for after, month, day in shifts
    ]


@pytest.mark.parametrize(
    ("today", "stay"),
    [
        (TODAY, FAR),
        (date(2026, 6, 1), Stay(date(2026, 12, 29), date(2027, 1, 3))),
        (TODAY, Stay(date(2028, 2, 29), date(2028, 2, 29))),
        (TODAY, Stay(date(2028, 2, 26), date(2028, 3, 3))),
        (TODAY, Stay(date(2027, 2, 26), date(2027, 3, 3))),
        (TODAY, Stay(date(2028, 2, 29), date(2028, 5, 29))),
    ],
    ids=[
        "week",
        "new year",
        "leap day",
        "over a leap day",
        "over the end of February",
        "three months",
    ],
)
async def test_history_has_the_dates_of_the_stay_in_each_past_year(weather, today, stay):
    weather.clock.now = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
    body = (await weather.read(query(stay))).body
    assert [day.date for day in body.days] == list(stay.dates())
    assert [year.year for year in body.history] == list(range(2016, 2026))
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    cell = weather_truth.terrain(48.75, 2.25)
    for year in body.history:
        dates = sorted(set(in_year(stay, year.year)))
        days = [weather_truth.day(48.75, 2.25, day, cell) for day in dates]
        high = fmean(day["temperature_2m_max"] for day in days)
        shift = body.basis.temperature_correction
        assert year.temperature_max_mean == pytest.approx(high + shift, abs=0.11)
        rain = sum(day["precipitation_sum"] for day in days)
        assert year.precipitation_total == pytest.approx(rain, abs=0.051)
        assert year.wet_days == sum(day["precipitation_sum"] >= 1 for day in days)


async def test_forecast_and_climatology_have_the_same_keys(weather):
    payloads = [(await weather.read(query(stay))).payload for stay in (NEAR, FAR)]
    near, far = (msgspec.json.decode(payload) for payload in payloads)
    assert near.keys() == far.keys()
    assert near["days"][0].keys() == far["days"][0].keys()
    assert near["basis"].keys() == far["basis"].keys()
    assert near["summary"].keys() == far["summary"].keys()
    msgspec.json.decode(msgspec.json.encode(near), type=WeatherBody)


@pytest.mark.parametrize(
    ("stay", "units", "later"),
    [
        (FAR, 70, Stay(date(2027, 2, 18), date(2027, 2, 24))),
        (
            Stay(date(2027, 7, 29), date(2027, 8, 4)),
            110,
            Stay(date(2027, 8, 14), date(2027, 8, 20)),
        ),
    ],
    ids=["within a month", "over two months"],
)
async def test_first_week_costs_one_archive_call_and_other_weeks_of_the_same_months_none(
    weather, stay, units, later
):
    await weather.read(query(stay))
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    heights = len(weather.open_meteo.requests) - 1
    assert sum(weather.open_meteo.units) - heights <= units
    near_by = Point(48.80, 2.30, "Europe/Paris", "FR", "FR-IDF")
    assert (await weather.read(query(later, near_by))).body.basis.samples_per_day >= 303
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1


async def test_stay_over_an_already_stored_february_is_answered_from_the_first_archive(weather):
    await weather.read(query(Stay(date(2027, 2, 8), date(2027, 2, 12))))
    result = await weather.read(query(Stay(date(2027, 1, 28), date(2027, 3, 3))))
    assert result.body.basis.provider == "Open-Meteo"
    assert len(result.body.basis.years) == 10
    assert not weather.nasa_power.server.requests


async def test_restarted_weather_section_answers_from_the_database(weather, build_section):
    first = await weather.read(query(FAR))
    await weather.section.close()
    weather.open_meteo.requests.clear()
    again = await weather.read(query(FAR), section=build_section())
    assert again.payload == first.payload
    assert weather.open_meteo.requests == []


async def test_only_a_year_that_newly_became_complete_is_fetched(weather):
    await weather.read(query(FAR))
    weather.clock.now = datetime(2027, 6, 1, 12, tzinfo=UTC)
    stay = Stay(date(2028, 2, 3), date(2028, 2, 9))
    body = (await weather.read(query(stay))).body
    assert body.basis.years == list(range(2017, 2027))
    last = weather.open_meteo.calls(ARCHIVE)[-1].query
    assert (last["start_date"], last["end_date"]) == ("2026-01-17", "2026-03-15")


@pytest.mark.parametrize(
    ("zone", "lat", "lng", "hour"),
    [("Pacific/Kiritimati", 1.87, -157.43, 11), ("Etc/GMT+12", 0.0, -176.0, 11)],
)
async def test_forecast_horizon_is_counted_from_the_local_date_of_the_point(
    weather, zone, lat, lng, hour
):
    weather.clock.now = datetime(2026, 11, 21, hour, 0, tzinfo=UTC)
    point = Point(lat, lng, zone)
    today = point.today(weather.clock())
    assert today != TODAY
    for end, mode in ((horizon(today), "forecast"), (horizon(today) + timedelta(1), "climatology")):
        stay = Stay(end - timedelta(2), end)
        body = (await weather.read(query(stay, point))).body
        assert (body.mode, body.forecast_until) == (mode, horizon(today))
        assert body.days[0].temperature_max is not None


async def test_answer_changes_from_climatology_to_forecast_at_midnight_at_the_point(weather):
    stay = Stay(horizon(TODAY) + timedelta(1), horizon(TODAY) + timedelta(1))
    reading = await weather.read(query(stay))
    assert reading.body.mode == "climatology"
    weather.clock.now = datetime(2026, 11, 21, 22, 59, 59, tzinfo=UTC)
    reading = await weather.read(query(stay))
    assert reading.fresh_until == datetime(2026, 11, 21, 23, 0, tzinfo=UTC)
    weather.clock.now = datetime(2026, 11, 21, 23, 0, 1, tzinfo=UTC)  # midnight in Paris
    assert (await weather.read(query(stay))).body.mode == "forecast"


@pytest.mark.parametrize("days_ago", [1, 14, 15, 40, 91])
async def test_stay_that_has_begun_gets_a_forecast_with_its_past_days(weather, days_ago):
    stay = Stay(TODAY - timedelta(days_ago), TODAY)
    body = (await weather.read(query(stay))).body
    assert body.mode == "forecast"
    assert all(day.temperature_max is not None for day in body.days)


async def test_past_days_of_a_stay_are_unknown_if_the_provider_has_no_past_days(weather):
    weather.open_meteo.lacking = {"temperature_2m_max"}
    body = (await weather.read(query(Stay(TODAY - timedelta(2), TODAY + timedelta(2))))).body
    assert body.basis.provider == "MET Norway"
    known = [day.temperature_max is not None for day in body.days]
    assert known == [False, False, True, True, True]


async def test_stay_that_has_ended_at_the_point_is_not_applicable(weather):
    body = (await weather.read(query(Stay(TODAY - timedelta(3), TODAY - timedelta(1))))).body
    assert (body.applicable, body.reason) == (False, "stay_in_past")
    weather.clock.now = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
    for zone, lng, refused in (("Pacific/Kiritimati", -157.4, True), ("Etc/GMT+12", -176, False)):
        stay = Stay(TODAY, TODAY)
        applicable = (await weather.read(query(stay, Point(1.8, lng, zone)))).body.applicable
        assert applicable != refused
    assert len(weather.open_meteo.calls(FORECAST)) == 1


async def test_climatology_of_a_stay_at_new_year_uses_no_future_dates(weather):
    weather.clock.now = datetime(2027, 1, 12, 12, tzinfo=UTC)
    stay = Stay(date(2027, 12, 29), date(2028, 1, 3))
    body = (await weather.read(query(stay))).body
    assert body.basis.provider == "Open-Meteo"
    assert body.basis.years[-1] in {2025, 2026}
    assert len(body.basis.years) == 10


async def test_answers_for_valley_and_peak_in_one_grid_cell_do_not_depend_on_request_order(
    weather, build_section
):
    valley = Point(46.02, 7.70, "Europe/Zurich", "CH", "CH-VS")
    peak = Point(45.98, 7.66, "Europe/Zurich", "CH", "CH-VS")
    answers = []
    for order in ((valley, peak), (peak, valley)):
        section = build_section(store=ForgetfulStore())
        both = {p: (await weather.read(query(FAR, p), section=section)).payload for p in order}
        answers.append((both[valley], both[peak]))
    assert answers[0] == answers[1]
    low, high = (msgspec.json.decode(one, type=WeatherBody) for one in answers[0])
    for body, point in ((low, valley), (high, peak)):
        assert body.basis.point_elevation == weather_truth.terrain(point.lat, point.lng)
        gap = body.basis.grid_elevation - body.basis.point_elevation
        assert body.basis.temperature_correction == pytest.approx(gap * 0.0065, abs=0.051)
    apart = low.basis.temperature_correction - high.basis.temperature_correction
    assert abs(apart) > 1
    assert low.days[0].temperature_max - high.days[0].temperature_max == pytest.approx(
        apart, abs=0.11
    )
    centres = {
        (one.query["latitude"], one.query["longitude"])
        for one in weather.open_meteo.requests
        if one.path == ARCHIVE
    }
    assert centres == {("46.0000", "7.7500")}  # so that all months are at one height


class ForgetfulStore:
    """A store that keeps nothing."""

    async def load(self, *_):
        return []

    async def save(self, *_): ...

    async def touch(self, *_): ...

    async def load_elevation(self, *_): ...

    async def save_elevations(self, *_): ...


async def test_temperature_is_not_corrected_if_the_elevation_is_unknown(weather):
    weather.open_meteo.terrain = lambda *_: math.nan
    body = (await weather.read(query(FAR))).body
    assert body.basis.point_elevation is None
    assert body.basis.temperature_correction is None


async def test_elevation_zero_is_not_taken_for_a_missing_elevation(weather):
    weather.open_meteo.terrain = lambda *_: 0.0
    for stay in (NEAR, FAR):
        basis = (await weather.read(query(stay))).body.basis
        assert (basis.point_elevation, basis.grid_elevation) == (0.0, 0.0)
        assert basis.temperature_correction == 0.0


async def test_climatology_omits_days_and_years_missing_in_the_archive(weather):
    weather.open_meteo.missing = {date(2020, 2, 1) + timedelta(n) for n in range(20)}
    weather.open_meteo.missing |= {date(2018, 2, 5)}
    body = (await weather.read(query(FAR))).body
    assert 2020 not in body.basis.years
    assert body.basis.years[0] == 2015
    assert body.basis.samples_per_day == 309
    assert len(weather.open_meteo.calls(ARCHIVE)) == 2


async def test_summary_states_the_number_of_years_if_the_climatology_has_fewer_than_ten(weather):
    weather.open_meteo.missing = {date(1990, 1, 1) + timedelta(n) for n in range(365 * 30)}
    body = (await weather.read(query(FAR))).body
    assert body.basis.years == list(range(2020, 2026))
    assert body.summary.text.endswith(" Based on 6 years of data.")


async def test_history_accompanies_a_forecast_if_the_archive_is_stored(weather):
    await weather.read(query(Stay(date(2027, 11, 1), date(2027, 11, 7))))
    stay = Stay(date(2026, 11, 24), date(2026, 11, 28))
    body = (await weather.read(query(stay))).body
    assert body.mode == "forecast"
    assert len(body.history) == 10
    assert len(weather.open_meteo.calls(ARCHIVE)) == 1
    assert "Copernicus Climate Change Service" in {notice.name for notice in body.attribution}
    same = Stay(date(2027, 11, 24), date(2027, 11, 28))
    assert (await weather.read(query(same))).body.history == body.history


async def test_imperial_values_are_converted_from_the_metric_values(weather):
    metric = (await weather.read(query(FAR))).body
    imperial = (await weather.read(query(FAR, units="imperial"))).body
    assert imperial.units.temperature == "°F"
    for one, other in zip(metric.days, imperial.days, strict=True):
        assert other.temperature_max == pytest.approx(one.temperature_max * 1.8 + 32, abs=0.15)
        assert other.precipitation_probability == one.precipitation_probability
    assert imperial.basis.grid_elevation == pytest.approx(
        metric.basis.grid_elevation / 0.3048, abs=1
    )
    assert "°F" in imperial.summary.text


@pytest.mark.parametrize("stay", [NEAR, FAR, Stay(FAR.start, FAR.start)])
@pytest.mark.parametrize("tag", Languages.load().tags)
async def test_summary_text_is_the_headline_of_the_widget_card_without_special_spaces(
    weather, stay, tag
):
    language = Languages.load().choose(tag)
    body = (await weather.read(query(stay, language=language))).body
    headline = stay_text(body, TODAY, Formatter(language))
    assert body.summary.text == headline.replace("\u00a0", " ").replace("\u2060", "")
    assert not set("\u00a0\u2060") & set(body.summary.text)


async def test_weather_answer_contains_no_nan(weather):
    for stay in (NEAR, FAR, Stay(FAR.start, FAR.start)):
        reading = await weather.read(query(stay))
        assert b"NaN" not in reading.payload
        assert not any(
            isinstance(value, float) and not math.isfinite(value)
            for day in reading.body.days
            for value in msgspec.structs.astuple(day)
        )


async def test_status_names_the_providers_and_the_stored_archive(weather):
    await weather.read(query(FAR))
    await weather.section.sources.archives.repository.flush()
    names = [state.name for state in weather.section.providers()]
    assert names == [
        "open_meteo_forecast", "open_meteo_elevation", "met_norway", "open_meteo_archive",
        "nasa_power",
    ]  # fmt: skip
    dataset = await weather.section.dataset()
    assert (dataset.rows, dataset.version) == (10, None)
    assert any("climate fallback" in notice for notice in weather.section.warnings())


async def test_free_access_warning_appears_only_with_the_free_open_meteo_hosts(build_section):
    urls = {
        f"open_meteo_{name}_url": getattr(Settings(), f"open_meteo_{name}_url")
        for name in ("forecast", "archive")
    }
    assert "docs/weather-server.md" in FREE_ACCESS
    assert FREE_ACCESS in build_section(**urls).warnings()
    assert FREE_ACCESS not in build_section(**urls, **CUSTOMER).warnings()


async def test_open_meteo_api_key_is_sent_as_a_header_and_never_in_a_url(weather, build_section):
    section = build_section(store=ForgetfulStore(), **CUSTOMER)
    for stay in (NEAR, FAR):
        await weather.read(query(stay), section=section)
    assert {one.headers.get("x-api-key") for one in weather.open_meteo.requests} == {"k3y"}
    assert not any("k3y" in one.target for one in weather.open_meteo.requests)
