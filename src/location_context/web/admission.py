"""Admission: checks the syntax, key and quota of requests; limits how many run concurrently."""

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

STARTS_PER_PASS = 2  # requests that start in one pass of the event loop; each takes some ms
MAX_HOST = 255  # bytes
PUBLIC_SHARE = 0.75  # share of the concurrent requests that may have no API key
_HOST = re.compile(rb"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})|%00|\x00")
_BYTES = re.compile(rb"%([0-9A-Fa-f]{2})")
_KEY_PARAMETERS = {"api_key", "apikey", "api-key", "key", "access_token", "token"}


class Admission:
    """Authenticates requests, and counts each against the quota of its key or client address."""

    def __init__(self, authenticator: Authenticator, proxies: TrustedProxies) -> None:
        self._authenticator = authenticator
        self._proxies = proxies

    async def admit(self, request: Exchange, route: Route) -> None:
        """Authenticate and count a request, as far as `route.access` requires.

        If the route needs a key, set `request.counted` to the key's quotas after this request, and
        `request.test` to whether it is a test key.

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
        """Undo the counting of a request against its key's quota; do nothing without a key."""
        if request.counted is not None:
            await self._authenticator.refund(request.counted)


def key_in_query(query: bytes) -> bool:
    """Return True if the query string seems to contain an API key."""
    return any(
        name.lower() in _KEY_PARAMETERS or value.startswith(PREFIXES)
        for name, value in decode(query)
    )


def check_form(request: Exchange) -> None:
    """Check the Host header and query string, whose syntax the server's parser does not check.

    Raises:
        MalformedRequest: the Host is invalid, or the query has a bad escape, NUL or invalid UTF-8.
    """
    hosts = request.values(b"host")
    if len(hosts) != 1 or len(hosts[0]) > MAX_HOST or not is_host(hosts[0]):
        older = request.scope["http_version"] in {"1", "1.0"}  # HTTP/1.0 does not require a Host
        if not (older and hosts in ((), (b"",))):
            raise errors.MalformedRequest("The Host header is missing, repeated or invalid.")
    query = request.query
    if b"%" in query or not query.isascii():
        decode(query)


@lru_cache(maxsize=64)
def is_host(value: bytes) -> bool:
    """Return True if the value is a host name or address, with or without a port."""
    return _HOST.fullmatch(value) is not None


def check_path(request: Exchange) -> None:
    """Check the syntax of the path.

    Raises:
        MalformedRequest: the path has a bad escape, NUL or invalid UTF-8.
    """
    path: bytes = request.scope.get("raw_path") or request.path.encode()
    if _BROKEN.search(path):
        raise errors.MalformedRequest("The path has an invalid or forbidden %-escape.")
    try:
        _BYTES.sub(lambda match: bytes([int(match[1], 16)]), path).decode("utf-8")
    except UnicodeDecodeError:
        raise errors.MalformedRequest("The path is not percent-encoded UTF-8.") from None


class ConcurrencyLimiter:
    """Limits the number of concurrent requests, so that admitted requests stay fast.

    While `max_in_flight` requests are running, new requests are rejected immediately. Requests
    without a key (`public`) may use only three quarters of `max_in_flight`. Each pass of the event
    loop starts only two requests, so that health checks and rejections do not wait behind them.

    Attributes:
        in_flight: the number of running requests.
    """

    def __init__(self, max_in_flight: int) -> None:
        self.in_flight = 0
        self._max_in_flight = max_in_flight
        self._max_public = max(1, int(max_in_flight * PUBLIC_SHARE))
        self._public = 0
        self._started = 0  # in this pass of the event loop

    @asynccontextmanager
    async def turn(self, *, public: bool) -> AsyncIterator[None]:
        """Wait until a request may start, and count it as running until the block ends.

        Raises:
            ServiceOverloaded: too many requests are running.
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
