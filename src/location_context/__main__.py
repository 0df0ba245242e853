"""`python -m location_context` is the command `location-context`."""

from location_context.cli.main import main

if __name__ == "__main__":
    main()
