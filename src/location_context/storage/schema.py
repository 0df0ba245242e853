"""Every table, in one metadata, and the schema's version: held, needed, and the way there.

The stores query the tables; the migrations create the same ones (a test compares them).
"""

from datetime import UTC, datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from location_context.errors import OperatorError

VERSION_TABLE = "schema_version"


def head() -> str:
    """The revision this version of the service needs."""
    revision = _scripts().get_current_head()
    assert revision is not None
    return revision


def current(connection: Connection) -> str | None:
    """The revision the database holds; None for a new one."""
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def upgrade(connection: Connection, target: str = "head") -> None:
    """Migrate within the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def downgrade(connection: Connection, target: str) -> None:
    """Go back to an older revision within the caller's transaction; newer tables are dropped."""
    config = _config()
    config.attributes["connection"] = connection
    command.downgrade(config, target)


def require_current(revision: str | None) -> None:
    """Reject a schema that is not the needed one.

    Raises:
        OperatorError: it is older (with the command to run) or from a newer version.
    """
    if revision == head():
        return
    known = {script.revision for script in _scripts().walk_revisions()}
    if revision is not None and revision not in known:
        raise OperatorError(
            f"The database has schema {revision}, which this version does not know: it was created "
            "by a newer version. Install that version, or restore an older copy of the database."
        )
    raise OperatorError(
        f"The database has schema {revision}, and this version needs {head()}. "
        "Make a copy of it, then run: location-context migrate"
    )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


metadata = MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime; SQLite stores no zone, so it goes in and comes out as UTC."""

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


api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("per_minute", Integer, nullable=False),
    Column("per_day", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("replaced_by", String(32)),
)

metadata_kv = Table(  # single values about this database, such as the check of the pepper
    "facts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", String(200), nullable=False),
)

guide_versions = Table(
    "guide_versions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("provenance", Text, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("imported_at", UtcDateTime, nullable=False),
    Column("replaces", Integer),
    Column("active", Boolean, nullable=False),
)

guide_restaurants = Table(  # read whole into the index, so a record is one JSON text
    "guide_restaurants",
    metadata,
    Column(
        "version",
        Integer,
        ForeignKey("guide_versions.number", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("id", String(64), primary_key=True),
    Column("record", Text, nullable=False),
)

event_calendars = Table(  # a few rows; columns that queries need stand beside the JSON record
    "event_calendars",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("checked_at", UtcDateTime),
    Column("record", Text, nullable=False),
)

events = Table(  # clustered by its key on SQLite: a query reads neighbouring pages
    "events",
    metadata,
    Column("cell", Integer, primary_key=True, autoincrement=False),
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column(
        "calendar",
        String(64),
        ForeignKey("event_calendars.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("id", String(64), primary_key=True),
    Column("record", Text, nullable=False),
    Index("events_by_calendar", "calendar"),
    sqlite_with_rowid=False,
)

climate_months = Table(  # a month of one year of a cell's archive, packed
    "climate_months",
    metadata,
    Column("source", String(40), primary_key=True),
    Column("cell", String(80), primary_key=True),
    Column("month", Integer, primary_key=True, autoincrement=False),
    Column("year", Integer, primary_key=True, autoincrement=False),
    Column("lat", Double, nullable=False),
    Column("lng", Double, nullable=False),
    Column("elevation", Double),
    Column("fetched_at", UtcDateTime, nullable=False),
    Column("data", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

climate_extent = Table(  # one row that triggers maintain: the number of rows of climate_months
    "climate_extent",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("rows", BigInteger, nullable=False),
    Column("newest", UtcDateTime),
)

point_heights = Table(  # coordinates in units of 0.0001 degrees, so that equal points are equal
    "point_heights",
    metadata,
    Column("lat", Integer, primary_key=True, autoincrement=False),
    Column("lng", Integer, primary_key=True, autoincrement=False),
    Column("metres", Double, nullable=False),
)

provider_answers = Table(  # what providers answered, until it expires
    "provider_answers",
    metadata,
    Column("provider", String(40), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("provider_answers_by_expiry", "expires_at"),
    sqlite_with_rowid=False,
)
