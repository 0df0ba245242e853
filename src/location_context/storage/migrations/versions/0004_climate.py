"""The climate archive per cell and month, and heights of points."""

import sqlalchemy as sa
from alembic import op

revision = "0004_climate"
down_revision = "0003_events"
usable_from = "0001_keys"  # it only adds tables


def upgrade() -> None:
    op.create_table(
        "climate_months",
        sa.Column("source", sa.String(40), primary_key=True),
        sa.Column("cell", sa.String(80), primary_key=True),
        sa.Column("month", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("year", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("lat", sa.Double, nullable=False),
        sa.Column("lng", sa.Double, nullable=False),
        sa.Column("elevation", sa.Double),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "point_heights",
        sa.Column("lat", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("lng", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("metres", sa.Double, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("point_heights")
    op.drop_table("climate_months")
