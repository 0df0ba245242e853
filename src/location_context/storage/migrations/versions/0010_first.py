"""The schema of the first release. New databases run no migrations, so this one has no steps.

`schema.convert` converts databases from before the first release.
"""

revision = "0010_first"
down_revision = None
