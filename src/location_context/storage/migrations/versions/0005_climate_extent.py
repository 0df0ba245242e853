"""How many rows the climate archive has and when the newest came, kept by triggers.

To count them takes a scan of the whole table; `/v1/status` asks for it and is open to everyone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005_climate_extent"
down_revision = "0004_climate"
usable_from = "0001_keys"  # it only adds a table, and triggers that fill it

_COUNTED = (
    "INSERT INTO climate_extent (id, rows, newest) "
    "SELECT 1, count(*), max(fetched_at) FROM climate_months"
)
_ADD = (
    "INSERT INTO climate_extent (id, rows, newest) VALUES (1, 1, NEW.fetched_at) "
    "ON CONFLICT (id) DO UPDATE SET rows = climate_extent.rows + 1, "
    "newest = {greatest}(coalesce(climate_extent.newest, NEW.fetched_at), NEW.fetched_at);"
)
_RENEW = (
    "UPDATE climate_extent SET newest = NEW.fetched_at "
    "WHERE newest IS NULL OR newest < NEW.fetched_at;"
)
_TAKE = "UPDATE climate_extent SET rows = rows - 1;"
_TRIGGERS = {"insert": _ADD, "update": _RENEW, "delete": _TAKE}


def upgrade() -> None:
    op.create_table(
        "climate_extent",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("newest", sa.DateTime(timezone=True)),
    )
    op.execute(_COUNTED)
    sqlite = op.get_bind().dialect.name == "sqlite"
    for event, statement in _TRIGGERS.items():
        body = statement.format(greatest="max" if sqlite else "greatest")
        name, on = f"climate_extent_{event}", f"AFTER {event.upper()} ON climate_months"
        if sqlite:
            op.execute(f"CREATE TRIGGER {name} {on} BEGIN {body} END")
            continue
        op.execute(
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {body} RETURN NULL; END $$"
        )
        op.execute(f"CREATE TRIGGER {name} {on} FOR EACH ROW EXECUTE FUNCTION {name}()")


def downgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    for event in _TRIGGERS:
        name = f"climate_extent_{event}"
        op.execute(f"DROP TRIGGER {name}" if sqlite else f"DROP FUNCTION {name}() CASCADE")
    op.drop_table("climate_extent")
