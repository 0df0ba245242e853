"""Keys in memory: what `storage.access` does, in the fewest lines, counting its calls."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from location_context.access.keys import ApiKey
from location_context.access.usage import UsedDay
from location_context.errors import StorageError


class MemoryKeys:
    """A `KeyStore`. `failing` makes it fail as a database does that cannot be reached."""

    def __init__(self) -> None:
        self.records: dict[str, ApiKey] = {}
        self.requests = 0
        self.failing = False
        self.failed = asyncio.Event()
        self.damaged: list[str] = []
        self.answering = asyncio.Event()
        self.answering.set()
        self._version = ""

    async def version(self) -> str:
        self.requests += 1
        await self.answering.wait()
        if self.failing:
            self.failed.set()
            raise StorageError("down")
        return self._version

    async def all(self) -> list[ApiKey]:
        return list(self.records.values())

    async def add(self, record: ApiKey) -> None:
        self._put(record)

    async def revoke(self, key_id: str, at: datetime) -> ApiKey | None:
        if key_id in self.records:
            self._put(replace(self.records[key_id], revoked_at=at))
        return self.records.get(key_id)

    async def retire(self, key_id: str, until: datetime, successor_id: str) -> None:
        self._put(replace(self.records[key_id], expires_at=until, replaced_by=successor_id))

    def _put(self, record: ApiKey) -> None:
        self.records[record.id] = record
        self._version = uuid.uuid4().hex


class MemoryUsage:
    """A `UsageStore`. `failing` makes it fail."""

    def __init__(self) -> None:
        self.requests = Counter[tuple[str, date]]()
        self.failing = False

    async def add(self, used: Sequence[UsedDay]) -> None:
        if self.failing:
            raise StorageError("down")
        for one in used:
            self.requests[one.key_id, one.day] += one.requests
