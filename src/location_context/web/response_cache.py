"""ResponseCache: finished responses of one path, reused for equal requests at almost no cost.

Two requests are equal if their path, their raw query string and their headers for coding and
language are the same (RFC 9111 section 4.1). Key and quota are checked for each; the request's id,
the quota and the remaining freshness are written for each. A response is cached while its data are
fresh, or for a moment if it is incomplete, until what it awaits has come; it is dropped when a
section reports that its data have changed. Content codings (RFC 9110 section 12.5.3) and ETags are
handled here too.
"""

import gzip
import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import brotli
from starlette.responses import Response

from location_context.exchange import Exchange
from location_context.lru import LRUCache
from location_context.sections.section import Section

MIN_COMPRESSED = 600  # bytes; below this, headers and effort outweigh the saving
# At 5, Brotli packs the largest page of a week (62 kB) in 1.0 ms instead of 0.7, and into 13.3 kB
# instead of 14.3: below the 14 kB that the builder names, in every language.
_BROTLI, _GZIP = 5, 6
MAX_ACCEPT_ENCODING = 1000  # bytes that are read, and used as the key of a cache
_CODINGS = ("br", "gzip")  # in order of preference
_QUALITY = re.compile(r"q\s*=\s*(0(\.\d{0,3})?|1(\.0{0,3})?)", re.IGNORECASE)
_ENTITY_TAG = re.compile(rb'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
ON_304 = {
    b"cache-control", b"cdn-cache-control", b"content-language", b"link", b"etag", b"vary",
}  # fmt: skip
Headers = list[tuple[bytes, bytes]]


def choose_coding(accept_encoding: bytes) -> str | None:
    """Return `br`, `gzip`, or None for the plain body; junk in the header is ignored."""
    return _choose_coding(accept_encoding[:MAX_ACCEPT_ENCODING])


@lru_cache(maxsize=256)
def _choose_coding(accept_encoding: bytes) -> str | None:
    wanted: dict[str, float] = {}
    for part in accept_encoding.decode("latin-1").lower().split(","):
        name, _, parameter = part.partition(";")
        match = _QUALITY.fullmatch(parameter.strip())
        if match or not parameter:
            wanted[name.strip()] = float(match[1]) if match else 1.0
    anything = wanted.get("*", 0.0)
    best = max(_CODINGS, key=lambda coding: wanted.get(coding, anything))
    return best if wanted.get(best, anything) > 0 else None


def compress(body: bytes, coding: str) -> bytes:
    """Return the body, compressed."""
    if coding == "br":
        packed: bytes = brotli.compress(body, quality=_BROTLI, mode=brotli.MODE_TEXT)
        return packed
    return gzip.compress(body, compresslevel=_GZIP, mtime=0)


def etag_matches(if_none_match: bytes | None, etag: bytes) -> bool:
    """Compare weakly (RFC 9110 section 13.1.2).

    Anything that is not an entity tag never matches.
    """
    if if_none_match is None:
        return False
    if if_none_match == etag:  # the value of nearly every client
        return True
    if if_none_match.strip() == b"*":
        return True
    return etag in _ENTITY_TAG.findall(if_none_match[:4000])


MAX_BYTES = 8_000_000  # of one path; plain bodies are shared with the section's own cache
ENTRY_BYTES = 1500  # the size of an entry besides its body and its key
MAX_KEY_BYTES = 2000  # of query and Accept-Language; longer ones are not cached

PACKED_ALREADY = frozenset({b"image/png"})

Key = tuple[bytes, str | None, bytes | None]  # query, coding, Accept-Language where it matters


class FinishedResponse:
    """A response of status 200, packed for one coding and with its ETag.

    Attributes:
        size: the bytes that it takes, its key excluded.
    """

    __slots__ = (
        "_body",
        "_control",
        "_etag",
        "_freshness",
        "_headers",
        "_left",
        "_mode",
        "_near",
        "_on_304",
        "_reusable_until",
        "size",
        "varies",
    )  # fmt: skip

    def __init__(self, request: Exchange, response: Response, now: float) -> None:
        """Create the finished response from the handler's response to `request`.

        `now` in POSIX seconds.
        """
        headers, body = dict(response.raw_headers), bytes(response.body)
        coding = None
        if len(body) >= MIN_COMPRESSED and headers[b"content-type"] not in PACKED_ALREADY:
            coding = choose_coding(request.given.get(b"accept-encoding", b""))
        digest = request.digest or hashlib.blake2b(body, digest_size=12).hexdigest()
        if coding:
            digest = f"{digest}-{coding}"  # other bytes need another ETag
            # a response outside the cache, such as documentation, is packed once for all requests
            body = compress(body, coding) if request.freshness else _compress_once(body, coding)
            headers[b"content-encoding"] = coding.encode()
            headers[b"content-length"] = str(len(body)).encode()
        others = headers.get(b"vary", b"")
        headers[b"vary"] = b"Accept-Encoding, " + others if others else b"Accept-Encoding"
        headers[b"etag"] = self._etag = f'"{digest}"'.encode()
        self._headers: Headers = list(headers.items())
        self._on_304 = [pair for pair in self._headers if pair[0] in ON_304]
        self._body = body
        self._freshness = request.freshness
        self._left: int | None = None  # seconds, of the Cache-Control that was written last
        self._control = (b"", b"")
        self._reusable_until = request.freshness.reusable_until(now) if request.freshness else now
        self._mode, self._near = request.mode, request.near
        self.size = ENTRY_BYTES + len(body)
        self.varies = b"accept-language" in others.lower()

    def is_usable(self, now: float) -> bool:
        """Return True if the response may be sent to an equal request."""
        return (
            now < self._reusable_until
            and self._freshness is not None
            and not self._freshness.superseded
        )

    def answer(self, request: Exchange, now: float) -> tuple[int, Headers, bytes]:
        """Return the status, headers and body for a request that equals the first one."""
        if etag_matches(request.given.get(b"if-none-match"), self._etag):
            status, headers, body = 304, self._on_304, b""
        else:
            status, headers, body = 200, self._headers, self._body
        if self._freshness is None:
            return status, [*headers], body
        if (left := self._freshness.seconds_left(now)) != self._left:  # which lasts for a second
            self._left = left
            self._control = (b"cache-control", self._freshness.cache_control(left).encode())
        return status, [*headers, self._control], body

    def describe(self, request: Exchange) -> None:
        """Fill in the request's log line for a cached response."""
        request.cache, request.mode, request.near = "response", self._mode, self._near


@lru_cache(maxsize=64)
def _compress_once(body: bytes, coding: str) -> bytes:
    return compress(body, coding)


class ResponseCache:
    """The finished responses of one path, by query, coding and, where it matters, language.

    Attributes:
        generation: number of changes of the sections; a response that was started before the last
            change is not cached.
    """

    def __init__(self, sections: Iterable[Section[Any]]) -> None:
        self.generation = 0
        self._responses = LRUCache[Key, FinishedResponse](MAX_BYTES, lambda one: one.size)
        for section in sections:
            section.on_change(self.clear)

    def find(self, request: Exchange, now: float) -> FinishedResponse | None:
        """Return the response cached for an equal request; `now` in POSIX seconds."""
        coding = choose_coding(request.given.get(b"accept-encoding", b""))
        found = self._responses.get((request.query, coding, None))
        if found is None:
            language = request.given.get(b"accept-language", b"")
            found = self._responses.get((request.query, coding, language))
        return found if found is not None and found.is_usable(now) else None

    def store(self, request: Exchange, response: FinishedResponse) -> None:
        """Store the response to a request, unless its key is too long."""
        coding = choose_coding(request.given.get(b"accept-encoding", b""))
        language = request.given.get(b"accept-language", b"") if response.varies else None
        key_bytes = len(request.query) + len(language or b"")
        if key_bytes <= MAX_KEY_BYTES:
            response.size += key_bytes
            self._responses.put((request.query, coding, language), response)

    def clear(self) -> None:
        """Drop every response, also those still being made."""
        self.generation += 1
        self._responses.clear()
