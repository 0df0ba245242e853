"""Versions of the restaurant guide, and the restaurants of each."""

import sqlalchemy as sa
from alembic import op

revision = "0002_guide"
down_revision = "0001_keys"
usable_from = "0001_keys"  # it only adds tables


def upgrade() -> None:
    op.create_table(
        "guide_versions",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("provenance", sa.Text, nullable=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), nullable=False),
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


def downgrade() -> None:
    op.drop_table("guide_restaurants")
    op.drop_table("guide_versions")
