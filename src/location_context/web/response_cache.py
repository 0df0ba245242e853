"""ResponseCache: finished responses of one path, reused for equal requests.

Two requests are equal if they have the same path, raw query string and compression. If the response
depends on Accept-Language, its values must be the same too (RFC 9111 section 4.1). Each request is
still authenticated and counted; its response has its own id, quota and remaining freshness. A
complete response is cached while its data are fresh, an incomplete response only for some seconds.
All responses are dropped when a section reports changed data. This module also handles compression
(content codings, RFC 9110 section 12.5.3) and ETags.
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

MIN_COMPRESSED = 600  # bytes; smaller bodies are not compressed
# Brotli's level 5 compresses the largest page of a week (62 kB) to 13.3 kB in 1.0 ms; a lower level
# to 14.3 kB in 0.7 ms. The builder's page promises less than 14 kB in every language.
_BROTLI, _GZIP = 5, 6
MAX_ACCEPT_ENCODING = 1000  # bytes of the header that are read; the rest is ignored
_CODINGS = ("br", "gzip")  # in order of preference
_QUALITY = re.compile(r"q\s*=\s*(0(\.\d{0,3})?|1(\.0{0,3})?)", re.IGNORECASE)
_ENTITY_TAG = re.compile(rb'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
ON_304 = {
    b"cache-control", b"cdn-cache-control", b"content-language", b"link", b"etag", b"vary",
}  # fmt: skip
Headers = list[tuple[bytes, bytes]]


def choose_coding(accept_encoding: bytes) -> str | None:
    """Return the compression that the header allows: `br`, `gzip` or None."""
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
    """Return the body compressed with `br` or `gzip`."""
    if coding == "br":
        packed: bytes = brotli.compress(body, quality=_BROTLI, mode=brotli.MODE_TEXT)
        return packed
    return gzip.compress(body, compresslevel=_GZIP, mtime=0)


def etag_matches(if_none_match: bytes | None, etag: bytes) -> bool:
    """Return True if If-None-Match contains the ETag or `*` (weak comparison, RFC 9110)."""
    if if_none_match is None:
        return False
    if if_none_match.strip() == b"*":
        return True
    return etag in _ENTITY_TAG.findall(if_none_match[:4000])


MAX_BYTES = 8_000_000  # for one path; uncompressed bodies are shared with the section's cache
ENTRY_BYTES = 1500  # the size of an entry without its body and key
MAX_KEY_BYTES = 2000  # query and Accept-Language; responses to longer requests are not cached

PACKED_ALREADY = frozenset({b"image/png"})

Key = tuple[bytes, str | None, bytes | None]  # query, compression, Accept-Language if it matters


class FinishedResponse:
    """A response with status 200 and its ETag, in a compression that its request accepts.

    Attributes:
        size: the response's size in memory, in bytes; `store` adds the size of its key.
        varies: True if the response depends on Accept-Language.
    """

    def __init__(self, request: Exchange, response: Response, now: float) -> None:
        """Compress the handler's response and set its headers; `now` is in POSIX seconds."""
        headers, body = dict(response.raw_headers), bytes(response.body)
        coding = None
        if len(body) >= MIN_COMPRESSED and headers[b"content-type"] not in PACKED_ALREADY:
            coding = choose_coding(request.given.get(b"accept-encoding", b""))
        policy = headers.get(b"content-security-policy", b"")  # not sent again with a 304
        digest = hashlib.blake2b(body + policy, digest_size=12).hexdigest()
        if coding:
            digest = f"{digest}-{coding}"  # different bytes need a different ETag
            # responses that are not cached here, such as documentation, are compressed only once
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
        self._left: int | None = None  # seconds of freshness in the last Cache-Control
        self._control = (b"", b"")
        self._reusable_until = request.freshness.reusable_until(now) if request.freshness else now
        self._mode, self._near = request.mode, request.near
        self.size = ENTRY_BYTES + len(body)
        self.varies = b"accept-language" in others.lower()

    def is_usable(self, now: float) -> bool:
        """Return True if the response may be reused at `now`, in POSIX seconds."""
        return (
            now < self._reusable_until
            and self._freshness is not None
            and not self._freshness.superseded
        )

    def answer(self, request: Exchange, now: float) -> tuple[int, Headers, bytes]:
        """Return status (200 or 304), headers and body for the response to a request.

        The request is the one for which this response was made, or a later one equal to it.
        """
        if etag_matches(request.given.get(b"if-none-match"), self._etag):
            status, headers, body = 304, self._on_304, b""
        else:
            status, headers, body = 200, self._headers, self._body
        if self._freshness is None:
            return status, [*headers], body
        if (left := self._freshness.seconds_left(now)) != self._left:  # changes once a second
            self._left = left
            self._control = (b"cache-control", self._freshness.cache_control(left).encode())
        return status, [*headers, self._control], body

    def describe(self, request: Exchange) -> None:
        """Set the log fields of a request that is answered with this stored response."""
        request.cache, request.mode, request.near = "response", self._mode, self._near


@lru_cache(maxsize=64)
def _compress_once(body: bytes, coding: str) -> bytes:
    return compress(body, coding)


class ResponseCache:
    """The finished responses of one path, by query, compression and (if it matters) language.

    Attributes:
        generation: the number of changes that sections have reported. The caller must compare it
            before and after making a response, and must not store the response if it differs.
    """

    def __init__(self, sections: Iterable[Section[Any]]) -> None:
        self.generation = 0
        self._responses = LRUCache[Key, FinishedResponse](MAX_BYTES, lambda one: one.size)
        for section in sections:
            section.on_change(self.clear)

    def find(self, request: Exchange, now: float) -> FinishedResponse | None:
        """Return a usable response to an equal request, or None; `now` is in POSIX seconds."""
        coding = choose_coding(request.given.get(b"accept-encoding", b""))
        found = self._responses.get((request.query, coding, None))
        if found is None:
            language = request.given.get(b"accept-language", b"")
            found = self._responses.get((request.query, coding, language))
        return found if found is not None and found.is_usable(now) else None

    def store(self, request: Exchange, response: FinishedResponse) -> None:
        """Store a response, unless its query and Accept-Language exceed 2,000 bytes together."""
        coding = choose_coding(request.given.get(b"accept-encoding", b""))
        language = request.given.get(b"accept-language", b"") if response.varies else None
        key_bytes = len(request.query) + len(language or b"")
        if key_bytes <= MAX_KEY_BYTES:
            response.size += key_bytes
            self._responses.put((request.query, coding, language), response)

    def clear(self) -> None:
        """Drop all responses, and add 1 to `generation`.

        So a response that a handler is still making with the old data is not stored later.
        """
        self.generation += 1
        self._responses.clear()
