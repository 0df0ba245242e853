"""SharedResponses: finished answers of one process, given by the others too.

What a handler made is stored in Redis behind the answer, before its coding, as long as it is fresh
and whole. Another process that has nothing of its own looks there before it reads a section. The
name of an answer holds all that it was made of: checked parameters and language, the versions of
this package and of others with sections, the settings and the data imported. So what an upgrade or
an import made old is never asked for again, and ends by itself.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from location_context import __version__
from location_context.errors import PublicError
from location_context.freshness import Freshness
from location_context.parameters import WIDGET, parse
from location_context.sections.cached_section import CachedSection
from location_context.sections.registry import packages
from location_context.service import Service
from location_context.settings import Settings
from location_context.upstream.shared_cache import RESPONSE, CacheRecord, SharedStore

Handle: TypeAlias = Callable[[Request], Awaitable[Response]]
LEAST_SECONDS = 5  # of freshness: what ends sooner is hardly asked for by another process
_FOLDERS = ("data_dir", "log_level", "log_format", "metrics_address")  # which no answer hangs on


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    """An answer without Cache-Control, and what its handler said of it."""

    body: bytes
    headers: list[tuple[bytes, bytes]]
    freshness: Freshness
    digest: str | None
    mode: str | None
    near: str | None


def shared(
    service: Service,
    path: str,
    handle: Handle,
    names: tuple[str, ...],
    sections: Sequence[CachedSection],
) -> Handle:
    """`handle`, asked only for what no process has; itself where nothing is shared.

    `names` are the parameters of the path, `sections` those that its answers are made of.
    """
    if (store := service.shared) is None:
        return handle
    constant = (__version__, packages(), path, _settings(service.settings))

    def name(request: Request) -> str | None:
        chosen = [section.name for section in sections]
        try:
            given = parse(request.scope["query_string"], names, service.languages, chosen)
        except PublicError:
            return None  # which is the handler's to say
        asked = request.headers.get("accept-language", "") if names == WIDGET else ""
        language = given.language or service.languages.accept(asked)
        values = [getattr(given, one.name) for one in fields(given) if one.name != "language"]
        editions = [section.section.edition for section in sections]
        parts = repr((constant, editions, language.tag, given.language is None, values))
        return hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()

    async def respond(request: Request) -> Response:
        key = name(request)
        found = await _load(store, key, request, service) if key else None
        if found is not None:
            return found
        response = await handle(request)
        if key and key == name(request):  # else the data changed meanwhile
            _save(store, key, request, response, service)
        return response

    return respond


def _settings(settings: Settings) -> str:
    """A digest of what answers may hang on; secrets show as stars in it."""
    shown = {k: v for k, v in msgspec.structs.asdict(settings).items() if k not in _FOLDERS}
    return hashlib.blake2b(repr(shown).encode(), digest_size=8).hexdigest()


async def _load(
    store: SharedStore, key: str, request: Request, service: Service
) -> Response | None:
    """The answer of another process, as long as it is fresh."""
    if (data := await store.load(RESPONSE, key)) is None:
        return None
    try:
        stored = msgspec.msgpack.decode(data, type=_Stored)
    except msgspec.MsgspecError:
        return None
    left = stored.freshness.seconds_left(service.clock().timestamp())
    if left < 0:
        return None
    state = request.scope["state"]
    state["freshness"], state["cache"] = stored.freshness, "shared"
    state["mode"], state["near"] = stored.mode, stored.near
    if stored.digest is not None:
        state["digest"] = stored.digest
    response = Response(stored.body)
    control = (b"cache-control", stored.freshness.cache_control(left).encode())
    response.raw_headers = [*stored.headers, control]
    return response


def _save(
    store: SharedStore, key: str, request: Request, response: Response, service: Service
) -> None:
    state, now = request.scope["state"], service.clock()
    freshness: Freshness | None = state.get("freshness")
    if response.status_code != 200 or freshness is None or not freshness.kept:
        return
    if freshness.seconds_left(now.timestamp()) < LEAST_SECONDS:
        return
    headers = [pair for pair in response.raw_headers if pair[0] != b"cache-control"]
    facts = [state.get(one) for one in ("digest", "mode", "near")]
    data = msgspec.msgpack.encode(_Stored(bytes(response.body), headers, freshness, *facts))
    until = datetime.fromtimestamp(freshness.fresh_until, UTC)
    store.put(CacheRecord(RESPONSE, key, until, data), now)
