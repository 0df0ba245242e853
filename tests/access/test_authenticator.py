"""The gate: who is let in, who is not and why, and what counts."""

import pytest

from location_context.access.address import ClientPseudonymiser
from location_context.access.authenticator import Authenticator
from location_context.access.key_cache import ApiKeyCache
from location_context.access.keys import ApiKeys, mint
from location_context.access.quota import MemoryCounter
from location_context.access.usage import KeyUsage
from location_context.errors import InvalidApiKey, MissingApiKey, RateLimitExceeded
from tests.access.memory_store import MemoryKeys, MemoryUsage
from tests.logs import captured_logs
from tests.moved_clock import MovedClock

PEPPER, HERE = b"pepper", "203.0.113.7"


class Gate:
    """A gate with its parts in reach."""

    def __init__(self) -> None:
        self.clock = MovedClock()
        self.store = MemoryKeys()
        self.keys = ApiKeys(self.store, PEPPER, self.clock)
        counter = MemoryCounter(self.clock)
        self.usage_store = MemoryUsage()
        self.usage = KeyUsage(self.usage_store)
        self.key_cache = ApiKeyCache(self.store, now=self.clock.seconds)
        self.authenticator = Authenticator(
            key_cache=self.key_cache,
            pepper=PEPPER,
            counter=counter,
            usage=self.usage,
            pseudonymiser=ClientPseudonymiser(counter, self.clock),
            clock=self.clock,
            widget_per_minute=120,
        )

    async def key(self, **limits: int) -> str:
        made = await self.keys.create("Hotel", **limits)
        await self.key_cache.refresh()
        return made.secret

    async def come_with(self, *headers: str, key_in_query: bool = False, client: str = HERE):
        return await self.authenticator.authenticate(
            [header.encode("latin-1") for header in headers], key_in_query, client
        )


@pytest.fixture
async def gate() -> Gate:
    gate = Gate()
    await gate.key_cache.prepare()
    return gate


@pytest.mark.parametrize(
    "header",
    [
        "Bearer x",
        "Bearer " + "x" * 10_000,
        "Bearer lc_live_" + "é" * 49,
        "Bearer a b",
        "bearer \x00",
        "Bearer {}",  # a key with a wrong checksum
    ],
)
async def test_malformed_key_is_refused_without_reading_the_database(
    gate: Gate, header: str
) -> None:
    key = await gate.key()
    with pytest.raises(InvalidApiKey, match="not recognised"):
        await gate.come_with(header.format(f"{key[:-1]}{'a' if key[-1] != 'a' else 'b'}"))
    assert gate.store.requests <= 2  # at the start, and as the key was made


async def test_unknown_keys_are_rate_limited_and_a_valid_key_is_not(gate: Gate) -> None:
    key, slowed = await gate.key(), 0
    for _ in range(1000):
        gate.clock.advance(0.001)
        try:
            await gate.come_with(f"Bearer {mint()}")
        except RateLimitExceeded:
            slowed += 1
        except InvalidApiKey:
            pass
    assert slowed == 980
    assert gate.store.requests <= 1 + 20 + 20
    assert await gate.come_with(f"Bearer {key}")


async def test_rate_limited_client_is_answered_again_after_its_retry_after_time(
    gate: Gate,
) -> None:
    for _ in range(20):
        with pytest.raises(InvalidApiKey):
            await gate.come_with(f"Bearer {mint()}")
    with pytest.raises(RateLimitExceeded) as refused:
        await gate.come_with(f"Bearer {mint()}")
    gate.clock.advance(refused.value.retry_after)
    with pytest.raises(InvalidApiKey):
        await gate.come_with(f"Bearer {mint()}")


async def test_authenticator_never_logs_a_key_or_an_ip_address(gate: Gate) -> None:
    key, unknown = await gate.key(), mint()
    said = []
    with captured_logs() as logs:
        for header in (f"Bearer {key}", f"Bearer {unknown}", f"Bearer {key}x", f"Basic {key}"):
            try:
                said.append(repr(await gate.come_with(header)))
            except (MissingApiKey, InvalidApiKey) as error:
                said.append(repr(error) + str(error.headers))
    text = str(logs) + str(said)
    assert key not in text
    assert unknown not in text
    assert HERE not in text
