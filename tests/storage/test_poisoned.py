"""Redis holds what anybody wrote into it: damaged values and messages cost a call, nothing more."""

import tracemalloc
import zlib
from datetime import UTC, date, datetime
from functools import partial

import msgspec
import pytest

from location_context.access.quota import Limit, Limits
from location_context.errors import DAMAGED
from location_context.sections.events.providers import base
from location_context.sections.events.records import ProviderEvent, When
from location_context.sections.weather.retrieval import archives, elevations
from location_context.settings import Secret
from location_context.storage.redis import RedisCounter, RedisLink
from location_context.storage.shared import RedisSharedStore
from tests.sections.weather.test_store import month

LONG = 60.0  # seconds of patience, so that a busy machine is not taken for a silent Redis
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
async def link(redis_url: str, redis_prefix: str):
    link = RedisLink(Secret(redis_url), redis_prefix, LONG)
    yield link
    await link.close()


async def test_compression_bomb_in_redis_is_ignored(link: RedisLink) -> None:
    bomb = b"\x01" + zlib.compress(bytes(300_000_000), 9)
    await link.redis.set(f"{link.prefix}value:example:key", bomb, px=60_000)
    tracemalloc.start()
    try:
        assert await RedisSharedStore(link).load("example", "key") is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000


async def test_redis_value_of_a_wrong_type_does_not_mark_redis_as_unavailable(
    link: RedisLink,
) -> None:
    await link.redis.rpush(f"{link.prefix}value:example:key", b"x")
    assert await RedisSharedStore(link).load("example", "key") is None
    assert not link.degraded
    await link.redis.set(f"{link.prefix}spoilt", b"x")
    counter, limits = RedisCounter(link, lambda: NOW), Limits(Limit("minute", 5, 60))
    assert (await counter.consume("spoilt", limits)).allowed  # counted here
    assert (await counter.consume("sound", limits)).allowed
    assert not link.degraded
    assert await link.redis.exists(f"{link.prefix}sound")


EVENT = ProviderEvent(
    id="1",
    source="example",
    title="Concert",
    category="festival",
    start=When.of(date(2026, 11, 22)),
)
STORED = {
    "events": (base.unpack, base.pack(base.Page([EVENT]), NOW)),
    "months": (archives._unpack, archives._pack([month(2020, 2)], NOW)),
    "height": (
        partial(msgspec.msgpack.decode, type=elevations._SharedElevation),
        msgspec.msgpack.encode((35.0, NOW)),
    ),
}


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("byte", [0x00, 0x7F, 0xA5, 0xFF])
def test_reading_a_damaged_stored_value_gives_a_value_or_reports_the_damage(
    kind: str, byte: int
) -> None:
    unpack, data = STORED[kind]
    unpack(data)
    damaged = 0
    for at in range(len(data)):
        try:
            unpack(data[:at] + bytes([byte]) + data[at + 1 :])
        except DAMAGED:
            damaged += 1
        with pytest.raises(DAMAGED):
            unpack(data[:at])
    assert damaged
