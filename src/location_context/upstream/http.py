"""HttpClient: sends single GET requests to providers, with limits on time and response size."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar

import msgspec
import structlog

from location_context.counters import ProviderCalls
from location_context.errors import ProviderResponseInvalid, ProviderStatusError

T = TypeVar("T")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
DEFAULT_BACKOFF = 60.0  # seconds, for a 429 or 503 without Retry-After

_PARSE_ERRORS = (
    AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class HttpResponse:
    """A provider's HTTP response. Header names are in lower case; `body` is decompressed."""

    provider: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_redirect(self) -> bool:
        return self.status in _REDIRECTS

    def json(self, kind: Any = Any) -> Any:
        """Return the decoded JSON body; `kind`, a msgspec type, selects and checks its fields.

        Raises:
            ProviderResponseInvalid: the body is not JSON, or is nested too deeply.
            msgspec.ValidationError: the body does not match `kind`.
        """
        try:
            return msgspec.json.decode(self.body, type=kind)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            page = self.body.lstrip()[:1] == b"<"
            what = "the answer is an HTML page, not JSON" if page else "the answer is not JSON"
            raise ProviderResponseInvalid(self.provider, what) from None

    def read(self, parse: Callable[["HttpResponse"], T]) -> T:
        """Return the result of `parse` for this response.

        Raises:
            ProviderResponseInvalid: `parse` cannot read the response.
        """
        try:
            return parse(self)
        except _PARSE_ERRORS as error:
            why = type(error).__name__
            structlog.get_logger().info("answer_not_read", provider=self.provider, why=why)
            sentence = "the answer does not have the documented structure"
            raise ProviderResponseInvalid(self.provider, sentence) from None


@dataclass(frozen=True)
class Backoff:
    """The pause that a provider requests with an error response, and the error that it causes.

    Attributes:
        seconds: the length of the pause; 0 for none.
        scope: the calls that must wait: all calls to the provider's `host`, all calls to this
            `address`, or only this `call`, which is then retried once.
        error: the class of the error that the call raises.
    """

    seconds: float = 0.0
    scope: Literal["host", "address", "call"] = "host"
    error: type[ProviderStatusError] = ProviderStatusError


def backoff_from_headers(response: HttpResponse) -> Backoff:
    """Return the pause that a 429 or 503 requests; other statuses request none.

    The pause lasts for the seconds in Retry-After, or a minute if the header has no number.
    """
    if response.status not in {429, 503}:
        return Backoff()
    value = response.headers.get("retry-after", "")
    return Backoff(float(value) if value.isascii() and value.isdigit() else DEFAULT_BACKOFF)


class HttpClient:
    """An HTTP client that all providers share; it opens its connection pool at the first call.

    Attributes:
        calls: counts of calls by provider name; each `ProviderClient` with a URL adds its counts.

    Example:
        async with HttpClient("location-context/1 (a@b.example)") as client:
            response = await client.get("https://skyline.example/", "skyline", max_bytes=1_000_000)
    """

    def __init__(self, user_agent: str) -> None:
        self.calls: dict[str, ProviderCalls] = {}
        self._user_agent = user_agent
        self._connections: Any = None  # a `Connections`; the first call imports its module

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connections is not None:
            await self._connections.close()

    async def open(self) -> None:
        """Load the HTTP library and the certificates; the first call in a process takes 0.15 s."""
        if self._connections is None:
            kind = await asyncio.to_thread(_connections)
            self._connections = self._connections or kind(self._user_agent)

    async def get(  # noqa: PLR0913  a bounded request has these parts
        self,
        url: str,
        provider: str,
        max_bytes: int,
        *,
        headers: Mapping[str, str] | None = None,
        only_200: bool = False,
        server_hostname: str | None = None,
    ) -> HttpResponse:
        """Return the response to one GET, whatever its status; redirects are not followed.

        Only connecting has a time-out; the caller limits the whole call.

        Args:
            url: the URL; a user name and password in it are sent as Basic authorization.
            provider: the provider's name, for errors.
            max_bytes: the largest accepted body in bytes, both compressed and decompressed.
            headers: headers to send in addition to the User-Agent.
            only_200: True to read the body only if the status is 200.
            server_hostname: the host name to expect in the TLS certificate; needed if `url` has an
                IP address in place of the name.

        Raises:
            ProviderTimeout, ProviderUnreachable, ProviderResponseInvalid: no complete response was
            received.
        """
        await self.open()
        received = await self._connections.request(
            url,
            provider,
            max_bytes,
            headers=headers,
            only_200=only_200,
            server_hostname=server_hostname,
        )
        return HttpResponse(provider, *received)


def _connections() -> Any:
    from location_context.upstream.connections import Connections  # noqa: PLC0415  large, not needed at start

    return Connections
