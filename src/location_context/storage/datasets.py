"""SQL stores of the sections' data: restaurant guide, climate archive, forecasts, cached answers.

One transaction stores a new version of a guide and activates it. The newest five versions are kept,
and also the version that a rollback would activate. The climate archive has a row for each
source, cell of its grid, month and year. Readers see either all rows of one `save` or none.
Providers' answers are stored until they expire.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeVar

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from location_context.errors import DAMAGED, OperatorError, StorageError
from location_context.sections.guide.records import GuideVersion, Provenance, Restaurant
from location_context.sections.weather.accuracy.records import CellExtent, ForecastRow
from location_context.sections.weather.records import ArchiveCell, MonthRow
from location_context.storage import schema
from location_context.storage.database import Database
from location_context.storage.schema import (
    forecast_records,
    guide_restaurants,
    guide_versions,
)
from location_context.upstream.shared_cache import CacheRecord

_CELLS_AT_ONCE = 5  # deleted in one transaction; a cell has 120 months
STORED_VERSIONS = 5  # the number of newest versions of a guide that are kept
IMPORT_LOCK = 7_236_002  # advisory lock on PostgreSQL, so that imports run one at a time

T = TypeVar("T")
Statement = TypeVar("Statement", Select[Any], Update, Delete)
_restaurant = msgspec.json.Decoder(Restaurant)
_provenance = msgspec.json.Decoder(Provenance)
_ANSWER = select(schema.provider_answers.c.data).where(
    schema.provider_answers.c.provider == bindparam("provider"),
    schema.provider_answers.c.key == bindparam("key"),
    schema.provider_answers.c.expires_at > bindparam("now"),
)
_OLD_ANSWERS = delete(schema.provider_answers).where(
    schema.provider_answers.c.expires_at <= bindparam("now")
)
_MONTHS = select(*(schema.climate_months.c[name] for name in MonthRow.__struct_fields__)).where(
    schema.climate_months.c.source == bindparam("source"),
    schema.climate_months.c.cell == bindparam("cell"),
    schema.climate_months.c.month.in_(bindparam("months", expanding=True)),
)
_EXTENT = select(  # two queries, each answered by an index
    select(func.count()).select_from(schema.climate_months).scalar_subquery().label("rows"),
    select(func.max(schema.climate_months.c.fetched_at)).scalar_subquery().label("newest"),
)
_ELEVATION = select(schema.point_heights.c.metres).where(
    schema.point_heights.c.lat == bindparam("lat"), schema.point_heights.c.lng == bindparam("lng")
)


class SqlGuideStore:
    """The `GuideStore` in SQLite or PostgreSQL: versions of restaurant guides by guide name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def active(self) -> Mapping[str, GuideVersion]:
        rows = await self._database.rows(select(guide_versions).where(guide_versions.c.active))
        return {row.name: _version(row) for row in rows}

    async def versions(self) -> list[GuideVersion]:
        """Return the stored versions of all guides, newest first."""
        query = select(guide_versions).order_by(guide_versions.c.number.desc())
        return [_version(row) for row in await self._database.rows(query)]

    async def load(self, number: int) -> list[Restaurant]:
        """Return the restaurants of a version; an empty list if the version was deleted."""
        table = guide_restaurants.c
        query = select(table.id, table.record).where(table.version == number)
        rows = await self._database.rows(query)
        # in a thread, since decoding a large guide would delay requests
        return await asyncio.to_thread(
            lambda: [_decode(_restaurant, row.record, f"restaurant {row.id}") for row in rows]
        )

    async def replace(
        self,
        provenance: Provenance,
        restaurants: Sequence[Restaurant],
        imported_at: datetime,
        name: str = "",
    ) -> GuideVersion:
        """Store a new version of the guide `name` ("" is the unnamed guide), and activate it."""

        def work(connection: Connection) -> GuideVersion:
            self._lock(connection)
            before = _active(connection, name)
            newest = connection.scalar(select(func.max(guide_versions.c.number)))
            version = GuideVersion(
                number=(newest or 0) + 1,
                name=name,
                provenance=provenance,
                rows=len(restaurants),
                imported_at=imported_at,
                replaces=before.number if before else None,
                active=True,
            )
            connection.execute(_of(name, update(guide_versions)).values(active=False))
            _insert(connection, version, restaurants)
            connection.execute(_of(name, delete(guide_versions)).where(_superseded(version)))
            return version

        return await self._database.write(work, patience=None)

    async def rollback(self, name: str = "") -> GuideVersion:
        """Activate and return the previous version of the guide `name` ("" is the unnamed guide).

        Raises:
            OperatorError: no previous version is stored.
        """

        def work(connection: Connection) -> GuideVersion:
            self._lock(connection)
            active = _active(connection, name)
            number = active.replaces if active else None
            last = select(guide_versions).where(guide_versions.c.number == number)
            row = connection.execute(last).first() if number else None
            if row is None:
                guide = f"the guide {name!r}" if name else "the guide"
                raise OperatorError(f"There is no earlier version of {guide} to return to.")
            active_now = guide_versions.c.number == number
            connection.execute(_of(name, update(guide_versions)).values(active=active_now))
            return msgspec.structs.replace(_version(row), active=True)

        return await self._database.write(work)

    async def remove(self, name: str = "") -> int:
        """Delete all versions of a guide ("" is the unnamed one), and return their number."""

        def work(connection: Connection) -> int:
            self._lock(connection)
            return connection.execute(_of(name, delete(guide_versions))).rowcount

        return await self._database.write(work, patience=None)

    def _lock(self, connection: Connection) -> None:
        if not self._database.is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({IMPORT_LOCK})"))


def _of(name: str, statement: Statement) -> Statement:
    return statement.where(guide_versions.c.name == name)


def _active(connection: Connection, name: str) -> GuideVersion | None:
    query = _of(name, select(guide_versions)).where(guide_versions.c.active)
    row = connection.execute(query).first()
    return _version(row) if row else None


def _insert(
    connection: Connection, version: GuideVersion, restaurants: Sequence[Restaurant]
) -> None:
    values = msgspec.structs.asdict(version)
    values["provenance"] = msgspec.json.encode(version.provenance).decode()
    connection.execute(insert(guide_versions).values(**values))
    rows = [
        {
            "version": version.number,
            "id": restaurant.id,
            "record": msgspec.json.encode(restaurant).decode(),
        }
        for restaurant in restaurants
    ]
    if rows:
        connection.execute(insert(guide_restaurants), rows)


def _superseded(active: GuideVersion) -> ColumnElement[bool]:
    """Return an SQL condition that selects old versions of a guide, to delete them.

    It does not select the newest five, nor `active.replaces`, the version that was active before.
    """
    number = guide_versions.c.number
    newest = _of(active.name, select(number)).order_by(number.desc()).limit(STORED_VERSIONS)
    return and_(number.not_in(newest), number != (active.replaces or 0))


def _version(row: Any) -> GuideVersion:
    values = {name: getattr(row, name) for name in GuideVersion.__struct_fields__}
    name = f"guide version {values['number']}"
    return GuideVersion(
        **{**values, "provenance": _decode(_provenance, values["provenance"], name)}
    )


def _decode(decoder: msgspec.json.Decoder[T], record: Any, name: str) -> T:
    """Decode a stored JSON record; the error message contains `name`.

    Raises:
        StorageError: the record is damaged.
    """
    try:
        return decoder.decode(record)
    except (*DAMAGED, TypeError):
        raise StorageError(
            f"The record of {name} is damaged: import the guide again, or restore a backup."
        ) from None


class SqlCacheStore:
    """The `CacheStore` in SQLite or PostgreSQL: providers' answers until they expire."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = database.insert(schema.provider_answers)
        self._insert = insert.on_conflict_do_update(
            index_elements=["provider", "key"],
            set_={name: insert.excluded[name] for name in ("expires_at", "data")},
        )

    async def load(self, provider: str, key: str, now: datetime) -> bytes | None:
        return await self._database.scalar(_ANSWER, provider=provider, key=key, now=now)

    async def save(self, answers: Sequence[CacheRecord], now: datetime) -> None:
        rows = [msgspec.structs.asdict(answer) for answer in answers]
        await self._database.execute((_OLD_ANSWERS, {"now": now}), (self._insert, rows))


class SqlClimateStore:
    """The `ClimateStore` in SQLite or PostgreSQL: weather of past months, and elevations."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = database.insert(schema.climate_months)
        replaced = ("lat", "lng", "elevation", "fetched_at", "data")
        self._insert = insert.on_conflict_do_update(
            index_elements=["source", "cell", "month", "year"],
            set_={name: insert.excluded[name] for name in replaced},
        )
        cells = database.insert(schema.climate_cells)
        later = cells.excluded.asked_on
        self._touch = cells.on_conflict_do_update(
            index_elements=["source", "cell"],
            set_={"asked_on": later},
            where=schema.climate_cells.c.asked_on < later,
        )
        self._insert_elevations = database.insert(schema.point_heights).on_conflict_do_nothing()

    async def load(self, source: str, cell: str, months: Sequence[int]) -> list[MonthRow]:
        """Return a cell's rows of these calendar months (1 to 12), of all stored years."""
        rows = await self._database.rows(_MONTHS, source=source, cell=cell, months=list(months))
        return [MonthRow(**row._asdict()) for row in rows]

    async def save(self, rows: Sequence[MonthRow]) -> None:
        """Store rows in one transaction; each replaces a stored row of its cell, month and year."""
        cells = {(row.source, row.cell): row.fetched_at.date() for row in rows}
        values = [msgspec.structs.asdict(row) for row in rows]
        await self._database.execute((self._touch, _touches(cells)), (self._insert, values))

    async def touch(self, cells: Mapping[ArchiveCell, date]) -> None:
        """Record the day on which each cell was used, unless a later day is recorded already."""
        await self._database.execute((self._touch, _touches(cells)))

    async def prune(self, used_before: date) -> int:
        """Delete the months of cells last used before `used_before`; return the number of months.

        The cells are deleted in many transactions, each for a few cells, so that other writers need
        not wait. A cell that is used meanwhile is kept.
        """
        count, cells = 0, schema.climate_cells.c
        unused = select(cells.source, cells.cell).where(cells.asked_on < used_before)
        unused = unused.order_by(cells.asked_on).limit(_CELLS_AT_ONCE)
        while rows := await self._database.rows(unused):
            names = sorted(map(tuple, rows))
            count += await self._database.write(
                lambda connection: _delete_cells(connection, names, used_before)  # noqa: B023  awaited at once
            )
        return count

    async def load_elevation(self, lat: float, lng: float) -> float | None:
        """Return the stored elevation of a point in m; None if it is not stored."""
        return await self._database.scalar(_ELEVATION, lat=_to_grid(lat), lng=_to_grid(lng))

    async def save_elevations(self, elevations: Mapping[tuple[float, float], float]) -> None:
        """Store elevations in m by (lat, lng); stored elevations are not changed."""
        rows = [
            {"lat": _to_grid(lat), "lng": _to_grid(lng), "metres": metres}
            for (lat, lng), metres in elevations.items()
        ]
        await self._database.execute((self._insert_elevations, rows))

    async def extent(self) -> tuple[int, datetime | None]:
        """Return the number of stored months, and the time of the last fetch (None if none)."""
        (row,) = await self._database.rows(_EXTENT)
        return row.rows, row.newest


def _delete_cells(
    connection: Connection, names: Sequence[tuple[str, str]], used_before: date
) -> int:
    """Delete the cells `names` (source, cell) that were last used before `used_before`.

    Delete their months too, and return the number of months. Delete cells before months, the
    order in which `save` writes them; this avoids deadlocks.
    """
    cells, months, deleted = schema.climate_cells, schema.climate_months, []
    for source, cell in names:
        is_it = cells.c.source == source, cells.c.cell == cell
        old = delete(cells).where(*is_it, cells.c.asked_on < used_before)
        if connection.execute(old).rowcount:
            deleted.append((source, cell))
    count = 0
    for source, cell in deleted:
        is_it = months.c.source == source, months.c.cell == cell
        count += connection.execute(delete(months).where(*is_it)).rowcount
    return count


def _touches(cells: Mapping[ArchiveCell, date]) -> list[dict[str, object]]:
    """Return a row for each cell with its last use, in a fixed order that avoids deadlocks."""
    return [
        {"source": source, "cell": cell, "asked_on": day}
        for (source, cell), day in sorted(cells.items())
    ]


def _to_grid(degrees: float) -> int:
    return round(degrees * 10_000)


class SqlAccuracyStore:
    """The `AccuracyStore` in SQLite or PostgreSQL: forecasts as issued, to be verified later."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save_forecasts(self, rows: Sequence[ForecastRow]) -> None:
        statement = self._database.insert(forecast_records).on_conflict_do_nothing()
        # all processes insert in the same order, which avoids deadlocks
        ordered = sorted(rows, key=lambda row: (row.provider, row.cell, row.issued_on))
        if values := [msgspec.structs.asdict(row) for row in ordered]:
            await self._database.execute((statement, values))

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

    async def prune(self, oldest: date, dropped: Sequence[str]) -> None:
        table = forecast_records.c
        surplus = or_(table.issued_on < oldest, table.cell.in_(dropped))
        await self._database.execute((delete(forecast_records).where(surplus), {}))
