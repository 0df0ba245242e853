"""Write docs/commands.md from the commands themselves, with an example of each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from location_context.cli.main import COMMANDS, load

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
EXAMPLES = {  # tests run each
    "setup": "--without-fallback",
    "serve": "--port 8000 --workers 2",
    "keys create": '"Hotel Miramar" --per-minute 600 --expires 2030-12-31',
    "keys list": "--json",
    "keys revoke": "key_1M6nCU2wdxKUuU",
    "keys rotate": "key_1M6nCU2wdxKUuU --grace 48",
    "keys usage": "--json",
    "guide import": 'my-guide.csv --dated 2026-01-31 --attribution "© Acme Guide"',
    "guide list": "",
    "guide remove": "--name hotel-mira",
    "guide rollback": "",
    "events import": "calendar.ics --lat 43.3183 --lng -1.9812",
    "events list": "--json",
    "events feed add": "https://www.example.org/events.ics --lat 43.3183 --lng -1.9812",
    "events feed remove": "https://www.example.org/events.ics",
    "climate build": "--from power --places places.csv",
    "climate list": "",
    "climate verify": "power-2016-2025",
    "climate remove": "power-2016-2025",
    "climate map": "--month 8 --field wet_days --output wet-days.png",
    "climate fallback": "",
    "read": "astronomy --lat 43.3183 --lng -1.9812 --start 2027-08-08 --end 2027-08-15",
    "warm": "places.csv",
    "doctor": "",
    "backup": "/backups/2026-11-22.tar",
    "restore": "/backups/2026-11-22.tar",
    "copy": "--to postgresql://location_context@db.example.org/location_context",
    "migrate": "--check",
}
FAILS = {  # what exit code 1 means beside an error
    "warm": "places are incomplete; run it again",
    "doctor": "a check failed",
    "migrate": "with `--check`: a migration is pending",
}
HEAD = """# Commands

In a clone, run `./scripts/location-context` from any folder. If the package is installed, run
`location-context`. `--help` after a command shows that command's part of this page. Tests run the
examples on this page.

Commands print their results to stdout: as readable text, or as JSON with `--json`. They print
progress, warnings and errors to stderr. All [settings](settings.md) apply to commands too.
[The data directory](operate.md#the-data-directory) explains the option `--new`.

| exit code | |
|---|---|
| 0 | done |
| 1 | an error, described on stderr, or the case that the command's section names |
| 2 | wrong arguments or options |
"""


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield a command, or those of a group, each with its full name."""
    if not (group := getattr(command, "commands", None)):
        yield name, command
    for child, one in (group or {}).items():
        yield from commands(f"{name} {child}", one)


def every_command() -> list[tuple[str, Any]]:
    """Return all commands in the order of `--help`."""
    return [pair for name in COMMANDS for pair in commands(name, load(name))]


def section(name: str, command: Any) -> str:
    """Return a command's part of the page."""
    required = [p for p in command.params if p.required or p.param_type_name == "argument"]
    usage = " ".join([f"location-context {name}", *map(_in_usage, required), "[options]"])
    rows = [row for row in map(_row, command.params) if row]
    if name not in EXAMPLES:
        raise SystemExit(f"{name} has no example yet: add one to EXAMPLES in {__file__}")
    example = f"./scripts/location-context {name} {EXAMPLES[name]}".rstrip()
    lines = [f"## {name}", "", " ".join(command.help.split()), "", f"`{usage}`", ""]
    if rows:
        lines += ["| | default | |", "|---|---|---|", *rows, ""]
    if name in FAILS:
        lines += [f"Exit code 1: {FAILS[name]}.", ""]
    return "\n".join([*lines, "```sh", example, "```", ""])


def _in_usage(parameter: Any) -> str:
    """Return an argument or a required option for the section's first line."""
    if parameter.param_type_name == "argument":
        shown = _metavar(parameter)
        return shown if parameter.required else f"[{shown}]"
    return f"{parameter.opts[0]} {_metavar(parameter)}"


def _row(parameter: Any) -> str:
    """Return a parameter's line of the table."""
    if parameter.param_type_name == "argument":
        names = f"`{_metavar(parameter)}`"
    else:
        kind = "" if parameter.is_flag else f" {_metavar(parameter)}"
        both = [*parameter.opts, *parameter.secondary_opts]
        names = ", ".join(f"`{name}{kind}`" for name in both)
    names = names.replace("|", "\\|")
    given = parameter.default
    default = "required" if parameter.required else "" if given in (None, "") else f"`{given}`"
    if isinstance(given, bool):
        default = ""
    if parameter.secondary_opts:
        default = f"`{parameter.opts[0] if given else parameter.secondary_opts[0]}`"
    return f"| {names} | {default} | {_cell(parameter.help)}{_range(parameter)} |"


def _metavar(parameter: Any) -> str:
    name = parameter.name.upper().rstrip("_")
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or name)
    kind = str(parameter.type_descriptor.annotation)
    is_number = "int" in kind or "float" in kind
    return str(parameter.metavar or ("NUMBER" if is_number else "TEXT"))


def _range(parameter: Any) -> str:
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if least is None:
        return ""
    return f" At least {least:,}." if most is None else f" {least:,} to {most:,}."


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def page() -> str:
    found = every_command()
    rows = [f"| [{name}](#{name.replace(' ', '-')}) | {_cell(one.help)} |" for name, one in found]
    return "\n".join(
        [HEAD, "| command | |", "|---|---|", *rows, "", *(section(*one) for one in found)]
    )


def files() -> dict[Path, str]:
    return {PAGE: page()}
