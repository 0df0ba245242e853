"""What a scenario is given, and what it finds."""

from typing import NamedTuple


class Finding(NamedTuple):
    """Whether it held, and what was seen."""

    held: bool
    seen: str


class Given(NamedTuple):
    """Seconds between the steps of a scenario, requests a second, and places."""

    pause: float = 10.0
    rate: float = 100.0
    places: int = 40
