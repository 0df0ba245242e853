"""Ladder: sources in order of resort, asked side by side soon enough that one answers in time.

The first is asked at once, the next when the one before failed or has taken its share of the time.
The best answer wins: a lower one waits `grace` seconds for those above it. A source that may be
silent (`Upstream.doubted`) is not waited for longer than that either. Fetches go on for the next
caller when one goes, at its deadline or before.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import structlog

from location_context.errors import LocationContextError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from location_context.upstream.deadline import Deadline
    from location_context.upstream.provider import Upstream

T = TypeVar("T")
_STEP_SECONDS = 1.0
_STEP_SHARE = 0.4


@dataclass(frozen=True)
class Rung(Generic[T]):
    """One source: `attempt` gives its answer, or None when it has none for this stay."""

    attempt: Callable[[], Coroutine[Any, Any, T | None]]
    upstream: Upstream | None = None


@dataclass
class _Asked(Generic[T]):
    """A rung while it is asked."""

    task: asyncio.Task[T | None]
    upstream: Upstream | None
    doubted: bool
    since: float = field(default_factory=time.monotonic)

    @property
    def failed(self) -> bool:
        return self.task.done() and self.answer is None

    @property
    def answer(self) -> T | None:
        if not self.task.done() or self.task.cancelled() or self.task.exception():
            return None
        return self.task.result()

    @property
    def overran(self) -> bool:
        """Whether the time ran out before it gave anything."""
        if not self.task.done():
            return True
        return not self.task.cancelled() and isinstance(self.task.exception(), TimeoutError)

    @property
    def failure(self) -> BaseException | None:
        """Why it gave no answer; a TimeoutError while it has not ended, None when it gave one."""
        if not self.task.done() or self.task.cancelled():
            return TimeoutError()
        if (error := self.task.exception()) is not None:
            return error
        return None if self.answer is not None else LookupError("it has nothing for this stay")


class Ladder(Generic[T]):
    """Climbs down the rungs once."""

    def __init__(self, rungs: Sequence[Rung[T]], deadline: Deadline, grace: float) -> None:
        self._left = list(rungs)
        self._deadline = deadline
        self._grace = grace
        self._asked: list[_Asked[T]] = []
        self._patience = deadline.left()
        share = self._patience * _STEP_SHARE / max(1, len(rungs) - 1)
        self._step = min(_STEP_SECONDS, share)
        self._next_at = 0.0
        self._settle_at: float | None = None
        self.first_failure: BaseException | None = None  # after the climb

    async def climb(self) -> T | None:
        """The best answer that came in time; None when there was none."""
        try:
            best = await self._climb()
            self.first_failure = self._asked[0].failure if self._asked else None
            for asked in self._asked:
                if asked.overran and asked.upstream:
                    spent = self._patience if best is None else time.monotonic() - asked.since
                    asked.upstream.waited_in_vain(spent)
            return best
        finally:
            await self._leave()

    async def _climb(self) -> T | None:
        while True:
            self._ask()
            best, waiting = self._best()
            if not waiting and (best is not None or not self._left):
                return best
            until = self._until(best)
            if time.monotonic() >= until:
                return best
            await self._wait(until)

    def _ask(self) -> None:
        """Ask the next source when its turn has come."""
        while self._left and (self._turn() or time.monotonic() >= self._next_at):
            rung = self._left.pop(0)
            upstream = rung.upstream
            doubted = upstream is not None and upstream.doubted(self._patience)
            slow = upstream is not None and upstream.in_vain > 0
            task = asyncio.ensure_future(_told(rung.attempt))
            self._asked.append(_Asked(task, rung.upstream, doubted))
            self._next_at = time.monotonic() + (0.0 if doubted or slow else self._step)

    def _turn(self) -> bool:
        return all(asked.failed for asked in self._asked)

    def _best(self) -> tuple[T | None, bool]:
        """The best answer so far, and whether one above it is still awaited."""
        waiting = False
        for asked in self._asked:
            if (answer := asked.answer) is not None:
                return answer, waiting
            if not asked.task.done():
                over = asked.doubted and time.monotonic() - asked.since > self._grace
                waiting = waiting or not over
        return None, waiting

    def _until(self, best: T | None) -> float:
        if best is not None and self._settle_at is None:
            self._settle_at = time.monotonic() + self._grace
        settle = self._settle_at if best is not None and self._settle_at else self._deadline.at
        return min(settle, self._deadline.at)

    async def _wait(self, until: float) -> None:
        pending = [asked.task for asked in self._asked if not asked.task.done()]
        over = [a.since + self._grace for a in self._asked if a.doubted and not a.task.done()]
        now = time.monotonic()
        moments = [until, *(moment + 0.001 for moment in over if moment > now)]
        if self._left:
            moments.append(self._next_at)
        timeout = max(0.0, min(moments) - now)
        if pending:
            await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(timeout)

    async def _leave(self) -> None:
        """Stop waiting for what is under way; the fetches themselves go on."""
        pending = [asked.task for asked in self._asked if not asked.task.done()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


async def _told(attempt: Callable[[], Coroutine[Any, Any, T | None]]) -> T | None:
    """The attempt; a fault of ours is told, and costs this source alone."""
    try:
        return await attempt()
    except (LocationContextError, TimeoutError):
        raise
    except Exception:
        structlog.get_logger().exception("weather_source_failed")
        raise
