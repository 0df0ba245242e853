"""When somebody last asked for a cell of the climate archive: what nobody asks for is deleted.

The cells that are there count as asked for today.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009_climate_cells"
down_revision = "0008_climate_rows"
usable_from = "0008_climate_rows"  # it only adds a table

_FILL = (
    "INSERT INTO climate_cells (source, cell, asked_on) "
    "SELECT DISTINCT source, cell, CURRENT_DATE FROM climate_months"
)


def upgrade() -> None:
    op.create_table(
        "climate_cells",
        sa.Column("source", sa.String(40), primary_key=True),
        sa.Column("cell", sa.String(80), primary_key=True),
        sa.Column("asked_on", sa.Date, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("climate_cells_by_day", "climate_cells", ["asked_on"])
    op.execute(_FILL)


def downgrade() -> None:
    op.drop_table("climate_cells")
