"""Answers of providers, kept until they expire."""

import sqlalchemy as sa
from alembic import op

revision = "0006_answers"
down_revision = "0005_climate_extent"
usable_from = "0001_keys"  # it only adds tables


def upgrade() -> None:
    op.create_table(
        "provider_answers",
        sa.Column("provider", sa.String(40), primary_key=True),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("provider_answers_by_expiry", "provider_answers", ["expires_at"])


def downgrade() -> None:
    op.drop_table("provider_answers")
