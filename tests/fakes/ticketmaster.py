"""A stand-in for Ticketmaster Discovery v2: events made row by row, answered in pages."""

import math
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

from location_context.point import distance_km
from tests.fakes.server import FakeRequest, FakeResponse

KEY = "ticketmaster-key"
_GEOHASH_DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"


def event(name: str, start: dict[str, Any], /, **changes: Any) -> dict[str, Any]:
    """One event in Paris; `changes` replace whole fields, `zone` is that of the event."""
    zone = changes.pop("zone", None)
    venue = {
        "name": "Olympia",
        "timezone": "Europe/Paris",
        "city": {"name": "Paris"},
        "address": {"line1": "28 boulevard des Capucines"},
        "location": {"longitude": "2.3281", "latitude": "48.8701"},
    } | changes.pop("venue", {})
    dates = {"start": start, "status": {"code": changes.pop("status", "onsale")}}
    if zone:
        dates["timezone"] = zone
    return {
        "id": name.lower().replace(" ", "-"),
        "name": name,
        "test": False,
        "url": "https://www.ticketmaster.example/e",
        "dates": dates,
        "classifications": [{"primary": True, "segment": {"name": "Music"}}],
        "images": [{"ratio": "16_9", "width": 640, "url": "https://images.example/a.jpg"}],
        "_embedded": {"venues": [venue]},
    } | changes


def at(day: str, clock: str, utc: str | None = None) -> dict[str, Any]:
    """A start with its time known."""
    start = {"localDate": day, "localTime": clock, "dateTBD": False, "dateTBA": False}
    start |= {"timeTBA": False, "noSpecificTime": False}
    return start | ({"dateTime": utc} if utc else {})


def responding(
    events: Sequence[dict[str, Any]], *, always_by_date: bool = False, by_place: bool = False
) -> Callable[[FakeRequest], FakeResponse]:
    """A `respond` that answers these events in pages, to the right key only.

    Like the real one it filters by local date, and refuses to page beyond the thousandth; with
    `by_place` also by the circle, as it does.
    """

    def respond(request: FakeRequest) -> FakeResponse:
        if request.query.get("apikey") != KEY:
            return FakeResponse({"fault": {"faultstring": "Invalid ApiKey"}}, status=401)
        size, page = int(request.query["size"]), int(request.query["page"])
        if size > 200 or size * page >= 1000:
            return FakeResponse({"errors": [{"code": "DIS1035"}]}, status=400)
        during = filter(_during(request), events)
        near = filter(_within(request), during) if by_place else during
        found = sorted(near, key=_by_date if always_by_date else _order(request))
        part = found[size * page : size * (page + 1)]
        pages = {"size": size, "totalElements": len(found), "number": page}
        pages["totalPages"] = math.ceil(len(found) / size)
        return FakeResponse({"page": pages, **({"_embedded": {"events": part}} if part else {})})

    return respond


def _during(request: FakeRequest) -> Callable[[dict[str, Any]], bool]:
    """Whether an event touches the requested local dates; the end, where there is one, counts."""
    first, last = (text[:10] for text in request.query["localStartEndDateTime"].split(","))

    def touches(event: dict[str, Any]) -> bool:
        dates = event["dates"]
        start = dates["start"]["localDate"]
        return start <= last and (dates.get("end") or {}).get("localDate", start) >= first

    return touches


def _within(request: FakeRequest) -> Callable[[dict[str, Any]], bool]:
    """Whether an event's venue lies in the requested circle."""
    centre, radius = geohash_point(request.query["geoPoint"]), float(request.query["radius"])

    def is_near(event: dict[str, Any]) -> bool:
        at = event["_embedded"]["venues"][0]["location"]
        return distance_km(*centre, float(at["latitude"]), float(at["longitude"])) <= radius

    return is_near


def geohash_point(text: str) -> tuple[float, float]:
    """Latitude and longitude of the middle of a geohash."""
    bits = "".join(f"{_GEOHASH_DIGITS.index(digit):05b}" for digit in text)
    lng, lat = ((int(part, 2) + 0.5) / 2 ** len(part) for part in (bits[::2], bits[1::2]))
    return lat * 180 - 90, lng * 360 - 180


def _order(request: FakeRequest) -> Callable[[dict[str, Any]], object]:
    """By relevance, which has nothing to do with the date: a checksum of the id stands for it."""
    if request.query["sort"] == "relevance,desc":
        return lambda event: crc32(event["id"].encode())
    return _by_date


def _by_date(event: dict[str, Any]) -> str:
    return str(event["dates"]["start"]["localDate"])
