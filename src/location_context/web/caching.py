"""HTTP caching: Cache-Control that follows the data, ETags for each content coding, 304, codings.

Which coding a client gets follows RFC 9110 section 12.5.3. A response is packed once and kept so
(`response_cache`).
"""

import gzip
import hashlib
import re
from functools import lru_cache

import brotli
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIN_COMPRESSED = 600  # bytes; below this, headers and effort outweigh what is saved
# Brotli packs JSON of 8 kB at 5 as fast as at 4, and a tenth smaller; a page of 35 kB takes 0.5 ms
# at 4, and twice that at 5.
_SMALL_BYTES, _BROTLI_SMALL, _BROTLI_LARGE, _GZIP = 24_000, 5, 4, 6
MAX_ACCEPT_ENCODING = 1000  # bytes that are read, and kept as the key of a cache
_CODINGS = ("br", "gzip")  # in order of preference
_QUALITY = re.compile(r"q\s*=\s*(0(\.\d{0,3})?|1(\.0{0,3})?)", re.IGNORECASE)
_ENTITY_TAG = re.compile(rb'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
ON_304 = {
    b"cache-control", b"cdn-cache-control", b"content-language", b"link", b"surrogate-key",
    b"cache-tag",
}  # fmt: skip
Headers = list[tuple[bytes, bytes]]


def choose_coding(accept_encoding: bytes) -> str | None:
    """`br`, `gzip`, or None for the plain body; junk in the header is ignored."""
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
    """The body packed."""
    if coding == "br":
        quality = _BROTLI_SMALL if len(body) <= _SMALL_BYTES else _BROTLI_LARGE
        packed: bytes = brotli.compress(body, quality=quality, mode=brotli.MODE_TEXT)
        return packed
    return gzip.compress(body, compresslevel=_GZIP, mtime=0)


@lru_cache(maxsize=64)
def _compress_once(body: bytes, coding: str) -> bytes:
    """What is not a reading, such as the documentation, packed once for all its requests."""
    return compress(body, coding)


class ConditionalResponses:
    """Middleware: an ETag on each 200 that may be stored, 304 if the client has it, and its coding.

    A handler that knows a digest of its body puts it into `scope["state"]["digest"]`, and one whose
    response may be kept how long it is fresh into `scope["state"]["freshness"]`. The whole response
    then stands in `scope["state"]["whole"]`, also where the client gets a 304.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message | None = None

        async def send_conditional(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and message["status"] == 200:
                start = message  # waits for the body, which every handler sends in one piece
            elif start is not None:
                body = self._finish(scope, start, message["body"])
                await send(start)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await self._app(scope, receive, send_conditional)

    def _finish(self, scope: Scope, start: Message, body: bytes) -> bytes:
        """Change the start of the answer to what the client needs, and return the body it gets."""
        asked, headers = dict(scope["headers"]), dict(start["headers"])
        if b"no-store" in headers.get(b"cache-control", b""):
            return body
        coding = None
        if len(body) >= MIN_COMPRESSED:
            coding = choose_coding(asked.get(b"accept-encoding", b""))
        digest = scope["state"].get("digest") or hashlib.blake2b(body, digest_size=12).hexdigest()
        # other bytes need another ETag
        etag = f'"{digest}-{coding}"' if coding else f'"{digest}"'
        vary = b"Accept-Encoding"
        if others := headers.pop(b"vary", b""):
            vary += b", " + others
        own = [(b"etag", etag.encode()), (b"vary", vary)]
        matches = etag_matches(asked.get(b"if-none-match"), etag.encode())
        kept = "freshness" in scope["state"]
        if coding and (kept or not matches):
            body = compress(body, coding) if kept else _compress_once(body, coding)
            headers[b"content-encoding"] = coding.encode()
            headers[b"content-length"] = str(len(body)).encode()
        if kept:
            scope["state"]["whole"] = [*headers.items(), *own], body
        if matches:
            start["status"], body = 304, b""
            headers = {name: value for name, value in headers.items() if name in ON_304}
        start["headers"] = [*headers.items(), *own]
        return body


def etag_matches(if_none_match: bytes | None, etag: bytes) -> bool:
    """Weak comparison (RFC 9110 section 13.1.2); what is not an entity tag matches nothing."""
    if if_none_match is None:
        return False
    if if_none_match == etag:  # what nearly every client sends
        return True
    if if_none_match.strip() == b"*":
        return True
    return etag in _ENTITY_TAG.findall(if_none_match[:4000])
