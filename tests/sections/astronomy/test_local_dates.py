"""Zones, clock changes and the poles: right local dates and nulls."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest

from location_context.sections.astronomy.highlights.highlights import clock_changes
from location_context.sections.astronomy.sky.local_days import local_days
from location_context.stay import Stay


def test_sunrise_and_sunset_lie_on_the_local_date_at_utc_plus_14_and_minus_12(reader):
    kiritimati = reader.day(1.87, -157.43, "Pacific/Kiritimati", date(2026, 12, 1)).sun
    baker = reader.day(0.19, -176.48, "Etc/GMT+12", date(2026, 12, 1)).sun
    for sun, offset in ((kiritimati, 14), (baker, -12)):
        assert sun.sunrise.date() == sun.sunset.date() == date(2026, 12, 1)
        assert sun.sunrise.utcoffset() == timedelta(hours=offset)
        assert sun.sunrise < sun.sunset


def test_day_of_a_clock_change_has_23_or_25_hours(reader):
    spring, autumn = date(2026, 3, 29), date(2026, 10, 25)
    zone = ZoneInfo("Europe/Berlin")
    (short,), (long,) = (
        local_days(Stay(spring, spring), zone),
        local_days(Stay(autumn, autumn), zone),
    )
    assert short.end - short.start == 23 * 3600
    assert long.end - long.start == 25 * 3600
    sun = reader.day(52.52, 13.40, "Europe/Berlin", spring).sun
    assert sun.sunrise.utcoffset() == timedelta(hours=2)


def test_polar_day_with_a_repeated_hour_lasts_25_hours(reader):
    """Troll in Antarctica puts its clock by two hours, in the bright half of October."""
    days = reader.body(-85.0, 2.53, "Europe/Oslo", date(2026, 10, 24), date(2026, 10, 26)).days
    assert [day.sun.day_length_seconds for day in days] == [86400, 90000, 86400]


def test_date_that_its_time_zone_skipped_has_no_sunrise(reader):
    days = reader.body(-13.83, -171.77, "Pacific/Apia", date(2011, 12, 29), date(2011, 12, 31)).days
    assert [day.sun.sunrise is None for day in days] == [False, True, False]
    assert days[1].sun.day_length_seconds == 0
    assert days[1].sun.status == "normal"


def test_dates_are_consecutive_across_leap_day_and_new_year(reader):
    leap = reader.body(48.86, 2.35, "Europe/Paris", date(2028, 2, 28), date(2028, 3, 1)).days
    assert [day.date for day in leap] == [date(2028, 2, 28), date(2028, 2, 29), date(2028, 3, 1)]
    new_year = reader.body(48.86, 2.35, "Europe/Paris", date(2026, 12, 30), date(2027, 1, 2)).days
    assert [day.sun.sunrise.date() for day in new_year] == [day.date for day in new_year]


@pytest.mark.parametrize("lat", [90.0, -90.0, 78.22])
@pytest.mark.parametrize("month", [6, 12])
def test_polar_day_and_night_have_no_sunrise(lat, month, reader):
    found = reader.day(lat, 0.0, "UTC", date(2026, month, 20))
    bright = (lat > 0) == (month == 6)
    assert found.sun.status == ("polar_day" if bright else "polar_night")
    assert found.sun.day_length_seconds == (86400 if bright else 0)
    assert found.sun.sunrise is found.sun.sunset is found.sun.civil_dawn is None or not bright
    assert found.sun.solar_noon is not None
    assert (found.night.dark_hours == 0) or not bright


def test_polar_night_is_dark_while_the_moon_is_down(reader):
    days = list(reader.days(88.0, 20.0, "UTC", date(2026, 12, 5), date(2026, 12, 31)))
    hours = [day.night.dark_hours for day in days]
    assert max(hours) == 24
    assert min(hours) == 0


def test_moonrise_is_null_on_a_day_without_a_moonrise(reader):
    days = list(reader.days(48.86, 2.35, "Europe/Paris", date(2026, 11, 1), date(2026, 11, 30)))
    assert sum(day.moon.moonrise is None for day in days) == 1
    assert sum(day.moon.moonset is None for day in days) == 1


def test_each_principal_moon_phase_of_a_month_falls_on_exactly_one_date(reader):
    days = list(reader.days(48.86, 2.35, "Europe/Paris", date(2026, 11, 1), date(2026, 11, 29)))
    named = {
        day.moon.phase: day.date
        for day in days
        if "_moon" in day.moon.phase or "quarter" in day.moon.phase
    }
    assert named == {
        "last_quarter": date(2026, 11, 1),
        "new_moon": date(2026, 11, 9),
        "first_quarter": date(2026, 11, 17),
        "full_moon": date(2026, 11, 24),
    }


def test_evening_and_morning_blue_hour_of_a_white_night_meet_when_the_sun_is_lowest(reader):
    """In a white night the blue hours meet at the lower transit; no hour is cut off."""
    first, second = reader.body(
        60.9, 30.3, "Europe/Moscow", date(2026, 6, 20), date(2026, 6, 21)
    ).days
    assert first.sun.civil_dusk is None
    assert first.sun.blue_hour_evening.end == second.sun.blue_hour_morning.start


def test_utc_offset_with_seconds_is_rounded_to_minutes_without_changing_the_instant(reader):
    """Amsterdam was 19 min 32 s ahead in 1930: no JSON time can say so."""
    zone = ZoneInfo("Africa/Monrovia")
    days = reader.body(6.3, -10.8, "Africa/Monrovia", date(1960, 3, 1), date(1960, 3, 1)).days
    rise = days[0].sun.sunrise
    assert rise.utcoffset() == timedelta(minutes=-45) or rise.utcoffset() == timedelta(minutes=-44)
    (decoded,) = msgspec.json.decode(msgspec.json.encode([rise]), type=list[datetime])
    assert decoded == rise
    assert rise.astimezone(zone).utcoffset() != rise.utcoffset()


@pytest.mark.parametrize(
    ("zone", "day", "minutes", "clock"),
    [
        ("Europe/Paris", date(2026, 3, 29), 60, "03:00"),
        ("America/New_York", date(2026, 11, 1), -60, "01:00"),
        ("Australia/Lord_Howe", date(2026, 4, 5), -30, "01:30"),
        ("America/Havana", date(2026, 3, 8), 60, "01:00"),
        ("Pacific/Apia", date(2011, 12, 31), 1440, "00:00"),
    ],
)
def test_clock_change_is_a_highlight_of_its_date(zone, day, minutes, clock, reader):
    (found,) = reader.highlights(10.0, 10.0, zone, day, kind="clock_change")
    assert (found.details.shift_minutes, found.at.strftime("%H:%M")) == (minutes, clock)
    assert found.title == ("Clocks go forward" if minutes > 0 else "Clocks go back")


def test_time_zone_without_clock_changes_has_no_clock_change_highlight():
    days = local_days(Stay(date(2026, 1, 1), date(2026, 4, 2)), ZoneInfo("Asia/Tokyo"))
    assert clock_changes(days) == []
