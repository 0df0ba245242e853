"""The client's address behind proxies, and its pseudonym.

The client is the right-most address in X-Forwarded-For that is not a trusted proxy. Addresses are
never stored. The rate limiter receives a keyed hash of the address instead; for IPv6, the hash of
the /64 network. The key of the hash is random and changes every day.
"""

import hashlib
import ipaddress
import socket
from collections.abc import Iterable, Sequence

import structlog

from location_context.access.quota import Counter
from location_context.stay import Clock

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_CHAIN = 32
_PRIVATE = tuple(  # an address in these networks belongs to a proxy, so a message may name it
    ipaddress.ip_network(network)
    for network in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16",
        "127.0.0.0/8", "::1/128", "fc00::/7", "fe80::/10",
    )
)  # fmt: skip


def parse(text: str) -> Address | None:
    """Return the address in one element of X-Forwarded-For, without its port; None if invalid."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


class TrustedProxies:
    """The proxies whose X-Forwarded-For header is trusted.

    Attributes:
        warning: a message for the operator if an untrusted peer sent the header, else None.
    """

    def __init__(self, cidrs: Iterable[str]) -> None:
        self._cidrs = tuple(cidrs)
        self._networks: list[Network] = [ipaddress.ip_network(c, strict=False) for c in self._cidrs]
        self._peer_named = False  # whether the warning names a peer
        self.warning: str | None = None

    def trust(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)

    def client(self, peer: str, forwarded_for: Sequence[str]) -> str:
        """Return the client's address: `peer`, or an address in the headers if `peer` is trusted.

        `forwarded_for` has the values of all X-Forwarded-For headers, in order. They are read from
        right to left; the first address that is not a trusted proxy is the client's. If an invalid
        element or the left end comes before it, the last trusted address read is the client's; if
        no address was read, `peer` is the client.
        """
        if not forwarded_for:
            return peer
        found = parse(peer)
        if not self.trust(found):
            if not self._peer_named:
                self._warn(found)
            return str(found) if found else peer
        chain = ",".join(forwarded_for).split(",")[-MAX_CHAIN:]
        for element in reversed(chain):
            if (address := parse(element)) is None:
                break
            found = address
            if not self.trust(address):
                break
        return str(found)

    def _warn(self, peer: Address | None) -> None:
        """Set and log the warning that an untrusted peer sent X-Forwarded-For.

        Any client can send the header, so the warning contains the peer's address only if it is
        private, and not the header's value. At most two warnings are logged: a first one without
        an address may be replaced by one with an address.
        """
        self._peer_named = peer is not None and any(peer in network for network in _PRIVATE)
        if self.warning and not self._peer_named:
            return
        whose = (
            f"{peer}/{peer.max_prefixlen}" if peer and self._peer_named else "<your proxy's CIDR>"
        )
        line = f"LOCATION_CONTEXT_TRUSTED_PROXIES={','.join((*self._cidrs, whose))}"
        self.warning = (
            "The X-Forwarded-For header of an untrusted address was ignored. If it is a proxy "
            f"of yours, all guests behind the proxy count as one client until you set {line}"
        )
        structlog.get_logger().warning("forwarded_header_ignored", set=line)


class ClientPseudonymiser:
    """Replaces client addresses by pseudonyms that are valid for one day."""

    def __init__(self, counter: Counter, clock: Clock) -> None:
        self._counter = counter
        self._clock = clock

    async def pseudonym(self, address: str) -> str:
        """Return an address's pseudonym for today (UTC); the addresses in an IPv6 /64 share one."""
        secret = await self._counter.secret(f"address:{self._clock().date().isoformat()}")
        # as secure as HMAC here, in a tenth of the time
        return hashlib.blake2b(_client(address), key=secret, digest_size=16).hexdigest()


def _client(address: str) -> bytes:
    try:
        return socket.inet_pton(socket.AF_INET, address)  # faster than `parse`, for most clients
    except (OSError, ValueError):
        parsed = parse(address)
    if parsed is None:
        return address[:64].encode(errors="replace")
    return parsed.packed[:8] if parsed.version == 6 else parsed.packed
