"""Stores API keys and request counts; creates the `Authenticator` and `ApiKeys` that use them.

The row of a key may be unreadable, because the file is damaged or another program wrote to it. Such
a row is skipped and reported; all other keys still work. The pepper is the secret of the hashes
that are stored instead of the keys.
"""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

import msgspec
from sqlalchemy import Row, delete, func, select

from location_context.access.address import ClientPseudonymiser
from location_context.access.authenticator import Authenticator
from location_context.access.key_cache import ApiKeyCache
from location_context.access.keys import ApiKey, ApiKeys
from location_context.access.pepper import open_pepper
from location_context.access.quota import Counter, MemoryCounter
from location_context.access.usage import KeyUsage, UsedDay
from location_context.errors import StorageError
from location_context.settings import Settings
from location_context.stay import Clock
from location_context.storage.database import Database, Statement
from location_context.storage.redis import RedisCounter, RedisLink
from location_context.storage.schema import api_keys, key_usage, metadata_kv

_VERSION, _PEPPER_CHECK = "keys_version", "pepper_check"
DIGEST_BYTES = 32
_GET_VERSION = select(metadata_kv.c.value).where(metadata_kv.c.name == _VERSION)
_ALL_KEYS = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)


class SqlApiKeyStore:
    """The `KeyStore` of `access.keys` in SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.damaged: Sequence[str] = ()

    async def version(self) -> str:
        return await self._database.scalar(_GET_VERSION) or ""

    async def all(self) -> Sequence[ApiKey]:
        self.damaged = ()
        try:
            return [_key(row) for row in await self._database.rows(_ALL_KEYS)]
        except (StorageError, ValueError, TypeError):
            if not self._database.is_sqlite:  # PostgreSQL enforces its columns' types
                raise
            return await self._one_by_one()

    async def _one_by_one(self) -> list[ApiKey]:
        """Read keys row by row; return the readable ones, and list the others in `damaged`."""
        keys, damaged = [], []
        counting = select(func.count()).select_from(api_keys)
        for number in range(await self._database.scalar(counting) or 0):
            try:
                (row,) = await self._database.rows(_ALL_KEYS.limit(1).offset(number))
                keys.append(_key(row))
            except (StorageError, ValueError, TypeError):
                damaged.append(await self._id_of(number))
        self.damaged = damaged
        return keys

    async def _id_of(self, number: int) -> str:
        query = _ALL_KEYS.with_only_columns(api_keys.c.id).limit(1).offset(number)
        try:
            return str(await self._database.scalar(query))
        except StorageError:
            return f"in row {number + 1}"

    async def add(self, record: ApiKey) -> None:
        await self._change((api_keys.insert(), asdict(record)))

    async def revoke(self, key_id: str, at: datetime) -> ApiKey | None:
        key = api_keys.c.id == key_id
        active = api_keys.update().where(key, api_keys.c.revoked_at.is_(None))
        await self._change((active, {"revoked_at": at}))
        rows = await self._database.rows(select(api_keys).where(key))
        return _key(rows[0]) if rows else None

    async def retire(self, key_id: str, until: datetime, successor_id: str) -> None:
        key, ends = api_keys.c.id == key_id, api_keys.c.expires_at
        ending = api_keys.update().where(key, ends.is_(None) | (ends > until))
        await self._change(
            (api_keys.update().where(key), {"replaced_by": successor_id}),
            (ending, {"expires_at": until}),
        )

    async def pepper_check(self) -> str | None:
        query = select(metadata_kv.c.value).where(metadata_kv.c.name == _PEPPER_CHECK)
        return await self._database.scalar(query)

    async def set_pepper_check(self, value: str) -> None:
        await self._database.execute(self._fact(_PEPPER_CHECK, value))

    async def _change(self, *statements: Statement) -> None:
        """Execute statements on keys, and set a new version, so that servers reload the keys."""
        await self._database.execute(*statements, self._fact(_VERSION, uuid.uuid4().hex))

    def _fact(self, name: str, value: str) -> Statement:
        """Return an SQL statement and its parameters, which set one value in the table `facts`."""
        statement = self._database.insert(metadata_kv)
        return (
            statement.on_conflict_do_update(
                index_elements=["name"], set_={"value": statement.excluded.value}
            ),
            {"name": name, "value": value},
        )


def _key(row: Row[Any]) -> ApiKey:
    """Return a database row as an `ApiKey`.

    Raises:
        ValueError: the row is damaged.
    """
    key = msgspec.convert(row, ApiKey, from_attributes=True)
    if len(key.digest) != DIGEST_BYTES:
        raise ValueError("the digest has the wrong length")
    return key


class SqlUsageStore:
    """The `UsageStore` of `access.usage` in SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, used: Sequence[UsedDay]) -> None:
        statement = self._database.insert(key_usage)
        more = key_usage.c.requests + statement.excluded.requests
        adding = statement.on_conflict_do_update(
            index_elements=["key_id", "day"], set_={"requests": more}
        )
        rows = [asdict(one) for one in used]
        await self._database.execute((adding, rows))

    async def load(self, since: date) -> list[UsedDay]:
        """Return the stored counts from the day `since` on, ordered by key and day."""
        query = select(key_usage).where(key_usage.c.day >= since)
        rows = await self._database.rows(query.order_by(key_usage.c.key_id, key_usage.c.day))
        return [UsedDay(**row._asdict()) for row in rows]

    async def prune(self, before: date) -> int:
        """Delete the counts of days before `before`; return how many rows were deleted."""
        return await self._database.execute((delete(key_usage).where(key_usage.c.day < before), {}))


async def open_api_keys(settings: Settings, database: Database, clock: Clock) -> ApiKeys:
    """Return the object through which commands create, list, revoke and rotate keys.

    Raises:
        OperatorError: the pepper is missing or does not match the stored keys.
    """
    store = SqlApiKeyStore(database)
    return ApiKeys(store, await open_pepper(settings, store), clock)


@asynccontextmanager
async def open_authenticator(
    settings: Settings, database: Database, clock: Clock, redis: RedisLink | None = None
) -> AsyncIterator[Authenticator]:
    """Open a server's authenticator; it counts requests in `redis` if set, else in this process.

    Raises:
        OperatorError: the pepper is missing or does not match the stored keys.
    """
    store = SqlApiKeyStore(database)
    pepper = await open_pepper(settings, store)
    counter: Counter = RedisCounter(redis, clock) if redis else MemoryCounter(clock)
    usage = KeyUsage(SqlUsageStore(database))
    try:
        yield Authenticator(
            key_cache=ApiKeyCache(store),
            pepper=pepper,
            counter=counter,
            usage=usage,
            pseudonymiser=ClientPseudonymiser(counter, clock),
            clock=clock,
            widget_per_minute=settings.widget_per_minute,
        )
    finally:
        await usage.flush()
