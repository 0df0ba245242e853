"""Well-formed requests: what the server's parser lets through and must not come further."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from location_context.errors import MalformedRequest
from location_context.parameters import decode

if TYPE_CHECKING:
    from starlette.types import Scope

_HOST = re.compile(rb"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})|%00|\x00")
_BYTES = re.compile(rb"%([0-9A-Fa-f]{2})")


def check(scope: Scope) -> None:
    """Refuse a bad Host, broken escapes, NUL and invalid UTF-8 in the path and the query.

    Raises:
        MalformedRequest: one of these.
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    older = scope["http_version"] in {"1", "1.0"}  # needs no Host; granian hands on an empty one
    if not (older and hosts in ([], [b""])) and (len(hosts) != 1 or not _HOST.fullmatch(hosts[0])):
        raise MalformedRequest("The Host header is missing, doubled or no host name.")
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    if b"%" in path or not path.isascii():
        _check_path(path)
    query: bytes = scope["query_string"]
    if b"%" in query or not query.isascii():
        decode(query)


def _check_path(path: bytes) -> None:
    if _BROKEN.search(path):
        raise MalformedRequest("The path holds a broken or forbidden %-escape.")
    try:
        _BYTES.sub(lambda match: bytes([int(match[1], 16)]), path).decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedRequest("The path is not percent-encoded UTF-8.") from None
