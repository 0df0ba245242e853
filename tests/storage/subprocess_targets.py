"""What the storage tests run in processes of their own, to kill them or to take rights from them.

Each function is the whole life of a child; what it has to say it sends through its pipe.
"""

import asyncio
import ctypes
import multiprocessing
import os
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sqlalchemy import event, text
from sqlalchemy.engine import Engine

from location_context.access.keys import ApiKey
from location_context.errors import LocationContextError
from location_context.settings import Secret, Settings
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from location_context.storage.retention import Retention
from tests.moved_clock import NOON, MovedClock

_CAPABILITY_VERSION_3, _DAC_OVERRIDE = 0x20080522, 1


@contextmanager
def child(life: Callable[..., None], *arguments: Any) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process that lives through `life(pipe, *arguments)`, and the near end of its pipe."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    near, far = context.Pipe()
    process = context.Process(target=life, args=(far, *arguments), daemon=True)
    process.start()
    far.close()
    try:
        yield process, near
    finally:
        process.kill()
        process.join()
        near.close()


def plain(settings: Settings) -> tuple[str, str]:
    """What a child needs of the settings."""
    return str(settings.data_dir), settings.database_url.reveal()


def _settings(folder: str, url: str) -> Settings:
    return Settings(data_dir=Path(folder), database_url=Secret(url))


def a_key(name: str) -> ApiKey:
    digest = name.encode().ljust(32, b".")
    return ApiKey(id=name, name=name, digest=digest, created_at=NOON)


def write_keys(pipe: Connection, folder: str, url: str, prefix: str) -> None:
    """Add keys without end, and tell each one that the database acknowledged."""

    async def life() -> None:
        store, number = SqlApiKeyStore(await Database.open(_settings(folder, url))), 0
        while True:
            name = f"{prefix}-{number}"
            await store.add(a_key(name))
            pipe.send(name)
            number += 1

    asyncio.run(life())


def open_once(pipe: Connection, folder: str, url: str) -> None:
    """Open the database on a signal, and send its revision."""

    async def life() -> str | None:
        database = await Database.open(_settings(folder, url))
        revision = await database.revision()
        await database.close()
        return revision

    pipe.send("ready")
    pipe.recv()
    pipe.send(asyncio.run(life()))


def die_after(statements: int, *kinds: str) -> None:
    """Kill this process after so many statements that begin with one of these."""
    seen = 0

    def count(*arguments: Any) -> None:
        nonlocal seen
        seen += arguments[2].lstrip().upper().startswith(kinds)
        if seen == statements:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "after_cursor_execute", count)


def migrate_and_die(_: Connection, folder: str, url: str, statements: int) -> None:
    """Begin to migrate, and be killed after so many statements that change the schema."""
    die_after(statements, "CREATE", "ALTER", "INSERT")
    asyncio.run(Database.upgrade(_settings(folder, url)))


def prune_and_die(_: Connection, folder: str, url: str, cells: int) -> None:
    """Begin a pass of retention, and be killed before more than so many batches are committed."""

    async def life() -> None:
        settings = _settings(folder, url)
        await Retention(await Database.open(settings), MovedClock()).prune()

    die_after(5 * cells + 3, "DELETE FROM CLIMATE_MONTHS")  # in the midst of a batch
    asyncio.run(life())


def hold_the_lock(pipe: Connection, path: str) -> None:
    """Lock the database as a foreign program does, until the signal to let go."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    pipe.send("locked")
    pipe.recv()
    connection.execute("COMMIT")
    connection.close()


def read_and_write_on_a_full_disk(pipe: Connection, folder: str) -> None:
    """With files that cannot grow: tell what reading gives and what writing says."""
    size = max(file.stat().st_size for file in Path(folder).iterdir())
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    pipe.send(asyncio.run(_read_then_write(folder)))


def be_bound_by_rights() -> None:
    """Give up root's power to write what it may not (capset(2), CAP_DAC_OVERRIDE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    sets[0] &= ~(1 << _DAC_OVERRIDE)
    assert libc.capset(header, sets) == 0


async def _read_then_write(folder: str) -> tuple[int, str, int]:
    """How many keys are read, what writing many more says, and how many are read after that."""
    database = await Database.open(_settings(folder, ""))
    store, said = SqlApiKeyStore(database), ""
    before = len(await store.all())
    try:
        many = [{"name": f"fact-{n}", "value": "x" * 200} for n in range(5000)]
        await database.execute((text("INSERT INTO facts VALUES (:name, :value)"), many))
    except LocationContextError as error:
        said = error.message
    after = len(await store.all())
    await database.close()
    return before, said, after
