"""Feeds: the operator's calendars by address, refreshed hourly while the server runs.

A feed is asked with the `ETag` and date it last gave, by one server of many. Every month it is read
anew, since the window has moved on. What fails, or cannot be read, changes nothing and says why; a
calendar without events takes the place of events only where that is allowed, or, for a feed, when
it came so twice in a row: a calendar that is lost often comes as an empty one.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from location_context.errors import LocationContextError, OperatorError, ProviderError
from location_context.sections.events.imports.expansion import Task
from location_context.sections.events.imports.importer import (
    Imported,
    ImportRefused,
    calendar_id,
    format_of,
    is_address,
    named,
    read_calendar,
    window_at,
)
from location_context.upstream.download import download

if TYPE_CHECKING:
    import httpx2

    from location_context.sections.events.imports.importer import Progress
    from location_context.sections.events.records import Calendar, EventStore
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.download import Downloaded

MAX_BYTES = 16_000_000
_EVERY = timedelta(hours=1)
_READ_ANEW = timedelta(days=30)
_TICK = 60.0
_HOW_TO_EMPTY = {
    "import": "--allow-empty drops them.",
    "feed": "A feed is emptied when the server finds it so twice in a row; or: events feed remove",
}


class Feeds:
    """Imports once, or adds a feed and refreshes it."""

    def __init__(
        self, settings: Settings, clock: Clock, client: httpx2.AsyncClient, store: EventStore
    ) -> None:
        self._allow_private = settings.feeds_allow_private
        self._clock = clock
        self._client = client
        self._store = store

    async def take(
        self, calendar: Calendar, *, allow_empty: bool = False, progress: Progress | None = None
    ) -> Imported:
        """Import a file or address now, in place of what it gave before.

        Raises:
            ImportRefused: it cannot be read, or holds no event where it held some (unless
                `allow_empty`). Nothing is changed.
            OperatorError: it is not there, or its address may not be asked.
        """
        calendar, data, content_type = await self._fetched(calendar)
        source = calendar.source
        try:
            imported = await self._read(calendar, data, content_type, progress)
        except ImportRefused as refusal:
            raise ImportRefused(
                f"{source}: {refusal.message}. Nothing was changed.", refusal.refused
            ) from None
        held = await self._held(calendar)
        if not imported.rows and held and not allow_empty:
            raise ImportRefused(
                f"{source} holds no event from a month back to three years ahead, and gave {held} "
                f"before. Nothing was changed. {_HOW_TO_EMPTY[calendar.kind]}"
            )
        await self._store.replace(imported.calendar, imported.rows)
        return imported

    async def calendars(self) -> list[Calendar]:
        return await self._store.calendars()

    async def remove(self, name: str) -> bool:
        """Drop a calendar by its id or source; whether it was there."""
        return await self._store.remove(name) or await self._store.remove(calendar_id(named(name)))

    async def refresh(self, calendar: Calendar) -> None:
        """Ask a feed again; what goes wrong is noted on it, never raised."""
        try:
            downloaded = await self._download(calendar.source, self._conditions(calendar))
            if downloaded.status == 304:
                well = msgspec.structs.replace(calendar, failed_with=None, came_empty=False)
                await self._store.update_calendar(well)
            else:
                await self._keep(calendar, downloaded)
        except LocationContextError as error:
            await self._failed(calendar, error.message)
        except Exception as error:  # noqa: BLE001  one feed must never end the refreshing of all
            structlog.get_logger().exception("feed_broke", feed=calendar.id)
            await self._failed(calendar, f"it cannot be refreshed ({type(error).__name__})")

    async def refresh_due(self) -> int:
        """Refresh every feed that is due, one after another; how many there were."""
        done = 0
        now = self._clock()
        while (calendar := await self._store.claim(now, now - _EVERY)) is not None:
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
            await asyncio.sleep(_TICK)

    async def _failed(self, calendar: Calendar, why: str, *, came_empty: bool = False) -> None:
        """Note it; the `ETag` stays that of the events which are kept."""
        structlog.get_logger().warning("feed_failed", feed=calendar.id, why=why)
        noted = msgspec.structs.replace(calendar, failed_with=why, came_empty=came_empty)
        await self._store.update_calendar(noted)

    def _conditions(self, calendar: Calendar) -> dict[str, str]:
        fresh = calendar.imported_at and self._clock() - calendar.imported_at < _READ_ANEW
        if not fresh:
            return {}
        given = {"If-None-Match": calendar.etag, "If-Modified-Since": calendar.last_modified}
        return {name: value for name, value in given.items() if value}

    async def _fetched(self, calendar: Calendar) -> tuple[Calendar, bytes, str]:
        """The calendar with the validators of what came, the bytes, and their type if told."""
        source = calendar.source
        if not is_address(source):
            if calendar.kind == "feed":
                raise OperatorError(f"A feed needs an address; {source} is none (http or https)")
            return calendar, await asyncio.to_thread(_file, source), ""
        try:
            downloaded = await self._download(source, {})
        except ProviderError as error:
            raise OperatorError(
                f"{source} cannot be fetched: {error.message}. Nothing was changed."
            ) from None
        content_type = downloaded.headers.get("content-type", "")
        return _validated(calendar, downloaded), downloaded.body, content_type

    async def _download(self, url: str, headers: dict[str, str]) -> Downloaded:
        return await download(
            self._client,
            url,
            allow_private=self._allow_private,
            max_bytes=MAX_BYTES,
            headers=headers,
        )

    async def _keep(self, calendar: Calendar, downloaded: Downloaded) -> None:
        kind = downloaded.headers.get("content-type", "")
        try:
            imported = await self._read(
                _validated(calendar, downloaded), downloaded.body, kind, None
            )
        except ImportRefused as refusal:
            return await self._failed(calendar, f"{refusal.message}; its events stay")
        if not imported.rows and calendar.rows and not calendar.came_empty:
            why = "it came without events; those it gave before stay unless it comes so again"
            return await self._failed(calendar, why, came_empty=True)
        return await self._store.replace(imported.calendar, imported.rows)

    async def _read(
        self, calendar: Calendar, data: bytes, content_type: str, progress: Progress | None
    ) -> Imported:
        now = self._clock()
        window = window_at(now.date(), calendar.timezone)
        task = Task.of(format_of(calendar.source, data, content_type), window)
        return await read_calendar(calendar, data, task, now, progress)

    async def _held(self, calendar: Calendar) -> int:
        """How many events the same source gave before."""
        calendars = await self._store.calendars()
        return next((one.rows for one in calendars if one.id == calendar.id), 0)


def _validated(calendar: Calendar, downloaded: Downloaded) -> Calendar:
    """With the validators of the answer, for the next time it is asked."""
    headers = downloaded.headers
    return msgspec.structs.replace(
        calendar, etag=headers.get("etag"), last_modified=headers.get("last-modified")
    )


def _file(source: str) -> bytes:
    try:
        path = Path(source)
        if path.stat().st_size > MAX_BYTES:
            raise OperatorError(f"{source} is larger than {MAX_BYTES} bytes. Nothing was changed.")
        return path.read_bytes()
    except OSError as error:
        raise OperatorError(
            f"{source} cannot be read: {error.strerror}. Nothing was changed."
        ) from None
