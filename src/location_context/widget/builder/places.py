"""`/v1/places`: places by the beginning of their name, for the search of the builder only.

`q` is the beginning of a name, `lang` the language of the country's name. It searches the table of
the gazetteer, needs no key, allows only its own origin and shares the widget's limit per address.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
from anyio import to_thread
from babel.numbers import format_decimal
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context.gazetteer.gazetteer import City
from location_context.localisation.language import SOURCE, Language
from location_context.parameters import MAX_PLACE_LENGTH, decode
from location_context.service import Service
from location_context.widget.embedding import degrees

MAX_MATCHES = 7
COUNTRIES_WITH_REGION_CODES = frozenset({"US", "CA", "AU", "BR"})  # "Austin, TX"
HEADERS = {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A match; `detail` distinguishes it from others of its name."""

    name: str
    detail: str
    lat: float
    lng: float


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The matches, the most populous first; `summary` says how many there are."""

    places: list[Place]
    summary: str


def routes(service: Service) -> list[Route]:
    async def search(request: Request) -> Response:
        peer = request.client.host if request.client else ""
        client = service.proxies.client(peer, request.headers.getlist("x-forwarded-for"))
        await service.authenticator.limit_widget(client)
        query = dict(decode(request.scope["query_string"]))
        language = service.languages.choose(query.get("lang") or SOURCE)
        text = query.get("q", "").strip()[:MAX_PLACE_LENGTH]
        cities = (
            await to_thread.run_sync(service.gazetteer.search, text, MAX_MATCHES) if text else []
        )
        places = describe(cities, language)
        body = Places(places=places, summary=_summary(len(places), language))
        return Response(msgspec.json.encode(body), headers=HEADERS, media_type="application/json")

    return [Route("/v1/places", search)]


def describe(cities: Sequence[City], language: Language) -> list[Place]:
    """The cities with what distinguishes them: country, region, or else the coordinates."""
    details = [_detail(city, language) for city in cities]
    counts = Counter((city.name, detail) for city, detail in zip(cities, details, strict=True))
    return [
        Place(
            name=city.name,
            detail=detail if counts[city.name, detail] == 1 else f"{detail} · {_coordinates(city)}",
            lat=city.lat,
            lng=city.lng,
        )
        for city, detail in zip(cities, details, strict=True)
    ]


def _detail(city: City, language: Language) -> str:
    country = language.locale.territories.get(city.country, city.country)
    if city.country in COUNTRIES_WITH_REGION_CODES and city.region:
        return f"{city.region.partition('-')[2]}, {country}"
    return str(country)


def _coordinates(city: City) -> str:
    return f"{degrees(round(city.lat, 1))}, {degrees(round(city.lng, 1))}"


def _summary(count: int, language: Language) -> str:
    """How many places a search found, for screen readers."""
    text = language.ngettext("{count} place found.", "{count} places found.", count)
    return text.replace("{count}", str(format_decimal(count, locale=language.locale)))
