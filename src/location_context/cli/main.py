"""The command `location-context`: the list of its commands; only the one that runs is imported.

The command NAME is a function or a group NAME in `cli/NAME.py`, or in the module of `MODULES`.
Importing all of them would import the whole service, which takes a second or two.
"""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from location_context import __version__
from location_context.cli import console
from location_context.errors import LocationContextError
from location_context.web import logs

COMMANDS = {  # in the order of `--help`, with the first line of each command's docstring
    "setup": "Prepare everything for a first start; existing data stays as it is.",
    "serve": "Serve the sections, the widget and the documents until SIGTERM or Ctrl-C.",
    "keys": "Create, list, revoke and rotate API keys; show their use.",
    "guide": "Import a restaurant guide, list its versions, roll one back, remove one.",
    "events": "Import your own events and manage feeds.",
    "climate": "Build and look after the climatology in the data directory.",
    "read": "Read a section for a point and a stay, as the server would answer it.",
    "warm": "Fill the caches for the places and stays in a file; resumes after an interruption.",
    "doctor": "Check settings, storage, datasets and providers; exit with 1 if a check failed.",
    "backup": "Save the database of a running service, its pepper and its grid in one file.",
    "restore": "Restore a backup into an empty data directory.",
    "copy": "Copy everything from SQLite to an empty PostgreSQL database, while the service runs.",
    "migrate": "Bring the database schema up to date; safe to run again after an interruption.",
}
MODULES = {
    "backup": "database", "restore": "database", "copy": "database", "migrate": "database",
}  # fmt: skip


class _Commands(TyperGroup):
    """The commands of the table; a command's module is imported when it runs."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else command, rest


def load(name: str) -> Any:
    """Return the command itself, with its options or subcommands."""
    with console.uncollected():
        module = import_module(f"location_context.cli.{MODULES.get(name, name)}")
    command = getattr(module, name)
    if not isinstance(command, typer.Typer):
        function, command = command, typer.Typer(add_completion=False)
        command.command(name)(function)
    return typer.main.get_command(command)


def _print_version(*, requested: bool) -> None:
    if requested:
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
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Serve what surrounds a stay, issue API keys, load data."""


def main() -> None:
    """Run the command; an error of ours is one sentence on stderr and exit code 1."""
    logs.configure_for_commands()
    try:
        app()
    except LocationContextError as error:
        console.err().print(console.hint(error.message), style="red", markup=False)
        sys.exit(1)
