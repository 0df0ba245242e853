"""How quick a full astronomy answer is, beside plain skyfield and ephem on the same machine.

    python benchmarks/astronomy_speed.py

Each gives a week for Paris: the Sun's rise, set, transit, azimuths, three twilights, golden and
blue hours, the Moon's rise, set, phase, light and age, five planets' rise, set, 5° and magnitude.
Ours adds the dark windows, the other highlights and the Structs of the answer, with the month held
and no answer cached. Processor time, runs interleaved, the best of each.
"""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from importlib import resources

import ephem
from skyfield import almanac
from skyfield.api import load, wgs84
from skyfield.jpllib import SpiceKernel
from skyfield.magnitudelib import planetary_magnitude

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.astronomy.sky.local_days import local_days
from location_context.sections.contract import Query
from location_context.stay import Stay

LAT, LNG, ZONE = 48.8566, 2.3522, "Europe/Paris"
START = date(2026, 11, 28)
ALTITUDES = (-50 / 60, 6, -4, -6, -12, -18)
PLANETS = ("mercury", "venus", "mars barycenter", "jupiter barycenter", "saturn barycenter")


def ours(days: int) -> "Callable[[], object]":
    section = Astronomy(Ephemeris(), lambda: datetime.now(UTC))
    stay = Stay(START, START + timedelta(days=days - 1))
    point = Point(LAT, LNG, ZONE, "FR")
    query = Query(point, stay, "metric", Languages.load().english)
    return lambda: section.answer(query, local_days(stay, point.zone))


def plain_skyfield() -> "Callable[[], object]":
    kernel = SpiceKernel(str(resources.files("skyfield_data") / "data" / "de421.bsp"))
    ts = load.timescale(builtin=True)
    observer = kernel["earth"] + wgs84.latlon(LAT, LNG)
    begin = datetime(START.year, START.month, START.day, tzinfo=UTC)

    def week() -> None:
        t0, t1 = ts.from_datetime(begin), ts.from_datetime(begin + timedelta(days=8))
        for altitude in ALTITUDES:
            for search in (almanac.find_risings, almanac.find_settings):
                t, _ = search(observer, kernel["sun"], t0, t1, altitude)
                if altitude == ALTITUDES[0]:
                    observer.at(t).observe(kernel["sun"]).apparent().altaz()
        noons = almanac.find_transits(observer, kernel["sun"], t0, t1)
        observer.at(noons).observe(kernel["sun"]).apparent().altaz()
        for name, altitudes in (("moon", (-50 / 60,)), *((p, (-34 / 60, 5)) for p in PLANETS)):
            for altitude in altitudes:
                almanac.find_risings(observer, kernel[name], t0, t1, altitude)
                almanac.find_settings(observer, kernel[name], t0, t1, altitude)
        ends = ts.from_datetimes([begin + timedelta(days=day + 1) for day in range(7)])
        almanac.moon_phase(kernel, ends)
        almanac.fraction_illuminated(kernel, "moon", ends)
        for name in PLANETS:
            planetary_magnitude(kernel["earth"].at(ends).observe(kernel[name]))
        last_new_moon = ts.from_datetime(begin - timedelta(days=30))
        almanac.find_discrete(last_new_moon, t1, almanac.moon_phases(kernel))
        almanac.find_discrete(t0, t1, almanac.seasons(kernel))

    return week


def plain_ephem() -> "Callable[[], object]":
    bodies = (ephem.Mercury, ephem.Venus, ephem.Mars, ephem.Jupiter, ephem.Saturn)

    def pair(observer: ephem.Observer, body: ephem.Body, altitude: float, centre: bool) -> None:
        observer.horizon = str(altitude)
        for search in (observer.next_rising, observer.next_setting):
            try:
                search(body, use_center=centre)
            except ephem.CircumpolarError:
                continue

    def week() -> None:
        observer = ephem.Observer()
        observer.lat, observer.lon, observer.pressure = str(LAT), str(LNG), 0
        for day in range(8):
            observer.date = datetime(START.year, START.month, START.day) + timedelta(days=day)  # noqa: DTZ001  ephem takes naive UTC
            for altitude in ALTITUDES:
                pair(observer, ephem.Sun(), altitude, centre=True)
            observer.next_transit(ephem.Sun())
            pair(observer, ephem.Moon(), -34 / 60, centre=False)
            moon = ephem.Moon(observer)
            _ = moon.phase, ephem.previous_new_moon(observer.date)
            for make in bodies:
                pair(observer, make(), -34 / 60, centre=True)
                pair(observer, make(), 5, centre=True)
                _ = make(observer).mag

    return week


def timed(call: "Callable[[], object]", times: int) -> float:
    """Milliseconds of one call."""
    begin = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - begin) / times * 1000


def main() -> None:
    week, long_stay = ours(7), ours(92)
    skyfield, other = plain_skyfield(), plain_ephem()
    for call in (week, long_stay, skyfield, other):
        call()
    rounds = [
        (timed(week, 60), timed(skyfield, 1), timed(other, 2), timed(long_stay, 2))
        for _ in range(15)
    ]
    mine, plain, quick, long_one = (min(column) for column in zip(*rounds, strict=True))
    fresh = Ephemeris()
    month = timed(lambda: fresh.month((2031, 5)), 1)
    print(f"a week, full answer     {mine:8.2f} ms")
    print(f"plain skyfield          {plain:8.2f} ms   {plain / mine:6.0f} times")
    print(f"ephem                   {quick:8.2f} ms   {quick / mine:6.0f} times")
    print(f"92 days, full answer    {long_one:8.2f} ms")
    print(f"a month that is not held {month:7.1f} ms")


if __name__ == "__main__":
    main()
