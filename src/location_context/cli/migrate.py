"""`migrate`: bring the schema of the database up to date."""

from __future__ import annotations

import typer

from location_context.cli import console
from location_context.storage.database import Database

commands = typer.Typer(add_completion=False)


@commands.command()
def migrate(*, json: console.Json = False) -> None:
    """Bring the schema of the database up to date; run again after it was broken off."""
    before, after = console.run(Database.upgrade(console.settings()))
    if json:
        console.emit_json({"before": before, "after": after})
    elif before == after:
        console.out().print(f"The database holds schema {after} already.")
    else:
        console.out().print(f"The database holds schema {after} now (before: {before or 'none'}).")
