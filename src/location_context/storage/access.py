"""Access put together with its stores, for the server and the key commands."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from location_context.access.address import Disguise
from location_context.access.gate import Gate
from location_context.access.keyring import Keyring
from location_context.access.keys import ApiKeys
from location_context.access.pepper import open_pepper
from location_context.access.quota import Counter, MemoryCounter
from location_context.access.slowdown import Slowdown
from location_context.storage.keys import Keys
from location_context.storage.quotas import RedisCounter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.storage.database import Database
    from location_context.storage.redis import RedisLink


async def open_keys(settings: Settings, database: Database, clock: Clock) -> ApiKeys:
    """What the operator does with keys.

    Raises:
        OperatorError: the pepper is missing or does not fit the stored keys.
    """
    store = Keys(database)
    return ApiKeys(store, await open_pepper(settings, store), clock)


@asynccontextmanager
async def open_gate(
    settings: Settings, database: Database, clock: Clock, redis: RedisLink | None = None
) -> AsyncIterator[Gate]:
    """The gate of a server, which counts in `redis`, else in this process.

    Raises:
        OperatorError: the pepper is missing or does not fit the stored keys.
    """
    store = Keys(database)
    pepper = await open_pepper(settings, store)
    counter: Counter = MemoryCounter(clock)
    if redis is not None:
        counter = RedisCounter(redis, clock)
    try:
        yield Gate(
            keyring=Keyring(store),
            pepper=pepper,
            counter=counter,
            disguise=Disguise(counter, clock),
            slowdown=Slowdown(),
            clock=clock,
            widget_per_minute=settings.widget_per_minute,
        )
    finally:
        await counter.close()
