"""ProviderClient: calls one URL of a provider (an outside source of data), within limits.

Each call has a time-out, at most one retry, and limits on concurrent calls and on the size of the
response. A circuit breaker stops calls while the provider fails. The limits that the provider sets
for its users (budget of units, concurrent calls, requested pauses) are in its `Host`. A call
succeeds only if its parser can read the response. Redirects are refused, unless `ClientLimits`
allows them and they stay on the same host. Failures raise a `ProviderError`, whose message contains
no URL. No other code of the service calls a provider.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

from location_context import errors
from location_context.counters import ProviderCalls
from location_context.stay import Clock
from location_context.upstream.host import Breaker, Host, Slots
from location_context.upstream.http import Backoff, HttpClient, HttpResponse, backoff_from_headers

T = TypeVar("T")
RETRY_SHARE = 0.1  # number of retries that each success adds to those that may be made
MAX_RETRIES_SAVED = 3.0  # largest number of retries that may be made, also at the start
RETRY_DELAY = 0.05  # seconds, times a random factor from 1 to 2
MAX_BACKOFF = 86400.0  # seconds; a longer requested pause is a mistake, and is cut to this


@dataclass(frozen=True, kw_only=True)
class ClientLimits:
    """The limits on calls to one URL of a provider."""

    timeout: float = 10.0  # seconds to wait for a slot, and again for the response
    max_bytes: int = 8_000_000  # of a decompressed response
    max_in_flight: int = 4  # concurrent calls
    max_waiting: int = 100  # calls that wait for a slot; further calls fail at once
    redirects: int = 0  # followed in one call, only on the same host


@dataclass(frozen=True)
class Failure:
    """The error class and message of a failed call.

    The error itself is not stored, because its traceback keeps the provider's response in memory,
    which may have many megabytes.
    """

    kind: type[errors.ProviderError]
    message: str


class ProviderClient:
    """A client for one URL of a provider, with a circuit breaker, limits and counts of calls.

    Args:
        name: the provider's name, for errors and `/v1/status`.
        url: the URL with its path. If it is empty, the provider is not configured, and calls
            fail.
        client: the HTTP client that all providers share.
        clock: returns the time, UTC.
        limits: the limits on calls to this URL.
        host: the limits that the provider sets for its users; all its clients share a `Host`.
        breaker: the circuit breaker that stops calls while the provider fails.
        backoff: returns the pause that a response with an error status requests.

    Attributes:
        last_success_at: the time (UTC) of the last successful call; None before the first.
        last_error: the newest failure since the last success, or None.
        calls: the number of calls by outcome.

    Example:
        client = ProviderClient("skyline", settings.skyline_url, http, clock)
        rows = await client.get_json({"lat": "48.86"}, lambda body: body["rows"], public=True)
    """

    def __init__(  # noqa: PLR0913  each argument is one rule of this provider
        self,
        name: str,
        url: str,
        client: HttpClient,
        clock: Clock,
        *,
        limits: ClientLimits | None = None,
        host: Host | None = None,
        breaker: Breaker | None = None,
        backoff: Callable[[HttpResponse], Backoff] = backoff_from_headers,
    ) -> None:
        self.name = name
        self.calls = ProviderCalls(name)
        if url:
            self.calls = client.calls.setdefault(name, self.calls)
        self.last_success_at: datetime | None = None
        self.last_error: Failure | None = None
        self.breaker = breaker or Breaker()
        self.host = host or Host()
        self._url = url
        self._clock = clock
        self._limits = limits or ClientLimits()
        self._http = client
        self._read_backoff = backoff
        self._backoff_until: datetime | None = None
        self._slots = Slots(self._limits.max_in_flight)
        self._waiting = 0
        self._retries = MAX_RETRIES_SAVED

    @property
    def configured(self) -> bool:
        return bool(self._url)

    @property
    def hostname(self) -> str:
        """The host name in the URL, for messages of the command line; empty without a URL."""
        return urlsplit(self._url).hostname or ""

    @property
    def last_error_code(self) -> str | None:
        """The code of the newest failure since the last success, as `/v1/status` shows it."""
        return self.last_error.kind.code if self.last_error else None

    @property
    def backoff_until(self) -> datetime | None:
        """The end (UTC) of the pause that the provider requested; None if there is no pause."""
        now = self._clock()
        given = (self._backoff_until, self.host.backoff_until)
        return max((until for until in given if until and now < until), default=None)

    @property
    def is_in_plan(self) -> bool:
        """False if the provider's last answer was that our plan does not include this URL."""
        failure = self.last_error
        return failure is None or not issubclass(failure.kind, errors.ProviderNotInPlan)

    @property
    def available(self) -> bool:
        """True if a call may be made now. Reading this does not use up the breaker's trial call."""
        return self.configured and self.backoff_until is None and self.breaker.state != "open"

    async def get_json(
        self, params: Mapping[str, str], parse: Callable[[Any], T], **call: Any
    ) -> T:
        """GET the URL with `params`, and return what `parse` makes of the JSON in the response.

        If `parse` raises KeyError, TypeError, ValueError or a similar error, the call counts as
        failed. `call` are further arguments of `get`.

        Raises:
            ProviderError: the call failed or its response is unusable; `errors` has the subclasses.
        """
        return await self.get(params, lambda response: parse(response.json()), **call)

    async def get(  # noqa: PLR0913  a request has these parts
        self,
        params: Mapping[str, str],
        parse: Callable[[HttpResponse], T],
        *,
        path: str = "",
        headers: Mapping[str, str] | None = None,
        units: float = 1.0,
        public: bool = False,
        accept: tuple[int, ...] = (200,),
    ) -> T:
        """GET the URL with `params`, and return what `parse` makes of the response.

        Args:
            params: the query parameters; commas in their values are not escaped.
            parse: reads the response; if it raises an error, the call counts as failed.
            path: appended to the client's URL.
            headers: headers to send in addition to the User-Agent.
            units: the cost of the call in the provider's units, taken from its budget.
            public: True for requests of the public widget, which may spend half of each budget.
            accept: statuses that `parse` can read; any other raises `ProviderStatusError`.

        Raises:
            ProviderError: the call failed or its response is unusable; `errors` has the subclasses.
        """
        url = self._url + path + ("?" + urlencode(params, safe=",") if params else "")
        try:
            self._check_available()
            await self._http.open()  # before units are spent and the time-out begins
            async with self._slot(public=public):
                await self._admit(units, public=public)
                response = await self._call(url, dict(headers or {}), units, public, accept)
            parsed = response.read(parse)
        except errors.ProviderBackoff as error:
            self.calls.refuse(error)
            raise
        except errors.ProviderError as error:
            self._record_failure(error)
            raise
        self._close_breaker()
        self.calls.succeed()
        self.last_success_at, self.last_error = self._clock(), None
        self._retries = min(MAX_RETRIES_SAVED, self._retries + RETRY_SHARE)
        return parsed

    def _check_available(self) -> None:
        if not self.configured:
            raise errors.ProviderBackoff(self.name, "is not configured", reason="off")
        if (until := self.backoff_until) is not None:
            raise errors.ProviderBackoff(self.name, "requested a pause", until, reason="quiet")
        if self.breaker.state == "open":
            raise self._breaker_backoff()

    @asynccontextmanager
    async def _slot(self, *, public: bool) -> AsyncIterator[None]:
        """Wait until this client and its host allow one more concurrent call, made in the block.

        Public (widget) traffic may fill only three quarters of the queue, which leaves room for
        requests with an API key.

        Raises:
            ProviderBackoff: too many calls wait, or the wait was too long. This does not count as a
                failure of the provider.
        """
        longest = self._limits.max_waiting
        if self._waiting >= (longest * 3 // 4 if public else longest):
            raise errors.ProviderBackoff(self.name, "too many calls wait for their turn")
        async with AsyncExitStack() as stack:
            self._waiting += 1
            try:
                async with asyncio.timeout(self._limits.timeout):
                    await stack.enter_async_context(self._slots.hold(public=public))
                    await stack.enter_async_context(self.host.slot(public=public))
            except TimeoutError:
                raise errors.ProviderBackoff(
                    self.name, "the call waited too long for its turn"
                ) from None
            finally:
                self._waiting -= 1
            yield

    async def _admit(self, units: float, *, public: bool) -> None:
        self._check_available()  # this may have changed while the call waited for its slot
        if self.host.is_crowded:
            raise errors.ProviderBackoff(self.name, "too many calls wait for their turn")
        if not self.breaker.allows():  # before units are spent
            raise self._breaker_backoff()
        if not await self.host.spend(units, public=public):
            raise errors.ProviderBudgetSpent(self.name, "the budget of calls is spent")

    def _breaker_backoff(self) -> errors.ProviderBackoff:
        until = self._clock() + timedelta(seconds=self.breaker.retry_in())
        sentence = "does not answer; calls are paused for a while"
        return errors.ProviderBackoff(self.name, sentence, until, reason="breaker")

    def _record_failure(self, error: errors.ProviderError) -> None:
        self.last_error = Failure(type(error), error.message)
        self.calls.fail(error)
        if isinstance(error, errors.ProviderStatusError) and error.status in range(400, 500):
            self._close_breaker()  # the provider works: it rejected this call or wants a pause
            return
        before = self.breaker.state
        self.breaker.fail()
        if before == "closed" and self.breaker.state == "open":
            self.calls.open_breaker(self.breaker.retry_in())

    def _close_breaker(self) -> None:
        if self.breaker.state != "closed":
            self.calls.close_breaker()
        self.breaker.succeed()

    async def _call(
        self, url: str, headers: dict[str, str], units: float, public: bool, accept: tuple[int, ...]
    ) -> HttpResponse:
        """Send the request and return the response.

        Retry once after a lost connection, or after the pause that the provider requests for this
        call alone.
        """
        sent = time.monotonic()
        try:
            async with asyncio.timeout(self._limits.timeout):
                try:
                    response = await self._get_paid(url, headers, units, public=public)
                except errors.ProviderUnreachable:
                    if not await self._may_retry(units, public=public):
                        raise
                    response = await self._get_paid(url, headers, units, public=public)
                if response.status not in accept:
                    backoff = self._read_backoff(response)
                    if backoff.scope == "call":
                        await asyncio.sleep(backoff.seconds)
                        response = await self._get(url, headers)
        except TimeoutError:
            raise errors.ProviderTimeout(self.name, "did not answer in time") from None
        finally:
            self.calls.seconds.add(time.monotonic() - sent)
        self._check_status(response, accept)
        return response

    async def _get_paid(
        self, url: str, headers: Mapping[str, str], units: float, *, public: bool
    ) -> HttpResponse:
        """Send the request and return the response; refund its units if no connection was made."""
        try:
            return await self._get(url, headers)
        except errors.ProviderNotConnected:
            await self.host.give_back(units, public=public)
            raise

    async def _get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        """Send the request, follow allowed redirects, and return the response with any status.

        Raises:
            ProviderTimeout, ProviderUnreachable, ProviderResponseInvalid: no complete response was
            received.
        """
        get = partial(
            self._http.get, provider=self.name, max_bytes=self._limits.max_bytes, headers=headers
        )
        response = await get(url)
        for _ in range(self._limits.redirects):
            if not response.is_redirect:
                break
            target = urljoin(url, response.headers.get("location", ""))
            if urlsplit(target)[:2] != urlsplit(url)[:2]:  # scheme, host and port
                break
            url, response = target, await get(target)
        return response

    async def _may_retry(self, units: float, *, public: bool) -> bool:
        """Wait a moment and spend `units` on a retry; return False if no retry is allowed.

        A client starts with three retries, and each success adds a tenth of one, up to three. A
        retry also needs units left in the provider's budget.
        """
        if self._retries < 1:
            return False
        await asyncio.sleep(RETRY_DELAY * random.uniform(1, 2))  # noqa: S311  jitter, no secret
        if not await self.host.spend(units, public=public):  # last: the sleep may be cancelled
            return False
        self._retries -= 1
        return True

    def _check_status(self, response: HttpResponse, accept: tuple[int, ...]) -> None:
        if response.status in accept:
            return
        if 300 <= response.status < 400:
            raise errors.ProviderResponseInvalid(
                self.name, "answered with a redirect, which is refused"
            )
        backoff = self._read_backoff(response)
        seconds = min(backoff.seconds, MAX_BACKOFF)
        if backoff.scope != "call" and seconds:
            until = self._clock() + timedelta(seconds=seconds)
            if backoff.scope == "host":
                self.host.backoff_until = until
            else:
                self._backoff_until = until
        raise backoff.error(self.name, response.status, response.body)
