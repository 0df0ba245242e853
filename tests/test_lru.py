"""LRUCache: what was used last, as much as fits."""

from hypothesis import given
from hypothesis import strategies as st

from location_context.lru import LRUCache


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 12))), st.integers(0, 20))
def test_lru_cache_stays_within_its_bound(puts, bound):
    cache, latest = LRUCache[str, int](bound, size_of=lambda value: value), dict[str, int]()
    for key, value in puts:
        cache.put(key, value)
        latest[key] = value
        assert cache.size == sum(latest[key] for key in latest if key in cache) <= bound
    if puts and puts[-1][1] <= bound:
        assert cache.get(puts[-1][0]) == puts[-1][1]


def test_full_lru_cache_drops_the_least_recently_read_value():
    cache = LRUCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [key for key in "abc" if key in cache] == ["a", "c"]
    assert cache.pop("b") is None


def test_lru_cache_ignores_a_value_larger_than_its_bound():
    cache = LRUCache[str, int](10, size_of=lambda value: value)
    cache.put("a", 3)
    cache.put("b", 11)
    assert (cache.size, cache.get("a"), cache.get("b")) == (3, 3, None)
