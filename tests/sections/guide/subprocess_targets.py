"""Run imports in processes of their own, which the tests kill."""

import asyncio
import os
import signal
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from location_context.sections.guide.imports.importer import Importer
from location_context.sections.guide.imports.reading import read
from location_context.settings import Secret, Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from tests.moved_clock import MovedClock
from tests.sections.guide.samples import METADATA, country_at, open_csv, open_row


def import_and_die(pipe: Connection, folder: str, url: str) -> None:
    """For each number received, a process that imports 1,200 rows and is killed after so many
    statements of the store's transaction; its exit code is sent back."""
    data = open_csv(*(open_row(n) for n in range(1200)))
    while True:
        statements = pipe.recv()
        if (process := os.fork()) == 0:
            asyncio.run(
                _import(data, Settings(data_dir=Path(folder), database_url=Secret(url)), statements)
            )
            os._exit(0)
        pipe.send(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


async def _import(data: bytes, settings: Settings, statements: int) -> None:
    store = SqlGuideStore(await Database.open(settings))
    _kill_after(statements)
    await Importer(store, MovedClock(), partial(read, country_at=country_at)).run(data, METADATA)


def _kill_after(statements: int) -> None:
    seen, writing = 0, False

    def count(*arguments: Any) -> None:
        nonlocal seen, writing
        writing = writing or "max(" in arguments[2]  # the first statement of a replacement
        seen += writing
        if seen == statements:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "after_cursor_execute", count)
