"""A stand-in for PredictHQ events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.standins.server import Answered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.standins.server import Asked

TOKEN = "predicthq-token"


def event(title: str, start: str, end: str, /, **changes: Any) -> dict[str, Any]:
    """One event in Paris; `changes` replace whole fields."""
    return {
        "id": title.lower().replace(" ", "-"),
        "title": title,
        "category": "concerts",
        "start": start,
        "end": end,
        "timezone": "Europe/Paris",
        "location": [2.3282, 48.8702],
        "scope": "locality",
        "country": "FR",
        "state": "active",
        "deleted_reason": None,
        "rank": 60,
        "entities": [{"type": "venue", "name": "L'Olympia", "formatted_address": "Paris\nFrance"}],
    } | changes


def responding(events: Sequence[dict[str, Any]]) -> Callable[[Asked], Answered]:
    """A `respond` that answers these events to the right token only."""

    def respond(asked: Asked) -> Answered:
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return Answered({"error": "Unauthorized"}, status=401)
        return Answered({"count": len(events), "overflow": False, "results": list(events)})

    return respond
