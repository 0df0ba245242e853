"""Addresses: converts URLs to ASCII (RFC 3986), the form that URLs have in answers."""

import re
from functools import lru_cache
from urllib.parse import quote, urlsplit, urlunsplit

_LONGEST = 2000
_BLANK = re.compile(r"[\s\x00-\x1f]")
_STRAY = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"[A-Za-z0-9.:@_~%\[\]-]+")
_SAFE = "%/:@!$&'()*+,;=~?"


@lru_cache(maxsize=2_000)
def web_address(text: str | None) -> str | None:
    """Return an http or https URL with non-ASCII characters encoded; None for any other text.

    A text that has inner spaces or control characters, or over 2,000 characters, is not a URL.
    """
    address = (text or "").strip()
    if len(address) > _LONGEST or _BLANK.search(address):
        return None
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
        if parts.scheme not in {"http", "https"} or not host:
            return None
        netloc = parts.netloc
        if not netloc.isascii():
            netloc = host.encode("idna").decode() + (f":{port}" if port else "")
    except ValueError:  # includes UnicodeError
        return None
    if not _HOST.fullmatch(netloc):
        return None
    rest = [quote(_STRAY.sub("%25", part), safe=_SAFE) for part in parts[2:]]
    return urlunsplit((parts.scheme, netloc, *rest))
