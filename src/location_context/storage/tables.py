"""Every table, in one metadata: what the stores query. The migrations create the same tables.

Moments are kept as `Moment`: an aware datetime in UTC, whatever the database.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
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
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

metadata = MetaData()


class Moment(TypeDecorator[datetime]):
    """An aware moment; SQLite keeps no zone, so it goes in and comes out as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs a zone")
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
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("replaced_by", String(32)),
)

facts = Table(  # single values about this database, such as the check of the pepper
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
    Column("imported_at", Moment, nullable=False),
    Column("replaces", Integer),
    Column("active", Boolean, nullable=False),
)

guide_restaurants = Table(  # read whole into the catalogue, so a record is one JSON text
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

event_calendars = Table(  # a few rows; what is asked of them stands beside the JSON record
    "event_calendars",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("checked_at", Moment),
    Column("record", Text, nullable=False),
)

events = Table(  # kept in the order of its key on SQLite: a query reads neighbouring pages
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
    Column("fetched_at", Moment, nullable=False),
    Column("data", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

climate_extent = Table(  # one row, which triggers keep: the rows of climate_months
    "climate_extent",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("rows", BigInteger, nullable=False),
    Column("newest", Moment),
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
    Column("expires_at", Moment, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("provider_answers_by_expiry", "expires_at"),
    sqlite_with_rowid=False,
)
