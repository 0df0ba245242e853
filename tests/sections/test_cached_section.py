"""The cache returns fresh answers, refreshes old ones, and survives failed reads."""

import asyncio
import gc
import tracemalloc
from dataclasses import replace
from datetime import timedelta

import pytest

from location_context.errors import ProviderTimeout, StorageError, UpstreamUnavailable
from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.cached_section import CachedSection
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from tests.sections.conftest import QUERY, STAY, failing, soon
from tests.web.sections import FakeSection, FakeUndatedSection, Slow

pytestmark = pytest.mark.anyio


async def landed(cached: CachedSection) -> None:
    while len(cached._cache._in_flight):  # noqa: ASYNC110  the loop itself is what is waited for
        await asyncio.sleep(0)


@pytest.fixture
def slow(clock) -> Slow:
    return Slow(clock)


@pytest.fixture
def cached_slow(slow, clock) -> CachedSection:
    return CachedSection(slow, clock)


async def test_fresh_answer_is_reused(cached, tides, clock):
    first = await cached.read(QUERY, soon())
    clock.advance(899)
    assert await cached.read(QUERY, soon()) is first
    assert tides.reads == 1


async def test_stale_answer_is_reused_for_a_minute_while_the_section_is_read(cached, tides, clock):
    first = await cached.read(QUERY, soon())
    clock.advance(930)
    assert await cached.read(QUERY, soon()) is first
    await landed(cached)
    assert tides.reads == 2
    assert (await cached.read(QUERY, soon())).body.reads == 2


async def test_caller_after_that_minute_gets_the_new_answer(cached, clock):
    await cached.read(QUERY, soon())
    clock.advance(961)
    assert (await cached.read(QUERY, soon())).body.reads == 2


@pytest.mark.parametrize(
    "error", [UpstreamUnavailable("nothing", 5), ProviderTimeout("x", "y"), StorageError("closed")]
)
async def test_stale_answer_is_reused_for_an_hour_when_reading_fails(error, cached, tides, clock):
    await cached.read(QUERY, soon())
    failing(tides, error)
    clock.advance(900 + 3599)
    reading = await cached.read(QUERY, soon())
    assert reading.body.stale
    assert not reading.complete
    assert not cached.last_read_failed
    clock.advance(2)
    with pytest.raises(UpstreamUnavailable):
        await cached.read(QUERY, soon())
    assert cached.last_read_failed


async def test_cached_answer_after_a_failure_ends_the_outage(cached, tides):
    await cached.read(QUERY, soon())
    failing(tides, UpstreamUnavailable("nothing", 5))
    with pytest.raises(UpstreamUnavailable):
        await cached.read(replace(QUERY, point=Point(0, 0, "UTC")), soon())
    assert cached.last_read_failed
    await cached.read(QUERY, soon())
    assert not cached.last_read_failed


async def test_outage_ends_a_minute_after_the_last_failure(cached, tides, clock):
    failing(tides, UpstreamUnavailable("nothing", 5))
    with pytest.raises(UpstreamUnavailable):
        await cached.read(QUERY, soon())
    clock.advance(59)
    assert cached.last_read_failed
    clock.advance(1)
    assert not cached.last_read_failed


async def test_stale_answer_does_not_cross_midnight_at_the_point(cached, tides, clock):
    tides.fresh = timedelta(hours=11, seconds=-10)  # until ten seconds before midnight in Paris
    await cached.read(QUERY, soon())
    failing(tides, UpstreamUnavailable("nothing", 5))
    clock.advance(11 * 3600 - 5)
    assert await cached.read(QUERY, soon())
    await landed(cached)
    clock.advance(10)
    with pytest.raises(UpstreamUnavailable):
        await cached.read(QUERY, soon())


async def test_incomplete_answer_is_refreshed_within_seconds(cached, tides, clock):
    tides.lacking = "provider_unavailable"
    await cached.read(QUERY, soon())
    clock.advance(4)
    await cached.read(QUERY, soon())
    assert tides.reads == 1
    clock.advance(70)
    await cached.read(QUERY, soon())
    assert tides.reads == 2


async def test_keyed_call_is_not_answered_from_a_widgets_incomplete_answer(cached, tides):
    tides.lacking = "provider_unavailable"
    await cached.read(replace(QUERY, public=True), soon())
    await cached.read(QUERY, soon())
    assert tides.reads == 2
    await cached.read(replace(QUERY, public=True), soon())
    assert tides.reads == 2


async def test_two_hundred_callers_share_one_read_that_survives_its_caller(cached_slow, slow):
    callers = [asyncio.create_task(cached_slow.read(QUERY, soon())) for _ in range(200)]
    await asyncio.sleep(0)
    callers[0].cancel()
    await asyncio.sleep(0)
    slow.release.set()
    readings = await asyncio.gather(*callers[1:])
    assert slow.reads == 1
    assert len({id(reading) for reading in readings}) == 1


async def test_read_continues_for_the_next_caller_after_a_deadline(cached_slow, slow):
    with pytest.raises(UpstreamUnavailable):
        await cached_slow.read(QUERY, Deadline.after(0.01))
    slow.release.set()
    await cached_slow.read(QUERY, soon())
    assert slow.reads == 1


async def test_point_stay_units_and_language_make_separate_keys(tides, clock):
    cached, german = CachedSection(tides, clock), Languages.load().choose("de-AT")
    for query in (
        QUERY,
        replace(QUERY, point=Point(48.8567, 2.3522, "Europe/Paris", "FR")),
        replace(QUERY, stay=Stay(STAY.start, STAY.start)),
        replace(QUERY, units="imperial"),
        replace(QUERY, language=replace(german, tag="de-AT")),
    ):
        await cached.read(query, soon())
        await cached.read(query, soon())
    assert tides.reads == 5


async def test_section_without_dates_is_read_once_for_all_stays(clock):
    harbour = FakeUndatedSection(clock)
    cached = CachedSection(harbour, clock)
    for days in range(5):
        stay = Stay(STAY.start, STAY.start + timedelta(days=days))
        await cached.read(replace(QUERY, stay=stay), soon())
    assert harbour.reads == 1


async def test_cache_keeps_its_bound_in_bytes_and_drops_the_least_recently_used(clock):
    tides = FakeSection(clock, words="x" * 1000)
    cached = CachedSection(tides, clock, max_bytes=100_000)
    queries = [replace(QUERY, point=Point(lat, 0.0, "UTC")) for lat in range(50)]
    for query in queries:
        await cached.read(query, soon())
        await cached.read(queries[0], soon())
    entries = cached._cache._entries
    assert 90_000 < entries.size <= 100_000
    assert tides.reads == 50


async def test_cache_keeps_its_bound_in_memory(clock):
    """So many distinct points that each drops another: what Python allocated for them stays."""
    tides = FakeSection(clock, words="x" * 1000)
    cached = CachedSection(tides, clock, max_bytes=1_000_000)
    tracemalloc.start()
    try:
        for number in range(1000):
            point = Point(number / 100, 0.0, "UTC")
            await cached.read(replace(QUERY, point=point), soon())
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 1_200_000  # the test's own objects too
    finally:
        tracemalloc.stop()


async def test_new_dataset_empties_the_cache_and_keeps_older_reads_out(slow, clock):
    listeners: list = []
    slow.on_change = listeners.append
    cached = CachedSection(slow, clock)
    reading = asyncio.create_task(cached.read(QUERY, soon()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    listeners[0]()
    slow.release.set()
    await reading
    await cached.read(QUERY, soon())
    assert slow.reads == 2


async def test_closing_cancels_running_reads(cached_slow):
    with pytest.raises(UpstreamUnavailable):
        await cached_slow.read(QUERY, Deadline.after(0.01))
    await cached_slow.close()
    assert len(cached_slow._cache._in_flight) == 0
