"""The gate: who is let in, who is not and why, and what counts."""

import asyncio

import pytest

from location_context.access.address import ClientPseudonymiser
from location_context.access.authenticator import Authenticator
from location_context.access.key_cache import ApiKeyCache
from location_context.access.keys import ApiKeys, mint
from location_context.access.quota import MemoryCounter
from location_context.errors import InvalidApiKey, MissingApiKey, RateLimitExceeded
from tests.access.memory_store import MemoryKeys
from tests.logs import captured_logs
from tests.moved_clock import MovedClock

pytestmark = pytest.mark.anyio

PEPPER, HERE = b"pepper", "203.0.113.7"


class House:
    """A gate with its parts in reach."""

    def __init__(self) -> None:
        self.clock = MovedClock()
        self.store = MemoryKeys()
        self.keys = ApiKeys(self.store, PEPPER, self.clock)
        counter = MemoryCounter(self.clock)
        self.key_cache = ApiKeyCache(self.store, now=self.clock.seconds)
        self.authenticator = Authenticator(
            key_cache=self.key_cache,
            pepper=PEPPER,
            counter=counter,
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
async def house() -> House:
    house = House()
    await house.key_cache.prepare()
    return house


@pytest.mark.parametrize("headers", [[], ["Basic dTpw"], ["Bearer"], ["Bearer "], [""], ["x"]])
async def test_header_without_a_key_is_missing_api_key(house: House, headers: list[str]) -> None:
    with pytest.raises(MissingApiKey, match="`Authorization: Bearer <api-key>`"):
        await house.come_with(*headers)


@pytest.mark.parametrize(
    "header",
    [
        "Bearer x",
        "Bearer " + "x" * 10_000,
        "Bearer lc_live_" + "é" * 49,
        "Bearer a b",
        "bearer \x00",
    ],
)
async def test_malformed_key_is_refused_without_a_look_up(house: House, header: str) -> None:
    with pytest.raises(InvalidApiKey, match="not recognised"):
        await house.come_with(header)
    assert house.store.requests <= 2  # at the start, and as the key was made


async def test_key_with_a_wrong_checksum_is_refused_without_a_look_up(house: House) -> None:
    key = await house.key()
    with pytest.raises(InvalidApiKey):
        await house.come_with(f"Bearer {key[:-1]}{'a' if key[-1] != 'a' else 'b'}")
    assert house.store.requests <= 2  # at the start, and as the key was made


async def test_two_authorization_headers_are_refused(house: House) -> None:
    key = await house.key()
    with pytest.raises(InvalidApiKey, match="more than one"):
        await house.come_with(f"Bearer {key}", f"Bearer {key}")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer ", "  Bearer"])
async def test_bearer_scheme_ignores_case(house: House, scheme: str) -> None:
    grant = await house.come_with(f"{scheme} {await house.key()}")
    assert dict(grant.headers)[b"ratelimit"] == b'"minute";r=599;t=60, "day";r=49999;t=43200'


async def test_key_in_the_query_is_refused_with_a_hint(house: House) -> None:
    with pytest.raises(MissingApiKey, match="must not be part of the URL"):
        await house.come_with(key_in_query=True)
    assert await house.come_with(f"Bearer {await house.key()}", key_in_query=True)


async def test_revoked_key_is_refused_once_the_keys_are_read(house: House) -> None:
    key = await house.key()
    await house.come_with(f"Bearer {key}")
    [record] = await house.keys.list()
    await house.keys.revoke(record.id)
    await house.key_cache.refresh()
    with pytest.raises(InvalidApiKey, match="not recognised: it is revoked"):
        await house.come_with(f"Bearer {key}")


async def test_unknown_keys_are_slowed_and_a_valid_key_is_not(house: House) -> None:
    key, slowed = await house.key(), 0
    for _ in range(1000):
        house.clock.advance(0.001)
        try:
            await house.come_with(f"Bearer {mint()}")
        except RateLimitExceeded:
            slowed += 1
        except InvalidApiKey:
            pass
    assert slowed == 980
    assert house.store.requests <= 1 + 20 + 20
    assert await house.come_with(f"Bearer {key}")


async def test_slowed_address_is_answered_after_retry_after(house: House) -> None:
    for _ in range(20):
        with pytest.raises(InvalidApiKey):
            await house.come_with(f"Bearer {mint()}")
    with pytest.raises(RateLimitExceeded) as refused:
        await house.come_with(f"Bearer {mint()}")
    house.clock.advance(refused.value.retry_after)
    with pytest.raises(InvalidApiKey):
        await house.come_with(f"Bearer {mint()}")


async def test_quota_is_exact_and_reopens_after_retry_after(house: House) -> None:
    header = f"Bearer {await house.key(per_minute=100)}"
    outcomes = await asyncio.gather(
        *(house.come_with(header) for _ in range(500)), return_exceptions=True
    )
    refused = [each for each in outcomes if isinstance(each, RateLimitExceeded)]
    assert len(refused) == 400
    assert "100 requests a minute" in refused[0].message
    house.clock.advance(refused[0].retry_after)
    assert await house.come_with(header)


async def test_refund_returns_a_request(house: House) -> None:
    header = f"Bearer {await house.key(per_minute=1)}"
    await house.authenticator.refund(await house.come_with(header))
    assert await house.come_with(header)


async def test_refused_requests_do_not_count(house: House) -> None:
    header = f"Bearer {await house.key(per_minute=2)}"
    await house.come_with(header)
    for junk in ([], ["Bearer x"], [header, header]):
        with pytest.raises((MissingApiKey, InvalidApiKey)):
            await house.come_with(*junk)
    headers = dict((await house.come_with(header)).headers)
    assert headers[b"ratelimit"].startswith(b'"minute";r=0;')


async def test_widget_is_counted_by_address_and_ipv6_network(house: House) -> None:
    for number in range(120):
        await house.authenticator.limit_widget(f"2001:db8::{number:x}")
    with pytest.raises(RateLimitExceeded):
        await house.authenticator.limit_widget("2001:db8::ffff")
    await house.authenticator.limit_widget("2001:db8:0:1::1")
    await house.authenticator.limit_widget(HERE)


async def test_authenticator_never_logs_a_key_or_an_address(house: House) -> None:
    key, unknown = await house.key(), mint()
    said = []
    with captured_logs() as logs:
        for header in (f"Bearer {key}", f"Bearer {unknown}", f"Bearer {key}x", f"Basic {key}"):
            try:
                said.append(repr(await house.come_with(header)))
            except (MissingApiKey, InvalidApiKey) as error:
                said.append(repr(error) + str(error.headers))
    text = str(logs) + str(said)
    assert key not in text
    assert unknown not in text
    assert HERE not in text
