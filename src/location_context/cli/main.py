"""The command `location-context`: the list of its commands, and the file of the one that runs.

The command NAME lies in `cli/NAME.py` as `commands`. Only the one asked for is imported: all of
them together are the whole service, which takes a second or two.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from location_context import __version__
from location_context.cli import console
from location_context.errors import LocationContextError
from location_context.web import logs

COMMANDS = {  # in the order of `--help`, with the words its own file says
    "setup": "Prepare everything for a first start; what is there already is left as it is.",
    "serve": "Serve the sections, the widget and the documents until SIGTERM or Ctrl-C.",
    "keys": "Create, list, revoke and rotate API keys.",
    "guide": "Import a restaurant guide, list its versions, return to the last one.",
    "events": "Import events of your own, and keep feeds.",
    "climate": "Climate data: the fallback grid, and the archive for many places.",
    "read": "Read a section for a point and a stay, as the server would answer it.",
    "warm": "Fill what the sections keep for the places and stays of a file.",
    "doctor": "Check settings, storage, datasets and providers; exit code 1 if something failed.",
    "backup": "Copy the database of a running service, its pepper and grid into one file.",
    "restore": "Put back what a backup holds, where there is no data yet.",
    "migrate": "Bring the schema of the database up to date; run again after it was broken off.",
}


class _Commands(TyperGroup):
    """The commands of the table; the file of one is imported when it is to run."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else command, rest


def load(name: str) -> Any:
    """The command itself, with its options or its own commands."""
    module = import_module(f"location_context.cli.{name}")
    return typer.main.get_command(module.commands)


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


app = typer.Typer(
    name="location-context",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What surrounds a stay: serve it, issue keys, load data."""


def main() -> None:
    """Run the command; an error of ours is one sentence on stderr and exit code 1."""
    logs.configure_for_commands()
    try:
        app()
    except LocationContextError as error:
        console.err().print(console.hint(error.message), style="red", markup=False)
        sys.exit(1)
