"""Alembic's environment: migrates the connection that `storage.schema` hands in, nothing else.

The caller holds the transaction, so a migration that is killed leaves nothing behind.
"""

from alembic import context

from location_context.storage.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
    render_as_batch=True,  # SQLite alters a table by creating a new one
)
with context.begin_transaction():
    context.run_migrations()
