"""The climate archive in a table with row numbers, on SQLite: a third of the room.

Without them a row stands in the tree of its key, where one of more than a kilobyte takes a page of
its own. Rows are packed anew, smaller, as they are fetched again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008_climate_rows"
down_revision = "0007_forecasts"

_TRIGGERS = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'climate_months'"
_COPY = (
    "INSERT INTO climate_months_new "
    "SELECT source, cell, month, year, lat, lng, elevation, fetched_at, data FROM climate_months"
)


def upgrade() -> None:
    _make_anew(with_rowid=True)


def downgrade() -> None:
    _make_anew(with_rowid=False)


def _make_anew(*, with_rowid: bool) -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    triggers = connection.execute(sa.text(_TRIGGERS)).scalars().all()
    op.create_table(
        "climate_months_new",
        sa.Column("source", sa.String(40), primary_key=True),
        sa.Column("cell", sa.String(80), primary_key=True),
        sa.Column("month", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("year", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("lat", sa.Double, nullable=False),
        sa.Column("lng", sa.Double, nullable=False),
        sa.Column("elevation", sa.Double),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=with_rowid,
    )
    op.execute(_COPY)
    op.drop_table("climate_months")
    op.rename_table("climate_months_new", "climate_months")
    for trigger in triggers:
        op.execute(trigger)
