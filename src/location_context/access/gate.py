"""Gate: lets a request in, by its key and quota or by its address, or says why not.

What counts: a request is counted when it is let in, and given back when its answer is a 5xx. So
200, 304, 400 and HEAD count; 404 and 405 never come here; 401 and 429 are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from location_context.access.keys import digest, well_formed
from location_context.access.quota import Limit
from location_context.errors import InvalidApiKey, MissingApiKey, RateLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from location_context.access.address import Disguise
    from location_context.access.keyring import Keyring
    from location_context.access.keys import ApiKey
    from location_context.access.quota import Counter, Taken
    from location_context.access.slowdown import Slowdown
    from location_context.stay import Clock

MOST_TOLD = 5
_FORM = "`Authorization: Bearer <api-key>`"


@dataclass(frozen=True)
class Admitted:
    """A request that was let in, with the quota headers its answer carries."""

    key_id: str
    headers: Mapping[str, str]
    _counter: Counter = field(repr=False)
    _taken: Taken = field(repr=False)

    async def give_back(self) -> None:
        """Uncount it: its answer is a 5xx."""
        await self._counter.give_back(self.key_id, self._taken)


class Gate:
    """Admits requests with a key (`admit`) and the widget's by address (`admit_widget`)."""

    def __init__(  # noqa: PLR0913  the parts it is made of
        self,
        *,
        keyring: Keyring,
        pepper: bytes,
        counter: Counter,
        disguise: Disguise,
        slowdown: Slowdown,
        clock: Clock,
        widget_per_minute: int,
    ) -> None:
        self._keyring = keyring
        self._pepper = pepper
        self._counter = counter
        self._disguise = disguise
        self._slowdown = slowdown
        self._clock = clock
        self._widget = (Limit("minute", widget_per_minute, 60),)

    @property
    def degraded(self) -> bool:
        """Whether quotas are counted in this process alone, or records of keys are damaged."""
        return self._counter.degraded or bool(self._keyring.damaged)

    async def prepare(self) -> None:
        """Read the keys, so that no request waits for it."""
        await self._keyring.prepare()

    def notices(self) -> list[str]:
        """Sentences for the operator."""
        told = [damaged_key(key_id) for key_id in self._keyring.damaged[:MOST_TOLD]]
        if (more := len(self._keyring.damaged) - MOST_TOLD) > 0:
            told.append(f"{more} more records of API keys are damaged; these keys are refused")
        if self._counter.degraded:
            told.append("Redis does not answer; quotas are counted in each process alone")
        return told

    async def admit(
        self, authorization_headers: Sequence[str], key_in_query: bool, client: str
    ) -> Admitted:
        """Let a request with an API key in. `client` is the client's address.

        Raises:
            MissingApiKey: no key came in the header.
            InvalidApiKey: what came is not a key that works.
            RateLimitExceeded: its quota is spent, or the client tried too many unknown keys.
            ServiceOverloaded: keys cannot be checked at this moment.
        """
        key = await self._verify(_bearer(authorization_headers, key_in_query), client)
        limits = (Limit("minute", key.per_minute, 60), Limit("day", key.per_day, 86400))
        taken = await self._counter.take(key.id, limits)
        if not taken.allowed:
            spent = next(window.limit for window in reversed(taken.windows) if window.spent)
            raise RateLimitExceeded(
                f"The quota of {spent.quota} requests a {spent.name} is used up.",
                taken.retry_after,
                taken.headers,
            )
        return Admitted(key.id, taken.headers, self._counter, taken)

    async def admit_widget(self, client: str) -> None:
        """Let a widget's request in, counted by the client's address.

        Raises:
            RateLimitExceeded: too many in this minute.
        """
        taken = await self._counter.take(
            "widget:" + await self._disguise.name(client), self._widget
        )
        if not taken.allowed:
            raise RateLimitExceeded(
                "Too many requests from this address; try again in a moment.", taken.retry_after
            )

    async def _verify(self, secret: str, client: str) -> ApiKey:
        if not well_formed(secret):
            raise InvalidApiKey("The provided API key is not recognised.")
        kept = digest(self._pepper, secret)
        key = await self._keyring.find(kept) or await self._find_new(kept, client)
        if (status := key.status(self._clock())) != "active":
            raise InvalidApiKey(f"The provided API key is not recognised: it is {status}.")
        return key

    async def _find_new(self, kept: bytes, client: str) -> ApiKey:
        """A key that was made a moment ago; whoever tries unknown ones is slowed."""
        wait = self._slowdown.attempt(await self._disguise.name(client))
        if key := await self._keyring.find_new(kept, slowed=wait > 0):
            return key
        if wait:
            raise RateLimitExceeded("Too many unknown API keys from this address.", wait)
        raise InvalidApiKey("The provided API key is not recognised.")


def damaged_key(key_id: str) -> str:
    """The notice about a key whose record cannot be read."""
    return (
        f"The record of API key {key_id} is damaged, and the key refused: restore a backup, or "
        "make its owner another key"
    )


def _bearer(headers: Sequence[str], key_in_query: bool) -> str:
    """The key in the Authorization header (RFC 6750)."""
    if len(headers) > 1:
        raise InvalidApiKey("More than one Authorization header came; send exactly one.")
    scheme, _, secret = (headers[0] if headers else "").strip().partition(" ")
    if scheme.lower() == "bearer" and secret.strip():
        return secret.strip()
    if key_in_query and not headers:
        raise MissingApiKey(
            "An API key must not stand in the address: "
            f"the header must be supplied in the form {_FORM}."
        )
    raise MissingApiKey(f"No API key came: the header must be supplied in the form {_FORM}.")
