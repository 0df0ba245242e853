"""Alembic's environment: runs the migrations on the connection that `storage.schema` passes.

The caller owns the transaction, so an interrupted migration changes nothing.
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
