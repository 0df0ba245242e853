"""`backup`, `restore` and `migrate`; and the open database for commands that need it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from location_context.cli import console
from location_context.settings import Settings
from location_context.storage import backup as backups
from location_context.storage.database import Database

backup = typer.Typer(add_completion=False)
restore = typer.Typer(add_completion=False)
migrate = typer.Typer(add_completion=False)


@asynccontextmanager
async def open_database(*, new: bool = False) -> AsyncIterator[tuple[Settings, Database]]:
    """The settings and their database, which is closed at the end."""
    settings = console.settings(new=new)
    database = await Database.open(settings)
    try:
        yield settings, database
    finally:
        await database.close()


@backup.command("backup")
def back_up(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write (tar).")],
    *,
    json: console.Json = False,
) -> None:
    """Copy the database of a running service, its pepper and grid into one file."""
    contents, size = backups.back_up(console.settings(), file), file.stat().st_size
    if json:
        console.emit_json({"file": str(file), "bytes": size, "holds": contents})
    else:
        sentence = f"{file} holds {', '.join(contents)} ({size / 1e6:.1f} MB). Keep it secret."
        console.out().print(sentence, markup=False)


@restore.command("restore")
def restore_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` wrote.")],
    *,
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Restore a backup into a data directory that holds no data yet."""
    settings = console.settings(new=new)
    contents, folder = backups.restore(settings, file), settings.data_dir.absolute()
    if json:
        console.emit_json({"data_dir": str(folder), "holds": contents})
    else:
        console.out().print(f"{folder} holds {', '.join(contents)} again.", markup=False)


@migrate.command("migrate")
def migrate_schema(*, json: console.Json = False) -> None:
    """Bring the database schema up to date; safe to run again after an interruption."""
    before, after = console.run(Database.upgrade(console.settings()))
    if json:
        console.emit_json({"before": before, "after": after})
    elif before == after:
        console.out().print(f"The database already has schema {after}.")
    else:
        console.out().print(f"The database now has schema {after} (before: {before or 'none'}).")
