"""Gate: who may ask for a route, and how its requests are counted.

A scope is that of ASGI; `headers` are the request's own, each given once, by their lower-case name.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from location_context.access.authenticator import Admitted, Grant
from location_context.errors import AuthenticationError

Headers: TypeAlias = Mapping[bytes, bytes]


class Gate(Protocol):
    """What a route asks about each of its requests."""

    async def admit(self, scope: Mapping[str, Any]) -> Grant | None:
        """Count a request.

        Raises:
            PublicError: it is refused.
        """
        ...

    def admit_now(self, scope: Mapping[str, Any], headers: Headers) -> Admitted | None:
        """Count a request at once; None if it takes waiting, and nothing was counted.

        Raises:
            RateLimitExceeded: it is refused.
        """
        ...

    def refusal(self, scope: Mapping[str, Any], headers: Headers) -> AuthenticationError | None:
        """Why a request is refused whatever it asks for; None if `admit` must tell."""
        ...
