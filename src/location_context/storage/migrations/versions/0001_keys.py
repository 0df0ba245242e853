"""API keys, and single facts about this database."""

import sqlalchemy as sa
from alembic import op

revision = "0001_keys"
down_revision = None


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("per_minute", sa.Integer, nullable=False),
        sa.Column("per_day", sa.Integer, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("expires_at", moment),
        sa.Column("revoked_at", moment),
        sa.Column("replaced_by", sa.String(32)),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String(200), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("facts")
    op.drop_table("api_keys")
