"""Connections: sends single requests through the library aiohttp, with limits on time and size.

The library limits neither headers (a server may send any number of responses with status 1xx) nor
bodies. A `MeteredProtocol` limits the bytes that one call receives. `_read_body` decompresses only
the first gzip member, and limits its size both before and after decompression.

`http.py` imports this module only at the first call: loading the library and the certificates takes
0.15 s, which would delay every start.
"""

import asyncio
import ssl
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import aiohttp
import truststore
from aiohttp.client_proto import ResponseHandler
from yarl import URL
from zlib_ng import zlib_ng

from location_context.errors import (
    ProviderNotConnected,
    ProviderResponseInvalid,
    ProviderTimeout,
    ProviderUnreachable,
)

MAX_CONNECTIONS = 64
CONNECT_TIMEOUT = 3.0
# of a response besides its body: headers, chunk sizes, up to 400 kB that the library reads ahead
MAX_OTHER_BYTES = 1_000_000
END_SECONDS = 0.02  # to wait for a body's empty last chunk, which may arrive just after the others
_GZIP_MEMBER = 31  # zlib's `wbits` for one member with its header and checksum


class MeteredProtocol(ResponseHandler):
    """A connection that closes if it receives more bytes than its call allows."""

    _left = MAX_OTHER_BYTES

    def set_response_params(self, **params: Any) -> None:
        self._left = MAX_OTHER_BYTES  # the next call begins
        super().set_response_params(**params)

    def allow_body(self, cap: int) -> None:
        """Allow `cap` more bytes for the body, after the headers are read."""
        self._left = cap + MAX_OTHER_BYTES

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left >= 0:
            super().data_received(data)
        elif self.transport is not None:
            self.transport.abort()  # the reader receives `connection_lost`


class Connections:
    """The connection pool that all providers share, without redirects, cookies and proxies."""

    def __init__(self, user_agent: str) -> None:
        connector = aiohttp.TCPConnector(limit=MAX_CONNECTIONS, ssl=_certificates())
        # aiohttp has no public option to set the protocol or to disable its retry; tests check both
        protocol: Any = partial(MeteredProtocol, loop=asyncio.get_running_loop())
        connector._factory = protocol  # noqa: SLF001  see above
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": user_agent, "Accept-Encoding": "gzip"},
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        self._session._retry_connection = False  # noqa: SLF001  see above

    async def request(  # noqa: PLR0913  a bounded request has these parts
        self,
        url: str,
        provider: str,
        max_bytes: int,
        *,
        headers: Mapping[str, str],
        only_200: bool,
        server_hostname: str | None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a GET; return the status, headers by lower-case name, and the decompressed body.

        The arguments are those of `HttpClient.get`.

        Raises:
            ProviderTimeout, ProviderUnreachable, ProviderResponseInvalid: no complete response was
            received.
        """
        limits = aiohttp.ClientTimeout(sock_connect=CONNECT_TIMEOUT)
        try:
            async with self._session.request(
                "GET",
                URL(url),
                headers=headers,
                allow_redirects=False,
                timeout=limits,
                server_hostname=server_hostname,
            ) as response:
                if response.connection is not None:  # None after a complete response
                    response.connection.protocol.allow_body(max_bytes)  # type: ignore[union-attr]  # ours
                wanted = response.status == 200 or not only_200
                read = await _read_body(response, provider, max_bytes) if wanted else b""
                lower = {name.lower(): value for name, value in response.headers.items()}
                return response.status, lower, read
        except TimeoutError:
            raise ProviderTimeout(provider, "did not answer in time") from None
        except aiohttp.ClientConnectorCertificateError:
            raise ProviderUnreachable(provider, "its certificate is not trusted") from None
        except aiohttp.ClientConnectorError as error:
            unknown = isinstance(error, aiohttp.ClientConnectorDNSError)
            why = "its name was not found" if unknown else "the connection failed"
            raise ProviderNotConnected(provider, why) from None
        except (aiohttp.ClientError, OSError, ValueError):  # a ValueError: the URL is not valid
            raise ProviderUnreachable(provider, "the connection failed") from None

    async def close(self) -> None:
        await self._session.close()


def _certificates() -> ssl.SSLContext | bool:
    """Return TLS settings with the system's certificates; True if OpenSSL finds these by itself."""
    paths = ssl.get_default_verify_paths()
    if sys.platform != "darwin" and (paths.cafile or paths.capath):
        return True
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _read_body(response: aiohttp.ClientResponse, provider: str, cap: int) -> bytes:
    """Read a body and return it decompressed.

    Raises:
        ProviderResponseInvalid: the body is damaged or cut off, or has more than `cap` bytes
            (compressed or decompressed).
    """
    packed = response.headers.get("Content-Encoding", "").lower() == "gzip"
    unpack = zlib_ng.decompressobj(_GZIP_MEMBER) if packed else None
    parts, size, came = list[bytes](), 0, 0
    try:
        while chunk := await response.content.readany():
            came += len(chunk)
            parts.append(unpack.decompress(chunk, cap + 1) if unpack else chunk)
            size += len(parts[-1])
            if max(came, size) > cap:
                raise ProviderResponseInvalid(provider, f"the answer is larger than {cap} bytes")
            if unpack and unpack.eof:
                await _end(response.content)
                break  # bytes after the first member are not part of the answer
        if unpack and not unpack.eof:
            raise ProviderResponseInvalid(provider, "the answer is cut off")
        return parts[0] if len(parts) == 1 else b"".join(parts)
    except zlib_ng.error:  # type: ignore[misc]  # its types take the class for an instance
        raise ProviderResponseInvalid(provider, "the answer is damaged") from None
    finally:  # an error's traceback keeps this frame alive until the next garbage collection
        parts.clear()
        unpack = None


async def _end(content: aiohttp.StreamReader) -> None:
    """Read the end of a body if it arrives soon, so that the connection can be reused."""
    if content.at_eof():
        return
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(END_SECONDS):
            await content.readany()
