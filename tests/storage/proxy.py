"""A TCP proxy of the tests: what stands behind it can be made to go away and come back."""

import asyncio
import contextlib
from typing import Self
from urllib.parse import urlsplit


class Proxy:
    """Forwards to the host of `url`.

    `stop` breaks every connection and refuses new ones; `freeze` accepts and never answers; `late`
    is how many seconds each piece is held back.
    """

    def __init__(self, url: str) -> None:
        self.late = 0.0
        self._parts = urlsplit(url)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()

    @property
    def url(self) -> str:
        """The address behind the proxy, reached through it."""
        user, at, _ = self._parts.netloc.rpartition("@")
        return self._parts._replace(netloc=f"{user}{at}127.0.0.1:{self._port}").geturl()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._open):
            writer.transport.abort()

    def freeze(self) -> None:
        self._flows.clear()

    def thaw(self) -> None:
        self._flows.set()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(
            self._parts.hostname, self._parts.port
        )
        self._open |= {writer, far_writer}
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        self._open -= {writer, far_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._flows.wait()
                await asyncio.sleep(self.late)
                writer.write(data)
                await writer.drain()
        writer.close()
