"""Eclipses beside NASA's catalogues of 2001 to 2050, and beside astronomy-engine at a point."""

from datetime import UTC, date, datetime, timedelta
from unittest.mock import patch

import astronomy
import numpy as np
import pytest
from skyfield.timelib import Time

from location_context.sections.astronomy.highlights import eclipses
from location_context.sections.astronomy.sky import ephemeris as ephemeris_module
from location_context.sections.astronomy.sky.crossings import Floats
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.astronomy.sky.local_days import tt_ahead
from tests.sections.astronomy import catalogues
from tests.sections.astronomy.queries import at, seconds_apart


class SunAndMoon(Ephemeris):
    """Compute months without planets: they take long, and eclipses do not need them."""

    def _observe(self, t: Time) -> tuple[Floats, Floats]:
        with patch.object(ephemeris_module, "_TARGETS", ("sun", "moon")):
            positions, _ = super()._observe(t)
        places = np.concatenate([positions, np.zeros((5, *positions.shape[1:]))])
        return places, np.zeros((5, positions.shape[-1]))


@pytest.fixture(scope="module")
def sun_and_moon() -> Ephemeris:
    return SunAndMoon(most=500)


def in_terrestrial_time(ephemeris: Ephemeris, moment: float) -> float:
    return moment + float(tt_ahead(ephemeris._timescale, np.array([moment]))[0])


def test_every_catalogued_eclipse_is_found_at_its_catalogued_time(shared_data, sun_and_moon):
    """In time order, so that each month of the ephemeris is made once.

    Lunar ones are within the table's minute, solar ones within two seconds.
    """
    lunar, solar = catalogues.lunar(shared_data), catalogues.solar(shared_data)
    assert (len(lunar), len(solar)) == (116, 110)
    for row in sorted([*lunar, *solar], key=lambda row: row.greatest):
        find = eclipses.solar_eclipse if row in solar else eclipses.lunar_eclipse
        found = find(sun_and_moon, row.greatest - 69)
        off = abs(in_terrestrial_time(sun_and_moon, found.greatest) - row.greatest)
        if isinstance(found, eclipses.SolarEclipse):
            assert off <= 2
        else:
            umbral = found.minutes.value(found.umbral, found.greatest)
            assert eclipses._lunar_kind(umbral) == row.kind
            depth = found.penumbral if row.kind == "penumbral" else found.umbral
            magnitude = found.minutes.value(depth, found.greatest)
            assert magnitude == pytest.approx(row.magnitude, abs=0.002)
            assert off <= 60


@pytest.mark.parametrize("year", [2005, 2019, 2031, 2042])
def test_eclipse_search_finds_as_many_eclipses_as_the_catalogues(year, shared_data, sun_and_moon):
    rows = [*catalogues.lunar(shared_data), *catalogues.solar(shared_data)]
    expected = [r for r in rows if datetime.fromtimestamp(r.greatest, UTC).year == year]
    moments = sun_and_moon.sky_events(at(year, 1, 1).timestamp(), at(year + 1, 1, 1).timestamp())
    solar = [eclipses.solar_eclipse(sun_and_moon, m.at) for m in moments if m.type == "new_moon"]
    lunar = [eclipses.lunar_eclipse(sun_and_moon, m.at) for m in moments if m.type == "full_moon"]
    assert len([e for e in (*solar, *lunar) if e]) == len(expected)


def test_total_eclipse_is_total_at_the_point_of_greatest_eclipse(shared_data, reader):
    """Through the section, at the catalogue's own point of greatest eclipse."""
    for row in catalogues.solar(shared_data)[::6]:
        moment = datetime.fromtimestamp(row.greatest - 69, UTC)
        day = moment.date()
        days = day - timedelta(days=1), day + timedelta(days=1)
        found = reader.highlights(row.lat, row.lng, "UTC", *days, kind="solar_eclipse")
        if row.kind == "partial" and not found:
            continue  # there the Sun stands in the horizon
        (eclipse,) = found
        assert row.kind in {eclipse.details.kind, "hybrid"}
        if row.kind != "partial":
            assert seconds_apart(eclipse.at, moment) < 120


SOLAR_POINTS = [
    (39.57, 2.65, "Europe/Madrid", date(2026, 8, 12)),  # total low over the sea, Sun sets eclipsed
    (64.15, -21.94, "Atlantic/Reykjavik", date(2026, 8, 12)),
    (51.51, -0.13, "Europe/London", date(2026, 8, 12)),
    (25.69, 32.64, "Africa/Cairo", date(2027, 8, 2)),
    (36.13, -5.35, "Europe/Gibraltar", date(2027, 8, 2)),
    (-33.87, 151.21, "Australia/Sydney", date(2028, 7, 22)),
    (32.78, -96.80, "America/Chicago", date(2024, 4, 8)),
    (40.71, -74.01, "America/New_York", date(2017, 8, 21)),
    (35.68, 139.69, "Asia/Tokyo", date(2035, 9, 2)),
    (48.86, 2.35, "Europe/Paris", date(1999, 8, 11)),
]


@pytest.mark.parametrize(("lat", "lng", "zone", "day"), SOLAR_POINTS, ids=str)
def test_local_solar_eclipse_agrees_with_astronomy_engine(lat, lng, zone, day, reader):
    (found,) = reader.highlights(lat, lng, zone, day, kind="solar_eclipse")
    details = found.details
    begin = astronomy.Time.Make(day.year, day.month, day.day, 0, 0, 0.0)
    theirs = astronomy.SearchLocalSolarEclipse(
        astronomy.Time(begin.ut - 0.5), astronomy.Observer(lat, lng, 0)
    )
    near = 15 if day.year < 2030 else 30  # its guess of the Earth's rotation differs from ours
    if theirs.partial_begin.altitude > 0.5:
        assert seconds_apart(details.start, of(theirs.partial_begin)) < near
    if theirs.partial_end.altitude > 0.5:
        assert seconds_apart(details.end, of(theirs.partial_end)) < near
    else:
        assert details.end == reader.day(lat, lng, zone, day).sun.sunset
    if theirs.peak.altitude > 0:
        assert details.kind == theirs.kind.name.lower()
        assert seconds_apart(details.maximum, of(theirs.peak)) < near
        assert details.obscuration == pytest.approx(theirs.obscuration, abs=0.003)


def of(event: astronomy.EclipseEvent) -> datetime:
    return event.time.Utc().replace(tzinfo=UTC)


def test_eclipse_below_the_horizon_is_not_a_highlight(reader):
    days = date(2026, 8, 11), date(2026, 8, 13)
    sydney = -33.87, 151.21, "Australia/Sydney"
    assert reader.highlights(*sydney, *days, kind="solar_eclipse") == []


def test_lunar_eclipse_is_reported_only_while_the_moon_is_above_the_horizon(reader):
    """28 August 2026: whole over Lima, cut by moonset in Paris, under the horizon in Tokyo."""
    days = date(2026, 8, 27), date(2026, 8, 28)

    def eclipse(lat: float, lng: float, zone: str) -> list[tuple[object, datetime, object]]:
        found = reader.highlights(lat, lng, zone, *days, kind="lunar_eclipse")
        return [(h.details.kind, h.at, h.details.end) for h in found]

    lima, paris = eclipse(-12.05, -77.04, "America/Lima"), eclipse(48.8566, 2.3522, "Europe/Paris")
    theirs = astronomy.SearchLunarEclipse(astronomy.Time.Make(2026, 8, 20, 0, 0, 0.0))
    peak = theirs.peak.Utc().replace(tzinfo=UTC)
    assert lima[0][0] == paris[0][0] == "partial"
    assert seconds_apart(lima[0][1], peak) < 30
    moonset = reader.day(48.8566, 2.3522, "Europe/Paris", date(2026, 8, 28)).moon.moonset
    assert paris[0][2] == moonset
    assert eclipse(35.68, 139.69, "Asia/Tokyo") == []


@pytest.mark.parametrize(
    ("lat", "lng", "zone", "kind"),
    [
        (21.31, -157.86, "Pacific/Honolulu", "total"),
        (40.71, -74.01, "America/New_York", "total"),
        (44.65, -63.57, "America/Halifax", "partial"),
    ],
)
def test_eclipse_whose_total_phase_is_below_the_horizon_is_reported_as_partial(
    lat, lng, zone, kind, reader
):
    """3 March 2026: total from 11:04 UTC; in Halifax the Moon sets at 10:53."""
    days = date(2026, 3, 2), date(2026, 3, 3)
    found = reader.highlights(lat, lng, zone, *days, kind="lunar_eclipse")
    assert [h.details.kind for h in found] == [kind]
