"""Downloads from addresses an operator gives: the network inside is never requested."""

import gzip
import socket

import pytest

from location_context.errors import (
    OperatorError,
    ProviderResponseInvalid,
    ProviderStatusError,
    ProviderTimeout,
    ProviderUnreachable,
)
from location_context.upstream.download import download, is_public
from location_context.upstream.http import HttpClient
from tests.fakes.server import FakeResponse, FakeServer

MEGABYTE = 1_000_000


async def _get(url: str, *, allow_private: bool = True, **given):
    async with HttpClient("test") as client:
        return await download(
            client, url, allow_private=allow_private, max_bytes=given.pop("most", MEGABYTE), **given
        )


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/x", "http://localhost/x", "http://[::1]/x", "http://0.0.0.0/x",
        "http://10.1.2.3/x", "http://172.16.0.1/x", "http://192.168.1.1/x", "http://100.64.0.1/x",
        "http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/x", "http://[fd00::1]/x",
        "http://[::ffff:127.0.0.1]/x", "http://[64:ff9b::7f00:1]/x", "http://[2002:7f00:1::]/x",
        "http://2130706433/x", "http://0x7f.1/x", "http://127.1/x", "http://224.0.0.1/x",
        "http://user:word@127.0.0.1:80/x", "http://8.8.8.8@127.0.0.1/x", "http://127.0.0.1#@8.8.8.8/",
        "http://0177.0.0.1/x", "http://017700000001/x", "http://0x7f000001/x", "http://127.0.0.1./x",
        "http://localhost./x", "http://LOCALHOST/x", "http://①②⑦.⓪.⓪.①/x", "http://127。0。0。1/x",
        "http://[::]/x", "http://[::7f00:1]/x", "http://[fe80::1%25lo]/x", "http://[fec0::1]/x",
        "http://[64:ff9b:1::a00:1]/x", "http://192.0.0.192/opc/v2/", "http://127.0.0.1:22/x",
    ],
)  # fmt: skip
async def test_download_refuses_a_private_address_in_any_form(address: str):
    with pytest.raises((OperatorError, ProviderUnreachable)):
        await _get(address, allow_private=False, timeout=2)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://a.example/x", "gopher://a/x", "//a/x", "x", "http://"]
)
async def test_download_accepts_only_http_and_https(address: str):
    with pytest.raises(OperatorError):
        await _get(address)


@pytest.mark.parametrize("port", ["99999", "-1", "0x50", "1e3"])
async def test_download_refuses_an_invalid_port(port: str):
    with pytest.raises(OperatorError):
        await _get(f"http://127.0.0.1:{port}/x")


@pytest.mark.parametrize("private", ["10.0.0.1", "fd00::1", "::ffff:127.0.0.1", "fe80::1%2"])
async def test_download_refuses_a_host_name_if_at_least_one_of_its_addresses_is_private(
    monkeypatch, private: str
):
    """Whichever of them would be taken: the next look-up may order them otherwise."""

    def both(*_, **__):
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("8.8.8.8", private)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with pytest.raises(OperatorError, match="private"):
        await _get("http://calendar.example/x", allow_private=False)


async def test_download_sends_credentials_only_to_their_host():
    with FakeServer(lambda _: FakeResponse(b"here")).running() as other:
        leading = FakeResponse(status=302, headers={"Location": other.url + "/x"})
        with FakeServer(lambda _: leading).running() as server:
            await _get(server.url.replace("http://", "http://guest:word@"))
        (request,) = server.requests
        assert request.headers["authorization"].startswith("Basic ")
        assert "@" not in request.headers["host"]
        assert "authorization" not in other.requests[0].headers


async def test_download_refuses_a_host_name_with_a_private_address_before_any_request(monkeypatch):
    def inside(*_, **__):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))]

    with FakeServer(lambda _: FakeResponse(b"secret")).running() as server:
        monkeypatch.setattr(socket, "getaddrinfo", inside)
        with pytest.raises(OperatorError, match="private"):
            await _get(server.url.replace("127.0.0.1", "calendar.example"), allow_private=False)
        assert server.requests == []


async def test_download_connects_to_the_checked_address(monkeypatch):
    """A name that answers differently the second time gains nothing: it is resolved once."""
    answers = []
    with FakeServer(lambda _: FakeResponse(b"fine")).running() as server:
        port = int(server.url.rpartition(":")[2])

        def once(*_, **__):
            answers.append(1)
            ip = "127.0.0.1" if len(answers) == 1 else "192.0.2.1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port))]

        monkeypatch.setattr(socket, "getaddrinfo", once)
        downloaded = await _get(f"http://calendar.example:{port}/x")
        assert downloaded.body == b"fine"
        assert server.requests[0].headers["host"] == f"calendar.example:{port}"


async def test_download_refuses_a_redirect_to_a_private_address(monkeypatch):
    """The first address counts as public here; the one it leads to is as it is."""
    with FakeServer(lambda _: FakeResponse(b"secret")).running() as inside:
        leading = FakeResponse(status=302, headers={"Location": inside.url + "/metadata"})
        with FakeServer(lambda _: leading).running() as outside:
            answers = iter([True, False])
            monkeypatch.setattr(
                "location_context.upstream.download.is_public", lambda _: next(answers)
            )
            with pytest.raises(OperatorError, match="private"):
                await _get(outside.url, allow_private=False)
        assert inside.requests == []


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://127.0.0.1:99999/x"]
)
async def test_download_refuses_a_redirect_to_another_scheme(target: str):
    leading = FakeResponse(status=302, headers={"Location": target})
    with FakeServer(lambda _: leading).running() as server, pytest.raises(OperatorError):
        await _get(server.url)


async def test_download_follows_five_redirects():
    def respond(request):
        hop = int(request.path.strip("/") or 0)
        if hop == 5:
            return FakeResponse(b"here")
        return FakeResponse(status=302, headers={"Location": f"/{hop + 1}"})

    with FakeServer(respond).running() as server:
        downloaded = await _get(server.url + "/0")
        assert (downloaded.body, downloaded.final_url) == (b"here", server.url + "/5")
        server.respond = lambda _: FakeResponse(status=302, headers={"Location": "/0"})
        with pytest.raises(ProviderResponseInvalid, match="redirects"):
            await _get(server.url)


async def test_download_limits_the_number_of_decompressed_bytes():
    bomb = gzip.compress(b"\0" * 50 * MEGABYTE)
    packed = FakeResponse(bomb, headers={"Content-Encoding": "gzip"})
    with FakeServer(lambda _: packed).running() as server:
        with pytest.raises(ProviderResponseInvalid, match="larger"):
            await _get(server.url)
        server.respond = lambda _: FakeResponse(b"x" * 2 * MEGABYTE)
        with pytest.raises(ProviderResponseInvalid, match="larger"):
            await _get(server.url)


async def test_download_refuses_truncated_compressed_bytes():
    packed = FakeResponse(
        gzip.compress(b"BEGIN:VCALENDAR")[:-9], headers={"Content-Encoding": "gzip"}
    )
    cut_off = pytest.raises(ProviderResponseInvalid, match="cut off")
    with FakeServer(lambda _: packed).running() as server, cut_off:
        await _get(server.url)


async def test_download_stops_reading_an_endless_answer():
    dripping = FakeResponse(b"x" * 100, fault="drip")
    with FakeServer(lambda _: dripping).running() as server, pytest.raises(ProviderTimeout):
        await _get(server.url, timeout=0.3)


async def test_download_raises_error_statuses_but_not_304():
    with FakeServer(lambda _: FakeResponse(status=404)).running() as server:
        with pytest.raises(ProviderStatusError):
            await _get(server.url)
        server.respond = lambda request: FakeResponse(
            status=304 if request.headers.get("if-none-match") == '"a"' else 200
        )
        assert (await _get(server.url, headers={"If-None-Match": '"a"'})).status == 304


PUBLIC = """
8.8.8.8 100.128.0.1 172.32.0.1 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::
"""
INSIDE = """
0.0.0.0 0.1.2.3 127.255.255.255 10.0.0.1 172.31.255.255 192.168.0.1 169.254.169.254 100.64.0.1
100.127.255.255 192.0.0.8 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1
224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:10.0.0.1 ::ffff:0:7f00:1 64:ff9b::7f00:1
64:ff9b:1::7f00:1 64:ff9b:1::808:808 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:c0a8:1:: 3fff::1
5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1
"""


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_ip_address_is_recognised_as_public(address: str):
    assert is_public(address)


@pytest.mark.parametrize("address", INSIDE.split())
def test_private_or_reserved_ip_address_is_not_recognised_as_public(address: str):
    assert not is_public(address)
