"""Backup: the SQLite database at one moment, and the files beside it, in one tar file.

SQLite's own backup copies a database that is being written to, with all that was acknowledged;
a plain copy of the file lacks what still stands in its log. With the database go the pepper of its
keys, without which no stored key can be checked, and the fallback grid.
"""

import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from sqlalchemy import make_url

from location_context.errors import OperatorError, StorageError
from location_context.settings import Settings
from location_context.settings.data_dir import DATABASE_FILE, GRID_FILE, PEPPER_FILE, holds_store

_SIDE_FILES = (PEPPER_FILE, GRID_FILE)  # in the data directory, each where it is there
DRAFTS = ".location-context-"  # folders of unfinished files


def back_up(settings: Settings, target: Path) -> list[str]:
    """Write the backup, readable by its owner alone, and return the names of its members.

    Raises:
        OperatorError: the database is PostgreSQL, or `target` exists already or cannot be written.
        StorageError: there is no database, or it is damaged.
    """
    database = _file_of(settings)
    if target.exists():
        raise OperatorError(f"{target} already exists; give another name.")
    if not database.exists():
        raise StorageError(f"There is no database to back up: {database} is missing.")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=DRAFTS) as folder:
            copy = Path(folder, DATABASE_FILE)
            _copy(database, copy)
            beside = [settings.data_dir / name for name in _SIDE_FILES]
            files = [copy, *(path for path in beside if path.exists())]
            draft = Path(folder, "draft.tar")
            with _private_file(draft) as file, tarfile.open(fileobj=file, mode="w") as tar:
                for path in files:
                    tar.add(path, arcname=path.name)
            draft.rename(target)
    except OSError as error:
        raise OperatorError(f"{target} cannot be written: {error.strerror}") from None
    return [path.name for path in files]


def restore(settings: Settings, source: Path) -> list[str]:
    """Restore the members of a backup, and return their names.

    Raises:
        OperatorError: the file is not a backup, or there is data already; nothing was changed.
        StorageError: the database in the backup is damaged; nothing was changed.
    """
    database, data_dir = _file_of(settings), settings.data_dir
    if database.exists() or holds_store(data_dir):
        raise OperatorError(
            f"There is data in {data_dir.absolute()} already: move it away, or set "
            "LOCATION_CONTEXT_DATA_DIR to another folder."
        )
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with (
            tarfile.open(source) as tar,
            tempfile.TemporaryDirectory(dir=data_dir, prefix=DRAFTS) as folder,
        ):
            files = _extract(tar, Path(folder))
            _check(Path(folder, DATABASE_FILE))
            for name in files:  # the database last, since it makes the folder a store
                path = database if name == DATABASE_FILE else data_dir / name
                Path(folder, name).rename(path)
    except (tarfile.TarError, EOFError, KeyError):
        raise OperatorError(f"{source} was not written by the backup command.") from None
    except OSError as error:
        raise OperatorError(f"{source} cannot be restored: {error.strerror}") from None
    return files


def sqlite_file(settings: Settings) -> Path | None:
    """Return the SQLite file of these settings; None with PostgreSQL."""
    url = make_url(settings.database)
    is_sqlite = url.get_backend_name() == "sqlite"
    return Path(url.database or "").absolute() if is_sqlite else None


def _file_of(settings: Settings) -> Path:
    if (path := sqlite_file(settings)) is None:
        raise OperatorError(
            "The database is PostgreSQL: back it up with pg_dump and restore it with pg_restore, "
            "and keep LOCATION_CONTEXT_KEY_PEPPER, without which no stored key can be checked."
        )
    return path


def _copy(database: Path, copy: Path) -> None:
    """Copy one state of the database into one file, and check it."""
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)) as reading,
            closing(sqlite3.connect(copy)) as writing,
        ):
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise StorageError(f"The database {database} cannot be copied: {error}") from None
    _check(copy, database)


def _check(copy: Path, source: Path | None = None) -> None:
    result = "it has no tables"
    try:
        with closing(sqlite3.connect(copy)) as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        result = str(error)
    if result != "ok":
        raise StorageError(f"The database {source or 'in the backup'} is damaged: {result}")


@contextmanager
def _private_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that its owner alone can read, and sync it to disk when the block ends."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fsync(descriptor)


def _extract(tar: tarfile.TarFile, folder: Path) -> list[str]:
    """Extract the known members, each by its plain name; the database is the last."""
    files = []
    for name in (*_SIDE_FILES, DATABASE_FILE):
        with suppress(KeyError):  # not in this backup
            if member := tar.extractfile(name):
                with _private_file(folder / name) as file:
                    shutil.copyfileobj(member, file)
                files.append(name)
    if DATABASE_FILE not in files:
        raise KeyError(DATABASE_FILE)
    return files
