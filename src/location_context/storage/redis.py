"""The one connection to Redis or Valkey that whatever replicas share goes through.

While Redis is gone, callers go on alone: `ask` gives None at once, and one caller a second tries.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from redis.commands.core import AsyncScript

    from location_context.settings import Secret

_CONNECTIONS = 16
PATIENCE = 1.0  # seconds; less would take a busy processor for a silent Redis
_ALONE = 1.0  # seconds before a Redis that failed is asked again


class RedisLink:
    """Redis with a way on when it is gone. `prefix` stands before every key.

    Attributes:
        degraded: whether Redis failed when it was last asked.
    """

    def __init__(
        self, url: Secret, prefix: str = "location-context:", patience: float = PATIENCE
    ) -> None:
        """`patience`: seconds to wait for a connection or an answer."""
        self.prefix = prefix
        self.degraded = False
        self._patience = patience
        self._alone_until = 0.0
        self._turns = asyncio.Semaphore(_CONNECTIONS)  # to wait for a turn is not a fault of Redis
        self.redis: Redis = Redis.from_url(
            url.reveal(),
            socket_timeout=patience,
            socket_connect_timeout=patience,
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        )

    def script(self, text: str) -> AsyncScript:
        """A script in Lua, sent once and called by its hash."""
        return self.redis.register_script(text)

    async def ask(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """What Redis answers; None while it is gone."""
        async with self._turns:
            if self.degraded:
                if time.monotonic() < self._alone_until:
                    return None
                self._alone_until = time.monotonic() + self._patience + _ALONE  # the others go on
            try:
                answer = await command()
            except (RedisError, OSError, TimeoutError) as error:
                self._alone_until = time.monotonic() + _ALONE
                self._note(degraded=True, why=type(error).__name__)
                return None
            self._note(degraded=False)
            return answer

    def ask_again(self) -> None:
        """Ask Redis at the next request, however short its absence."""
        self._alone_until = 0.0

    async def close(self) -> None:
        await self.redis.aclose()
        await self.redis.connection_pool.disconnect()

    def _note(self, *, degraded: bool, why: str | None = None) -> None:
        if degraded != self.degraded:
            self.degraded = degraded
            log = structlog.get_logger()
            if degraded:
                log.warning("quota_store_gone", why=why, counting="in this process")
            else:
                log.info("quota_store_back")
