"""What sections read from the database: the restaurant guide, the climate archive, answers.

A new version of the guide is stored complete and active, or not at all. The newest few are kept,
and always the active one and the one it would roll back to. The climate archive has a row for each
source, cell, month and year; rows are written once and replaced whole, and a reader sees all rows
of one `save` or none. What providers answered is kept until it expires.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec
from sqlalchemy import LargeBinary, delete, func, insert, select, text, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.ext.asyncio import AsyncConnection

from location_context.errors import OperatorError, StorageError
from location_context.sections.guide.records import GuideVersion, Provenance, Restaurant
from location_context.sections.weather.records import MonthRow
from location_context.storage import schema
from location_context.storage.database import Database
from location_context.storage.schema import guide_restaurants, guide_versions
from location_context.upstream.cached_source import CacheRecord

MAX_VERSIONS = 5
_RESTAURANTS_AT_ONCE, _MONTHS_AT_ONCE = 1000, 60  # rows in one statement
IMPORT_LOCK = 7_236_002  # advisory lock that one import at a time holds on PostgreSQL

_restaurant = msgspec.json.Decoder(Restaurant)
_provenance = msgspec.json.Decoder(Provenance)
_MONTH_COLUMNS = [schema.climate_months.c[name] for name in MonthRow.__struct_fields__]


class SqlGuideStore:
    """The `GuideStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.damaged: Sequence[str] = ()

    async def active(self) -> GuideVersion | None:
        async with self._database.read() as connection:
            return await _active(connection)

    async def versions(self) -> list[GuideVersion]:
        """All versions kept, newest first."""
        query = select(guide_versions).order_by(guide_versions.c.number.desc())
        return [_version(row) for row in await self._database.rows(query)]

    async def load(self, number: int) -> list[Restaurant]:
        """The restaurants of a version; empty when it is gone."""
        table, record = guide_restaurants.c, cast("Any", guide_restaurants.c.record)
        if self._database.is_sqlite:  # as bytes: one text that is not UTF-8 would fail them all
            record = sql_cast(record, LargeBinary)
        query = select(table.id, record).where(table.version == number)
        rows = await self._database.rows(query)
        # in a thread, since a large guide takes long enough to be felt by requests
        restaurants, self.damaged = await asyncio.to_thread(_decode_rows, rows)
        return restaurants

    async def replace(
        self, provenance: Provenance, restaurants: Sequence[Restaurant], imported_at: datetime
    ) -> GuideVersion:
        """Keep a new version and make it the active one, in one transaction."""
        async with self._database.write() as connection:
            await self._lock(connection)
            before = await _active(connection)
            newest = await connection.scalar(select(func.max(guide_versions.c.number)))
            version = GuideVersion(
                number=(newest or 0) + 1,
                provenance=provenance,
                rows=len(restaurants),
                imported_at=imported_at,
                replaces=before.number if before else None,
                active=True,
            )
            await connection.execute(update(guide_versions).values(active=False))
            await _insert(connection, version, restaurants)
            await _prune(connection, version)
            return version

    async def rollback(self) -> GuideVersion:
        """Make the version active that the active one replaced.

        Raises:
            OperatorError: there is none.
        """
        async with self._database.write() as connection:
            await self._lock(connection)
            active = await _active(connection)
            number = active.replaces if active else None
            last = select(guide_versions).where(guide_versions.c.number == number)
            row = (await connection.execute(last)).first() if number else None
            if row is None:
                raise OperatorError("There is no earlier version of the guide to return to.")
            await connection.execute(
                update(guide_versions).values(active=guide_versions.c.number == number)
            )
            return msgspec.structs.replace(_version(row), active=True)

    async def _lock(self, connection: AsyncConnection) -> None:
        if not self._database.is_sqlite:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({IMPORT_LOCK})"))


async def _active(connection: AsyncConnection) -> GuideVersion | None:
    row = (await connection.execute(select(guide_versions).where(guide_versions.c.active))).first()
    return _version(row) if row else None


async def _insert(
    connection: AsyncConnection, version: GuideVersion, restaurants: Sequence[Restaurant]
) -> None:
    values = msgspec.structs.asdict(version)
    values["provenance"] = msgspec.json.encode(version.provenance).decode()
    await connection.execute(insert(guide_versions).values(**values))
    for start in range(0, len(restaurants), _RESTAURANTS_AT_ONCE):
        rows = [
            {
                "version": version.number,
                "id": restaurant.id,
                "record": msgspec.json.encode(restaurant).decode(),
            }
            for restaurant in restaurants[start : start + _RESTAURANTS_AT_ONCE]
        ]
        await connection.execute(insert(guide_restaurants), rows)


async def _prune(connection: AsyncConnection, active: GuideVersion) -> None:
    """Drop old versions, but for the active one and the one before it."""
    oldest = active.number - MAX_VERSIONS + 1
    await connection.execute(
        delete(guide_versions).where(
            guide_versions.c.number < oldest, guide_versions.c.number != (active.replaces or 0)
        )
    )


def _decode_rows(rows: Iterable[Any]) -> tuple[list[Restaurant], list[str]]:
    """The restaurants, and the ids of the records that are damaged."""
    restaurants, damaged = [], []
    for key, record in rows:
        try:
            restaurants.append(_restaurant.decode(record))
        except (msgspec.MsgspecError, TypeError, ValueError):
            damaged.append(key)
    return restaurants, damaged


def _version(row: Any) -> GuideVersion:
    values = row._asdict()
    try:
        provenance = _provenance.decode(values["provenance"])
    except (msgspec.MsgspecError, TypeError, ValueError):
        raise StorageError(
            f"The record of guide version {values['number']} is damaged: import the guide again, "
            "or restore a backup."
        ) from None
    return GuideVersion(**{**values, "provenance": provenance})


class SqlCacheStore:
    """The `CacheStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, provider: str, key: str, now: datetime) -> bytes | None:
        table = schema.provider_answers.c
        query = select(table.data).where(
            table.provider == provider, table.key == key, table.expires_at > now
        )
        return await self._database.scalar(query)

    async def save(self, answers: Sequence[CacheRecord], now: datetime) -> None:
        insert = self._database.insert(schema.provider_answers)
        statement = insert.on_conflict_do_update(
            index_elements=["provider", "key"],
            set_={name: insert.excluded[name] for name in ("expires_at", "data")},
        )
        rows = [msgspec.structs.asdict(answer) for answer in answers]
        async with self._database.write() as connection:
            await connection.execute(
                delete(schema.provider_answers).where(schema.provider_answers.c.expires_at <= now)
            )
            await connection.execute(statement, rows)


class SqlClimateStore:
    """The `ClimateStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, source: str, cell: str, months: Sequence[int]) -> list[MonthRow]:
        """Every year stored of these months of a cell."""
        table = schema.climate_months.c
        query = select(*_MONTH_COLUMNS).where(
            table.source == source, table.cell == cell, table.month.in_(months)
        )
        return [MonthRow(**row._asdict()) for row in await self._database.rows(query)]

    async def save(self, rows: Sequence[MonthRow]) -> None:
        """Store rows in one transaction, in place of those stored before."""
        insert = self._database.insert(schema.climate_months)
        replaced = ("lat", "lng", "elevation", "fetched_at", "data")
        statement = insert.on_conflict_do_update(
            index_elements=["source", "cell", "month", "year"],
            set_={name: insert.excluded[name] for name in replaced},
        )
        values = [msgspec.structs.asdict(row) for row in rows]
        async with self._database.write() as connection:
            for start in range(0, len(values), _MONTHS_AT_ONCE):
                await connection.execute(statement, values[start : start + _MONTHS_AT_ONCE])

    async def load_elevation(self, lat: float, lng: float) -> float | None:
        """The stored elevation of a point in m."""
        table = schema.point_heights.c
        query = select(table.metres).where(table.lat == _to_grid(lat), table.lng == _to_grid(lng))
        return await self._database.scalar(query)

    async def save_elevations(self, elevations: Mapping[tuple[float, float], float]) -> None:
        """Store the elevations of points; the first one stored stays."""
        rows = [
            {"lat": _to_grid(lat), "lng": _to_grid(lng), "metres": metres}
            for (lat, lng), metres in elevations.items()
        ]
        statement = self._database.insert(schema.point_heights).on_conflict_do_nothing()
        async with self._database.write() as connection:
            await connection.execute(statement, rows)

    async def extent(self) -> tuple[int, datetime | None]:
        """How many rows are stored, and when the newest came; counted as they are written."""
        query = select(schema.climate_extent.c.rows, schema.climate_extent.c.newest)
        for row in await self._database.rows(query):
            return row.rows, row.newest
        return 0, None


def _to_grid(degrees: float) -> int:
    return round(degrees * 10_000)
