"""What providers answered: answers until they expire, the climate archive, and heights of points.

The archive has a row for each source, cell, month and year. Rows are written once and replaced
whole; a reader sees all rows of one `save` or none.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import delete, select

from location_context.sections.weather.records import MonthRow
from location_context.storage.database import Database
from location_context.storage.schema import (
    climate_extent,
    climate_months,
    point_heights,
    provider_answers,
)
from location_context.upstream.cached_source import CacheRecord


class SqlCacheStore:
    """The `CacheStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, provider: str, key: str, now: datetime) -> bytes | None:
        table = provider_answers.c
        query = select(table.data).where(
            table.provider == provider, table.key == key, table.expires_at > now
        )
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one_or_none()

    async def save(self, answers: Sequence[CacheRecord], now: datetime) -> None:
        insert = self._database.insert(provider_answers)
        statement = insert.on_conflict_do_update(
            index_elements=["provider", "key"],
            set_={name: insert.excluded[name] for name in ("expires_at", "data")},
        )
        rows = [msgspec.structs.asdict(answer) for answer in answers]
        async with self._database.write() as connection:
            await connection.execute(
                delete(provider_answers).where(provider_answers.c.expires_at <= now)
            )
            await connection.execute(statement, rows)


_COLUMNS = [climate_months.c[name] for name in MonthRow.__struct_fields__]
BATCH_ROWS = 60


class SqlClimateStore:
    """The `ClimateStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, source: str, cell: str, months: Sequence[int]) -> list[MonthRow]:
        """Every year stored of these months of a cell."""
        table = climate_months.c
        query = select(*_COLUMNS).where(
            table.source == source, table.cell == cell, table.month.in_(months)
        )
        async with self._database.read() as connection:
            return [MonthRow(*row) for row in await connection.execute(query)]

    async def save(self, rows: Sequence[MonthRow]) -> None:
        """Store rows in one transaction, in place of those stored before."""
        insert = self._database.insert(climate_months)
        replaced = ("lat", "lng", "elevation", "fetched_at", "data")
        statement = insert.on_conflict_do_update(
            index_elements=["source", "cell", "month", "year"],
            set_={name: insert.excluded[name] for name in replaced},
        )
        values = [msgspec.structs.asdict(row) for row in rows]
        async with self._database.write() as connection:
            for start in range(0, len(values), BATCH_ROWS):
                await connection.execute(statement, values[start : start + BATCH_ROWS])

    async def load_elevation(self, lat: float, lng: float) -> float | None:
        """The stored elevation of a point in m."""
        table = point_heights.c
        query = select(table.metres).where(table.lat == _to_grid(lat), table.lng == _to_grid(lng))
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one_or_none()

    async def save_elevations(self, elevations: Mapping[tuple[float, float], float]) -> None:
        """Store the elevations of points; the first one stored stays."""
        rows = [
            {"lat": _to_grid(lat), "lng": _to_grid(lng), "metres": metres}
            for (lat, lng), metres in elevations.items()
        ]
        statement = self._database.insert(point_heights).on_conflict_do_nothing()
        async with self._database.write() as connection:
            await connection.execute(statement, rows)

    async def extent(self) -> tuple[int, datetime | None]:
        """How many rows are stored, and when the newest came; counted as they are written."""
        query = select(climate_extent.c.rows, climate_extent.c.newest)
        async with self._database.read() as connection:
            found = (await connection.execute(query)).first()
        return (found.rows, found.newest) if found else (0, None)


def _to_grid(degrees: float) -> int:
    return round(degrees * 10_000)
