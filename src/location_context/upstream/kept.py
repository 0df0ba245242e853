"""Kept answers: what providers answered, shared by processes until it expires.

`AnswerStore` is the seam, filled by `storage`. A store that cannot be read or written costs a call
to the provider, never the answer.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import msgspec
import structlog

from location_context.errors import StorageError
from location_context.upstream.flights import Flights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.stay import Clock

_MAX_UNWRITTEN = 2_000


class KeptAnswer(msgspec.Struct, frozen=True):
    """One answer: `provider` and `key` name it; `data` is the owner's own encoding."""

    provider: str
    key: str
    expires_at: datetime
    data: bytes


class AnswerStore(Protocol):
    """Keeps answers until they expire."""

    async def load_answer(self, provider: str, key: str, now: datetime) -> bytes | None:
        """The data under this name that has not expired.

        Raises:
            StorageError: it cannot be read.
        """
        ...

    async def keep_answers(self, answers: Sequence[KeptAnswer], now: datetime) -> None:
        """Keep answers, in place of older ones of the same name; what has expired goes.

        Raises:
            StorageError: they cannot be written.
        """
        ...


class KeptAnswers:
    """Reads answers at once, writes them behind; without a store it keeps nothing."""

    def __init__(self, store: AnswerStore | None = None, clock: Clock | None = None) -> None:
        self._store = store if clock else None
        self._clock = clock
        self._unwritten: dict[tuple[str, str], KeptAnswer] = {}
        self._writings: Flights[None] = Flights()

    async def load(self, provider: str, key: str) -> bytes | None:
        """What was kept and has not expired; None where there is nothing, or no store."""
        if self._store is None or self._clock is None:
            return None
        try:
            return await self._store.load_answer(provider, key, self._clock())
        except StorageError as error:
            structlog.get_logger().warning("answer_not_read", why=error.message)
            return None

    def keep(self, answer: KeptAnswer) -> None:
        """Write the answer soon; the newest ones, where the store cannot keep up."""
        if self._store is None:
            return
        self._unwritten[answer.provider, answer.key] = answer
        while len(self._unwritten) > _MAX_UNWRITTEN:
            del self._unwritten[next(iter(self._unwritten))]
        self._writings.start("all", self._write)

    async def _write(self) -> None:
        while self._unwritten and self._store is not None and self._clock is not None:
            answers, self._unwritten = self._unwritten, {}
            try:
                await self._store.keep_answers(list(answers.values()), self._clock())
            except StorageError as error:
                structlog.get_logger().warning("answers_not_kept", why=error.message)
                self._unwritten = {
                    **answers,
                    **self._unwritten,
                }  # with the next ones
                return

    async def close(self) -> None:
        """Write what is not written yet, as far as that can be done now."""
        if self._unwritten or len(self._writings):
            await self._writings.start("all", self._write)
