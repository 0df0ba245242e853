"""Upstream: the one HTTP client of the service, one instance for each provider.

A call has one deadline over all its parts, at most one retry out of a retry budget, a breaker, a
weighted budget, a bound on calls in flight and a cap on the unpacked bytes of the answer.
Redirects are refused. What is raised is a `ProviderError` whose sentence names no address.
"""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
import stamina

from location_context.errors import (
    ProviderAnswerInvalid,
    ProviderError,
    ProviderQuiet,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnreachable,
)
from location_context.upstream.breaker import Breaker
from location_context.upstream.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from location_context.stay import Clock

_RETRY_SHARE = 0.1
_RETRY_BURST = 3.0
_LONGEST_QUIET = 32 * 86400.0  # a provider that asks for more has made a mistake


@dataclass(frozen=True)
class Answer:
    """What a provider answered. Header names are in lower case; `body` is unpacked."""

    provider: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ProviderAnswerInvalid: it is not JSON, or nested beyond reason.
        """
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise ProviderAnswerInvalid(self.provider, "the answer is not JSON") from None


def quiet_by_header(answer: Answer) -> float:
    """Seconds of quiet a 429 or 503 asks for with Retry-After; 60 when it does not say."""
    value = answer.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else 60.0


@dataclass(frozen=True, kw_only=True)
class UpstreamLimits:
    """How much one provider may cost: seconds, unpacked bytes, calls at once."""

    timeout: float = 10.0
    max_bytes: int = 8_000_000
    max_in_flight: int = 4


class Upstream:
    """One provider behind HTTP. `url` includes the path; an empty one is `not configured`."""

    def __init__(  # noqa: PLR0913  each argument is one rule of this provider
        self,
        name: str,
        url: str,
        client: httpx2.AsyncClient,
        clock: Clock,
        *,
        limits: UpstreamLimits | None = None,
        budget: Budget | None = None,
        breaker: Breaker | None = None,
        quiet_for: Callable[[Answer], float] = quiet_by_header,
    ) -> None:
        self.name = name
        self.last_success_at: datetime | None = None
        self.last_error_code: str | None = None
        self.breaker = breaker or Breaker()
        self.budget = budget or Budget({})
        self._url = url
        self._client = client
        self._clock = clock
        self._limits = limits or UpstreamLimits()
        self._timeout = httpx2.Timeout(self._limits.timeout, connect=3.0)
        self._quiet_for = quiet_for
        self._quiet_until: datetime | None = None
        self._slots = asyncio.Semaphore(self._limits.max_in_flight)
        self._retries = _RETRY_BURST

    @property
    def configured(self) -> bool:
        return bool(self._url)

    @property
    def quiet_until(self) -> datetime | None:
        """Until when the provider asked for quiet; None when it did not."""
        if self._quiet_until is None or self._clock() >= self._quiet_until:
            return None
        return self._quiet_until

    @property
    def available(self) -> bool:
        """Whether a call might be made now, without taking the breaker's probe."""
        return self.configured and self.quiet_until is None and self.breaker.state != "open"

    def late(self) -> None:
        """A caller's deadline passed while a call was under way."""
        self.last_error_code = ProviderTimeout.code
        self.breaker.late()

    def reject(self, error: ProviderError) -> None:
        """An answer that came was not what its documentation promises."""
        self._failed(error)

    async def get(  # noqa: PLR0913  a request has these parts
        self,
        params: Mapping[str, str],
        *,
        path: str = "",
        headers: Mapping[str, str] | None = None,
        units: float = 1.0,
        public: bool = False,
        accept: tuple[int, ...] = (200,),
    ) -> Answer:
        """GET the provider's address with `params`; `units` is the weight of the call.

        Raises:
            ProviderError: nothing usable came; see the tree in `errors`.
        """
        self._admit(units, public=public)
        try:
            answer = await self._retrying(
                lambda: self._once(params, path, dict(headers or {})),
                lambda: self.budget.take(units, public=public),
            )
            self._check(answer, accept)
        except ProviderError as error:
            self._failed(error)
            raise
        self.breaker.succeed()
        self.last_success_at, self.last_error_code = self._clock(), None
        self._retries = min(_RETRY_BURST, self._retries + _RETRY_SHARE)
        return answer

    def _admit(self, units: float, *, public: bool) -> None:
        if not self.configured:
            raise ProviderQuiet(self.name, "is not configured")
        if (until := self.quiet_until) is not None:
            raise ProviderQuiet(self.name, "asked for quiet", until)
        if self.breaker.state == "open":
            raise self._left_alone()
        if not self.budget.take(units, public=public):
            raise ProviderQuiet(self.name, "the budget of calls is spent")
        if not self.breaker.allows():  # last, since it takes the one probe
            raise self._left_alone()

    def _left_alone(self) -> ProviderQuiet:
        until = self._clock() + timedelta(seconds=self.breaker.retry_in())
        return ProviderQuiet(self.name, "does not answer and is left alone for a while", until)

    def _failed(self, error: ProviderError) -> None:
        self.last_error_code = error.code
        if isinstance(error, ProviderRefused) and error.status in range(400, 500):
            self.breaker.succeed()  # it is alive; this call was wrong, or it asked for quiet
        else:
            self.breaker.fail()

    async def _retrying(
        self, once: Callable[[], Awaitable[Answer]], pay: Callable[[], bool]
    ) -> Answer:
        """The answer of one call, or of a second one that is paid for like the first."""

        def worth(error: Exception) -> bool:
            """Connections that broke, as long as the retry budget lasts."""
            broke = isinstance(error, ProviderUnreachable) and self._retries >= 1
            if retry := broke and pay():
                self._retries -= 1
            return retry

        try:
            async with asyncio.timeout(self._limits.timeout), self._slots:
                async for attempt in stamina.retry_context(
                    on=worth,
                    attempts=2,
                    timeout=None,
                    wait_initial=0.05,
                    wait_jitter=0.05,
                ):
                    with attempt:
                        return await once()
        except TimeoutError:
            raise ProviderTimeout(self.name, "did not answer in time") from None
        raise AssertionError  # retry_context returns or raises

    async def _once(self, params: Mapping[str, str], path: str, headers: dict[str, str]) -> Answer:
        headers.setdefault("Accept-Encoding", "gzip")
        try:
            async with self._client.stream(
                "GET", self._url + path, params=params, headers=headers, timeout=self._timeout
            ) as response:
                body = await self._body(response)
                kept = {name.lower(): value for name, value in response.headers.items()}
                return Answer(self.name, response.status_code, kept, body)
        except httpx2.TimeoutException:
            raise ProviderTimeout(self.name, "did not answer in time") from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise ProviderUnreachable(self.name, "the connection failed") from None

    async def _body(self, response: httpx2.Response) -> bytes:
        """The unpacked body, refused as soon as it grows over the cap."""
        packed = response.headers.get("content-encoding", "").lower() == "gzip"
        unpack = zlib.decompressobj(31) if packed else None
        cap, body = self._limits.max_bytes, bytearray()
        async for chunk in response.aiter_raw():
            try:
                body += unpack.decompress(chunk, cap + 1) if unpack else chunk
            except zlib.error:
                raise ProviderAnswerInvalid(self.name, "the answer is damaged") from None
            if len(body) > cap:
                raise ProviderAnswerInvalid(self.name, f"the answer is larger than {cap} bytes")
        return bytes(body)

    def _check(self, answer: Answer, accept: tuple[int, ...]) -> None:
        if answer.status in {429, 503}:
            seconds = min(self._quiet_for(answer), _LONGEST_QUIET)
            self._quiet_until = self._clock() + timedelta(seconds=seconds)
        if 300 <= answer.status < 400 and answer.status not in accept:
            raise ProviderAnswerInvalid(self.name, "answered with a redirect, which is refused")
        if answer.status not in accept:
            raise ProviderRefused(self.name, answer.status, answer.body)


def http_client(user_agent: str) -> httpx2.AsyncClient:
    """The connection pool all providers share; no redirects, no proxies of the environment."""
    return httpx2.AsyncClient(
        headers={"User-Agent": user_agent},
        timeout=httpx2.Timeout(10.0, connect=3.0),
        follow_redirects=False,
        limits=httpx2.Limits(max_connections=64, max_keepalive_connections=16),
        trust_env=False,
    )
