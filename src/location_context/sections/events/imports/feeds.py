"""Feeds: the operator's calendars by address, refreshed hourly while the server runs.

A feed is requested with the `ETag` and date it last gave, by one server of many. Every month it is
read again in any case, since the window has moved on. What fails, or cannot be read, changes
nothing and says why; a calendar without events replaces events only where that is allowed, or, for
a feed, when it came so twice in a row: a calendar that is lost often comes as an empty one.
"""

import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import structlog

from location_context.errors import LocationContextError, OperatorError, ProviderError
from location_context.sections.events.imports.importer import (
    ImportedCalendar,
    ImportRejected,
    Progress,
    calendar_id,
    canonical_source,
    format_of,
    is_url,
    read_calendar,
    window_at,
)
from location_context.sections.events.imports.sandbox import Task
from location_context.sections.events.records import Calendar, EventStore
from location_context.settings import Settings
from location_context.stay import Clock
from location_context.upstream.download import Downloaded, download
from location_context.upstream.http import HttpClient

MAX_BYTES = 16_000_000
_REFRESH_INTERVAL = timedelta(hours=1)
_REREAD_AFTER = timedelta(days=30)  # even if unchanged: the window has moved on
_POLL_SECONDS = 60.0
_HOW_TO_EMPTY = {
    "import": "--allow-empty drops them.",
    "feed": "A feed is emptied when the server finds it so twice in a row; or: events feed remove",
}


class Feeds:
    """Imports once, or adds a feed and refreshes it."""

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
        """Import a file or address now, in place of what it gave before.

        Raises:
            ImportRejected: it cannot be read, or holds no event where it held some (unless
                `allow_empty`). Nothing is changed.
            OperatorError: it is not there, or its address is not allowed.
        """
        calendar, data, content_type = await self._fetch(calendar)
        source = calendar.source
        try:
            imported = await self._read(calendar, data, content_type, progress)
        except ImportRejected as error:
            raise ImportRejected(
                f"{source}: {error.message}. Nothing was changed.", error.rejected
            ) from None
        former = await self._stored_rows(calendar)
        if not imported.events and former and not allow_empty:
            raise ImportRejected(
                f"{source} holds no event from a month back to three years ahead, and gave "
                f"{former} before. Nothing was changed. {_HOW_TO_EMPTY[calendar.kind]}"
            )
        await self._store.replace(imported.calendar, imported.events, imported.since)
        return imported

    async def calendars(self) -> list[Calendar]:
        return await self._store.calendars()

    async def remove(self, name: str) -> bool:
        """Drop a calendar by its id or source; whether it was there."""
        return await self._store.remove(name) or await self._store.remove(
            calendar_id(canonical_source(name))
        )

    async def refresh(self, calendar: Calendar) -> None:
        """Request a feed again; what goes wrong is recorded on it, never raised."""
        try:
            downloaded = await self._download(calendar.source, self._conditions(calendar))
            if downloaded.status == 304:
                unchanged = msgspec.structs.replace(calendar, failed_with=None, came_empty=False)
                await self._store.update_calendar(unchanged)
            else:
                await self._replace_events(calendar, downloaded)
        except LocationContextError as error:
            await self._record_failure(calendar, error.message)
        except Exception as error:  # noqa: BLE001  one feed must never end the refreshing of all
            structlog.get_logger().exception("feed_broke", feed=calendar.id)
            await self._record_failure(calendar, f"it cannot be refreshed ({type(error).__name__})")

    async def refresh_due(self) -> int:
        """Refresh every feed that is due, one after another; how many there were."""
        done = 0
        now = self._clock()
        while (calendar := await self._store.claim(now, now - _REFRESH_INTERVAL)) is not None:
            await self.refresh(calendar)
            done += 1
        return done

    async def run(self) -> None:
        """Refresh feeds as they fall due, until cancelled."""
        while True:
            try:
                await self.refresh_due()
            except LocationContextError as error:
                structlog.get_logger().warning("feeds_not_refreshed", why=error.message)
            await asyncio.sleep(_POLL_SECONDS)

    async def _record_failure(
        self, calendar: Calendar, reason: str, *, came_empty: bool = False
    ) -> None:
        """Record it; the `ETag` stays that of the events which are kept."""
        structlog.get_logger().warning("feed_failed", feed=calendar.id, why=reason)
        failed = msgspec.structs.replace(calendar, failed_with=reason, came_empty=came_empty)
        await self._store.update_calendar(failed)

    def _conditions(self, calendar: Calendar) -> dict[str, str]:
        fresh = calendar.imported_at and self._clock() - calendar.imported_at < _REREAD_AFTER
        if not fresh:
            return {}
        given = {"If-None-Match": calendar.etag, "If-Modified-Since": calendar.last_modified}
        return {name: value for name, value in given.items() if value}

    async def _fetch(self, calendar: Calendar) -> tuple[Calendar, bytes, str]:
        """The calendar with the validators of the response, the bytes, and their content type."""
        source = calendar.source
        if not is_url(source):
            if calendar.kind == "feed":
                raise OperatorError(f"A feed needs an address; {source} is not one (http or https)")
            return calendar, await asyncio.to_thread(_read_file, source), ""
        try:
            downloaded = await self._download(source, {})
        except ProviderError as error:
            raise OperatorError(
                f"{source} cannot be fetched: {error.message}. Nothing was changed."
            ) from None
        content_type = downloaded.headers.get("content-type", "")
        return _with_validators(calendar, downloaded), downloaded.body, content_type

    async def _download(self, url: str, headers: dict[str, str]) -> Downloaded:
        return await download(
            self._client,
            url,
            allow_private=self._allow_private,
            max_bytes=MAX_BYTES,
            headers=headers,
        )

    async def _replace_events(self, calendar: Calendar, downloaded: Downloaded) -> None:
        kind = downloaded.headers.get("content-type", "")
        try:
            imported = await self._read(
                _with_validators(calendar, downloaded), downloaded.body, kind, None
            )
        except ImportRejected as error:
            return await self._record_failure(calendar, f"{error.message}; its events stay")
        if not imported.events and calendar.rows and not calendar.came_empty:
            reason = "it came without events; those it gave before stay unless it comes so again"
            return await self._record_failure(calendar, reason, came_empty=True)
        return await self._store.replace(imported.calendar, imported.events, imported.since)

    async def _read(
        self, calendar: Calendar, data: bytes, content_type: str, progress: Progress | None
    ) -> ImportedCalendar:
        now = self._clock()
        window = window_at(now.date(), calendar.timezone)
        task = Task.of(format_of(calendar.source, data, content_type), window)
        return await read_calendar(calendar, data, task, now, progress)

    async def _stored_rows(self, calendar: Calendar) -> int:
        """How many events the same source gave before."""
        calendars = await self._store.calendars()
        return next((one.rows for one in calendars if one.id == calendar.id), 0)


def _with_validators(calendar: Calendar, downloaded: Downloaded) -> Calendar:
    """With the validators of the response, for the next request."""
    headers = downloaded.headers
    return msgspec.structs.replace(
        calendar, etag=headers.get("etag"), last_modified=headers.get("last-modified")
    )


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
