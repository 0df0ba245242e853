"""Authenticator: admits a request by its API key and quota, or by its client's address.

A request is counted after its key is verified; the count is refunded if the response is a 5xx. So
requests (also HEAD) with the response 200, 304 or 400 count; those with 401 or 429 do not. Requests
with the response 404 or 405 are answered before authentication.
"""

from collections.abc import Sequence

import msgspec

from location_context.access.address import ClientPseudonymiser
from location_context.access.key_cache import ApiKeyCache
from location_context.access.keys import ApiKey, digest, is_test, is_well_formed
from location_context.access.quota import Counter, Limit, Limits, MemoryCounter, RateLimitResult
from location_context.access.usage import KeyUsage
from location_context.errors import InvalidApiKey, MissingApiKey, RateLimitExceeded
from location_context.lru import LRUCache
from location_context.stay import Clock

MAX_WARNINGS = 5  # damaged keys that get a warning each; the rest share one
MAX_CACHED_DIGESTS = 10_000  # 3 MB
MAX_SLOWED = 10_000  # client addresses for which attempts with unknown keys are counted
UNKNOWN_KEYS = Limits(Limit("minute", 20, 60))  # of one client address; valid keys always pass
_WIDGET = "widget:"  # precedes a client's pseudonym, to distinguish it from the id of a key
_NOT_RECOGNISED = "The provided API key is not recognised."
_FORM = "`Authorization: Bearer <api-key>`"
_MISSING = f"The API key is missing: send it in the header, as {_FORM}."


class Authenticator:
    """Authenticates requests by API key, and limits requests of the widget by client address.

    Attributes:
        refusals: counts of refused requests by limit: `minute`, `day`, `widget`, `unknown_keys`.
            Requests with a test key are counted as `test` instead of `minute` or `day`.
        key_cache: the API keys in memory.
        counter: counts the requests of keys and addresses in their windows.
        usage: counts of admitted requests by key and day.
    """

    def __init__(  # noqa: PLR0913  one argument for each part
        self,
        *,
        key_cache: ApiKeyCache,
        pepper: bytes,
        counter: Counter,
        usage: KeyUsage,
        pseudonymiser: ClientPseudonymiser,
        clock: Clock,
        widget_per_minute: int,
    ) -> None:
        self.key_cache = key_cache
        self._pepper = pepper
        self.counter = counter
        self.usage = usage
        self._pseudonymiser = pseudonymiser
        self._unknown_keys = MemoryCounter(clock, MAX_SLOWED)
        self._clock = clock
        self._widget_limits = Limits(Limit("minute", widget_per_minute, 60))
        # of valid keys by Authorization header; to compute one again would double a request's time
        self._digests = LRUCache[bytes, bytes](MAX_CACHED_DIGESTS)
        self.refusals = dict.fromkeys(("minute", "day", "test", "widget", "unknown_keys"), 0)

    @property
    def degraded(self) -> bool:
        """True if Redis is unavailable, so that quotas are not shared, or if a key is damaged."""
        return self.counter.degraded or bool(self.key_cache.damaged)

    def warnings(self) -> list[str]:
        """Return warnings for the operator, about damaged keys and an unavailable Redis."""
        damaged = self.key_cache.damaged
        found = [damaged_key_warning(key_id) for key_id in damaged[:MAX_WARNINGS]]
        if (more := len(damaged) - MAX_WARNINGS) > 0:
            found.append(f"{more} more API key records are damaged; these keys are rejected")
        if self.counter.degraded:
            found.append(
                "Redis is not answering; each process counts quotas and provider calls on its own"
            )
        return found

    async def authenticate(
        self,
        authorization_headers: Sequence[bytes],
        key_in_query: bool,
        client: str,
        cost: int = 1,
    ) -> RateLimitResult:
        """Check the API key of a request, and count it as `cost` requests.

        `client` is the client's address. `key_in_query` means that the URL contains a key; the
        error for a missing header then says that the key belongs in the header.

        Returns:
            The state of the key's quotas; its `subject` is the key's id.

        Raises:
            MissingApiKey: there is no key in the Authorization header.
            InvalidApiKey: the key is unknown, revoked or expired.
            RateLimitExceeded: the quota is used up, or the client tried too many unknown keys.
            ServiceOverloaded: the database cannot be reached to check keys.
        """
        headers = authorization_headers
        key = self._verified(headers) or await self._verify(headers, key_in_query, client)
        return await self._count(key.id, key.limits, cost)

    async def count_further(self, counted: RateLimitResult, more: int) -> RateLimitResult:
        """Count `more` requests on top of those in `counted`; return the result for both together.

        Raises:
            RateLimitExceeded: the quota does not suffice; then `counted` is refunded.
        """
        try:
            result = await self._count(counted.subject, counted.limits, more)
        except RateLimitExceeded:
            await self.refund(counted)
            raise
        return msgspec.structs.replace(result, cost=counted.cost + more)

    async def _count(self, key_id: str, limits: Limits, cost: int) -> RateLimitResult:
        result = self.counter.consume_nowait(key_id, limits, cost)
        if result is None:
            result = await self.counter.consume(key_id, limits, cost)
        if not result.allowed and (limit := result.used_up):
            self.refusals["test" if is_test(key_id) else limit.name] += 1
            raise quota_exceeded(result, limit)
        self.usage.count(result, cost)
        return result

    async def refund(self, result: RateLimitResult) -> None:
        """Subtract a counted request from its key's quotas, because the response is a 5xx."""
        self.usage.count(result, -result.cost)
        await self.counter.refund(result)

    async def limit_widget(self, client: str) -> None:
        """Count a request for the widget against the limit of its client's address.

        Raises:
            RateLimitExceeded: the address sent too many requests in this minute.
        """
        subject = _WIDGET + await self._pseudonymiser.pseudonym(client)
        result = self.counter.consume_nowait(subject, self._widget_limits)
        if result is None:
            result = await self.counter.consume(subject, self._widget_limits)
        if not result.allowed:
            self.refusals["widget"] += 1
            raise RateLimitExceeded(
                "Too many requests from this address; try again in a moment.", result.retry_after
            )

    async def _verify(self, headers: Sequence[bytes], key_in_query: bool, client: str) -> ApiKey:
        secret = _bearer(headers, key_in_query)
        if not is_well_formed(secret):
            raise InvalidApiKey(_NOT_RECOGNISED)
        key_digest = digest(self._pepper, secret)
        key = self.key_cache.find(key_digest) or await self._find_new(key_digest, client)
        if (status := key.status(self._clock())) != "active":
            raise InvalidApiKey(f"The provided API key is no longer accepted: it is {status}.")
        self._digests.put(headers[0], key_digest)
        return key

    def _verified(self, headers: Sequence[bytes]) -> ApiKey | None:
        """Return the active key for a header that `_verify` accepted earlier; None without one."""
        key_digest = self._digests.get(headers[0]) if len(headers) == 1 else None
        key = self.key_cache.find(key_digest) if key_digest else None
        if key is not None and (key.expires_at or key.revoked_at):
            return key if key.status(self._clock()) == "active" else None
        return key

    async def _find_new(self, key_digest: bytes, client: str) -> ApiKey:
        """Read the store for a key that is not cached, as it may be new; return the key.

        A client may try 20 uncached keys in a minute. After that, an unknown key raises
        RateLimitExceeded instead of InvalidApiKey, and the store is not read if the last read began
        less than 0.05 s ago.
        """
        subject = await self._pseudonymiser.pseudonym(client)
        tried = self._unknown_keys.consume_nowait(subject, UNKNOWN_KEYS)
        if key := await self.key_cache.find_new(key_digest, slowed=not tried.allowed):
            return key
        if not tried.allowed:
            self.refusals["unknown_keys"] += 1
            raise RateLimitExceeded(
                "Too many unknown API keys from this address.", tried.retry_after
            )
        raise InvalidApiKey(_NOT_RECOGNISED)


def quota_exceeded(result: RateLimitResult, limit: Limit) -> RateLimitExceeded:
    """Return the error for a request whose key has used up `limit`."""
    message = f"The quota of {limit.quota} requests a {limit.name} is used up."
    if result.cost > 1:
        message = (
            f"This request counts as {result.cost} requests, more than are left of the quota of "
            f"{limit.quota} requests a {limit.name}. Request fewer points or sections, or wait."
        )
    return RateLimitExceeded(
        message,
        result.retry_after,
        {name.decode(): value.decode() for name, value in result.headers},
    )


def damaged_key_warning(key_id: str) -> str:
    """Return the operator's warning about a key whose database record cannot be read."""
    return (
        f"The record of API key {key_id} is damaged, so the key is rejected: restore a backup, or "
        "create another key for its owner"
    )


def _bearer(headers: Sequence[bytes], key_in_query: bool) -> str:
    """Return the key in the Authorization header; the error says if it is in the URL instead."""
    if len(headers) > 1:
        raise InvalidApiKey("The request has more than one Authorization header; send exactly one.")
    header = headers[0].decode("latin-1") if headers else ""
    scheme, _, secret = header.strip().partition(" ")
    if scheme.lower() == "bearer" and secret.strip():
        return secret.strip()
    if key_in_query and not headers:
        raise MissingApiKey(
            f"An API key must not be part of the URL: send it in the header, as {_FORM}."
        )
    raise MissingApiKey(_MISSING)
