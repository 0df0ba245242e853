"""SqlLedger: counts the spent units of providers' budgets in a table that all processes share.

One transaction checks a budget and spends from it. While the database does not answer, each process
counts on its own; it stores these counts as soon as the database answers again.
"""

import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec
import structlog
from sqlalchemy import Connection, and_, delete, or_, select, text

from location_context.errors import StorageError
from location_context.storage.database import Database
from location_context.storage.schema import provider_units
from location_context.upstream.budget import BUCKETS, Budget, SpentUnits

PATIENCE = 0.25  # seconds that a call to a provider waits for the database
RETRY_SECONDS = 1.0  # pause after the database did not answer, before the next attempt
_columns = provider_units.c
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext(:host)), extract(epoch FROM clock_timestamp())")


class SqlLedger:
    """The `Ledger` of `upstream.budget` in the database, for one provider's budget."""

    def __init__(self, database: Database, host: str) -> None:
        self._database = database
        self._host = host
        insert = database.insert(provider_units)
        self._add = insert.on_conflict_do_update(
            index_elements=["host", "seconds", "bucket"],
            set_={
                name: _columns[name] + insert.excluded[name] for name in ("units", "public_units")
            },
        )
        self._unwritten: list[SpentUnits] = []
        self._retry_at = 0.0

    async def take(self, budget: Budget, units: float, *, public: bool) -> bool:
        if time.monotonic() < self._retry_at:
            return self._take_alone(budget, units, public=public)
        unwritten, self._unwritten = self._unwritten, []
        try:
            taken, rows = await self._database.write(
                lambda connection: self._take(connection, budget, units, unwritten, public=public),
                PATIENCE,
                durable=False,
            )
        except StorageError as error:
            self._unwritten += unwritten
            if not self._retry_at:  # log only once for each outage
                log = structlog.get_logger()
                log.warning("budget_not_shared", provider=self._host, why=error.message)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return self._take_alone(budget, units, public=public)
        self._retry_at = 0.0
        if taken:
            budget.spend(units, public=public)
        else:
            budget.load(rows)
            budget.refuse(units, public=public)
        return taken

    def _take(
        self,
        connection: Connection,
        budget: Budget,
        units: float,
        unwritten: Sequence[SpentUnits],
        *,
        public: bool,
    ) -> tuple[bool, Sequence[SpentUnits]]:
        """Store `unwritten` (rows of earlier calls); spend `units` unless they exceed a limit.

        Return (True, ()) if they were spent, else (False, the stored rows of the current windows).
        """
        if not self._database.is_sqlite:
            now = float(connection.execute(_LOCK, {"host": self._host}).one()[1])
            budget.offset += now - budget.now()
        if unwritten:
            connection.execute(self._add, self._rows(unwritten))
        rows = self._load(connection, budget)
        for window in budget.windows:
            within = [row for row in rows if row.seconds == window.seconds]
            spent = sum(row.units for row in within), sum(row.public_units for row in within)
            if not window.allows(spent, units, public=public):
                return False, rows
        connection.execute(self._add, self._rows(budget.rows(units, public=public)))
        return True, ()

    def _take_alone(self, budget: Budget, units: float, *, public: bool) -> bool:
        taken = budget.take(units, public=public)
        if taken:
            self._unwritten += budget.rows(units, public=public)
        return taken

    async def give_back(self, budget: Budget, units: float, *, public: bool) -> None:
        rows = budget.give_back(units, public=public)
        with suppress(StorageError):
            await self._database.execute((self._add, self._rows(rows)))

    async def refresh(self, budget: Budget) -> None:
        with suppress(StorageError):
            rows = await self._database.read(lambda given: self._load(given, budget))
            budget.load([*rows, *self._unwritten])

    def _load(self, connection: Connection, budget: Budget) -> list[SpentUnits]:
        now = budget.now()
        current = or_(
            *(
                and_(_columns.seconds == one.seconds, _columns.bucket >= one.oldest(now))
                for one in budget.windows
            )
        )
        columns = [_columns[name] for name in SpentUnits.__struct_fields__]
        query = select(*columns).where(_columns.host == self._host, current)
        return [SpentUnits(*row) for row in connection.execute(query)]

    def _rows(self, rows: Sequence[SpentUnits]) -> list[dict[str, object]]:
        return [{"host": self._host, **msgspec.structs.asdict(row)} for row in rows]


async def delete_old(database: Database, now: float) -> int:
    """Delete the rows of units that have left their window at POSIX time `now`; return how many."""
    ended = (_columns.bucket + BUCKETS + 1) * _columns.seconds / BUCKETS < now
    return await database.execute((delete(provider_units).where(ended), {}))
