"""Feeds: the operator's calendars by address, refreshed hourly while the server runs.

A feed is asked with the `ETag` and date it last gave, by one server of many. A feed that fails
keeps its events and says why. Every month it is read anew, since the window has moved on.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from location_context.errors import LocationContextError, OperatorError, ProviderError
from location_context.sections.events.imports.expansion import SECONDS, Task
from location_context.sections.events.imports.importer import (
    Imported,
    calendar_id,
    format_of,
    read_calendar,
    window_at,
)
from location_context.upstream.deadline import Deadline
from location_context.upstream.download import download

if TYPE_CHECKING:
    import httpx2

    from location_context.sections.events.records import Calendar
    from location_context.sections.events.store import EventStore
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.download import Downloaded

MAX_BYTES = 16_000_000
_EVERY = timedelta(hours=1)
_READ_ANEW = timedelta(days=30)
_TICK = 60.0


class Feeds:
    """Imports once, or adds a feed and refreshes it."""

    def __init__(
        self, settings: Settings, clock: Clock, client: httpx2.AsyncClient, store: EventStore
    ) -> None:
        self._allow_private = settings.feeds_allow_private
        self._clock = clock
        self._client = client
        self._store = store

    async def take(self, calendar: Calendar) -> Imported:
        """Import a file or address now, in place of what it gave before.

        Raises:
            OperatorError: it cannot be read, or its address may not be asked.
        """
        source = calendar.source
        if source.lower().startswith(("http://", "https://")):
            try:
                downloaded = await self._download(source, {})
            except ProviderError as error:
                raise OperatorError(f"{source} cannot be fetched: {error.message}") from None
            return await self._keep(calendar, downloaded)
        if calendar.kind == "feed":
            raise OperatorError(f"A feed needs an address; {source} is none (http or https)")
        deadline = Deadline.after(SECONDS)
        data = await asyncio.to_thread(_file, source)
        return await self._store_read(calendar, data, "", deadline)

    async def calendars(self) -> list[Calendar]:
        return await self._store.calendars()

    async def remove(self, name: str) -> bool:
        """Drop a calendar by its id or source; whether it was there."""
        return await self._store.remove(name) or await self._store.remove(calendar_id(name))

    async def refresh(self, calendar: Calendar) -> None:
        """Ask a feed again; what goes wrong is noted on it, never raised."""
        try:
            downloaded = await self._download(calendar.source, self._conditions(calendar))
            if downloaded.status == 304:
                await self._store.note(msgspec.structs.replace(calendar, failed_with=None))
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

    async def _failed(self, calendar: Calendar, why: str) -> None:
        structlog.get_logger().warning("feed_failed", feed=calendar.id, why=why)
        await self._store.note(msgspec.structs.replace(calendar, failed_with=why))

    def _conditions(self, calendar: Calendar) -> dict[str, str]:
        fresh = calendar.imported_at and self._clock() - calendar.imported_at < _READ_ANEW
        if not fresh:
            return {}
        given = {"If-None-Match": calendar.etag, "If-Modified-Since": calendar.last_modified}
        return {name: value for name, value in given.items() if value}

    async def _download(self, url: str, headers: dict[str, str]) -> Downloaded:
        return await download(
            self._client,
            url,
            allow_private=self._allow_private,
            max_bytes=MAX_BYTES,
            headers=headers,
        )

    async def _keep(self, calendar: Calendar, downloaded: Downloaded) -> Imported:
        headers = downloaded.headers
        known = msgspec.structs.replace(
            calendar, etag=headers.get("etag"), last_modified=headers.get("last-modified")
        )
        kind = headers.get("content-type", "")
        return await self._store_read(known, downloaded.body, kind, Deadline.after(SECONDS))

    async def _store_read(
        self, calendar: Calendar, data: bytes, content_type: str, deadline: Deadline
    ) -> Imported:
        now = self._clock()
        window = window_at(now.date(), calendar.timezone)
        task = Task(format_of(calendar.source, data, content_type), window)
        imported = await read_calendar(calendar, data, task, now, deadline)
        if not imported.rows and imported.refused and calendar.rows:
            raise OperatorError(
                f"nothing in it could be read ({imported.refused[0].why}); "
                "what it gave before stays"
            )
        await self._store.replace(imported.calendar, imported.rows)
        return imported


def _file(source: str) -> bytes:
    try:
        path = Path(source)
        if path.stat().st_size > MAX_BYTES:
            raise OperatorError(f"{source} is larger than {MAX_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise OperatorError(f"{source} cannot be read: {error.strerror}") from None
