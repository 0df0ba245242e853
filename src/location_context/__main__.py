"""Runs the command `location-context` for `python -m location_context`."""

from location_context.cli.main import main

if __name__ == "__main__":
    main()
