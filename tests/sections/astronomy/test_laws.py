"""Answers obey the laws of nature at any point on any day."""

from datetime import date, timedelta
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from location_context.point import canonical
from location_context.sections.astronomy.response import Span

# months are slow to make: any day of a few years, the first and the last of the ephemeris included
DAYS = st.one_of(
    *(
        st.dates(date(year, month, 1), date(year, month, 28))
        for year, month in ((1900, 2), (1953, 6), (1999, 3), (2026, 9), (2026, 12), (2050, 12))
    ),
    st.sampled_from([date(1900, 1, 1), date(2050, 12, 31), date(2024, 2, 29)]),
)
LATITUDES = st.one_of(st.floats(-90, 90), st.floats(60, 90), st.floats(-90, -60), st.just(90.0))
LONGITUDES = st.floats(-180, 180)
OFTEN = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def nautical(lng: float) -> str:
    hours = round(lng / 15)
    return f"Etc/GMT{-hours:+d}" if hours else "UTC"


def place(lat: float, lng: float) -> tuple[float, float, str]:
    """Return a canonical point and its nautical zone."""
    lat, lng = canonical(lat, lng)
    return lat, lng, nautical(lng)


@OFTEN
@given(LATITUDES, LONGITUDES, DAYS)
def test_sun_moon_and_night_values_lie_within_their_ranges(reader, lat, lng, day):
    found = reader.day(*place(lat, lng), day)
    assert 0 <= found.sun.day_length_seconds <= 86400
    assert 0 <= found.night.dark_hours <= 24
    assert 0 <= found.moon.phase_angle < 360
    assert 0 <= found.moon.illumination <= 1
    assert 0 <= found.moon.age_days < 30
    assert -90 <= (found.sun.noon_altitude or 0) <= 90


@OFTEN
@given(st.floats(-44, 44), LONGITUDES, DAYS)
def test_twilights_sunrise_noon_and_sunset_are_chronological_below_44_degrees_latitude(
    reader, lat, lng, day
):
    sun = reader.day(*place(lat, lng), day).sun
    golden, evening = sun.golden_hour_morning, sun.golden_hour_evening
    blue, dusk = sun.blue_hour_morning, sun.blue_hour_evening
    assert sun.status == "normal"
    order = [
        sun.astronomical_dawn, sun.nautical_dawn, sun.civil_dawn, blue.end, golden.start,
        sun.sunrise, golden.end, sun.solar_noon, evening.start, sun.sunset, evening.end,
        dusk.start, sun.civil_dusk, sun.nautical_dusk, sun.astronomical_dusk,
    ]  # fmt: skip
    assert order == sorted(order)  # none of them is None


@OFTEN
@given(LATITUDES, LONGITUDES, DAYS)
def test_every_sun_and_moon_event_lies_on_its_own_local_date(reader, lat, lng, day):
    found = reader.day(*place(lat, lng), day)
    sun, moon = found.sun, found.moon
    for moment in (
        sun.sunrise, sun.sunset, sun.solar_noon, sun.civil_dawn, sun.civil_dusk,
        sun.nautical_dawn, sun.nautical_dusk, sun.astronomical_dawn, sun.astronomical_dusk,
        moon.moonrise, moon.moonset,
        *(p.rise for p in found.planets), *(p.set for p in found.planets),
    ):  # fmt: skip
        assert moment is None or moment.date() == day


@OFTEN
@given(LATITUDES, LONGITUDES, DAYS)
def test_time_spans_are_never_empty_and_dark_windows_do_not_overlap(reader, lat, lng, day):
    found = reader.day(*place(lat, lng), day)
    sun = found.sun
    spans: list[Span | None] = [
        sun.golden_hour_morning, sun.golden_hour_evening,
        sun.blue_hour_morning, sun.blue_hour_evening, *found.night.dark_windows,
    ]  # fmt: skip
    assert all(span.start < span.end for span in spans if span)
    assert all(a.end <= b.start for a, b in pairwise(found.night.dark_windows))


@OFTEN
@given(LATITUDES, LONGITUDES, DAYS)
def test_polar_day_or_night_has_neither_sunrise_nor_sunset(reader, lat, lng, day):
    sun = reader.day(*place(lat, lng), day).sun
    crosses = sun.sunrise is not None or sun.sunset is not None
    assert crosses == (sun.status == "normal")
    if not crosses:
        assert sun.day_length_seconds == (86400 if sun.status == "polar_day" else 0)


@OFTEN
@given(LATITUDES, LONGITUDES, st.dates(date(2026, 9, 1), date(2026, 12, 20)))
def test_values_of_a_date_are_equal_in_a_one_day_stay_and_in_a_longer_stay(reader, lat, lng, day):
    longer = day - timedelta(days=2), day + timedelta(days=2)
    within = reader.body(*place(lat, lng), *longer).days[2]
    assert reader.day(*place(lat, lng), day) == within


@OFTEN
@given(LATITUDES, LONGITUDES, DAYS)
def test_highlights_lie_inside_the_stay_in_chronological_order(reader, lat, lng, day):
    found = reader.highlights(*place(lat, lng), day)
    assert all(highlight.at.date() == day for highlight in found)
    assert [h.at for h in found] == sorted(h.at for h in found)
    for highlight in found:
        if highlight.details and highlight.details.maximum:
            assert highlight.details.start <= highlight.details.maximum <= highlight.details.end
