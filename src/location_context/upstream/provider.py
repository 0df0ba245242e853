"""Upstream: the one HTTP client of the service, one instance for each address of a provider.

A call has one deadline over all its parts, at most one retry out of a retry budget, a breaker, a
weighted budget, a bound on calls in flight and a cap on the unpacked bytes of the answer. What a
provider counts by caller (units, calls at once, quiet) lies in its `Host`. An answer succeeds only
once its own parser has read it. Redirects are refused, but for those within the provider's host
where its terms ask to follow them. What is raised is a `ProviderError` whose sentence names no
address.
"""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlencode

import httpx2
import structlog

from location_context.errors import (
    ProviderAnswerInvalid,
    ProviderBudgetSpent,
    ProviderError,
    ProviderNotInPlan,
    ProviderQuiet,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnreachable,
)
from location_context.upstream.breaker import Breaker
from location_context.upstream.deadline import Deadline
from location_context.upstream.exchange import CONNECT_SECONDS, Answer, Exchange
from location_context.upstream.host import Host
from location_context.upstream.receiving import MeteredBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from datetime import datetime

    from location_context.stay import Clock

T = TypeVar("T")
_RETRY_SHARE = 0.1
_RETRY_BURST = 3.0
_RETRY_AFTER_SECONDS = 0.05
_LONGEST_QUIET = 32 * 86400.0  # a provider that asks for more has made a mistake
_MUCH_THE_SAME = 1.5  # of two callers with one deadline one asks later; the widget has 2.1 s of 3.6
DOUBTED_SECONDS = 0.5  # in which a provider that is back answers
_NOT_ITS_SHAPE = (
    AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class Refusal:
    """What an answer with a status that was not accepted asks for.

    Attributes:
        quiet: seconds without calls, or before the one more try of this call.
        of: who keeps quiet: everyone who asks the `host`, whoever asks this `address`, or this
            `call`, which is then made once more while nobody else waits.
        error: what is raised.
    """

    quiet: float = 0.0
    of: Literal["host", "address", "call"] = "host"
    error: type[ProviderRefused] = ProviderRefused


def refusal_by_header(answer: Answer) -> Refusal:
    """The quiet that a 429 or 503 asks for with Retry-After; 60 s when it does not say."""
    if answer.status not in {429, 503}:
        return Refusal()
    value = answer.headers.get("retry-after", "")
    return Refusal(float(value) if value.isascii() and value.isdigit() else 60.0)


@dataclass(frozen=True, kw_only=True)
class UpstreamLimits:
    """How much one address may cost: seconds, unpacked bytes, calls at once and waiting for it."""

    timeout: float = 10.0
    max_bytes: int = 8_000_000
    max_in_flight: int = 4
    max_waiting: int = 100
    redirects: int = 0  # followed within the provider's own host


class Upstream:
    """One address of a provider. `url` includes the path; an empty one is `not configured`.

    Attributes:
        host: what the provider counts by caller; shared by all addresses of one provider.
        last_success_at: when an answer was last read, UTC.
        last_error: the newest failure since, or None.
        in_vain: seconds that callers waited for nothing, until it answers in less; else 0.
    """

    def __init__(  # noqa: PLR0913  each argument is one rule of this provider
        self,
        name: str,
        url: str,
        client: httpx2.AsyncClient,
        clock: Clock,
        *,
        limits: UpstreamLimits | None = None,
        host: Host | None = None,
        breaker: Breaker | None = None,
        refusal: Callable[[Answer], Refusal] = refusal_by_header,
    ) -> None:
        """`refusal` reads an answer whose status is not accepted."""
        self.name = name
        self.last_success_at: datetime | None = None
        self.last_error: ProviderError | None = None
        self.breaker = breaker or Breaker()
        self.host = host or Host()
        self._url = url
        self._clock = clock
        self._limits = limits or UpstreamLimits()
        self._exchange = Exchange(
            client, name, self._limits.timeout, self._limits.max_bytes, self._limits.redirects
        )
        self._refusal = refusal
        self._quiet_until: datetime | None = None
        self._slots = asyncio.Semaphore(self._limits.max_in_flight)
        self._waiting = 0
        self._sent_at: dict[float, int] = {}  # calls on their way, by when they were sent
        self.in_vain = 0.0
        self._retries = _RETRY_BURST

    @property
    def configured(self) -> bool:
        return bool(self._url)

    @property
    def last_error_code(self) -> str | None:
        """The code of the newest failure since the last success, as `/v1/status` shows it."""
        return self.last_error.code if self.last_error else None

    @property
    def quiet_until(self) -> datetime | None:
        """Until when nothing is asked here, since the provider asked for quiet; None if it may."""
        now = self._clock()
        given = (self._quiet_until, self.host.quiet_until)
        return max((until for until in given if until and now < until), default=None)

    @property
    def is_in_plan(self) -> bool:
        """False once the plan behind the key turned out to lack this address."""
        return not isinstance(self.last_error, ProviderNotInPlan)

    @property
    def available(self) -> bool:
        """Whether a call might be made now, without taking the breaker's probe."""
        return self.configured and self.quiet_until is None and self.breaker.state != "open"

    def doubted(self, patience: float) -> bool:
        """Whether it is not to be waited for at length by who has `patience` seconds.

        So it is while its breaker is not closed, from a time-out to the next answer, and for who
        has no more patience than others spent in vain: it is still asked, for the next caller.
        """
        timed_out = isinstance(self.last_error, ProviderTimeout)
        in_vain = patience <= self.in_vain * _MUCH_THE_SAME
        return timed_out or in_vain or self.breaker.state != "closed"

    async def wait_for(self, join: Callable[[Deadline], Awaitable[T]], deadline: Deadline) -> T:
        """What `join` gives by the deadline, or soon where the provider is doubted.

        Raises:
            TimeoutError: `join` raised it, since nothing came by then.
        """
        patience = deadline.left()
        if self.doubted(patience):
            return await join(Deadline(min(deadline.at, Deadline.after(DOUBTED_SECONDS).at)))
        try:
            return await join(deadline)
        except TimeoutError:
            self.waited_in_vain(patience)
            raise

    def waited_in_vain(self, seconds: float) -> None:
        """A caller went without an answer; counts if a call was on its way for half of the time."""
        sent = next(iter(self._sent_at), None)  # the oldest: they are in the order of sending
        if sent is not None and time.monotonic() - sent > seconds / 2:
            self.in_vain = max(self.in_vain, seconds)

    async def get_json(
        self, params: Mapping[str, str], parse: Callable[[Any], T], **call: Any
    ) -> T:
        """What `parse` makes of the JSON that comes; the arguments of `get` may follow.

        `parse` may raise any of KeyError, TypeError, ValueError and the like: an answer that it
        cannot read is the provider's failing.

        Raises:
            ProviderError: nothing usable came; see the tree in `errors`.
        """
        return await self.get(params, lambda answer: parse(answer.json()), **call)

    async def get(  # noqa: PLR0913  a request has these parts
        self,
        params: Mapping[str, str],
        parse: Callable[[Answer], T],
        *,
        path: str = "",
        headers: Mapping[str, str] | None = None,
        units: float = 1.0,
        public: bool = False,
        accept: tuple[int, ...] = (200,),
    ) -> T:
        """GET the address with `params`, and what `parse` makes of the answer.

        Args:
            params: the query; commas in it stay commas.
            parse: reads the answer; see `get_json`.
            path: appended to the address.
            headers: sent besides the User-Agent.
            units: the weight of the call in the provider's own count.
            public: widget traffic, which may spend half of each budget.
            accept: statuses that `parse` reads; every other is `ProviderRefused`.

        Raises:
            ProviderError: nothing usable came; see the tree in `errors`.
        """
        self._check_available()
        url = self._url + path + ("?" + urlencode(params, safe=",") if params else "")
        try:
            async with self._slot():
                self._admit(units, public=public)
                answer = await self._answered(url, dict(headers or {}), units, public, accept)
            parsed = self._parsed(answer, parse)
        except ProviderQuiet:
            raise
        except ProviderError as error:
            self._failed(error)
            raise
        self.breaker.succeed()
        self.host.answers = True
        self.last_success_at, self.last_error = self._clock(), None
        self._retries = min(_RETRY_BURST, self._retries + _RETRY_SHARE)
        return parsed

    def _check_available(self) -> None:
        if not self.configured:
            raise ProviderQuiet(self.name, "is not configured")
        if (until := self.quiet_until) is not None:
            raise ProviderQuiet(self.name, "asked for quiet", until)
        if self.breaker.state == "open":
            raise self._left_alone()

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Waits for a slot of this address, then of its host: both may take one time-out.

        Raises:
            ProviderQuiet: too many wait, or too long; the provider is not to blame for either.
        """
        if self._waiting >= self._limits.max_waiting:
            raise ProviderQuiet(self.name, "too many calls wait for their turn")
        async with AsyncExitStack() as held:
            self._waiting += 1
            try:
                async with asyncio.timeout(self._limits.timeout):
                    await held.enter_async_context(self._slots)
                    await held.enter_async_context(self.host.slot())
            except TimeoutError:
                raise ProviderQuiet(self.name, "the call waited too long for its turn") from None
            finally:
                self._waiting -= 1
            yield

    def _admit(self, units: float, *, public: bool) -> None:
        self._check_available()  # it may have changed while the call waited for its slot
        if not self.host.budget.take(units, public=public):
            raise ProviderBudgetSpent(self.name, "the budget of calls is spent")
        if not self.breaker.allows():  # last, since it takes the one probe
            raise self._left_alone()

    def _left_alone(self) -> ProviderQuiet:
        until = self._clock() + timedelta(seconds=self.breaker.retry_in())
        return ProviderQuiet(self.name, "does not answer and is left alone for a while", until)

    def _failed(self, error: ProviderError) -> None:
        self.last_error = error
        if isinstance(error, ProviderRefused) and error.status in range(400, 500):
            self.breaker.succeed()  # it is alive; this call was wrong, or it asked for quiet
        else:
            self.breaker.fail()
            self.host.answers = False

    async def _answered(
        self, url: str, headers: dict[str, str], units: float, public: bool, accept: tuple[int, ...]
    ) -> Answer:
        """The answer of one call, or of the one more that a broken connection or a 429 is worth."""
        sent = time.monotonic()
        self._sent_at[sent] = self._sent_at.get(sent, 0) + 1
        try:
            async with asyncio.timeout(self._limits.timeout):
                try:
                    answer = await self._exchange.get(url, headers)
                except ProviderUnreachable:
                    if not self._may_retry(units, public=public):
                        raise
                    await asyncio.sleep(_RETRY_AFTER_SECONDS * random.uniform(1, 2))  # noqa: S311  jitter, no secret
                    answer = await self._exchange.get(url, headers)
                if answer.status not in accept and (asks := self._refusal(answer)).of == "call":
                    await asyncio.sleep(asks.quiet)
                    answer = await self._exchange.get(url, headers)
        except TimeoutError:
            raise ProviderTimeout(self.name, "did not answer in time") from None
        finally:
            self._sent_at[sent] -= 1
            if not self._sent_at[sent]:
                del self._sent_at[sent]
        if time.monotonic() - sent < self.in_vain:
            self.in_vain = 0.0
        self._check(answer, accept)
        return answer

    def _may_retry(self, units: float, *, public: bool) -> bool:
        """As long as the retry budget lasts, and the provider's own pays for one more call."""
        if self._retries < 1 or not self.host.budget.take(units, public=public):
            return False
        self._retries -= 1
        return True

    def _check(self, answer: Answer, accept: tuple[int, ...]) -> None:
        if answer.status in accept:
            return
        if 300 <= answer.status < 400:
            raise ProviderAnswerInvalid(self.name, "answered with a redirect, which is refused")
        asks = self._refusal(answer)
        until = self._clock() + timedelta(seconds=min(asks.quiet, _LONGEST_QUIET))
        if asks.of == "host" and asks.quiet:
            self.host.quiet_until = until
        elif asks.of == "address":
            self._quiet_until = until
        raise asks.error(self.name, answer.status, answer.body)

    def _parsed(self, answer: Answer, parse: Callable[[Answer], T]) -> T:
        try:
            return parse(answer)
        except _NOT_ITS_SHAPE as error:
            structlog.get_logger().info(
                "answer_not_read", provider=self.name, why=type(error).__name__
            )
            sentence = "the answer is not of its documented shape"
            raise ProviderAnswerInvalid(self.name, sentence) from None


def http_client(user_agent: str) -> httpx2.AsyncClient:
    """The connection pool all providers share; no redirects, no proxies of the environment."""
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=16)
    transport = httpx2.AsyncHTTPTransport(trust_env=False, limits=limits)
    pool = transport._pool  # noqa: SLF001  it offers no other way to the backend; a test would tell
    pool._network_backend = MeteredBackend(pool._network_backend)  # noqa: SLF001  see above
    return httpx2.AsyncClient(
        headers={"User-Agent": user_agent},
        timeout=httpx2.Timeout(10.0, connect=CONNECT_SECONDS),
        follow_redirects=False,
        transport=transport,
        trust_env=False,
    )
