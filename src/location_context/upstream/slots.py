"""Slots: how many calls may be in flight at one host at once, over everyone who asks it.

`Slots` is the seam. `LocalSlots` counts within this process; `FileSlots` within this machine, by
locks on files that all workers and commands of one data directory share and that the kernel
releases when a process ends. `storage.redis.RedisSlots` counts over several machines.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

try:
    import fcntl
except ImportError:  # not a POSIX system: each process counts alone
    fcntl = None  # type: ignore[assignment]  # it is asked for before it is used

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

_LOOK_AGAIN_SECONDS = 0.02  # short beside a call of 50 ms and more, long beside a look of 20 µs


class Slots(Protocol):
    """So many calls at once.

    Example:
        async with slots.hold():
            answer = await call()
    """

    def hold(self) -> AbstractAsyncContextManager[None]:
        """Waits until there is a slot, and holds it until the block ends."""
        ...


class LocalSlots:
    """`count` calls at once in this process."""

    def __init__(self, count: int) -> None:
        self._semaphore = asyncio.Semaphore(count)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        async with self._semaphore:
            yield


class FileSlots:
    """`count` calls at once over all processes that share `folder`.

    Where the folder cannot be written to, this process counts alone.
    """

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self._paths = [folder / f"{name}-{number}.lock" for number in range(count)]
        self._semaphore = asyncio.Semaphore(count)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        async with self._semaphore:
            descriptor = await self._locked()
            try:
                yield
            finally:
                if descriptor is not None:
                    os.close(descriptor)  # which releases the lock

    async def _locked(self) -> int | None:
        """The descriptor of a file that this call alone has locked; None without a folder."""
        while True:
            try:
                for path in self._paths:
                    if (descriptor := _try_lock(path)) is not None:
                        return descriptor
            except OSError:
                return None
            await asyncio.sleep(_LOOK_AGAIN_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311  jitter, no secret


def _try_lock(path: Path) -> int | None:
    """A descriptor that holds the lock of the file, or None while another holds it.

    Raises:
        OSError: the file cannot be opened or locked at all.
    """
    if fcntl is None:
        raise OSError
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor
