"""The checks of `doctor` on this machine and on the running server.

Free space is tested by writing, since permissions, quotas and full disks show reliably in nothing
else. The clock is compared with a provider's, or with the time of the last write to the store.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
import tempfile
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from location_context.errors import LocationContextError
from location_context.settings import Settings
from location_context.stay import Clock
from location_context.storage.backup import sqlite_file
from location_context.upstream.download import download
from location_context.upstream.http import http_client, server_time

Outcome = Literal["ok", "info", "warning", "failed"]
LOW_DISK_SPACE = 500_000_000  # bytes
_PROBE_BYTES = 1_000_000  # written and removed again, to find out whether there is space
_CLOCK_TOLERANCE, _CLOCK_WRONG = timedelta(minutes=2), timedelta(days=1)
_PERMISSION_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS}
_TIMEOUT = 5.0  # seconds
_MAX_BYTES = 1_000_000
_MAX_WARNING_CHARACTERS = 500


class Finding(msgspec.Struct, frozen=True):
    """One check and what came of it; `info` is neither good nor bad, such as not configured."""

    check: str
    outcome: Outcome
    message: str


def data_dir(settings: Settings) -> Finding:
    """Whether the data directory exists, is writable and has space; optional with PostgreSQL."""
    folder, needed = settings.data_dir.absolute(), sqlite_file(settings) is not None
    if not folder.is_dir():
        if needed:
            return _folder("failed", f"{folder} is missing: location-context setup")
        return _folder("info", f"{folder} is missing; the fallback grid would lie there")
    if (error := _write_error(folder)) is not None:
        if error.errno in _PERMISSION_ERRORS and not needed:
            return _folder("ok", f"{folder} is read-only, which is enough with PostgreSQL")
        outcome: Outcome = "failed" if needed else "warning"
        if error.errno in _PERMISSION_ERRORS:
            return _folder(outcome, f"{folder} cannot be written to: {error.strerror}")
        return _folder(outcome, f"{folder} has no space left: {error.strerror}; free some space")
    free = shutil.disk_usage(folder).free
    enough = free > LOW_DISK_SPACE
    state = f"{folder}, {free / 1e9:.1f} GB free"
    return _folder("ok" if enough else "warning", state if enough else f"{state}: free some space")


def _folder(outcome: Outcome, message: str) -> Finding:
    return Finding("data directory", outcome, message)


def _write_error(folder: Path) -> OSError | None:
    """The error met when writing a megabyte into the folder; None if it can be written."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            written = 0
            while written < _PROBE_BYTES:
                written += file.write(b"\0" * (_PROBE_BYTES - written))
    except OSError as error:
        return error
    return None


async def clock(settings: Settings, now: Clock) -> Finding:
    """Whether the clock agrees with a provider's; without one, that no file is from the future."""
    urls = (settings.forecast_url, settings.met_norway_url, settings.open_holidays_url)
    async with http_client(settings.user_agent) as client:
        asked = await asyncio.gather(*(server_time(client, url) for url in urls if url))
    if provider_time := next(filter(None, asked), None):
        return _clock_finding(now() - provider_time, "a provider's", exactly=True)
    if (written := _last_written(settings)) is not None and now() < written - _CLOCK_TOLERANCE:
        return _clock_finding(now() - written, "the last write into the store", exactly=False)
    return Finding("clock", "info", f"{now():%Y-%m-%d %H:%M} UTC; no provider to compare it with")


def _clock_finding(ahead: timedelta, other: str, *, exactly: bool) -> Finding:
    off = abs(ahead)
    if off <= _CLOCK_TOLERANCE:
        return Finding("clock", "ok", f"agrees with {other}")
    days = off / timedelta(days=1)
    how_far = (
        f"{days:,.1f} days" if off >= _CLOCK_WRONG else f"{off / timedelta(minutes=1):.0f} minutes"
    )
    least = "" if exactly else "at least "
    side = "ahead of" if ahead > timedelta() else "behind"
    message = f"is {least}{how_far} {side} {other}: set this machine's clock (NTP)"
    return Finding("clock", "failed" if off >= _CLOCK_WRONG else "warning", message)


def _last_written(settings: Settings) -> datetime | None:
    """When the SQLite database was last written."""
    if (path := sqlite_file(settings)) is None:
        return None
    files = [path, path.with_name(path.name + "-wal")]
    times = [file.stat().st_mtime for file in files if file.exists()]
    return datetime.fromtimestamp(max(times), UTC) if times else None


class _ServerStatus(msgspec.Struct):
    """What is read of `/v1/status`."""

    status: str
    version: str
    notices: list[str]


async def running_server(address: str, user_agent: str, known: Collection[str]) -> list[Finding]:
    """Whether a server answers at this address, and its warnings except the known ones."""
    url = f"{address.rstrip('/')}/v1/status"
    try:
        async with http_client(user_agent) as client:
            answer = await download(
                client,
                url,
                allow_private=True,
                max_bytes=_MAX_BYTES,
                timeout=_TIMEOUT,
            )
        status = msgspec.json.decode(answer.body, type=_ServerStatus)
    except LocationContextError:
        sentence = f"no server answers at {address}; name another address with --server"
        return [Finding("server", "info", sentence)]
    except msgspec.MsgspecError:
        return [Finding("server", "warning", f"something else answers at {url}")]
    sentence = (
        f"version {_printable(status.version)} answers at {address}, {_printable(status.status)}"
    )
    warnings = [_printable(notice) for notice in status.notices if notice not in known]
    outcome: Outcome = "ok" if status.status == "operational" else "info"
    return [
        Finding("server", outcome, sentence),
        *(Finding("server", "warning", text) for text in warnings),
    ]


def _printable(text: str) -> str:
    """Text from another process without control characters, cut to a sensible length."""
    return "".join(sign for sign in text[:_MAX_WARNING_CHARACTERS] if sign.isprintable())
