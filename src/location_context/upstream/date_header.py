"""The time as another host tells it in the Date header of any answer."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

if TYPE_CHECKING:
    from datetime import datetime


async def told_time(client: httpx2.AsyncClient, url: str) -> datetime | None:
    """When the host of this address answered, by its own clock; None where it does not say.

    Asked without TLS, since with a clock that is far off no certificate holds. Nothing but the
    time is taken from the answer, and no key is sent.
    """
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port and parts.scheme == "http" else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    try:
        answer = await client.head(f"http://{host}{port}/")
        told = parsedate_to_datetime(answer.headers["date"])
    except (httpx2.HTTPError, httpx2.InvalidURL, KeyError, ValueError, OverflowError):
        return None
    return told if told.tzinfo else None
