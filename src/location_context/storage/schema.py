"""The schema's version: which one a database holds, which one is needed, and the way there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from location_context.errors import OperatorError

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSION_TABLE = "schema_version"


def head() -> str:
    """The revision this version of the service needs."""
    revision = _scripts().get_current_head()
    assert revision is not None
    return revision


def current(connection: Connection) -> str | None:
    """The revision the database holds; None for a new one."""
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def upgrade(connection: Connection, target: str = "head") -> None:
    """Migrate within the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def downgrade(connection: Connection, target: str) -> None:
    """Go back to an older revision within the caller's transaction; its data goes."""
    config = _config()
    config.attributes["connection"] = connection
    command.downgrade(config, target)


def check(revision: str | None) -> None:
    """Refuse a schema that is not the needed one.

    Raises:
        OperatorError: it is older (with the command to run) or from a newer version.
    """
    if revision == head():
        return
    known = {script.revision for script in _scripts().walk_revisions()}
    if revision is not None and revision not in known:
        raise OperatorError(
            f"The database holds schema {revision}, which this version does not know: it was made "
            "by a newer version. Install that version, or restore an older copy of the database."
        )
    raise OperatorError(
        f"The database holds schema {revision}, and this version needs {head()}. "
        "Make a copy of it, then run: location-context migrate"
    )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
