"""HTTP caching: Cache-Control that follows the data, ETags for each content coding, and 304.

`finish` is the last step of every 200 answer, of JSON, widget and documents alike.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING

from starlette.responses import Response

from location_context.web import coding

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from location_context.sections.contract import SectionResult

_ENTITY_TAG = re.compile(rb'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_ON_304 = {b"cache-control", b"content-language", b"vary", b"etag", b"link"}
LESS_THAN_WHOLE = 60


def cache_control(reading: SectionResult, now: datetime) -> str:
    """`private` with what is left of the reading's freshness; a minute when it lacks something."""
    if not reading.complete:
        return f"private, max-age={LESS_THAN_WHOLE}"
    left = max(0, math.floor((reading.fresh_until - now).total_seconds()))
    return f"private, max-age={left}, stale-while-revalidate=60, stale-if-error=3600"


def finish(
    response: Response, headers: Mapping[bytes, bytes], packed: coding.Packed, digest: str | None
) -> Response:
    """The answer with its ETag, in the coding the client asked for; 304 if it has it already."""
    body = bytes(response.body)
    if b"no-store" in response.headers.get("cache-control", "").encode():
        return response
    asked = headers.get(b"accept-encoding", b"").decode("latin-1")
    chosen = coding.choose(asked) if len(body) >= coding.SMALLEST else None
    digest = digest or hashlib.blake2b(body, digest_size=12).hexdigest()
    etag = f'"{digest}-{chosen}"' if chosen else f'"{digest}"'
    extra = [(b"etag", etag.encode()), (b"vary", _vary(response))]
    if _matches(headers.get(b"if-none-match"), etag.encode()):
        return _not_modified(response, extra)
    if chosen:
        response.body = packed.get(etag, body, chosen)
        extra += [
            (b"content-encoding", chosen.encode()),
            (b"content-length", str(len(response.body)).encode()),
        ]
    replaced = {name for name, _ in extra}
    response.raw_headers[:] = [h for h in response.raw_headers if h[0] not in replaced] + extra
    return response


def _vary(response: Response) -> bytes:
    before = response.headers.get("vary", "")
    return (f"Accept-Encoding, {before}" if before else "Accept-Encoding").encode()


def _matches(if_none_match: bytes | None, etag: bytes) -> bool:
    """Weak comparison (RFC 9110 section 13.1.2); what is no entity tag matches nothing."""
    if if_none_match is None:
        return False
    if if_none_match.strip() == b"*":
        return True
    return etag in _ENTITY_TAG.findall(if_none_match[:4000])


def _not_modified(response: Response, extra: list[tuple[bytes, bytes]]) -> Response:
    answer = Response(status_code=304)
    replaced = {name for name, _ in extra}
    kept = [h for h in response.raw_headers if h[0] in _ON_304 and h[0] not in replaced]
    answer.raw_headers[:] = kept + extra
    return answer
