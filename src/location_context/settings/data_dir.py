"""The data directory where none is set.

Where DATA_DIR is not set it is `data` of the clone whose scripts are used; else `./data` if a store
lies there, else the platform's place for application data.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from location_context.settings.parsers import CLONE, variable

DATABASE_FILE, PEPPER_FILE = "location-context.sqlite3", "key-pepper"
GRID_FILE = "climate_fallback.npy"  # the fallback climate grid
_NAME = "location-context"


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """`data` of the clone, `./data` where a store lies in it, or the platform's place."""
    if clone := environ.get(variable(CLONE)):
        return Path(clone).absolute() / "data"
    here = Path("data").absolute()
    return here if holds_store(here) else _platform_folder(environ) or here


def holds_store(folder: Path) -> bool:
    """Whether a database or the pepper of its keys lies in this data directory."""
    return any((folder / name).exists() for name in (DATABASE_FILE, PEPPER_FILE))


def _platform_folder(environ: Mapping[str, str]) -> Path | None:
    """The platform's folder for this service's data; None where the user has no home."""
    given = Path(environ.get("XDG_DATA_HOME", ""))
    if given.is_absolute():
        return given / _NAME
    try:
        home = Path.home()
    except RuntimeError:
        return None
    base = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return home / base / _NAME
