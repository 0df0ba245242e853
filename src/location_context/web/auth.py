"""What the authenticator needs to know of a request: its key and its client's address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.parameters import decode

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

    from location_context.access.address import TrustedProxies
    from location_context.access.authenticator import Authenticator, Grant

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


async def authenticate(
    authenticator: Authenticator, proxies: TrustedProxies, request: Request
) -> Grant:
    """Authenticate a request; its quota headers are added to the answer.

    Raises:
        MissingApiKey, InvalidApiKey, RateLimitExceeded, ServiceOverloaded: see there.
    """
    scope = request.scope
    sent = header_values(scope, b"authorization")
    misplaced = not sent and key_in_query(scope["query_string"])
    grant = await authenticator.authenticate(sent, misplaced, client_address(scope, proxies))
    request.state.grant = grant
    return grant
