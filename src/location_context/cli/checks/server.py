"""The running server, asked for what it alone knows, such as who sends it forwarded headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from location_context.cli.checks.finding import Finding, Outcome
from location_context.errors import LocationContextError
from location_context.upstream.download import download
from location_context.upstream.http import http_client

if TYPE_CHECKING:
    from collections.abc import Collection

_PATIENCE = 5.0  # seconds
_MOST_BYTES = 1_000_000
_LONGEST = 500  # signs of a notice


class _Told(msgspec.Struct):
    """What is read of `/v1/status`."""

    status: str
    version: str
    notices: list[str]


async def running_server(address: str, user_agent: str, known: Collection[str]) -> list[Finding]:
    """Whether a server answers at this address, and its notices besides the known ones."""
    url = f"{address.rstrip('/')}/v1/status"
    try:
        async with http_client(user_agent) as client:
            answer = await download(
                client, url, allow_private=True, max_bytes=_MOST_BYTES, timeout=_PATIENCE
            )
        told = msgspec.json.decode(answer.body, type=_Told)
    except LocationContextError:
        said = f"none answers at {address}; one elsewhere is named with --server"
        return [Finding("server", "info", said)]
    except msgspec.MsgspecError:
        return [Finding("server", "warning", f"something else answers at {url}")]
    said = f"version {_plain(told.version)} answers at {address}, {_plain(told.status)}"
    news = [_plain(notice) for notice in told.notices if notice not in known]
    outcome: Outcome = "ok" if told.status == "operational" else "info"
    return [Finding("server", outcome, said), *(Finding("server", "warning", n) for n in news)]


def _plain(text: str) -> str:
    """What came from another process, fit for a terminal."""
    return "".join(sign for sign in text[:_LONGEST] if sign.isprintable())
