"""The command `location-context`, with its list of subcommands.

The subcommand NAME is the function or group NAME in `cli/NAME.py`, unless `MODULES` names another
module. Only the module of the subcommand that runs is imported; all would take one to two seconds.
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
    "setup": "Prepare everything for a first start; existing data are not changed.",
    "serve": "Run the HTTP server until SIGTERM or Ctrl-C.",
    "keys": "Create, list, revoke and rotate API keys; show their use.",
    "guide": "Import a restaurant guide, list its versions, roll one back, remove one.",
    "events": "Import your own events and manage feeds.",
    "climate": "Build, check and remove climate data in the data directory.",
    "read": "Print a section's answer for a point and a stay; no server has to run.",
    "warm": "Fill the caches for places and stays in a file; a second run continues the first.",
    "doctor": "Check settings, storage, datasets and providers; exit with 1 if a check fails.",
    "backup": "Save database, pepper and fallback grid in one file; the service can keep running.",
    "restore": "Restore a backup into an empty data directory.",
    "copy": "Copy everything from SQLite to an empty PostgreSQL database, while the service runs.",
    "migrate": "Migrate the database to this version's schema; safe to run again if interrupted.",
}
MODULES = {
    "backup": "database", "restore": "database", "copy": "database", "migrate": "database",
}  # fmt: skip


class _Commands(TyperGroup):
    """The group of all commands; imports the module of a command only when the command runs."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else command, rest


def load(name: str) -> Any:
    """Import a command's module; return the command with its options or subcommands."""
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
    """Serve weather, sky, restaurants and events of a stay; manage API keys and data."""


def main() -> None:
    """Run the command; print an error of the service on stderr and exit with code 1."""
    logs.configure_for_commands()
    try:
        app()
    except LocationContextError as error:
        console.err().print(console.hint(error.message), style="red", markup=False)
        sys.exit(1)
