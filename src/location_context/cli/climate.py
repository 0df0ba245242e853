"""`climate fallback` makes the fallback grid; `climate build` fills the archive for many places."""

from __future__ import annotations

from typing import Annotated

import typer

from location_context.cli import console
from location_context.cli.console import Json  # noqa: TC001  Typer reads the annotations
from location_context.sections.weather import grid
from location_context.sections.weather.fallback import FallbackGrid

commands = typer.Typer(help="Climate data: the fallback grid, and the archive for many places.")


@commands.command()
def fallback(
    *,
    again: Annotated[bool, typer.Option(help="Make it again although it is there.")] = False,
    as_json: Json = False,
) -> None:
    """Make the grid of monthly means that answers when no provider does."""
    settings = console.settings()
    held = FallbackGrid(settings.data_dir)
    made = again or not held.made
    if made:
        grid.make(settings.data_dir, lambda line: console.err().print(line, markup=False))
    if as_json:
        console.emit_json({"path": str(held.path), "bytes": held.path.stat().st_size, "made": made})
    elif not made:
        console.out().print(f"The fallback grid is there: {held.path}", markup=False)
