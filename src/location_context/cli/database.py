"""`backup`, `restore`, `copy` and `migrate`: commands on the whole database."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from location_context.cli import console
from location_context.errors import OperatorError
from location_context.settings.data_dir import PEPPER_FILE
from location_context.settings.parsers import InvalidSetting, PostgresqlAddress, parse
from location_context.storage import backup as backups
from location_context.storage import schema
from location_context.storage.database import Database
from location_context.storage.transfer import Transfer


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write (tar).")],
    *,
    json: console.Json = False,
) -> None:
    """Save database, pepper and fallback grid in one file; the service can keep running."""
    contents, size = backups.back_up(console.settings(), file), file.stat().st_size
    text = f"{file} contains {', '.join(contents)} ({size / 1e6:.1f} MB). Keep it secret."
    console.emit({"file": str(file), "bytes": size, "holds": contents}, text, json=json)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` wrote.")],
    *,
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Restore a backup into an empty data directory."""
    settings = console.settings(new=new)
    contents, folder = backups.restore(settings, file), settings.data_dir.absolute()
    text = f"Restored to {folder}: {', '.join(contents)}."
    console.emit({"data_dir": str(folder), "holds": contents}, text, json=json)


def copy(
    *,
    to: Annotated[
        str,
        typer.Option(metavar="URL", help="The PostgreSQL database: postgresql://user@host/name."),
    ],
    json: console.Json = False,
) -> None:
    """Copy everything from SQLite to an empty PostgreSQL database, while the service runs."""
    try:
        address = parse(PostgresqlAddress, to)
    except InvalidSetting as error:  # its message masks the password in the address
        raise OperatorError(f"--to: {error}.") from None
    settings = console.settings()
    transfer = Transfer(settings, address)
    with console.ProgressReporter("rows", 2 * transfer.count()) as progress:
        rows = transfer.run(progress.advance)
    pepper = settings.data_dir.absolute() / PEPPER_FILE
    text = (
        f"{transfer.target} now has every row of {transfer.source}. To use it, serve with "
        "LOCATION_CONTEXT_DATABASE_URL set to its address, the same data directory, and the same "
        + (
            "LOCATION_CONTEXT_KEY_PEPPER."
            if settings.key_pepper
            else f"pepper: LOCATION_CONTEXT_KEY_PEPPER_FILE={pepper}"
        )
    )
    table = console.table(("table", "rows"), ((name, f"{n:,}") for name, n in rows.items()))
    result = {"from": str(transfer.source), "to": transfer.target, "rows": rows}
    console.emit(result, table, text, json=json)


def migrate(
    *,
    check: Annotated[
        bool,
        typer.Option("--check", help="Change nothing; exit with 1 if a migration is pending."),
    ] = False,
    json: console.Json = False,
) -> None:
    """Migrate the database to this version's schema; safe to run again if interrupted."""
    if check:
        _check(json=json)
        return
    before, after = asyncio.run(Database.upgrade(console.settings()))
    if before == after:
        text = f"The database already has schema {after}."
    else:
        text = f"The database now has schema {after} (before: {before or 'none'})."
    console.emit({"before": before, "after": after}, text, json=json)


def _check(*, json: bool) -> None:
    """Print what `migrate` would do; exit with code 1 if a migration is pending.

    Raises:
        OperatorError: a newer version, incompatible with this one, created the schema.
    """
    held = asyncio.run(Database.held_revision(console.settings()))
    pending, needed = schema.pending(held), schema.head()
    if held is None:
        text = f"There is no database yet; the service will create it with schema {needed}."
    elif pending:
        text = f"The database has schema {held}; migrate would apply {', '.join(pending)}."
    else:
        text = f"The database has schema {held}, which this version can use."
    console.emit({"held": held, "needed": needed, "pending": pending}, text, json=json)
    if pending:
        raise typer.Exit(1)
