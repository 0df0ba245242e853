"""The default data directory, and the record of this user's first store.

Without DATA_DIR it is `data` of the clone whose scripts are used; else `./data` if a store lies
there, else the platform's place for application data. The first store is recorded in the
platform's place, so that a command run in another folder does not quietly create a second store.
The record is only a hint: it is ignored if it cannot be written or its store no longer exists.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from location_context.errors import OperatorError
from location_context.settings.parsers import CLONE, variable

DATABASE_FILE, PEPPER_FILE = "location-context.sqlite3", "key-pepper"
GRID_FILE = "climate_fallback.npy"  # the fallback climate grid
TERRAIN_FILE = "terrain.npy"  # heights for the cells of climate stores, made beside it
_NAME, _RECORD = "location-context", "first-store"


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Return `data` of the clone, `./data` where a store lies in it, or the platform's place."""
    if clone := environ.get(variable(CLONE)):
        return Path(clone).absolute() / "data"
    here = Path("data").absolute()
    return here if holds_store(here) else _platform_folder(environ) or here


def holds_store(folder: Path) -> bool:
    """Return True if a database or the pepper of its keys lies in this data directory."""
    return any((folder / name).exists() for name in (DATABASE_FILE, PEPPER_FILE))


def note_store(environ: Mapping[str, str], folder: Path, *, second: bool = False) -> Path | None:
    """Record the data directory as the first one; the first store, where there is another already.

    Raises:
        OperatorError: running in another folder would create a second store, and `second` does not
            allow it; the sentence names the first.
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
            f"There is no data in {folder.absolute()}, and there is in {first}. To use that, set "
            f"LOCATION_CONTEXT_DATA_DIR={first}; to start a second one here, add --new to the "
            "command setup, serve or keys create."
        )
    return first


def _platform_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the platform's folder for this service's data; None where the user has no home."""
    given = Path(environ.get("XDG_DATA_HOME", ""))
    if given.is_absolute():
        return given / _NAME
    try:
        home = Path.home()
    except RuntimeError:
        return None
    base = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return home / base / _NAME
