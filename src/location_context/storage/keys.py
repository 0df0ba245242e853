"""API keys in the database."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from sqlalchemy import select

from location_context.access.keys import ApiKey
from location_context.storage.tables import api_keys, facts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncConnection

    from location_context.storage.database import Database

_VERSION, _PEPPER_CHECK = "keys_version", "pepper_check"


class Keys:
    """`access.keys.KeyStore` on SQLite and PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def version(self) -> str:
        return await self._fact(_VERSION) or ""

    async def all(self) -> Sequence[ApiKey]:
        async with self._database.read() as connection:
            rows = await connection.execute(
                select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)
            )
            return [ApiKey(**row) for row in rows.mappings()]

    async def add(self, record: ApiKey) -> None:
        async with self._database.write() as connection:
            await self._add(connection, record)
            await self._changed(connection)

    async def revoke(self, key_id: str, at: datetime) -> ApiKey | None:
        key = api_keys.c.id == key_id
        async with self._database.write() as connection:
            await connection.execute(
                api_keys.update().where(key, api_keys.c.revoked_at.is_(None)).values(revoked_at=at)
            )
            await self._changed(connection)
            row = (await connection.execute(select(api_keys).where(key))).mappings().first()
        return ApiKey(**row) if row else None

    async def rotate(self, key_id: str, until: datetime, successor: ApiKey) -> None:
        key, ends = api_keys.c.id == key_id, api_keys.c.expires_at
        async with self._database.write() as connection:
            await self._add(connection, successor)
            await connection.execute(api_keys.update().where(key).values(replaced_by=successor.id))
            await connection.execute(
                api_keys.update()
                .where(key, ends.is_(None) | (ends > until))
                .values(expires_at=until)
            )
            await self._changed(connection)

    async def pepper_check(self) -> str | None:
        return await self._fact(_PEPPER_CHECK)

    async def set_pepper_check(self, value: str) -> None:
        async with self._database.write() as connection:
            await self._set(connection, _PEPPER_CHECK, value)

    async def _add(self, connection: AsyncConnection, record: ApiKey) -> None:
        values = {column.name: getattr(record, column.name) for column in api_keys.columns}
        await connection.execute(api_keys.insert().values(**values))

    async def _changed(self, connection: AsyncConnection) -> None:
        await self._set(connection, _VERSION, uuid.uuid4().hex)

    async def _fact(self, name: str) -> str | None:
        async with self._database.read() as connection:
            return await connection.scalar(select(facts.c.value).where(facts.c.name == name))

    async def _set(self, connection: AsyncConnection, name: str, value: str) -> None:
        statement = self._database.insert(facts).values(name=name, value=value)
        await connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_={"value": value})
        )
