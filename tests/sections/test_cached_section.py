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
from location_context.sections import cached_section
from location_context.sections.cached_section import CachedSection
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from tests.sections.conftest import QUERY, STAY, failing, soon
from tests.web.sections import FakeSection, FakeUndatedSection, Slow


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


async def test_stale_answer_is_reused_for_a_minute_while_a_new_answer_is_fetched(
    cached, tides, clock
):
    first = await cached.read(QUERY, soon())
    clock.advance(930)
    assert await cached.read(QUERY, soon()) is first
    await landed(cached)
    assert tides.reads == 2
    assert (await cached.read(QUERY, soon())).body.reads == 2


async def test_caller_waits_for_a_new_answer_once_it_is_stale_for_a_minute(cached, clock):
    await cached.read(QUERY, soon())
    clock.advance(961)
    assert (await cached.read(QUERY, soon())).body.reads == 2


@pytest.mark.parametrize(
    "error", [UpstreamUnavailable("nothing", 5), ProviderTimeout("x", "y"), StorageError("closed")]
)
async def test_stale_answer_is_reused_for_an_hour_when_fetching_fails(error, cached, tides, clock):
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


async def test_outage_of_a_section_ends_with_the_next_successful_answer_even_from_the_cache(
    cached, tides
):
    await cached.read(QUERY, soon())
    failing(tides, UpstreamUnavailable("nothing", 5))
    with pytest.raises(UpstreamUnavailable):
        await cached.read(replace(QUERY, point=Point(0, 0, "UTC")), soon())
    assert cached.last_read_failed
    await cached.read(QUERY, soon())
    assert not cached.last_read_failed


async def test_outage_of_a_section_ends_a_minute_after_the_last_failure(cached, tides, clock):
    failing(tides, UpstreamUnavailable("nothing", 5))
    with pytest.raises(UpstreamUnavailable):
        await cached.read(QUERY, soon())
    clock.advance(59)
    assert cached.last_read_failed
    clock.advance(1)
    assert not cached.last_read_failed


async def test_stale_answer_is_not_reused_after_local_midnight(cached, tides, clock):
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


async def test_incomplete_answer_cached_for_a_widget_is_not_served_to_an_api_key(cached, tides):
    tides.lacking = "provider_unavailable"
    await cached.read(replace(QUERY, public=True), soon())
    await cached.read(QUERY, soon())
    assert tides.reads == 2
    await cached.read(replace(QUERY, public=True), soon())
    assert tides.reads == 2


async def test_point_dates_units_and_language_are_part_of_the_cache_key(tides, clock):
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


async def test_answer_of_a_section_without_dates_is_cached_for_all_dates(clock):
    harbour = FakeUndatedSection(clock)
    cached = CachedSection(harbour, clock)
    for days in range(5):
        stay = Stay(STAY.start, STAY.start + timedelta(days=days))
        await cached.read(replace(QUERY, stay=stay), soon())
    assert harbour.reads == 1


async def test_cache_does_not_exceed_its_memory_limit(clock, monkeypatch):
    """So many distinct points that each drops another: what Python allocated for them stays."""
    tides = FakeSection(clock, words="x" * 1000)
    monkeypatch.setattr(cached_section, "MAX_BYTES", 1_000_000)
    cached = CachedSection(tides, clock)
    tracemalloc.start()
    try:
        for number in range(1000):
            point = Point(number / 100, 0.0, "UTC")
            await cached.read(replace(QUERY, point=point), soon())
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 1_200_000  # the test's own objects too
    finally:
        tracemalloc.stop()


async def test_new_dataset_empties_the_cache_and_results_of_reads_already_running_are_not_cached(
    slow, clock
):
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


async def test_closing_the_cache_cancels_running_reads(cached_slow):
    with pytest.raises(UpstreamUnavailable):
        await cached_slow.read(QUERY, Deadline.after(0.01))
    await cached_slow.close()
    assert len(cached_slow._cache._in_flight) == 0
