"""Forecasts as they were given, and the days that the archive then knew."""

import sqlalchemy as sa
from alembic import op

revision = "0007_forecasts"
down_revision = "0006_answers"
usable_from = "0001_keys"  # it only adds tables


def upgrade() -> None:
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
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("first", sa.Date, nullable=False),
        sa.Column("elevation", sa.Double),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("observed_days")
    op.drop_table("forecast_records")
