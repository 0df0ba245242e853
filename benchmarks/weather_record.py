"""What the section's record costs from held data, against one numpy pass of two quantiles.

Run: `python benchmarks/weather_record.py`. Ten years of a cell's month are held in memory; the
record is everything from those months to JSON bytes (windows, statistics, history, body); the
measure is `numpy.quantile(…, [0.1, 0.9])` over the highs and lows of the same windows, in one run.
"""

import asyncio
import time
from datetime import UTC, date, datetime

import msgspec
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from location_context.localisation.language import Languages
from location_context.point import Point
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

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STAY = Stay(date(2027, 7, 10), date(2027, 7, 16))
POINT = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
ROUNDS = 100


class NoStore:
    """Holds nothing: everything is in memory."""

    async def load(self, *_: object) -> list[object]:
        return []

    async def save(self, *_: object) -> None: ...


def months() -> list[Month]:
    """Ten Julys of made-up weather."""
    random, made = np.random.default_rng(1), []
    for year in range(2016, 2026):
        first, last = month_span(year, 7)
        values = random.normal(20, 5, (len(ARCHIVE_FIELDS), (last - first).days + 1))
        values[ROW["weather_code"]] = random.choice([0, 2, 3, 61, 80], values.shape[1])
        values[ROW["precipitation_sum"]] = np.maximum(0, values[ROW["precipitation_sum"]] - 20)
        values[ROW["wind_direction_dominant"]] *= 10
        made.append(Month(year, 7, Grid(48.75, 2.25, 80.0), NOW, values.astype(np.float32)))
    return made


def timed(work) -> float:  # noqa: ANN001  any callable
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


async def measure() -> dict[str, float]:
    """The quickest of each in milliseconds (others had to share the machine), and their ratio."""
    query = Query(POINT, STAY, "metric", Languages({}).english)
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
        for _ in range(ROUNDS):
            began = time.perf_counter()
            reading = ArchiveQuery(archives, archive, query)
            series = reading.summarise(*await reading.years(None))
            msgspec.json.encode(Presenter(query, series, 35.0, date(2026, 11, 21)).body())
            record.append(time.perf_counter() - began)
            quantiles.append(timed(lambda: np.quantile(windows, [0.1, 0.9], axis=-1)))
        one, other = 1000 * min(record), 1000 * min(quantiles)
        return {"record_ms": one, "quantiles_ms": other, "ratio": one / other}


if __name__ == "__main__":
    for name, value in asyncio.run(measure()).items():
        print(f"{name:14} {value:.3f}")
