"""Write docs/settings.md from the Settings Struct."""

from pathlib import Path
from typing import get_type_hints

from location_context.settings import PREFIX, Secret, Settings
from location_context.settings.parsers import FILE, secrets_of

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
HEAD = f"""# Settings

You can set each setting of this table in two places. In the environment, its name has the prefix
`{PREFIX}`. In a TOML file, its name is in lower case and has no prefix; the environment
variable `{PREFIX}CONFIG` holds the path of that file. If a setting is in both places, the
environment wins. At start, one message lists all invalid settings.

A secret setting has two names, of which you set one. The name without `_FILE` takes the secret
itself. The name with `_FILE` takes the absolute path of a file that contains the secret, such as
`/run/secrets/key_pepper`. The file must be UTF-8; whitespace around the secret is ignored.

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
