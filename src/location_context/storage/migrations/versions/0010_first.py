"""Every table of the first release. Databases made before it are converted by `schema.convert`."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010_first"
down_revision = None

MOMENT = sa.DateTime(timezone=True)


def number(name: str, type_: Any = sa.Integer) -> sa.Column[Any]:
    return sa.Column(name, type_, primary_key=True, autoincrement=False)


def upgrade() -> None:
    _keys()
    _guide()
    _events()
    _climate()
    _accuracy()
    _providers()


def _keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("per_minute", sa.Integer, nullable=False),
        sa.Column("per_day", sa.Integer, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT),
        sa.Column("revoked_at", MOMENT),
        sa.Column("replaced_by", sa.String(32)),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String(200), nullable=False),
    )


def _guide() -> None:
    op.create_table(
        "guide_versions",
        number("number"),
        sa.Column("provenance", sa.Text, nullable=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("imported_at", MOMENT, nullable=False),
        sa.Column("replaces", sa.Integer),
        sa.Column("active", sa.Boolean, nullable=False),
    )
    op.create_table(
        "guide_restaurants",
        sa.Column(
            "version",
            sa.Integer,
            sa.ForeignKey("guide_versions.number", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("record", sa.Text, nullable=False),
    )


def _events() -> None:
    op.create_table(
        "event_calendars",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("checked_at", MOMENT),
        sa.Column("record", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        number("cell"),
        sa.Column("last_day", sa.Date, primary_key=True),
        sa.Column(
            "calendar",
            sa.String(64),
            sa.ForeignKey("event_calendars.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("first_day", sa.Date, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("events_by_calendar", "events", ["calendar"])


def _climate() -> None:
    op.create_table(
        "climate_months",
        sa.Column("source", sa.String(40), primary_key=True),
        sa.Column("cell", sa.String(80), primary_key=True),
        number("month"),
        number("year"),
        sa.Column("lat", sa.Double, nullable=False),
        sa.Column("lng", sa.Double, nullable=False),
        sa.Column("elevation", sa.Double),
        sa.Column("fetched_at", MOMENT, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_index("climate_months_by_fetch", "climate_months", ["fetched_at"])
    op.create_table(
        "climate_cells",
        sa.Column("source", sa.String(40), primary_key=True),
        sa.Column("cell", sa.String(80), primary_key=True),
        sa.Column("asked_on", sa.Date, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("climate_cells_by_day", "climate_cells", ["asked_on"])
    op.create_table(
        "point_heights",
        number("lat"),
        number("lng"),
        sa.Column("metres", sa.Double, nullable=False),
    )


def _accuracy() -> None:
    op.create_table(
        "forecast_records",
        sa.Column("provider", sa.String(40), primary_key=True),
        sa.Column("cell", sa.String(80), primary_key=True),
        sa.Column("issued_on", sa.Date, primary_key=True),
        sa.Column("elevation", sa.Double),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("forecast_records_by_day", "forecast_records", ["issued_on"])
    op.create_table(
        "observed_days",
        sa.Column("source", sa.String(40), primary_key=True),
        sa.Column("cell", sa.String(80), primary_key=True),
        sa.Column("asked_at", MOMENT, nullable=False),
        sa.Column("first", sa.Date, nullable=False),
        sa.Column("elevation", sa.Double),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )


def _providers() -> None:
    op.create_table(
        "provider_answers",
        sa.Column("provider", sa.String(40), primary_key=True),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("provider_answers_by_expiry", "provider_answers", ["expires_at"])
    op.create_table(
        "provider_units",
        sa.Column("host", sa.String(40), primary_key=True),
        number("seconds", sa.Double),
        number("bucket", sa.BigInteger),
        sa.Column("units", sa.Double, nullable=False),
        sa.Column("public_units", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
