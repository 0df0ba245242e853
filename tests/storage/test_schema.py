"""The schema: new databases make it, and the newest migration is known by its file's name."""

from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from location_context.storage import schema
from location_context.storage.database import Database
from location_context.storage.schema import metadata


def differences(connection: Connection) -> list[object]:
    """Return what sets the tables of a database apart from the metadata."""
    options = {"version_table": schema.VERSION_TABLE, "compare_type": True}
    context = MigrationContext.configure(connection, opts=options)
    return compare_metadata(context, metadata)


async def test_new_database_gets_the_newest_schema(database: Database) -> None:
    assert await database.revision() == schema.head()


def test_newest_migration_is_last_by_name() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [schema.head()]
    for script in scripts.walk_revisions():
        assert Path(script.path).stem == script.revision
