"""The operator's own events, by place and time, and the calendars they come from."""

import sqlalchemy as sa
from alembic import op

revision = "0003_events"
down_revision = "0002_guide"
usable_from = "0001_keys"  # it only adds tables


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "event_calendars",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("checked_at", moment),
        sa.Column("record", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("cell", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column(
            "calendar",
            sa.String(64),
            sa.ForeignKey("event_calendars.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("record", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("events_by_calendar", "events", ["calendar"])


def downgrade() -> None:
    op.drop_table("events")
    op.drop_table("event_calendars")
