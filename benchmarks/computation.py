"""Speed of what the sections compute: a week's astronomy and ten years' climatology.

    python -m benchmarks.computation [--rounds 5] [--json]

Astronomy runs beside skyfield, ephem and astronomy-engine, each used well. Each computes a week for
Paris: the Sun's rise, set, transit, azimuths, three twilights, golden and blue hours, the Moon's
rise, set, phase, light and age, five planets' rise, set, 5° and magnitude. Skyfield uses its
vectorised almanac: rise, set and twilights in one `find_discrete`, the rest with `find_risings` and
`find_settings`, which are quicker for a single altitude. Ours adds the dark windows, the other
highlights and the Structs of the answer, with the month cached and no answer cached.

The climatology's answer is everything from ten years of a cell's month in memory to JSON bytes
(windows, statistics, history, body), beside `numpy.quantile(…, [0.1, 0.9])` over the highs and lows
of the same windows.

CPU time, in turn; `times` is the median of the rounds' ratios.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from importlib import resources

import astronomy
import ephem
import msgspec
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from skyfield import almanac
from skyfield.api import load, wgs84
from skyfield.jpllib import SpiceKernel
from skyfield.magnitudelib import planetary_magnitude

from benchmarks.harness import figures
from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.astronomy.sky.local_days import local_days
from location_context.sections.contract import Query
from location_context.sections.section import SectionContext
from location_context.sections.weather.climatology import WIDTH
from location_context.sections.weather.presenter import Presenter
from location_context.sections.weather.providers.open_meteo import OpenMeteoArchive
from location_context.sections.weather.records import ARCHIVE_FIELDS, ROW, Grid, Month, month_span
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import ArchiveQuery, Archives
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.upstream.http import HttpClient
from location_context.upstream.shared_cache import SharedCache

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
    """Return CPU milliseconds of one call."""
    begin = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - begin) / times * 1000


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
JULY = Stay(date(2027, 7, 10), date(2027, 7, 16))
POINT = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
RECORDS = 100


class NoStore:
    """A store without rows: everything is in memory."""

    async def load(self, *_: object) -> list[object]:
        return []

    async def save(self, *_: object) -> None: ...


def months() -> list[Month]:
    """Return ten Julys of invented weather."""
    random, made = np.random.default_rng(1), []
    for year in range(2016, 2026):
        first, last = month_span(year, 7)
        values = random.normal(20, 5, (len(ARCHIVE_FIELDS), (last - first).days + 1))
        values[ROW["weather_code"]] = random.choice([0, 2, 3, 61, 80], values.shape[1])
        values[ROW["precipitation_sum"]] = np.maximum(0, values[ROW["precipitation_sum"]] - 20)
        values[ROW["wind_direction_dominant"]] *= 10
        made.append(Month(year, 7, Grid(48.75, 2.25, 80.0), NOW, values.astype(np.float32)))
    return made


async def climatology() -> dict[str, float]:
    """Return the least CPU milliseconds of the record and of the quantiles, and their ratio."""
    query = Query(POINT, JULY, "metric", Languages({}).english)
    async with HttpClient("benchmark") as client:
        archive = OpenMeteoArchive(SectionContext(Settings(), lambda: NOW, client))
        repository = ArchiveRepository(NoStore(), lambda: NOW)
        shared = SharedCache(None, lambda: NOW)
        archives = Archives([archive], repository, lambda: NOW, shared)
        made = months()
        repository.put(archive.source, archive.cell(POINT).key, made)
        highs, lows = (
            np.stack([m.values[ROW[name], 9 : 9 + 37] for m in made]).astype(float)
            for name in ("temperature_max", "temperature_min")
        )
        windows = np.stack(
            [
                sliding_window_view(row, WIDTH, axis=1).transpose(1, 0, 2).reshape(7, -1)
                for row in (highs, lows)
            ]
        ).copy()
        record, quantiles = [], []
        for _ in range(RECORDS):
            began = time.process_time()
            reading = ArchiveQuery(archives, archive, query)
            series = reading.summarise(*await reading.years(None))
            msgspec.json.encode(Presenter(query, series, 35.0, date(2026, 11, 21)).body())
            record.append(time.process_time() - began)
            began = time.process_time()
            np.quantile(windows, [0.1, 0.9], axis=-1)
            quantiles.append(time.process_time() - began)
        one, other = 1000 * min(record), 1000 * min(quantiles)
        return {"record_ms": one, "quantiles_ms": other, "ratio": one / other}


def main() -> None:
    given = figures.parser(__doc__ or "", rounds=5).parse_args()
    jobs = {
        "a week, full answer": (ours(7), 60),
        "skyfield": (plain_skyfield(), 1),
        "ephem": (plain_ephem(), 3),
        "astronomy-engine": (plain_astronomy_engine(), 1),
        "92 days, full answer": (ours(92), 3),
        "a month that is not cached": (lambda: Ephemeris().month((2031, 5)), 1),
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
    rounds_of_climate = [asyncio.run(climatology()) for _ in range(given.rounds)]
    found["ten years, full answer"] = {
        "cpu_ms": figures.median((one["record_ms"] for one in rounds_of_climate), 2)
    }
    found["numpy's quantiles"] = {
        "cpu_ms": figures.median((one["quantiles_ms"] for one in rounds_of_climate), 2)
    }
    columns = {"cpu_ms": "CPU ms", "times": "times ours", "times_lowest": "lowest"}
    figures.table(found, {**columns, "times_highest": "highest"}, given)


if __name__ == "__main__":
    main()
