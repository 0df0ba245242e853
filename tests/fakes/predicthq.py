"""A stand-in for PredictHQ events, which filters, sorts and pages as its OpenAPI file says.

Taken from `events-api.yaml`: the default limit is 10 and the default state `active`; `sort=rank` is
highest first and `-rank` lowest first; `count` tells all that match, `next` is null on the last
page, `overflow` says that the plan shows no more. Times of rows without a zone are local.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from location_context.point import distance_km
from tests.fakes.server import FakeRequest, FakeResponse

TOKEN = "predicthq-token"
STATES = {"active", "deleted", "predicted"}


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
        "brand_safe": True,
        "entities": [{"type": "venue", "name": "L'Olympia", "formatted_address": "Paris\nFrance"}],
    } | changes


def responding(
    events: Sequence[dict[str, Any]], *, without: frozenset[str] = frozenset(), most: int = 10_000
) -> Callable[[FakeRequest], FakeResponse]:
    """A `respond` that answers these events to the right token only.

    `without`: states that the plan does not give, refused with 403; `most`: results it gives.
    """

    def respond(request: FakeRequest) -> FakeResponse:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return FakeResponse({"error": "Authorization required"}, status=401)
        states = set(request.query.get("state", "active").split(","))
        if states & without:
            return FakeResponse({"error": "Your plan does not include this state"}, status=403)
        if not states <= STATES:
            return FakeResponse({"error": "Invalid state."}, status=400)
        found = _sorted([row for row in events if _matches(row, request, states)], request)
        return FakeResponse(_page(found, request, most))

    return respond


def _page(found: Sequence[dict[str, Any]], request: FakeRequest, most: int) -> dict[str, Any]:
    limit, offset = (int(request.query.get(name, d)) for name, d in (("limit", 10), ("offset", 0)))
    shown = found[:most]
    further = f"?{urlencode({**request.query, 'offset': offset + limit})}"
    return {
        "count": len(found),
        "overflow": len(found) > most,
        "previous": f"?{urlencode({**request.query, 'offset': offset - limit})}"
        if offset
        else None,
        "next": further if offset + limit < len(shown) else None,
        "results": list(shown[offset : offset + limit]),
    }


def _matches(row: dict[str, Any], request: FakeRequest, states: set[str]) -> bool:
    query = request.query
    categories = query.get("category")
    return (
        row.get("state") in states
        and (categories is None or row.get("category") in {None, *categories.split(",")})
        and not (query.get("brand_unsafe.exclude") == "true" and not row.get("brand_safe", True))
        and _is_active(row, request)
        and _is_within(row, query.get("within"))
    )


def _is_active(row: dict[str, Any], request: FakeRequest) -> bool:
    """Whether it touches `active.gte` to `active.lte`, in `active.tz` or by its own clock."""
    zone = ZoneInfo(request.query.get("active.tz", "UTC"))
    local = row.get("timezone") is None

    def bound(name: str) -> datetime | None:
        if (text := request.query.get(name)) is None:
            return None
        moment = datetime.fromisoformat(text)
        return moment if local else moment.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)

    first, last = bound("active.gte"), bound("active.lte")
    start = datetime.fromisoformat(row["start"]).replace(tzinfo=None)
    end = datetime.fromisoformat(row.get("end") or row["start"]).replace(tzinfo=None)
    return (first is None or end >= first) and (last is None or start <= last)


def _is_within(row: dict[str, Any], within: str | None) -> bool:
    """Inside the radius; what has no place applies to a wider one and is given."""
    pair = row.get("location") or ((row.get("geo") or {}).get("geometry") or {}).get("coordinates")
    if within is None or not pair or not all(type(n) in {int, float} for n in pair):
        return True
    reach, _, centre = within.partition("km@")
    lat, lng = map(float, centre.split(","))
    return distance_km(lat, lng, pair[1], pair[0]) <= float(reach)


def _sorted(rows: list[dict[str, Any]], request: FakeRequest) -> list[dict[str, Any]]:
    """By `sort`: of ranks the highest come first, and the lowest with the minus sign."""
    by = request.query.get("sort", "-start")
    if by.lstrip("-") == "rank":
        return sorted(rows, key=lambda row: row.get("rank") or 0, reverse=by == "rank")
    assert by.lstrip("-") == "start"
    return sorted(rows, key=lambda row: str(row["start"]), reverse=by == "-start")
