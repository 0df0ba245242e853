"""How quick a full astronomy answer is, beside skyfield, ephem and astronomy-engine used well.

    python benchmarks/astronomy_speed.py [--rounds 5] [--json]

Each gives a week for Paris: the Sun's rise, set, transit, azimuths, three twilights, golden and
blue hours, the Moon's rise, set, phase, light and age, five planets' rise, set, 5° and magnitude.
Skyfield does it with its vectorised almanac: rise, set and twilights in one `find_discrete`, the
rest with `find_risings` and `find_settings`, the quicker way for a single altitude. Ours adds the
dark windows, the other highlights and the Structs of the answer, with the month held and no answer
cached. CPU time, asked in turn; `times` is the median of the rounds' ratios.
"""

import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from pathlib import Path

import astronomy
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

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from benchmarks import figures  # noqa: E402  found by the line above

LAT, LNG, ZONE = 48.8566, 2.3522, "Europe/Paris"
START = date(2026, 11, 28)
GOLDEN = (6, -4)
ALTITUDES = (-50 / 60, *GOLDEN, -6, -12, -18)
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

    twilight = almanac.dark_twilight_day(kernel, wgs84.latlon(LAT, LNG))

    def week() -> None:
        t0, t1 = ts.from_datetime(begin), ts.from_datetime(begin + timedelta(days=8))
        crossings, _ = almanac.find_discrete(t0, t1, twilight)
        observer.at(crossings).observe(kernel["sun"]).apparent().altaz()
        for altitude in GOLDEN:
            almanac.find_risings(observer, kernel["sun"], t0, t1, altitude)
            almanac.find_settings(observer, kernel["sun"], t0, t1, altitude)
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


def plain_astronomy_engine() -> "Callable[[], object]":
    observer, body = astronomy.Observer(LAT, LNG, 0), astronomy.Body
    planets = (body.Mercury, body.Venus, body.Mars, body.Jupiter, body.Saturn)
    ways = (astronomy.Direction.Rise, astronomy.Direction.Set)

    def week() -> None:
        for day in range(8):
            begin = astronomy.Time.Make(START.year, START.month, START.day, 0, 0, 0).AddDays(day)
            for way in ways:
                rise = astronomy.SearchRiseSet(body.Sun, observer, way, begin, 1)
                if rise:
                    seen = astronomy.Equator(body.Sun, rise, observer, True, True)
                    astronomy.Horizon(
                        rise, observer, seen.ra, seen.dec, astronomy.Refraction.Airless
                    )
                for altitude in ALTITUDES[1:]:
                    astronomy.SearchAltitude(body.Sun, observer, way, begin, 1, altitude)
                astronomy.SearchRiseSet(body.Moon, observer, way, begin, 1)
                for planet in planets:
                    astronomy.SearchRiseSet(planet, observer, way, begin, 1)
                    astronomy.SearchAltitude(planet, observer, way, begin, 1, 5)
            astronomy.SearchHourAngle(body.Sun, observer, 0, begin)
            astronomy.MoonPhase(begin)
            for one in (body.Moon, *planets):
                astronomy.Illumination(one, begin)
        astronomy.SearchMoonPhase(0, begin, -30)
        astronomy.Seasons(START.year)

    return week


def timed(call: "Callable[[], object]", times: int) -> float:
    """Milliseconds of one call."""
    begin = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - begin) / times * 1000


def main() -> None:
    given = figures.parser(__doc__ or "", rounds=5).parse_args()
    jobs = {
        "a week, full answer": (ours(7), 60),
        "skyfield": (plain_skyfield(), 1),
        "ephem": (plain_ephem(), 3),
        "astronomy-engine": (plain_astronomy_engine(), 1),
        "92 days, full answer": (ours(92), 3),
        "a month that is not held": (lambda: Ephemeris().month((2031, 5)), 1),
    }
    for call, _ in jobs.values():
        call()
    rounds = [
        {name: timed(call, times) for name, (call, times) in jobs.items()}
        for _ in range(given.rounds)
    ]
    week = [one["a week, full answer"] for one in rounds]
    found = {}
    for name in jobs:
        values = [one[name] for one in rounds]
        found[name] = {"cpu_ms": figures.median(values, 2)}
        if name in {"skyfield", "ephem", "astronomy-engine"}:
            found[name] |= figures.ratio(values, week, "times")
    columns = {"cpu_ms": "CPU ms", "times": "times ours", "times_lowest": "lowest"}
    figures.table(found, {**columns, "times_highest": "highest"}, given)


if __name__ == "__main__":
    main()
