"""Admission: it admits requests by form, key or address, and limits how many run at once."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from location_context import errors
from location_context.access.address import TrustedProxies
from location_context.access.authenticator import Authenticator
from location_context.access.keys import PREFIXES, is_test
from location_context.exchange import Exchange, Route
from location_context.parameters import decode

STARTS_PER_PASS = 2  # of some ms each
MAX_HOST = 255  # bytes
PUBLIC_SHARE = 0.75  # of the requests at once that may be without a key
_HOST = re.compile(rb"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})|%00|\x00")
_BYTES = re.compile(rb"%([0-9A-Fa-f]{2})")
_KEY_PARAMETERS = {"api_key", "apikey", "api-key", "key", "access_token", "token"}


class Admission:
    """Counts each request under the quota of its key or of its client's address."""

    def __init__(self, authenticator: Authenticator, proxies: TrustedProxies) -> None:
        self._authenticator = authenticator
        self._proxies = proxies

    async def admit(self, request: Exchange, route: Route) -> None:
        """Count a request, and set `counted` and `test` if it came with a key.

        Raises:
            MissingApiKey, InvalidApiKey, RateLimitExceeded, ServiceOverloaded: see `Authenticator`.
        """
        if route.access == "open":
            return
        client = request.client
        if forwarded_for := request.values(b"x-forwarded-for"):
            values = [value.decode("latin-1") for value in forwarded_for]
            client = self._proxies.client(client, values)
        if route.access == "address":
            await self._authenticator.limit_widget(client)
            return
        headers = request.values(b"authorization")
        in_query = not headers and key_in_query(request.query)
        cost = route.cost(request) if route.cost else 1
        request.counted = await self._authenticator.authenticate(headers, in_query, client, cost)
        request.test = is_test(request.counted.subject)

    async def refund(self, request: Exchange) -> None:
        """Refund a request that was made with a key."""
        if request.counted is not None:
            await self._authenticator.refund(request.counted)


def key_in_query(query: bytes) -> bool:
    """Return True if the URL contains an API key."""
    return any(
        name.lower() in _KEY_PARAMETERS or value.startswith(PREFIXES)
        for name, value in decode(query)
    )


def check_form(request: Exchange) -> None:
    """Reject an invalid Host or query, which the server's parser accepts.

    Raises:
        MalformedRequest: a bad Host, a broken escape, NUL or invalid UTF-8.
    """
    hosts = request.values(b"host")
    if len(hosts) != 1 or len(hosts[0]) > MAX_HOST or not is_host(hosts[0]):
        older = request.scope["http_version"] in {"1", "1.0"}  # needs no Host
        if not (older and hosts in ((), (b"",))):
            raise errors.MalformedRequest("The Host header is missing, doubled or not a host name.")
    query = request.query
    if b"%" in query or not query.isascii():
        decode(query)


@lru_cache(maxsize=64)
def is_host(value: bytes) -> bool:
    """Return True if this may be the value of a Host header."""
    return _HOST.fullmatch(value) is not None


def check_path(request: Exchange) -> None:
    """Reject a path that is not well-formed.

    Raises:
        MalformedRequest: a broken escape, NUL or invalid UTF-8.
    """
    path: bytes = request.scope.get("raw_path") or request.path.encode()
    if _BROKEN.search(path):
        raise errors.MalformedRequest("The path has an invalid or forbidden %-escape.")
    try:
        _BYTES.sub(lambda match: bytes([int(match[1], 16)]), path).decode("utf-8")
    except UnicodeDecodeError:
        raise errors.MalformedRequest("The path is not percent-encoded UTF-8.") from None


class ConcurrencyLimiter:
    """A bound on the requests handled at once, so that admitted ones stay quick.

    Beyond `max_in_flight`, new requests are rejected at once, which costs next to nothing; public
    requests (without a key) already beyond three quarters of it. Few requests start in one pass of
    the event loop, so that health checks and rejections never wait behind queued work.

    Attributes:
        in_flight: the number of requests that are worked on.
    """

    def __init__(self, max_in_flight: int) -> None:
        self.in_flight = 0
        self._max_in_flight = max_in_flight
        self._max_public = max(1, int(max_in_flight * PUBLIC_SHARE))
        self._public = 0
        self._started = 0  # in this pass of the event loop

    @asynccontextmanager
    async def turn(self, *, public: bool) -> AsyncIterator[None]:
        """Wait until one request may start, and count it until the block ends.

        Raises:
            ServiceOverloaded: too many are in flight.
        """
        if self.in_flight >= self._max_in_flight or (public and self._public >= self._max_public):
            raise errors.ServiceOverloaded("The service is overloaded; try again in a moment.", 1)
        self.in_flight += 1
        self._public += public
        try:
            while self._started >= STARTS_PER_PASS:  # noqa: ASYNC110  until the loop's next pass
                await asyncio.sleep(0)
            if not self._started:
                asyncio.get_running_loop().call_soon(self._end_pass)
            self._started += 1
            yield
        finally:
            self.in_flight -= 1
            self._public -= public

    def _end_pass(self) -> None:
        self._started = 0
