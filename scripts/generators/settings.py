"""Write docs/settings.md from the Settings Struct."""

from pathlib import Path
from typing import get_type_hints

from location_context.settings import PREFIX, Secret, Settings
from location_context.settings.parsers import FILE, secrets_of

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
HEAD = f"""# Settings

Set each setting of this table in the environment, with the prefix `{PREFIX}`, or in the TOML
file that `{PREFIX}CONFIG` names (lower case, without the prefix). If a setting is in both, the
environment wins. One message at start lists all invalid settings.

A secret setting has two names; set one of the two. The name with `_FILE` takes the absolute path
of a file that holds the value, such as `/run/secrets/key_pepper`. The file is UTF-8; whitespace
around the value is ignored.

| name | default | meaning |
|---|---|---|
"""


def shown(default: object) -> str:
    """Return a default as an operator would write it."""
    if isinstance(default, Secret) or default in ("", (), None):
        return ""
    if isinstance(default, tuple):
        return (
            f"`{','.join(value if isinstance(value, str) else f'{value:g}' for value in default)}`"
        )
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def page() -> str:
    rows, secrets = [], secrets_of(Settings)
    for name, hint in get_type_hints(Settings, include_extras=True).items():
        meaning = hint.__metadata__[-1]
        default = getattr(Settings(), name)
        if name == "data_dir":
            default = "./data if it contains a database, else the platform's folder"
        if name in {"open_meteo_forecast_url", "open_meteo_archive_url"}:
            default = "the free host; with a key, the customers' host"
        names = (name, name + FILE) if name in secrets else (name,)
        shown_names = ", ".join(f"`{one.upper()}`" for one in names)
        rows.append(f"| {shown_names} | {shown(default)} | {meaning} |\n")
    return HEAD + "".join(rows)


def files() -> dict[Path, str]:
    return {PAGE: page()}
