"""The schema of the first release, with which the sequence of migrations begins.

This migration has no steps. A new database is created with the current tables, and
`schema.convert` converts a database from before the first release.
"""

revision = "0010_first"
down_revision = None
