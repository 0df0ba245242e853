"""One GET over HTTP, bounded in time, bytes and redirects, whatever a server sends.

The HTTP library itself reads heads (of which a server may send any number with 1xx statuses) and
bodies without end. A `ByteMeter` bounds what one call receives; `read_body` unpacks one gzip member
and no more, under a cap on the bytes that came and on what they unpack to.
"""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpcore2
import httpx2
import msgspec

from location_context.errors import ProviderResponseInvalid, ProviderTimeout, ProviderUnreachable

HttpClient: TypeAlias = httpx2.AsyncClient  # the name other packages know it by

CONNECT_TIMEOUT = 3.0
MAX_HEAD_BYTES = 256_000  # all heads of one response; the parser itself bounds each at 100 kB
MAX_FRAMING_BYTES = 64_000  # what chunk sizes and the last read may come to beside a body
END_SECONDS = 0.02  # the last chunk has no bytes, and comes with those before it or at once after
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GZIP_MEMBER = 31  # zlib's `wbits` for one member with its header and checksum


@dataclass(frozen=True)
class HttpResponse:
    """What a provider answered. Header names are in lower case; `body` is unpacked."""

    provider: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self, kind: Any = Any) -> Any:
        """The body as JSON; of a `kind` that msgspec knows, only what that names.

        Raises:
            ProviderResponseInvalid: it is not JSON, or nested beyond reason.
            msgspec.ValidationError: it is not of that kind.
        """
        try:
            return msgspec.json.decode(self.body, type=kind)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            page = self.body.lstrip()[:1] == b"<"
            what = "the answer is an HTML page, not JSON" if page else "the answer is not JSON"
            raise ProviderResponseInvalid(self.provider, what) from None


async def get_once(  # noqa: PLR0913  a bounded request has these parts
    client: HttpClient,
    url: httpx2.URL | str,
    provider: str,
    max_bytes: int,
    *,
    headers: Mapping[str, str],
    only_200: bool = False,
    **options: Any,
) -> HttpResponse:
    """One GET without redirects: the response, whatever its status.

    With `only_200` the body of any other status is not read; `options` are those of
    `httpx2.AsyncClient.stream`.

    Raises:
        ProviderTimeout, ProviderUnreachable, ProviderResponseInvalid: none came whole.
    """
    headers = {"Accept-Encoding": "gzip", **headers}
    try:
        with metered() as meter:
            async with client.stream("GET", url, headers=headers, **options) as response:
                meter.allow_body(max_bytes)
                status = response.status_code
                wanted = status == 200 or not only_200
                body = await read_body(response, provider, max_bytes) if wanted else b""
                lower = {name.lower(): value for name, value in response.headers.items()}
                return HttpResponse(provider, status, lower, body)
    except httpx2.TimeoutException:
        raise ProviderTimeout(provider, "did not answer in time") from None
    except (httpx2.HTTPError, httpx2.InvalidURL):
        raise ProviderUnreachable(provider, "the connection failed") from None


@cache
def trusted() -> ssl.SSLContext:
    """TLS with the certificates of the system, read once: 30 ms, and forked workers share them."""
    return httpx2.create_ssl_context(trust_env=False)


def http_client(user_agent: str) -> HttpClient:
    """The connection pool all providers share; no redirects, no proxies of the environment."""
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=16)
    transport = httpx2.AsyncHTTPTransport(verify=trusted(), trust_env=False, limits=limits)
    pool = transport._pool  # noqa: SLF001  it offers no other way to the backend; a test would tell
    pool._network_backend = MeteredBackend(pool._network_backend)  # noqa: SLF001  see above
    return httpx2.AsyncClient(
        headers={"User-Agent": user_agent},
        timeout=httpx2.Timeout(10.0, connect=CONNECT_TIMEOUT),
        follow_redirects=False,
        transport=transport,
        trust_env=False,
    )


async def server_time(client: HttpClient, url: str) -> datetime | None:
    """The `Date` header of this address's host, by its own clock; None where it has none.

    Asked without TLS, since with a clock that is far off no certificate holds. Nothing but the
    time is taken from the response, and no key is sent.
    """
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port and parts.scheme == "http" else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    try:
        response = await client.head(f"http://{host}{port}/")
        moment = parsedate_to_datetime(response.headers["date"])
    except (httpx2.HTTPError, httpx2.InvalidURL, KeyError, OverflowError, ValueError):
        return None
    return moment if moment.tzinfo else None


class ByteMeter:
    """What one call may still receive, in bytes."""

    def __init__(self) -> None:
        self._left = MAX_HEAD_BYTES

    def allow_body(self, cap: int) -> None:
        """The heads are read: from now on a body of `cap` bytes may come."""
        self._left = cap + MAX_FRAMING_BYTES

    def count(self, received: int) -> None:
        self._left -= received
        if self._left < 0:
            raise httpcore2.ReadError("more came than one call may receive")


_METER: ContextVar[ByteMeter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[ByteMeter]:
    """Bounds what is received by the HTTP call made inside."""
    meter = ByteMeter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


async def read_body(response: httpx2.Response, provider: str, cap: int) -> bytes:
    """The unpacked body of at most `cap` bytes.

    Raises:
        ProviderResponseInvalid: it is larger, packed or not, or damaged, or cut off.
    """
    packed = response.headers.get("content-encoding", "").lower() == "gzip"
    unpack = zlib.decompressobj(_GZIP_MEMBER) if packed else None
    body, came = bytearray(), 0
    chunks = response.aiter_raw()
    async for chunk in chunks:
        came += len(chunk)
        try:
            body += unpack.decompress(chunk, cap + 1) if unpack else chunk
        except zlib.error:
            raise ProviderResponseInvalid(provider, "the answer is damaged") from None
        if max(came, len(body)) > cap:
            raise ProviderResponseInvalid(provider, f"the answer is larger than {cap} bytes")
        if unpack and unpack.eof:
            await _end(chunks)
            break  # whatever follows the first member is no part of the answer
    if unpack and not unpack.eof:
        raise ProviderResponseInvalid(provider, "the answer is cut off")
    return bytes(body)


async def _end(chunks: AsyncIterator[bytes]) -> None:
    """Reads the end of a body, if it is there, without which its connection is not used again."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(END_SECONDS):
            await anext(chunks, None)


class MeteredStream(httpcore2.AsyncNetworkStream):
    """A connection whose reads count against the meter of the call they are made for."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  the seam's own argument
        data = await self._stream.read(max_bytes, timeout)
        if (meter := _METER.get()) is not None:
            meter.count(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  the seam's own argument
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return MeteredStream(await self._stream.start_tls(*args, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class MeteredBackend(httpcore2.AsyncNetworkBackend):
    """Connections of another backend, metered."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return MeteredStream(await self._backend.connect_tcp(*args, **options))

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)
