"""The schema: new databases make it, old ones are refused, and it is what `schema.py` says."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from location_context.storage import schema
from location_context.storage.database import Database
from location_context.storage.schema import metadata

pytestmark = pytest.mark.anyio


async def test_a_new_database_makes_its_schema_at_first_opening(database: Database) -> None:
    assert await database.revision() == schema.head()


async def test_migrations_make_exactly_the_tables_of_the_metadata(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        options = {"version_table": schema.VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        return compare_metadata(context, metadata)

    async with database.read() as connection:
        assert await connection.run_sync(differences) == []
