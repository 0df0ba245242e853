"""A guide has a name, and the requests of each key are counted by day.

Versions before this one cannot use the result (no `usable_from`): they know one guide, so an import
by them would deactivate every named one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011_named_guides_and_usage"
down_revision = "0010_first"


def upgrade() -> None:
    """Add `guide_versions.name`, empty for the guide of before, and the table `key_usage`."""
    op.add_column(
        "guide_versions", sa.Column("name", sa.String(40), nullable=False, server_default="")
    )
    op.create_table(
        "key_usage",
        sa.Column("key_id", sa.String(32), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("requests", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
