"""Receiving: whatever a server sends without end, a call stops at its bounds."""

import asyncio
import gzip
from contextlib import asynccontextmanager, suppress

import pytest

from location_context.errors import ProviderResponseInvalid, ProviderUnreachable
from location_context.stay import system_clock
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.download import download
from location_context.upstream.http import HttpClient
from tests.fakes.server import FakeResponse, FakeServer

MEGABYTE = 1_000_000
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PACKED = OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
MEMBER = gzip.compress(b'{"ok": true}')


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@asynccontextmanager
async def endless(head: bytes, again: bytes):
    """A server that sends `head`, then `again` up to 600 MB or until nobody reads; counts bytes."""
    sent = [0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while again and sent[0] < 600 * MEGABYTE:
                writer.write(again)
                sent[0] += len(again)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x", sent


async def ask(url: str) -> object:
    async with HttpClient("test") as client:
        limits = ClientLimits(timeout=60, max_bytes=MEGABYTE)
        provider = ProviderClient("provider", url, client, system_clock, limits=limits)
        return await provider.get_json({}, lambda body: body)


async def fetch(url: str) -> object:
    async with HttpClient("test") as client:
        found = await download(client, url, allow_private=True, max_bytes=MEGABYTE, timeout=60)
        return found.body


@pytest.mark.parametrize("call", [ask, fetch])
@pytest.mark.parametrize("again", [chunk(b"\x00" * 60_000), chunk(MEMBER * 1000)])
async def test_client_stops_reading_after_the_first_gzip_member(call, again):
    async with endless(PACKED + chunk(MEMBER), again) as (url, sent):
        assert await call(url) in ({"ok": True}, b'{"ok": true}')
        assert sent[0] < 20 * MEGABYTE


@pytest.mark.parametrize("call", [ask, fetch])
async def test_client_stops_reading_endless_compressed_bytes(call):
    empty_block = b"\x00\x00\x00\xff\xff"  # a stored block of nothing: no byte unpacked, five sent
    head = PACKED + chunk(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03")
    async with endless(head, chunk(empty_block * 10_000)) as (url, sent):
        with pytest.raises((ProviderResponseInvalid, ProviderUnreachable)):
            await call(url)
        assert sent[0] < 20 * MEGABYTE


@pytest.mark.parametrize("call", [ask, fetch])
@pytest.mark.parametrize("again", [
    b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 1000,
    b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
    b"X-Head: " + b"y" * 60_000 + b"\r\n",
])  # fmt: skip
async def test_client_stops_reading_endless_headers(call, again):
    head = b"" if again.startswith(b"HTTP") else OK
    async with endless(head, again) as (url, sent):
        with pytest.raises(ProviderUnreachable):  # and no time-out
            await call(url)
        assert sent[0] < 20 * MEGABYTE


@pytest.mark.parametrize("call", [ask, fetch])
async def test_client_reads_an_answer_of_exactly_the_maximum_size(call):
    body = b'"' + b"x" * (MEGABYTE - 2) + b'"'
    head = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    async with endless(head, b"") as (url, _):
        assert len(await call(url)) >= MEGABYTE - 2


@pytest.mark.parametrize("call", [ask, fetch])
async def test_truncated_gzip_stream_is_an_error(call):
    cut = PACKED + chunk(gzip.compress(b'{"ok": true}' * 100)[:-20]) + b"0\r\n\r\n"
    async with endless(cut, b"") as (url, _):
        with pytest.raises(ProviderResponseInvalid, match="cut off"):
            await call(url)


@pytest.mark.parametrize("head", [
    PACKED + chunk(MEMBER) + b"0\r\n\r\n",
    OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(MEMBER) + MEMBER,
])  # fmt: skip
async def test_connection_is_reused_after_a_compressed_answer(head):
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(head)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, HttpClient("test") as client:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"
        provider = ProviderClient("provider", url, client, system_clock)
        for _ in range(3):
            assert await provider.get_json({}, lambda body: body) == {"ok": True}
        assert len(connections) == 1


async def test_complete_gzip_stream_is_read_even_if_the_final_http_chunk_is_missing():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(PACKED + chunk(MEMBER))
        with suppress(OSError):
            await reader.read(-1)  # until the client goes
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"
        assert await ask(url) == {"ok": True}


async def test_client_ignores_environment_proxies_and_cookies(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    cookie = FakeResponse({"ok": True}, headers={"Set-Cookie": "visitor=1"})
    with FakeServer(lambda _: cookie).running() as server:
        async with HttpClient("test") as client:
            for _ in range(2):
                await client.get(server.url + "/x", "provider", MEGABYTE)
    assert ["cookie" in request.headers for request in server.requests] == [False, False]


async def test_client_returns_a_redirect_answer_without_following_the_redirect():
    leading = FakeResponse(status=302, headers={"Location": "/elsewhere"})
    with FakeServer(lambda _: leading).running() as server:
        async with HttpClient("test") as client:
            response = await client.get(server.url + "/x", "provider", MEGABYTE)
    assert (response.status, response.headers["location"]) == (302, "/elsewhere")
    assert len(server.requests) == 1


async def test_call_succeeds_if_the_server_has_closed_the_idle_connection():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, HttpClient("test") as client:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"
        provider = ProviderClient("provider", url, client, system_clock)
        for _ in range(4):
            assert await provider.get_json({}, lambda body: body) == {}


async def test_client_sends_the_query_unchanged():
    with FakeServer(lambda _: FakeResponse({})).running() as server:
        async with HttpClient("test") as client:
            provider = ProviderClient("provider", server.url, client, system_clock)
            given = {"daily": "a,b", "apikey": "a+b/c=%&d", "name": "München ,"}
            await provider.get_json(given, lambda body: body)
    assert server.requests[0].query == given


async def test_answer_shorter_than_its_content_length_is_an_error():
    async with endless(OK + b"Content-Length: 9\r\n\r\n{}", b"") as (url, _):
        with pytest.raises(ProviderUnreachable):
            await ask(url)
