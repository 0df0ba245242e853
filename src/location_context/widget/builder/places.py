"""`/v1/places`: places by the beginning of their name, for the builder's search alone.

`q` is the beginning of a name, `lang` the language of the country's name. It answers from the
GeoNames table that the service holds, to the builder's own origin, without a key; searches count
toward the same limit per address as widgets do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.gazetteer.gazetteer import City
from location_context.localisation.language import SOURCE, Language
from location_context.parameters import MAX_PLACE_LENGTH, decode
from location_context.service import Service
from location_context.widget.builder.text import matches
from location_context.widget.embedding import degrees

LIMIT = 7
WRITTEN_REGIONS = frozenset({"US", "CA", "AU", "BR"})  # where people write the region's letters
HEADERS = {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A match; `detail` tells it from others of its name."""

    name: str
    detail: str
    lat: float
    lng: float


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The matches, the most populous first; `summary` says how many in words."""

    places: list[Place]
    summary: str


def routes(service: Service) -> list[Route]:
    async def search(request: Request) -> Response:
        peer = request.client.host if request.client else ""
        client = service.proxies.client(peer, request.headers.getlist("x-forwarded-for"))
        await service.authenticator.limit_widget(client)
        given = dict(decode(request.scope["query_string"]))
        language = service.languages.choose(given.get("lang") or SOURCE)
        text = given.get("q", "").strip()[:MAX_PLACE_LENGTH]
        cities = await to_thread.run_sync(service.gazetteer.search, text, LIMIT) if text else []
        found = named(cities, language)
        answer = Places(places=found, summary=matches(len(found), language))
        return Response(msgspec.json.encode(answer), headers=HEADERS, media_type="application/json")

    return [Route("/v1/places", search)]


def named(cities: Sequence[City], language: Language) -> list[Place]:
    """The cities with what tells them apart: country, region, or else the coordinates."""
    details = [_detail(city, language) for city in cities]
    alike = Counter((city.name, detail) for city, detail in zip(cities, details, strict=True))
    return [
        Place(
            name=city.name,
            detail=detail if alike[city.name, detail] == 1 else f"{detail} · {_near(city)}",
            lat=city.lat,
            lng=city.lng,
        )
        for city, detail in zip(cities, details, strict=True)
    ]


def _detail(city: City, language: Language) -> str:
    country = language.locale.territories.get(city.country, city.country)
    if city.country in WRITTEN_REGIONS and city.region:
        return f"{city.region.partition('-')[2]}, {country}"
    return str(country)


def _near(city: City) -> str:
    return f"{degrees(round(city.lat, 1))}, {degrees(round(city.lng, 1))}"
