"""The machine: whether the data directory can be written to, and whether the clock is right.

Room is tried by writing, since rights, quotas and full disks show in nothing else reliably. The
clock is compared with a provider's, else with when the store was last written.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from location_context.cli.checks.finding import Finding
from location_context.storage.backup import sqlite_file
from location_context.upstream.http import http_client, server_time

if TYPE_CHECKING:
    from pathlib import Path

    from location_context.cli.checks.finding import Outcome
    from location_context.settings import Settings
    from location_context.stay import Clock

LITTLE_SPACE = 500_000_000  # bytes
_TRIED = 1_000_000  # bytes
_SLACK, _WRONG = timedelta(minutes=2), timedelta(days=1)  # of a clock
_UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}


def data_dir(settings: Settings) -> Finding:
    """The data directory: there, writable and with room. With PostgreSQL none of it is needed."""
    folder, needed = settings.data_dir.absolute(), sqlite_file(settings) is not None
    if not folder.is_dir():
        if needed:
            return _of_dir("failed", f"{folder} is missing: location-context setup")
        return _of_dir("info", f"{folder} is missing; the fallback grid would lie there")
    if (error := _refused(folder)) is not None:
        if error.errno in _UNWRITABLE and not needed:
            return _of_dir("ok", f"{folder} is read-only, which is enough with PostgreSQL")
        outcome: Outcome = "failed" if needed else "warning"
        if error.errno in _UNWRITABLE:
            return _of_dir(outcome, f"{folder} cannot be written to: {error.strerror}")
        return _of_dir(outcome, f"{folder} has no room left: {error.strerror}; free some space")
    free = shutil.disk_usage(folder).free
    enough = free > LITTLE_SPACE
    told = f"{folder}, {free / 1e9:.1f} GB free"
    return _of_dir("ok" if enough else "warning", told if enough else f"{told}: free some space")


def _of_dir(outcome: Outcome, message: str) -> Finding:
    return Finding("data directory", outcome, message)


def _refused(folder: Path) -> OSError | None:
    """What stands against writing a megabyte into the folder."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            written = 0
            while written < _TRIED:
                written += file.write(b"\0" * (_TRIED - written))
    except OSError as error:
        return error
    return None


async def clock(settings: Settings, now: Clock) -> Finding:
    """Whether the clock agrees with a provider's; without one, that no file is of the future."""
    urls = (settings.forecast_url, settings.met_norway_url, settings.open_holidays_url)
    async with http_client(settings.user_agent) as client:
        asked = await asyncio.gather(*(server_time(client, url) for url in urls if url))
    if told := next(filter(None, asked), None):
        return _compared(now() - told, "a provider's", exactly=True)
    if (written := _last_written(settings)) is not None and now() < written - _SLACK:
        return _compared(now() - written, "the last write into the store", exactly=False)
    return Finding("clock", "info", f"{now():%Y-%m-%d %H:%M} UTC; no provider to compare it with")


def _compared(ahead: timedelta, other: str, *, exactly: bool) -> Finding:
    off = abs(ahead)
    if off <= _SLACK:
        return Finding("clock", "ok", f"agrees with {other}")
    days = off / timedelta(days=1)
    how_far = f"{days:,.1f} days" if off >= _WRONG else f"{off / timedelta(minutes=1):.0f} minutes"
    least = "" if exactly else "at least "
    side = "ahead of" if ahead > timedelta() else "behind"
    message = f"is {least}{how_far} {side} {other}: set this machine's clock (NTP)"
    return Finding("clock", "failed" if off >= _WRONG else "warning", message)


def _last_written(settings: Settings) -> datetime | None:
    """When the SQLite database was last written."""
    if (path := sqlite_file(settings)) is None:
        return None
    files = [path, path.with_name(path.name + "-wal")]
    times = [file.stat().st_mtime for file in files if file.exists()]
    return datetime.fromtimestamp(max(times), UTC) if times else None
