"""Answers: what providers answered, for a while: `upstream.shared_cache.CacheStore` by SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import delete, select

from location_context.storage.tables import provider_answers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from location_context.storage.database import Database
    from location_context.upstream.shared_cache import CacheRecord


class Answers:
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
