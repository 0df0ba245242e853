"""Versions of the restaurant guide. A new one is stored complete and active, or not at all.

The newest few versions are kept, and always the active one and the one it would roll back to.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec
from sqlalchemy import LargeBinary, delete, func, insert, select, text, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.ext.asyncio import AsyncConnection

from location_context.errors import OperatorError, StorageError
from location_context.sections.guide.records import GuideVersion, Provenance, Restaurant
from location_context.storage.database import Database
from location_context.storage.schema import guide_restaurants, guide_versions

MAX_VERSIONS = 5
BATCH_ROWS = 1000
IMPORT_LOCK = 7_236_002  # advisory lock that one import at a time holds on PostgreSQL

_restaurant = msgspec.json.Decoder(Restaurant)
_provenance = msgspec.json.Decoder(Provenance)


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
        async with self._database.read() as connection:
            return [_version(row) for row in await connection.execute(query)]

    async def load(self, number: int) -> list[Restaurant]:
        """The restaurants of a version; empty when it is gone."""
        table, record = guide_restaurants.c, cast("Any", guide_restaurants.c.record)
        if self._database.is_sqlite:  # as bytes: one text that is not UTF-8 would fail them all
            record = sql_cast(record, LargeBinary)
        query = select(table.id, record).where(table.version == number)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
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
    for start in range(0, len(restaurants), BATCH_ROWS):
        rows = [
            {
                "version": version.number,
                "id": restaurant.id,
                "record": msgspec.json.encode(restaurant).decode(),
            }
            for restaurant in restaurants[start : start + BATCH_ROWS]
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
    values = dict(row._mapping)  # noqa: SLF001  SQLAlchemy's documented name
    try:
        provenance = _provenance.decode(values["provenance"])
    except (msgspec.MsgspecError, TypeError, ValueError):
        raise StorageError(
            f"The record of guide version {values['number']} is damaged: import the guide again, "
            "or restore a backup."
        ) from None
    return GuideVersion(**{**values, "provenance": provenance})
