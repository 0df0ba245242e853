"""Receiving: how much of an answer is read, on the wire and unpacked, whatever a server sends.

The HTTP client itself reads heads (of which a server may send any number with 1xx statuses) and
bodies without end. A `Meter` bounds what one call receives; `read_body` unpacks one gzip member and
no more, under a cap on the bytes that came and on what they unpack to.
"""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import httpcore2

from location_context.errors import ProviderAnswerInvalid

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator
    from typing import Any

    import httpx2

_HEAD_BYTES = 256_000  # all heads of one answer; the parser itself bounds each at 100 kB
_FRAMING_BYTES = 64_000  # what chunk sizes and the last read may come to beside a body


class Meter:
    """What one call may still receive, in bytes."""

    def __init__(self) -> None:
        self._left = _HEAD_BYTES

    def allow_body(self, cap: int) -> None:
        """The heads are read: from now on a body of `cap` bytes may come."""
        self._left = cap + _FRAMING_BYTES

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise httpcore2.ReadError("more came than one call may receive")


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Bounds what is received by the HTTP call made inside."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


async def read_body(response: httpx2.Response, provider: str, cap: int) -> bytes:
    """The unpacked body of at most `cap` bytes.

    Raises:
        ProviderAnswerInvalid: it is larger, packed or not, or damaged, or cut off.
    """
    packed = response.headers.get("content-encoding", "").lower() == "gzip"
    unpack = zlib.decompressobj(31) if packed else None
    body, came = bytearray(), 0
    async for chunk in response.aiter_raw():
        came += len(chunk)
        try:
            body += unpack.decompress(chunk, cap + 1) if unpack else chunk
        except zlib.error:
            raise ProviderAnswerInvalid(provider, "the answer is damaged") from None
        if max(came, len(body)) > cap:
            raise ProviderAnswerInvalid(provider, f"the answer is larger than {cap} bytes")
        if unpack and unpack.eof:
            break  # whatever follows the first member is no part of the answer
    if unpack and not unpack.eof:
        raise ProviderAnswerInvalid(provider, "the answer is cut off")
    return bytes(body)


class MeteredStream(httpcore2.AsyncNetworkStream):
    """A connection whose reads count against the meter of the call they are made for."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  the seam's own argument
        data = await self._stream.read(max_bytes, timeout)
        if (meter := _METER.get()) is not None:
            meter.take(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  the seam's own argument
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  the seam's own argument
    ) -> httpcore2.AsyncNetworkStream:
        return MeteredStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class MeteredBackend(httpcore2.AsyncNetworkBackend):
    """Connections of another backend, metered."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the seam's own argument
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return MeteredStream(stream)

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)
