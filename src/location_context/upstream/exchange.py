"""Exchange: one GET and its answer, bounded in time, bytes and redirects."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import httpx2
import msgspec

from location_context.errors import (
    ProviderAnswerInvalid,
    ProviderTimeout,
    ProviderUnreachable,
)
from location_context.upstream.receiving import metered, read_body

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_SECONDS = 3.0


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
            page = self.body.lstrip()[:1] == b"<"
            what = "the answer is an HTML page, not JSON" if page else "the answer is not JSON"
            raise ProviderAnswerInvalid(self.provider, what) from None


@dataclass(frozen=True)
class Exchange:
    """How a provider is asked.

    Attributes:
        client: the connections, shared by all providers.
        provider: its name, for errors.
        timeout: seconds for each step of a call.
        max_bytes: of a body, as sent and unpacked.
        redirects: followed within the host of the address.
    """

    client: httpx2.AsyncClient
    provider: str
    timeout: float
    max_bytes: int
    redirects: int

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        """The answer, whatever its status, behind as many redirects within the host as allowed.

        Raises:
            ProviderTimeout, ProviderUnreachable, ProviderAnswerInvalid: none came whole.
        """
        asked, answer = url, await self._once(url, headers)
        for _ in range(self.redirects):
            if answer.status not in {301, 302, 303, 307, 308}:
                break
            target = urljoin(url, answer.headers.get("location", ""))
            if urlsplit(target)[:2] != urlsplit(asked)[:2]:  # scheme, host and port
                break
            url, answer = target, await self._once(target, headers)
        return answer

    async def _once(self, url: str, headers: Mapping[str, str]) -> Answer:
        headers = {"Accept-Encoding": "gzip", **headers}
        timeout = httpx2.Timeout(self.timeout, connect=CONNECT_SECONDS)
        try:
            async with AsyncExitStack() as call:
                meter = call.enter_context(metered())
                response = await call.enter_async_context(
                    self.client.stream("GET", url, headers=headers, timeout=timeout)
                )
                meter.allow_body(self.max_bytes)
                body = await read_body(response, self.provider, self.max_bytes)
                kept = {name.lower(): value for name, value in response.headers.items()}
                return Answer(self.provider, response.status_code, kept, body)
        except httpx2.TimeoutException:
            raise ProviderTimeout(self.provider, "did not answer in time") from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise ProviderUnreachable(self.provider, "the connection failed") from None
