"""SqlAccuracyStore: forecasts as they were given, and the days that archives then knew of."""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec
from sqlalchemy import Connection, delete, func, select, update

from location_context.sections.weather.accuracy.records import CellExtent, ForecastRow, ObservedRow
from location_context.storage.database import Database
from location_context.storage.schema import forecast_records, observed_days

_ROWS_AT_ONCE = 500  # in one statement: SQLite takes 32,766 values


class SqlAccuracyStore:
    """The `AccuracyStore` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save_forecasts(self, rows: Sequence[ForecastRow]) -> None:
        statement = self._database.insert(forecast_records).on_conflict_do_nothing()
        # in one order for all processes, so that none waits for another that waits for it
        ordered = sorted(rows, key=lambda row: (row.provider, row.cell, row.issued_on))
        values = [msgspec.structs.asdict(row) for row in ordered]
        starts = range(0, len(values), _ROWS_AT_ONCE)
        parts = ((statement, values[start : start + _ROWS_AT_ONCE]) for start in starts)
        await self._database.execute(*parts)

    async def load_forecasts(self, since: date) -> list[ForecastRow]:
        table = forecast_records.c
        query = select(forecast_records).where(table.issued_on >= since)
        query = query.order_by(table.provider, table.cell, table.issued_on)
        return [ForecastRow(**row._asdict()) for row in await self._database.rows(query)]

    async def cells(self) -> dict[str, CellExtent]:
        table = forecast_records.c
        query = select(
            table.cell,
            func.min(table.issued_on).label("first"),
            func.max(table.issued_on).label("last"),
            func.count().label("rows"),
        ).group_by(table.cell)
        rows = await self._database.rows(query)
        return {row.cell: CellExtent(row.first, row.last, row.rows) for row in rows}

    async def load_observed(self, source: str) -> list[ObservedRow]:
        query = select(observed_days).where(observed_days.c.source == source)
        return [ObservedRow(**row._asdict()) for row in await self._database.rows(query)]

    async def claim(self, source: str, cell: str, now: datetime, before: datetime) -> bool:
        table, is_it = observed_days.c, observed_days.c.cell == cell
        insert = self._database.insert(observed_days).on_conflict_do_nothing()
        blank = {"first": now.date(), "elevation": None, "data": b""}
        due = update(observed_days).where(table.source == source, is_it, table.asked_at <= before)

        def work(connection: Connection) -> bool:
            values = {"source": source, "cell": cell, "asked_at": now, **blank}
            if connection.execute(insert.values(**values)).rowcount == 1:
                return True
            return connection.execute(due.values(asked_at=now)).rowcount == 1

        return await self._database.write(work)

    async def save_observed(self, row: ObservedRow) -> None:
        insert = self._database.insert(observed_days)
        replaced = ("asked_at", "first", "elevation", "data")
        statement = insert.on_conflict_do_update(
            index_elements=["source", "cell"],
            set_={name: insert.excluded[name] for name in replaced},
        )
        await self._database.execute((statement, [msgspec.structs.asdict(row)]))

    async def prune(self, oldest: date, dropped: Sequence[str], unasked_since: datetime) -> None:
        table = forecast_records.c
        parts = [dropped[n : n + _ROWS_AT_ONCE] for n in range(0, len(dropped), _ROWS_AT_ONCE)]
        await self._database.execute(
            (delete(forecast_records).where(table.issued_on < oldest), {}),
            *((delete(forecast_records).where(table.cell.in_(cells)), {}) for cells in parts),
            (delete(observed_days).where(observed_days.c.asked_at < unasked_since), {}),
        )
