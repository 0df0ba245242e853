"""The default data directory, and the record of this user's first data directory.

Without the setting DATA_DIR, the scripts of a clone of the repository use the clone's folder
`data`. Other commands use `./data` if it contains data (`holds_store`), else the platform's folder
for application data. The platform's folder also records the first data directory in use, so that a
command run elsewhere does not silently create a second database. The record is a hint: it is
ignored if it cannot be read or written, or if the recorded directory contains no data.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from location_context.errors import OperatorError
from location_context.settings.parsers import CLONE, variable

DATABASE_FILE, PEPPER_FILE = "location-context.sqlite3", "key-pepper"
GRID_FILE = "climate_fallback.npy"  # the fallback climate grid
TERRAIN_FILE = "terrain.npy"  # elevations for the cells of climate stores
_NAME, _RECORD = "location-context", "first-store"


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Return the data directory to use if DATA_DIR is not set.

    The scripts of a clone use the clone's folder `data`. Other commands use `./data` if it contains
    data, else the platform's folder for application data; without such a folder, also `./data`.
    """
    if clone := environ.get(variable(CLONE)):
        return Path(clone).absolute() / "data"
    here = Path("data").absolute()
    return here if holds_store(here) else _platform_folder(environ) or here


def holds_store(folder: Path) -> bool:
    """Return True if the folder contains a database file or the pepper of the API keys."""
    return any((folder / name).exists() for name in (DATABASE_FILE, PEPPER_FILE))


def note_store(environ: Mapping[str, str], folder: Path, *, second: bool = False) -> Path | None:
    """Record `folder` as this user's first data directory, unless another is recorded.

    Returns:
        The recorded directory if another one is recorded and `folder` has no data; else None.

    Raises:
        OperatorError: another directory is recorded, `folder` has no data and is a relative path or
            the default, and `second` is False. In scripts of a clone, this is not an error.
    """
    place, first = _platform_folder(environ), None
    with suppress(OSError, ValueError):
        if place and (text := (place / _RECORD).read_text(encoding="utf-8").strip()):
            first = Path(text) if holds_store(Path(text)) else None
    if first is None:
        with suppress(OSError):
            if place:
                place.mkdir(parents=True, exist_ok=True)
                (place / _RECORD).write_text(f"{folder.absolute()}\n", encoding="utf-8")
        return None
    if holds_store(folder) or first.absolute() == folder.absolute():
        return None
    by_folder = not folder.is_absolute() or folder == default_data_dir(environ)
    if by_folder and not second and variable(CLONE) not in environ:
        raise OperatorError(
            f"{folder.absolute()} contains no data, but {first} does. To use that data, set "
            f"LOCATION_CONTEXT_DATA_DIR={first}. To start with new data here, add --new to one of "
            "the commands `setup`, `serve` and `keys create`."
        )
    return first


def _platform_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the platform's folder for this service's data; None if the user has no home folder."""
    given = Path(environ.get("XDG_DATA_HOME", ""))
    if given.is_absolute():
        return given / _NAME
    try:
        home = Path.home()
    except RuntimeError:
        return None
    base = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return home / base / _NAME
