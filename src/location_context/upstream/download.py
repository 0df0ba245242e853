"""`download`: fetches URLs that the operator entered (feeds, imports), on public hosts.

Only http and https are accepted. The host name is resolved first, and all its IP addresses must be
public unless `allow_private`. The connection then goes to a checked IP address, since a second
look-up of the name could return another one. The targets of redirects are checked the same way.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urljoin

from location_context import errors
from location_context.upstream.http import HttpClient

_NAME = "download"
MAX_REDIRECTS = 5
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# not reported as private by Python before 3.12.4: carrier-grade NAT and protocol assignments
# (clouds serve metadata in both), 6to4 relays; local NAT64, site-local, documentation, SRv6
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24",
        "64:ff9b:1::/48", "fec0::/10", "3fff::/20", "5f00::/16",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Downloaded:
    """A successful response of `download`. Header names are in lower case.

    `body` is decompressed. It is empty if the status is not 200 but, for instance, 304.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str]
    final_url: str
    status: int


async def download(  # noqa: PLR0913  each argument is one bound of this call
    client: HttpClient,
    url: str,
    *,
    allow_private: bool,
    max_bytes: int,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109  the bound of the whole call, redirects included
) -> Downloaded:
    """GET `url` and follow at most five redirects, within `timeout` seconds in total.

    `allow_private` also allows hosts in private networks. `max_bytes` limits the body, both
    compressed and decompressed.

    Raises:
        OperatorError: the URL, or the target of a redirect, is not allowed.
        ProviderError: the call failed or the answer is unusable.
    """
    try:
        async with asyncio.timeout(timeout):
            for _ in range(MAX_REDIRECTS + 1):
                target = await _check_address(url, allow_private=allow_private)
                response = await client.get(
                    target.url,
                    _NAME,
                    max_bytes,
                    headers={**(headers or {}), "Host": target.host_header},
                    server_hostname=target.host,
                    only_200=True,
                )
                if response.status >= 400:
                    raise errors.ProviderStatusError(_NAME, response.status)
                if not response.is_redirect:
                    return Downloaded(response.body, response.headers, url, response.status)
                url = _redirect_target(url, response.headers.get("location", ""))
    except TimeoutError:
        raise errors.ProviderTimeout(_NAME, "did not answer in time") from None
    raise errors.ProviderResponseInvalid(_NAME, f"redirects more than {MAX_REDIRECTS} times")


def _redirect_target(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise errors.ProviderResponseInvalid(_NAME, "redirects to an invalid address") from None


class _Target(NamedTuple):
    """A checked target: its URL with an IP address, its host name for TLS, its `Host` header."""

    url: str
    host: str
    host_header: str


async def _check_address(url: str, *, allow_private: bool) -> _Target:
    from yarl import URL  # noqa: PLC0415  it comes with the HTTP library, which is imported late

    try:
        parsed = URL(url)
    except ValueError:
        raise errors.OperatorError(
            "The address is not valid; accepted: http://… or https://…"
        ) from None
    if parsed.scheme not in {"http", "https"} or not parsed.raw_host:
        raise errors.OperatorError(
            f"The address has the scheme {parsed.scheme!r}; accepted: http, https"
        )
    port = parsed.port or 0
    if not 0 < port < 1 << 16:
        raise errors.OperatorError(f"The address has the port {port}; accepted: 1 to 65535")
    addresses = await _resolve(parsed.raw_host, port)
    if not allow_private and any(not is_public(address) for address in addresses):
        raise errors.OperatorError(
            f"The host {parsed.host} has a loopback, link-local or private address; "
            "LOCATION_CONTEXT_FEEDS_ALLOW_PRIVATE=true allows that"
        )
    url_by_ip = str(parsed.with_host(addresses[0]))
    return _Target(url_by_ip, parsed.raw_host, parsed.host_port_subcomponent or parsed.raw_host)


def is_public(address: str) -> bool:
    """Return True if an IP address is public.

    An IPv6 address that contains an IPv4 address is public if the IPv4 address is.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


async def _resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise errors.ProviderUnreachable(_NAME, "the host has no address") from None
    return sorted({str(entry[4][0]) for entry in found}, key=lambda ip: ":" in ip)
