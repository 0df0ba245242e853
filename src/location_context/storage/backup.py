"""Backup: one tar file with the SQLite database, the pepper of the keys and the fallback grid.

SQLite's backup function copies a database while it is in use, with every acknowledged write. A
plain copy of the file would miss writes that are still in the write-ahead log. The pepper is the
secret of the hashes of API keys: without it, no stored key could be checked.
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

_SIDE_FILES = (PEPPER_FILE, GRID_FILE)  # in the data directory; either may be missing
DRAFTS = ".location-context-"  # prefix of temporary folders, which hold unfinished files


def back_up(settings: Settings, target: Path) -> list[str]:
    """Write a backup that only its owner can read; return the names of the files in it.

    Raises:
        OperatorError: the database is PostgreSQL, or `target` exists already or cannot be written.
        StorageError: there is no database, or it is damaged.
    """
    database = _file_of(settings)
    if target.exists():
        raise OperatorError(f"{target} already exists; choose another name.")
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
    """Restore the files of a backup, and return their names. If that fails, create no database.

    Raises:
        OperatorError: `source` is not a backup, or the data directory already contains data.
        StorageError: the database in the backup is damaged.
    """
    database, data_dir = _file_of(settings), settings.data_dir
    if database.exists() or holds_store(data_dir):
        raise OperatorError(
            f"{data_dir.absolute()} already contains data: move it away, or set "
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
            for name in files:  # the database last: with it, the folder counts as in use
                path = database if name == DATABASE_FILE else data_dir / name
                Path(folder, name).rename(path)
    except (tarfile.TarError, EOFError, KeyError):
        raise OperatorError(f"{source} is damaged, or is not a backup file.") from None
    except OSError as error:
        raise OperatorError(f"{source} cannot be restored: {error.strerror}") from None
    return files


def sqlite_file(settings: Settings) -> Path | None:
    """Return the path of the SQLite file that the settings name; None with PostgreSQL."""
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
    """Copy a consistent snapshot of the database to a single file, and check the copy."""
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
    """Create a file that only its owner can read; flush it to disk when the block ends."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fsync(descriptor)


def _extract(tar: tarfile.TarFile, folder: Path) -> list[str]:
    """Extract the files that `back_up` writes, ignore any others, and return their names."""
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
