"""The first release: its tables are made from the metadata, so that no step leads to it.

`schema.convert` brings databases of before it here.
"""

revision = "0010_first"
down_revision = None
