"""Add names of guides, and a table of each key's requests by day.

Older versions of the service cannot use the new schema, so `usable_from` is not set. They know only
one guide, and their import would deactivate all named guides.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011_named_guides_and_usage"
down_revision = "0010_first"


def upgrade() -> None:
    """Add `guide_versions.name`, empty for existing versions, and the table `key_usage`."""
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
