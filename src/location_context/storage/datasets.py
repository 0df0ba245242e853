"""What sections read from the database: the restaurant guide, the climate archive, answers.

A new version of the guide is stored complete and active, or not at all. The newest few are kept,
and always the active one and the one it would roll back to. The climate archive has a row for each
source, cell, month and year; rows are written once and replaced whole, and a reader sees all rows
of one `save` or none. What providers answered is kept until it expires.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, cast

import msgspec
from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.ext.asyncio import AsyncConnection

from location_context.errors import DAMAGED, OperatorError, StorageError
from location_context.sections.guide.records import GuideVersion, Provenance, Restaurant
from location_context.sections.weather.records import ArchiveCell, MonthRow
from location_context.settings import Settings
from location_context.storage import schema
from location_context.storage.database import Database
from location_context.storage.schema import guide_restaurants, guide_versions
from location_context.upstream.shared_cache import CacheRecord

_RESTAURANTS_AT_ONCE, _MONTHS_AT_ONCE = 1000, 60  # rows in one statement
_ANSWERS_AT_ONCE, _CELLS_AT_ONCE = 500, 5  # deleted in one transaction; a cell has 120 months
IMPORT_LOCK = 7_236_002  # advisory lock that one import at a time holds on PostgreSQL

_restaurant = msgspec.json.Decoder(Restaurant)
_provenance = msgspec.json.Decoder(Provenance)
_ANSWER = select(schema.provider_answers.c.data).where(
    schema.provider_answers.c.provider == bindparam("provider"),
    schema.provider_answers.c.key == bindparam("key"),
    schema.provider_answers.c.expires_at > bindparam("now"),
)
_OLD_ANSWERS = delete(schema.provider_answers).where(
    schema.provider_answers.c.expires_at <= bindparam("now")
)
_MONTHS = select(*(schema.climate_months.c[name] for name in MonthRow.__struct_fields__)).where(
    schema.climate_months.c.source == bindparam("source"),
    schema.climate_months.c.cell == bindparam("cell"),
    schema.climate_months.c.month.in_(bindparam("months", expanding=True)),
)
_ELEVATION = select(schema.point_heights.c.metres).where(
    schema.point_heights.c.lat == bindparam("lat"), schema.point_heights.c.lng == bindparam("lng")
)


class SqlGuideStore:
    """The `GuideStore` in the database."""

    def __init__(self, database: Database, keep: int = Settings().guide_versions) -> None:
        """`keep`: so many of the newest versions are kept."""
        self._database = database
        self._keep = keep
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
            await connection.execute(delete(guide_versions).where(_superseded(version, self._keep)))
            return version

    async def prune(self) -> AsyncIterator[int]:
        """Delete the versions that are no longer kept, one by one."""
        active = await self.active()
        while active and await self._database.scalar(_one_superseded(active, self._keep)):
            async with self._database.write() as connection:
                await self._lock(connection)
                if active := await _active(connection):
                    number = _one_superseded(active, self._keep).scalar_subquery()
                    old = delete(guide_versions).where(guide_versions.c.number == number)
                    await connection.execute(old)
            yield 1

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


def _superseded(active: GuideVersion, keep: int) -> ColumnElement[bool]:
    """Versions that are no longer kept: never the active one, nor the one before it."""
    number = guide_versions.c.number
    return and_(number <= active.number - keep, number != (active.replaces or 0))


def _one_superseded(active: GuideVersion, keep: int) -> Select[int]:
    return select(guide_versions.c.number).where(_superseded(active, keep)).limit(1)


def _decode_rows(rows: Iterable[Any]) -> tuple[list[Restaurant], list[str]]:
    """The restaurants, and the ids of the records that are damaged."""
    restaurants, damaged = [], []
    for key, record in rows:
        try:
            restaurants.append(_restaurant.decode(record))
        except (*DAMAGED, TypeError):
            damaged.append(key)
    return restaurants, damaged


def _version(row: Any) -> GuideVersion:
    values = row._asdict()
    try:
        provenance = _provenance.decode(values["provenance"])
    except (*DAMAGED, TypeError):
        raise StorageError(
            f"The record of guide version {values['number']} is damaged: import the guide again, "
            "or restore a backup."
        ) from None
    return GuideVersion(**{**values, "provenance": provenance})


class SqlCacheStore:
    """The `CacheStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = database.insert(schema.provider_answers)
        self._insert = insert.on_conflict_do_update(
            index_elements=["provider", "key"],
            set_={name: insert.excluded[name] for name in ("expires_at", "data")},
        )

    async def load(self, provider: str, key: str, now: datetime) -> bytes | None:
        return await self._database.scalar(_ANSWER, provider=provider, key=key, now=now)

    async def save(self, answers: Sequence[CacheRecord], now: datetime) -> None:
        rows = [msgspec.structs.asdict(answer) for answer in answers]
        await self._database.execute((_OLD_ANSWERS, {"now": now}), (self._insert, rows))

    async def prune(self, now: datetime) -> AsyncIterator[int]:
        """Delete the answers that have expired; yields the number of each batch."""
        table = schema.provider_answers
        is_it = table.c.provider == bindparam("p"), table.c.key == bindparam("k")
        old = delete(table).where(*is_it, table.c.expires_at <= now)
        found = select(table.c.provider.label("p"), table.c.key.label("k"))
        found = found.where(table.c.expires_at <= now).limit(_ANSWERS_AT_ONCE)
        while rows := await self._database.rows(found):
            await self._database.execute((old, [row._asdict() for row in rows]))
            yield len(rows)


class SqlClimateStore:
    """The `ClimateStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = database.insert(schema.climate_months)
        replaced = ("lat", "lng", "elevation", "fetched_at", "data")
        self._insert = insert.on_conflict_do_update(
            index_elements=["source", "cell", "month", "year"],
            set_={name: insert.excluded[name] for name in replaced},
        )
        cells = database.insert(schema.climate_cells)
        later = cells.excluded.asked_on
        self._touch = cells.on_conflict_do_update(
            index_elements=["source", "cell"],
            set_={"asked_on": later},
            where=schema.climate_cells.c.asked_on < later,
        )
        self._insert_elevations = database.insert(schema.point_heights).on_conflict_do_nothing()

    async def load(self, source: str, cell: str, months: Sequence[int]) -> list[MonthRow]:
        """Every year stored of these months of a cell."""
        rows = await self._database.rows(_MONTHS, source=source, cell=cell, months=list(months))
        return [MonthRow(**row._asdict()) for row in rows]

    async def save(self, rows: Sequence[MonthRow]) -> None:
        """Store rows in one transaction, in place of those stored before."""
        cells = {(row.source, row.cell): row.fetched_at.date() for row in rows}
        values = [msgspec.structs.asdict(row) for row in rows]
        starts = range(0, len(values), _MONTHS_AT_ONCE)
        parts = ((self._insert, values[start : start + _MONTHS_AT_ONCE]) for start in starts)
        await self._database.execute((self._touch, _touches(cells)), *parts)

    async def touch(self, cells: Mapping[ArchiveCell, date]) -> None:
        """Note on which day somebody asked for cells; the latest stays."""
        await self._database.execute((self._touch, _touches(cells)))

    async def prune(self, asked_before: date) -> AsyncIterator[int]:
        """Delete the months of cells last asked for before a day; yields the number of each batch.

        A cell that is asked for meanwhile stays.
        """
        cells, months = schema.climate_cells, schema.climate_months
        due = select(cells.c.source, cells.c.cell).where(cells.c.asked_on < asked_before)
        while rows := await self._database.rows(
            due.order_by(cells.c.asked_on).limit(_CELLS_AT_ONCE)
        ):
            count = 0
            async with self._database.write() as connection:
                gone = []  # the cells first, as `save` does, so that neither waits for the other
                for source, cell in sorted(map(tuple, rows)):
                    is_it = cells.c.source == source, cells.c.cell == cell
                    old = delete(cells).where(*is_it, cells.c.asked_on < asked_before)
                    if (await connection.execute(old)).rowcount:
                        gone.append((source, cell))
                for source, cell in gone:
                    is_it = months.c.source == source, months.c.cell == cell
                    count += (await connection.execute(delete(months).where(*is_it))).rowcount
            yield count

    async def load_elevation(self, lat: float, lng: float) -> float | None:
        """The stored elevation of a point in m."""
        return await self._database.scalar(_ELEVATION, lat=_to_grid(lat), lng=_to_grid(lng))

    async def save_elevations(self, elevations: Mapping[tuple[float, float], float]) -> None:
        """Store the elevations of points; the first one stored stays."""
        rows = [
            {"lat": _to_grid(lat), "lng": _to_grid(lng), "metres": metres}
            for (lat, lng), metres in elevations.items()
        ]
        await self._database.execute((self._insert_elevations, rows))

    async def extent(self) -> tuple[int, datetime | None]:
        """How many rows are stored, and when the newest came; counted as they are written."""
        query = select(schema.climate_extent.c.rows, schema.climate_extent.c.newest)
        for row in await self._database.rows(query):
            return row.rows, row.newest
        return 0, None


def _touches(cells: Mapping[ArchiveCell, date]) -> list[dict[str, object]]:
    """Rows in one order for all processes, so that none waits for another that waits for it."""
    return [
        {"source": source, "cell": cell, "asked_on": day}
        for (source, cell), day in sorted(cells.items())
    ]


def _to_grid(degrees: float) -> int:
    return round(degrees * 10_000)
