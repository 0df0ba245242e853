"""Importer: stores events from the operator's calendar files, web pages and tables.

A calendar is imported once or, if it is a feed, again every hour. An event without coordinates
takes the calendar's point, region or country; if the calendar has none, the event is rejected. If
reading stops before the end, or yields rejections but no event, an error is raised and stored
events stay unchanged.

If several servers run, only one of them requests a feed. This server sends the `ETag` and date of
the last response, so that an unchanged feed is not sent again. After a month the feed is read even
if unchanged, since the range of dates to read has moved. If a refresh fails, stored events stay and
the reason is recorded. Failing sources often send an empty calendar. An empty import replaces
stored events only if the operator allows it. An empty feed replaces them only if it is empty twice
in a row.
"""

import asyncio
import codecs
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import structlog

from location_context.errors import LocationContextError, OperatorError, ProviderError
from location_context.sections.events.imports.reading import (
    Format,
    Reading,
    RejectedEntry,
    Task,
    decode,
)
from location_context.sections.events.records import Calendar, EventStore, ProviderEvent
from location_context.settings import Settings
from location_context.stay import Clock
from location_context.upstream.download import Downloaded, download
from location_context.upstream.http import HttpClient

Progress = Callable[[int], None]  # entries read so far
_PROGRESS_EVERY = 1000  # entries
MAX_BYTES = 16_000_000
_REFRESH_INTERVAL = timedelta(hours=1)
_REREAD_AFTER = timedelta(days=30)  # even if unchanged, since the window of dates has moved
_POLL_SECONDS = 60.0


class ImportRejected(OperatorError):
    """The error raised if a source cannot be imported; `rejected` has its unreadable entries."""

    def __init__(self, message: str, rejected: Sequence[RejectedEntry] = ()) -> None:
        super().__init__(message)
        self.rejected = rejected


@dataclass(frozen=True)
class ImportedCalendar:
    """The result of reading a calendar: its events, and the entries that were rejected.

    `former` is the stored calendar that this one replaces; None for a new calendar.
    """

    calendar: Calendar
    events: list[ProviderEvent]
    rejected: list[RejectedEntry]
    former: Calendar | None = None


class Feeds:
    """Imports calendars, and refreshes those that are feeds."""

    def __init__(
        self, settings: Settings, clock: Clock, client: HttpClient, store: EventStore
    ) -> None:
        self._allow_private = settings.feeds_allow_private
        self._clock = clock
        self._client = client
        self._store = store

    async def import_calendar(
        self, calendar: Calendar, *, allow_empty: bool = False, progress: Progress | None = None
    ) -> ImportedCalendar:
        """Import a calendar now, from its file or URL.

        If a stored calendar has the same name, source or id, the new one takes its place.

        Raises:
            ImportRejected: the calendar cannot be read; or, unless `allow_empty`, it has no events
                although its last import had some. Nothing is changed.
            OperatorError: the file is missing, or the URL cannot be fetched or is not allowed.
        """
        source = calendar.source
        stored = await self._store.calendars()
        if former := _first_of(stored, calendar.name, source, calendar.id):
            name = calendar.name or former.name
            calendar = msgspec.structs.replace(calendar, id=former.id, name=name)
        try:
            imported = await self._read(calendar, await self._fetch(calendar, {}), progress)
        except ImportRejected as error:
            reason = f"{source}: {error.message}. Nothing was changed."
            raise ImportRejected(reason, error.rejected) from None
        except ProviderError as error:
            reason = f"{source} cannot be fetched: {error.message}. Nothing was changed."
            raise OperatorError(reason) from None
        if not imported.events and former and former.rows and not allow_empty:
            raise ImportRejected(
                f"{source} has no event from a month ago to three years ahead; its last import had "
                f"{former.rows}. Nothing was changed. To drop those, use --allow-empty."
            )
        return await self._store_calendar(replace(imported, former=former))

    async def calendars(self) -> list[Calendar]:
        return await self._store.calendars()

    async def remove(self, name: str) -> bool:
        """Remove a calendar by its name, id or source; return True if it existed."""
        former = _first_of(await self._store.calendars(), name, canonical_source(name))
        return former is not None and await self._store.remove(former.id)

    async def refresh(self, calendar: Calendar) -> None:
        """Request a feed again and store its events; if that fails, store the reason instead."""
        try:
            fetched = await self._fetch(calendar, self._conditions(calendar))
            if fetched.status == 304:
                unchanged = msgspec.structs.replace(calendar, failed_with=None, came_empty=False)
                await self._store.update_calendar(unchanged)
                return
            imported = await self._read(calendar, fetched)
            if imported.events or not calendar.rows or calendar.came_empty:
                await self._store_calendar(imported)
            else:
                reason = (
                    "the calendar is empty now; its earlier events stay unless it is empty again"
                )
                await self._record_failure(calendar, reason, came_empty=True)
        except ImportRejected as error:
            await self._record_failure(calendar, f"{error.message}; its events stay")
        except LocationContextError as error:
            await self._record_failure(calendar, error.message)
        except Exception as error:  # noqa: BLE001  one feed must never end the refreshing of all
            structlog.get_logger().exception("feed_broke", feed=calendar.id)
            await self._record_failure(
                calendar, f"the calendar cannot be refreshed ({type(error).__name__})"
            )

    async def refresh_outdated(self) -> int:
        """Refresh every feed last checked at least an hour ago; return the number of such feeds."""
        done = 0
        now = self._clock()
        while (calendar := await self._store.claim(now, now - _REFRESH_INTERVAL)) is not None:
            await self.refresh(calendar)
            done += 1
        return done

    async def run(self) -> None:
        """Refresh outdated feeds once a minute, until cancelled."""
        while True:
            try:
                await self.refresh_outdated()
            except LocationContextError as error:
                structlog.get_logger().warning("feeds_not_refreshed", why=error.message)
            await asyncio.sleep(_POLL_SECONDS)

    async def _record_failure(
        self, calendar: Calendar, reason: str, *, came_empty: bool = False
    ) -> None:
        """Log why a feed could not be refreshed, and store the reason with the feed.

        The events and the `ETag` of the feed stay unchanged. `came_empty` is True if the reason is
        that the feed had no events.
        """
        structlog.get_logger().warning("feed_failed", feed=calendar.id, why=reason)
        failed = msgspec.structs.replace(calendar, failed_with=reason, came_empty=came_empty)
        await self._store.update_calendar(failed)

    def _conditions(self, calendar: Calendar) -> dict[str, str]:
        fresh = calendar.imported_at and self._clock() - calendar.imported_at < _REREAD_AFTER
        if not fresh:
            return {}
        given = {"If-None-Match": calendar.etag, "If-Modified-Since": calendar.last_modified}
        return {name: value for name, value in given.items() if value}

    async def _fetch(self, calendar: Calendar, headers: Mapping[str, str]) -> Downloaded:
        """Return the calendar's data, downloaded from its URL or read from its file.

        `headers` are sent with the request for the URL.
        """
        source = calendar.source
        if is_url(source):
            return await download(
                self._client, source, allow_private=self._allow_private, max_bytes=MAX_BYTES,
                headers=headers,
            )  # fmt: skip
        if calendar.kind == "feed":
            raise OperatorError(f"A feed needs an http or https address, not {source}")
        data = await asyncio.to_thread(_read_file, source)
        return Downloaded(data, headers={}, final_url=source, status=200)

    async def _store_calendar(self, imported: ImportedCalendar) -> ImportedCalendar:
        digest = await asyncio.to_thread(_digest, imported.events)
        calendar = msgspec.structs.replace(imported.calendar, digest=digest)
        await self._store.replace(calendar, imported.events)
        rejected = sum(entry.entries for entry in imported.rejected)
        structlog.get_logger().info(
            "import_done", kind="events", feed=calendar.id, rows=calendar.rows, rejected=rejected
        )
        return replace(imported, calendar=calendar)

    async def _read(
        self, calendar: Calendar, downloaded: Downloaded, progress: Progress | None = None
    ) -> ImportedCalendar:
        """Return the calendar with the events of a download.

        The calendar also gets the download's `ETag` and date, for the feed's next request.
        """
        data, headers, now = downloaded.body, downloaded.headers, self._clock()
        calendar = msgspec.structs.replace(
            calendar, etag=headers.get("etag"), last_modified=headers.get("last-modified")
        )
        task = Task.of(calendar, _chosen_format(calendar, data), now.date())
        return await read_calendar(task, data, now, progress)


def _read_file(source: str) -> bytes:
    try:
        path = Path(source)
        if path.stat().st_size > MAX_BYTES:
            raise OperatorError(f"{source} is larger than {MAX_BYTES} bytes. Nothing was changed.")
        return path.read_bytes()
    except OSError as error:
        raise OperatorError(
            f"{source} cannot be read: {error.strerror}. Nothing was changed."
        ) from None


def is_url(source: str) -> bool:
    """Return True if a source is an http or https URL; False if it is a file."""
    return source.lower().startswith(("http://", "https://"))


def canonical_source(source: str) -> str:
    """Return a URL unchanged; for a file, return its absolute path."""
    if is_url(source):
        return source
    # a symbolic link is not followed: later it may point to another file
    return os.path.abspath(Path(source).expanduser())  # noqa: PTH100  `resolve` follows links


def calendar_id(name: str) -> str:
    """Return the id of a new calendar: a hash of its name (of its source if it has no name)."""
    return "cal_" + hashlib.blake2b(name.encode(), digest_size=6).hexdigest()


def _first_of(calendars: Sequence[Calendar], *names: str | None) -> Calendar | None:
    """Return the calendar whose name, source or id is among `names`, or None.

    If several calendars match, the one that matches the earliest of `names` is returned.
    """
    for name in filter(None, names):
        for one in calendars:
            if name in (one.name, one.source, one.id):
                return one
    return None


def format_of(data: bytes) -> Format:
    """Return the format of a source by its first bytes.

    The result is "ics", "jsonld" (JSON or an HTML page), or for all other data "csv".
    """
    head = decode(data[:2000].removeprefix(codecs.BOM_UTF8)).lstrip().upper()
    if head.startswith(("BEGIN:VCALENDAR", "BEGIN:VEVENT")):
        return "ics"
    return "jsonld" if head[:1] in {"{", "[", "<"} else "csv"


def _chosen_format(calendar: Calendar, data: bytes) -> Format:
    """Return the format in which to read a calendar's data.

    The format is "list" if the calendar sets `list_path`; otherwise the first bytes decide.

    Raises:
        ImportRejected: the calendar sets columns, but the data is not a table.
    """
    if calendar.list_path:
        return "list"
    found = format_of(data)
    if calendar.columns and found != "csv":
        raise ImportRejected(
            "the file is not a table; --column is only for tables, or for JSON with --list PATH"
        )
    return found


async def read_calendar(
    task: Task, data: bytes, now: datetime, progress: Progress | None = None
) -> ImportedCalendar:
    """Return the calendar of `task`, imported `now`, and the events that a sandbox reads in `data`.

    Raises:
        ImportRejected: the bytes could not be read to the end, or no entry could be read.
    """
    reading = Reading(data, task)
    try:
        events, rejected = await asyncio.to_thread(_events, reading, progress)
    except OperatorError as error:
        raise ImportRejected(error.message) from None
    finally:
        reading.cancel()  # if the caller was cancelled, the process still runs
    if not events and any(entry.entries for entry in rejected):
        raise ImportRejected(f"no entry could be read ({rejected[0].reason})", rejected)
    calendar = msgspec.structs.replace(
        task.calendar, rows=len(events), imported_at=now, checked_at=now,
        failed_with=None, came_empty=False,
    )  # fmt: skip
    return ImportedCalendar(calendar, events, rejected)


def _events(
    reading: Reading, progress: Progress | None
) -> tuple[list[ProviderEvent], list[RejectedEntry]]:
    events: dict[str, ProviderEvent] = {}
    rejected: list[RejectedEntry] = []
    with closing(reading.found()) as found:
        for count, one in enumerate(found, 1):
            if isinstance(one, RejectedEntry):
                rejected.append(one)
            else:
                events[one.id] = one
            if progress and count % _PROGRESS_EVERY == 0:
                progress(count)
    return list(events.values()), rejected


def _digest(events: Sequence[ProviderEvent]) -> str:
    """Return a hash of the events, which does not depend on their order."""
    lines = sorted(msgspec.json.encode(event) for event in events)
    return hashlib.blake2b(b"\n".join(lines), digest_size=12).hexdigest()
