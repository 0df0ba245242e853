"""`restore`: a backup becomes the data directory of this installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from location_context.cli import console
from location_context.storage.backup import restore as put_back

commands = typer.Typer(add_completion=False)


@commands.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` made.")],
    *,
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Put back what a backup holds, where there is no data yet."""
    settings = console.settings(new=new)
    held, folder = put_back(settings, file), settings.data_dir.absolute()
    if json:
        console.emit_json({"data_dir": str(folder), "holds": held})
    else:
        console.out().print(f"{folder} holds {', '.join(held)} again.", markup=False)
