"""The command `location-context`: one file for each command, put together here."""

from __future__ import annotations

import sys

import typer

from location_context.cli import (
    climate,
    console,
    doctor,
    events,
    guide,
    keys,
    migrate,
    read,
    serve,
    setup,
    warm,
)
from location_context.errors import LocationContextError
from location_context.web import logs

app = typer.Typer(
    name="location-context",
    help="What surrounds a stay: serve it, issue keys, load data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(keys.commands, name="keys")
app.add_typer(guide.commands, name="guide")
app.add_typer(events.commands, name="events")
app.add_typer(climate.commands, name="climate")
for command in (setup, serve, read, warm, doctor, migrate):
    command.register(app)


def main() -> None:
    """Run the command; an error of ours is one sentence on stderr and exit code 1."""
    logs.configure_for_commands()
    try:
        app()
    except LocationContextError as error:
        console.err().print(error.message, style="red", markup=False)
        sys.exit(1)
