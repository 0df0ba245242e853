"""`backup`: the SQLite database and what belongs to it in one file, while servers run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from location_context.cli import console
from location_context.storage.backup import back_up

commands = typer.Typer(add_completion=False)


@commands.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make (tar).")],
    *,
    json: console.Json = False,
) -> None:
    """Copy the database of a running service, its pepper and grid into one file."""
    held, size = back_up(console.settings(), file), file.stat().st_size
    if json:
        console.emit_json({"file": str(file), "bytes": size, "holds": held})
    else:
        told = f"{file} holds {', '.join(held)} ({size / 1e6:.1f} MB). Keep it secret."
        console.out().print(told, markup=False)
