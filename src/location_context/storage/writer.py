"""The one writer of an SQLite file: an asyncio lock in the process, a file lock between processes.

SQLite before 3.51.3 can damage a WAL database when two connections write and reset the log at the
same moment; with one writer at a time that cannot happen, and nobody meets SQLITE_BUSY.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from location_context.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

_LONGEST_PAUSE = 0.05


class Writer:
    """Waits for its turn at most `patience` seconds."""

    def __init__(self, path: Path, patience: float = 15.0) -> None:
        self._path = path
        self._patience = patience
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """The turn to write.

        Raises:
            StorageError: others write for longer than `patience`, or the folder is read-only.
        """
        try:
            async with asyncio.timeout(self._patience):
                await self._turn.acquire()
        except TimeoutError:
            raise self._locked() from None
        try:
            descriptor = await self._file_lock()
            try:
                yield
            finally:
                os.close(descriptor)
        finally:
            self._turn.release()

    async def _file_lock(self) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(
                f"The database cannot be written: {self._path}: {error.strerror}"
            ) from None
        try:
            await self._wait(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    async def _wait(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._patience, 0.002
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if loop.time() >= until:
                    raise self._locked() from None
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 1.5)
            else:
                return

    def _locked(self) -> StorageError:
        return StorageError(
            f"The database is being written by another process for over {self._patience:g} s; "
            "end that process or wait, then try again."
        )
