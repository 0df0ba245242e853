"""The client's address: which one counts behind proxies, and how it is pseudonymised.

The client is the right-most address in X-Forwarded-For that is not a trusted proxy. It is never
stored: the limiter receives a keyed hash of it (of the /64 of an IPv6 address) with a random key
that changes every day.
"""

import hashlib
import ipaddress
import socket
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import structlog

from location_context.access.quota import DAY, Counter
from location_context.stay import Clock, posix_seconds

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_CHAIN = 32
_PRIVATE = tuple(  # networks of an operator's proxies; naming one reveals no guest's address
    ipaddress.ip_network(network)
    for network in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16",
        "127.0.0.0/8", "::1/128", "fc00::/7", "fe80::/10",
    )
)  # fmt: skip


def parse(text: str) -> Address | None:
    """Return the address in one element of X-Forwarded-For, without its port; None for junk."""
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
    """The proxies whose X-Forwarded-For is trusted.

    Attributes:
        warning: a message for the operator, if an untrusted peer sent the header; else None.
    """

    def __init__(self, cidrs: Iterable[str]) -> None:
        self._cidrs = tuple(cidrs)
        self._networks: list[Network] = [ipaddress.ip_network(c, strict=False) for c in self._cidrs]
        self._peer_named = False  # whether the warning names a peer
        self.warning: str | None = None

    def trust(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)

    def client(self, peer: str, forwarded_for: Sequence[str]) -> str:
        """Return the client's address: the peer, or the right-most untrusted one it forwards for.

        `forwarded_for` holds the values of all X-Forwarded-For headers, in order. Nothing to the
        left of an element that is not an address is trusted.
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
        """Set the warning about this peer, or replace a warning that could not name its peer.

        A guest can send the header too, so that a peer outside of private networks is not named,
        nothing of the header is either, and the warning is logged twice at most.
        """
        self._peer_named = peer is not None and any(peer in network for network in _PRIVATE)
        if self.warning and not self._peer_named:
            return
        whose = (
            f"{peer}/{peer.max_prefixlen}" if peer and self._peer_named else "<your proxy's CIDR>"
        )
        line = f"LOCATION_CONTEXT_TRUSTED_PROXIES={','.join((*self._cidrs, whose))}"
        self.warning = (
            "X-Forwarded-For came from a peer that is not trusted and was ignored. If that is your "
            f"proxy, all guests behind it count as one client until you set {line}"
        )
        structlog.get_logger().warning("forwarded_header_ignored", set=line)


class ClientPseudonymiser:
    """Replaces addresses by pseudonyms that only tell clients apart, for one day."""

    def __init__(self, counter: Counter, clock: Clock) -> None:
        self._counter = counter
        self._now = posix_seconds(clock)
        self._day, self._name = -1.0, ""

    async def pseudonym(self, address: str) -> str:
        """Return a pseudonym.

        It is the same for a client (IPv6: for its /64) until midnight UTC.
        """
        if (day := self._now() // DAY) != self._day:
            self._day, self._name = day, _name(day)
        secret = await self._counter.secret(self._name)
        # a keyed hash as HMAC is one, at a tenth of its time
        return hashlib.blake2b(_client(address), key=secret, digest_size=16).hexdigest()


def _name(day: float) -> str:
    """Return the name under which a day's secret is stored."""
    return f"address:{datetime.fromtimestamp(day * DAY, UTC).date().isoformat()}"


def _client(address: str) -> bytes:
    try:
        return socket.inet_pton(socket.AF_INET, address)  # nearly all; quicker than to parse it
    except (OSError, ValueError):
        parsed = parse(address)
    if parsed is None:
        return address[:64].encode(errors="replace")
    return parsed.packed[:8] if parsed.version == 6 else parsed.packed
