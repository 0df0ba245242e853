"""Auth: what the gate needs to know of a request: its key and its client's address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.parameters import decode

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

    from location_context.access.address import TrustedProxies
    from location_context.access.gate import Admitted, Gate

_KEY_NAMES = {"api_key", "apikey", "api-key", "key", "access_token", "token"}
_KEY_PREFIX = "lc_live_"


def header_values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for found, value in scope["headers"] if found == name]


def client_address(scope: Scope, proxies: TrustedProxies) -> str:
    peer = scope.get("client")
    address = peer[0] if peer else ""
    forwarded = header_values(scope, b"x-forwarded-for")
    return proxies.client(address, forwarded) if forwarded else address


def key_in_query(query: bytes) -> bool:
    """Whether somebody put a key into the address."""
    return any(
        name.lower() in _KEY_NAMES or value.startswith(_KEY_PREFIX) for name, value in decode(query)
    )


async def admit(gate: Gate, proxies: TrustedProxies, request: Request) -> Admitted:
    """Let a request with an API key in; the front adds its quota headers to the answer.

    Raises:
        MissingApiKey, InvalidApiKey, RateLimitExceeded, ServiceOverloaded: as the gate says.
    """
    scope = request.scope
    sent = header_values(scope, b"authorization")
    misplaced = not sent and key_in_query(scope["query_string"])
    admitted = await gate.admit(sent, misplaced, client_address(scope, proxies))
    request.state.admitted = admitted
    return admitted
