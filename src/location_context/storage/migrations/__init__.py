"""The Alembic environment of the package; README.md here says how to add a revision."""
