"""The schema of the first release, created from the metadata, so this migration has no steps.

`schema.convert` converts databases from before the first release.
"""

revision = "0010_first"
down_revision = None
