"""Purge: the tags by which a CDN knows public answers, and the call that drops those of some tags.

Each page is tagged with `pulse`, the sections on it (`pulse-guide`), its place as a square of a
degree (`pulse-at-48:2`) and its country (`pulse-in-FR`). A purge is one POST to PURGE_URL that says
the tags twice, as Fastly and Varnish read them (the header `Surrogate-Key`) and as Cloudflare does
(JSON `{"tags": [...]}`), with the secret header PURGE_HEADER.
"""

import asyncio
import math
import time
from collections.abc import Collection, Iterable, Sequence

import msgspec
import structlog

from location_context.errors import LocationContextError, ProviderStatusError, ProviderTimeout
from location_context.point import Point
from location_context.settings import Settings
from location_context.upstream.http import HttpClient

FOLLOW_SECONDS = 2.0  # in which every process looks whether a dataset was replaced
PURGE_AFTER = 5.0  # seconds: by then no process gives what is to be purged
DEADLINE, RETRY_AFTER = 10.0, 1.0  # seconds
MAX_TAGS = 30  # of one call, as Cloudflare takes them; beyond, the whole section is purged
_NAME, _EVERY = "purge", "pulse"
_MAX_ANSWER = 100_000  # bytes; nothing of it is used
_KM_PER_DEGREE = 111.195


def section_tag(section: str) -> str:
    """That of all pages with this section."""
    return f"{_EVERY}-{section}"


def country_tag(country: str) -> str:
    """That of all pages with a point in this country (ISO 3166-1)."""
    return f"{_EVERY}-in-{country}"


def tag_headers(sections: Iterable[str], point: Point) -> dict[str, str]:
    """The tags of a page in both forms."""
    tags = [_EVERY, *map(section_tag, sections), *place_tags(point.lat, point.lng, 0)]
    if point.country:
        tags.append(country_tag(point.country))
    return {"Surrogate-Key": " ".join(tags), "Cache-Tag": ",".join(tags)}


def place_tags(lat: float, lng: float, radius: float) -> list[str]:
    """Those of the squares that a circle of `radius` km may touch."""
    reach = radius / _KM_PER_DEGREE
    south, north = max(-90.0, lat - reach), min(90.0, lat + reach)
    narrowest = math.cos(math.radians(max(abs(south), abs(north))))
    width = reach / narrowest if narrowest * 180 > reach else 180.0
    columns = range(math.floor(lng - width), math.floor(lng + width) + 1)
    return [
        f"{_EVERY}-at-{row}:{column}"
        for row in range(math.floor(south), math.floor(north) + 1)
        for column in sorted({(one + 180) % 360 - 180 for one in columns})
    ]


class Purger:
    """Drops what a CDN holds under some tags; it does nothing where no PURGE_URL is set.

    Attributes:
        after: seconds to wait first, for all processes to follow the import.
        failure: why the last purge failed.

    Example:
        await Purger(settings, client).purge(section_tag("guide"))
    """

    def __init__(self, settings: Settings, client: HttpClient) -> None:
        self._url = settings.purge_url
        self._secret = settings.purge_header
        self._client = client
        self.after = PURGE_AFTER
        self.failure: str | None = None

    @property
    def is_set(self) -> bool:
        return bool(self._url)

    async def purge(self, *tags: str) -> None:
        """Purge the tags in one call, tried twice.

        It raises nothing: pages that stay are replaced within the hour.
        """
        if not (self._url and tags):
            return
        await asyncio.sleep(self.after)
        log, began, self.failure = structlog.get_logger(), time.perf_counter(), None
        try:
            await self._tell(tags)
        except LocationContextError as error:
            self.failure = error.message
            log.warning("purge_failed", tags=tags, why=error.message)
        else:
            log.info("purge_done", tags=tags, ms=round((time.perf_counter() - began) * 1000))

    async def _tell(self, tags: Sequence[str]) -> None:
        try:
            async with asyncio.timeout(DEADLINE):
                try:
                    await self._post(tags)
                except LocationContextError:
                    await asyncio.sleep(RETRY_AFTER)
                    await self._post(tags)
        except TimeoutError:
            raise ProviderTimeout(_NAME, "did not answer in time") from None

    async def _post(self, tags: Sequence[str]) -> None:
        name, _, value = self._secret.reveal().partition(":")
        headers = {"Surrogate-Key": " ".join(tags), "Content-Type": "application/json"}
        if name:
            headers[name.strip()] = value.strip()
        answer = await self._client.get(
            self._url,
            _NAME,
            _MAX_ANSWER,
            method="POST",
            headers=headers,
            body=msgspec.json.encode({"tags": tags}),
            only_200=True,
            timeout=DEADLINE / 2 - RETRY_AFTER,  # so that a silent CDN is asked twice
        )
        if not 200 <= answer.status < 300:
            raise ProviderStatusError(_NAME, answer.status)


def bounded(tags: Collection[str], section: str) -> Sequence[str]:
    """The tags in order, or that of the whole section where they are too many."""
    return sorted(tags) if len(tags) <= MAX_TAGS else [section_tag(section)]
