"""Schema: all tables of the database, and the migration from older revisions of the schema.

A new database receives the tables as they are defined here. An old database is migrated to the same
tables; a test compares both.
"""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
    table,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeDecorator

from location_context.errors import OperatorError

VERSION_TABLE = "schema_version"
BEFORE_FIRST = "0009_climate_cells"  # the last revision before the first release
OLDEST_USABLE = "schema_usable_from"  # name of a value in `facts` that each migration writes
MIGRATIONS = Path(__file__).parent / "migrations"


def head() -> str:
    """Return the revision that this version of the service needs."""
    return _revisions()[-1]


def current(connection: Connection) -> str | None:
    """Return the revision of the database's schema; None for a new database."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    number: Column[str] = Column("version_num", String)
    revision: str | None = connection.scalar(select(number).select_from(table(VERSION_TABLE)))
    return revision


def pending(revision: str | None) -> list[str]:
    """Return the revisions that `upgrade` would apply to a schema of `revision`, in order.

    The list is empty if `revision` belongs to a newer version of the service.
    """
    revisions = _revisions()
    if revision in {None, BEFORE_FIRST}:
        return revisions
    return revisions[revisions.index(revision) + 1 :] if revision in revisions else []


def upgrade(connection: Connection) -> None:
    """Create the tables of a new database, or migrate an old one, in the caller's transaction.

    Raises:
        OperatorError: a newer version, incompatible with this one, created the schema.
    """
    revision = current(connection)
    if revision not in {None, BEFORE_FIRST, *_revisions()}:
        require_usable(connection)
        return
    if revision is None:
        metadata.create_all(connection)
        _alembic("stamp", connection)
    else:
        if revision == BEFORE_FIRST:
            convert(connection)
        _alembic("upgrade", connection)
    name = metadata_kv.c.name
    connection.execute(delete(metadata_kv).where(name == OLDEST_USABLE))
    connection.execute(insert(metadata_kv), {"name": OLDEST_USABLE, "value": _usable_from()})


def convert(connection: Connection) -> None:
    """Convert a database from before the first release to the schema of the first release.

    Queries select events by two new columns, an event's first and last day. The tables
    `observed_days` and `climate_extent` are dropped, and the triggers that updated the latter.
    """
    if connection.dialect.name == "sqlite":
        for name in ("insert", "update", "delete"):
            connection.execute(text(f"DROP TRIGGER climate_extent_{name}"))
    else:
        for name in ("insert", "update", "delete"):
            connection.execute(text(f"DROP FUNCTION climate_extent_{name}() CASCADE"))
    connection.execute(text("DROP TABLE climate_extent"))
    connection.execute(text("DROP TABLE observed_days"))
    connection.execute(text("DROP INDEX events_by_calendar"))
    connection.execute(text("ALTER TABLE events RENAME TO events_before"))
    for index in climate_months.indexes:
        index.create(connection)
    provider_units.create(connection)
    events.create(connection)
    move_events(connection)
    connection.execute(text("DROP TABLE events_before"))
    first = {"first": _revisions()[0]}
    connection.execute(text("UPDATE schema_version SET version_num = :first"), first)


def move_events(connection: Connection) -> None:
    """Copy `events_before` to `events`; read each event's first and last day from its record."""
    rows = connection.execute(
        text("SELECT cell, calendar, id, record FROM events_before"),
        execution_options={"yield_per": 1000},
    )
    for part in rows.mappings().partitions():
        connection.execute(insert(events), [_with_days(row) for row in part])


def _with_days(row: RowMapping) -> dict[str, Any]:
    record = msgspec.json.decode(row["record"])
    days = [record[name]["day"] for name in ("start", "end") if record.get(name)]
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    return {**row, "first_day": first, "last_day": last}


def require_usable(connection: Connection) -> None:
    """Reject a schema that this version of the service cannot use.

    The schema of a newer version is usable if its migrations declare it (`usable_from`). So servers
    of both versions can run side by side during an upgrade.

    Raises:
        OperatorError: the schema is older than needed, or newer and incompatible.
    """
    revision = current(connection)
    if revision == head():
        return
    if revision in {BEFORE_FIRST, *_revisions()}:
        raise OperatorError(
            f"The database has schema {revision}, and this version needs {head()}. "
            "Back it up, then run: location-context migrate"
        )
    if _oldest_usable(connection) not in _revisions():
        raise OperatorError(
            f"The database has schema {revision}, which this version cannot use: a newer version "
            "created it. Install that version, or restore a backup made before the migration."
        )


def _oldest_usable(connection: Connection) -> str | None:
    """Return the stored revision that a service version must know to use this database, or None."""
    name, value = metadata_kv.c.name, metadata_kv.c.value
    found: str | None = connection.scalar(select(value).where(name == OLDEST_USABLE))
    return found


def _revisions() -> list[str]:
    """Return all revisions, oldest first: the names of the migration files."""
    return sorted(file.stem for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def _usable_from() -> str:
    """Return the revision that a service version must know to use the newest schema.

    It is the highest `usable_from` of the migrations; a migration without one counts as its own
    revision.
    """
    from alembic.script import ScriptDirectory  # noqa: PLC0415  large, and rare

    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return max(str(getattr(one.module, "usable_from", one.revision)) for one in scripts)


def _alembic(step: Literal["stamp", "upgrade"], connection: Connection) -> None:
    """Record the newest revision as applied (`stamp`), or migrate the schema to it (`upgrade`)."""
    # imported here: it takes 0.1 s and 10 MB, and only a migration needs it
    from alembic import command  # noqa: PLC0415  large, and rare

    config = _config()
    config.attributes["connection"] = connection
    getattr(command, step)(config, "head")


def _config() -> Any:
    """Return Alembic's configuration."""
    from alembic.config import Config  # noqa: PLC0415  large, and rare

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    return config


class UtcDateTime(TypeDecorator[datetime]):
    """A column of time-zone-aware datetimes, stored in UTC because SQLite stores no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a datetime needs a time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


metadata = MetaData()


def _key(name: str, type_: Any, *rest: SchemaItem) -> Column[Any]:
    """Return a column of the primary key; the service, not the database, sets its values."""
    return Column(name, type_, *rest, primary_key=True, autoincrement=False)


def _filled(name: str, type_: Any) -> Column[Any]:
    return Column(name, type_, nullable=False)


api_keys = Table(
    "api_keys",
    metadata,
    _key("id", String(32)),
    _filled("name", String(200)),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    _filled("per_minute", Integer),
    _filled("per_day", Integer),
    _filled("created_at", UtcDateTime),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("replaced_by", String(32)),
)

key_usage = Table(  # admitted requests of a key on a day (UTC)
    "key_usage",
    metadata,
    _key("key_id", String(32)),
    _key("day", Date),
    _filled("requests", Integer),
    sqlite_with_rowid=False,
)

metadata_kv = Table(  # single values about this database, such as the revision that can use it
    "facts", metadata, _key("name", String(64)), _filled("value", String(200))
)

guide_versions = Table(  # one sequence of numbers for the versions of all guides
    "guide_versions",
    metadata,
    _key("number", Integer),
    _filled("provenance", Text),
    _filled("rows", Integer),
    _filled("imported_at", UtcDateTime),
    Column("replaces", Integer),
    _filled("active", Boolean),
    Column("name", String(40), nullable=False, server_default=""),  # empty: the unnamed guide
)

guide_restaurants = Table(  # all rows of a version are read at once, so a record is one JSON text
    "guide_restaurants",
    metadata,
    _key("version", Integer, ForeignKey("guide_versions.number", ondelete="CASCADE")),
    _key("id", String(64)),
    _filled("record", Text),
)

event_calendars = Table(  # a few rows; only values that queries filter by have their own columns
    "event_calendars",
    metadata,
    _key("id", String(64)),
    _filled("kind", String(16)),
    Column("checked_at", UtcDateTime),
    _filled("record", Text),
)

events = Table(  # clustered by its key on SQLite: a query reads neighbouring pages
    "events",
    metadata,
    _key("cell", Integer),
    _key("last_day", Date),
    _key("calendar", String(64), ForeignKey("event_calendars.id", ondelete="CASCADE")),
    _key("id", String(64)),
    _filled("first_day", Date),
    _filled("record", Text),
    Index("events_by_calendar", "calendar"),
    sqlite_with_rowid=False,
)

climate_months = Table(  # a kB a row: too large for SQLite's WITHOUT ROWID
    "climate_months",
    metadata,
    _key("source", String(40)),
    _key("cell", String(80)),
    _key("month", Integer),
    _key("year", Integer),
    _filled("lat", Double),
    _filled("lng", Double),
    Column("elevation", Double),
    _filled("fetched_at", UtcDateTime),
    _filled("data", LargeBinary),
    Index("climate_months_by_fetch", "fetched_at"),
)

climate_cells = Table(  # the day of each cell's last use, updated at most once a week
    "climate_cells",
    metadata,
    _key("source", String(40)),
    _key("cell", String(80)),
    _filled("asked_on", Date),
    Index("climate_cells_by_day", "asked_on"),
    sqlite_with_rowid=False,
)

point_heights = Table(  # coordinates in units of 0.0001 degrees, so that equal points are equal
    "point_heights",
    metadata,
    _key("lat", Integer),
    _key("lng", Integer),
    _filled("metres", Double),
)

provider_answers = Table(  # providers' answers, until they expire
    "provider_answers",
    metadata,
    _key("provider", String(40)),
    _key("key", String(200)),
    _filled("expires_at", UtcDateTime),
    _filled("data", LargeBinary),
    Index("provider_answers_by_expiry", "expires_at"),
    sqlite_with_rowid=False,
)

forecast_records = Table(  # a provider's first forecast of each day for a cell, encoded in bytes
    "forecast_records",
    metadata,
    _key("provider", String(40)),
    _key("cell", String(80)),
    _key("issued_on", Date),
    Column("elevation", Double),
    _filled("data", LargeBinary),
    Index("forecast_records_by_day", "issued_on"),
    sqlite_with_rowid=False,
)

provider_units = Table(  # units spent of providers' budgets; each window has 60 buckets
    "provider_units",
    metadata,
    _key("host", String(40)),
    _key("seconds", Double),
    _key("bucket", BigInteger),
    _filled("units", Double),
    _filled("public_units", Double),
    sqlite_with_rowid=False,
)
