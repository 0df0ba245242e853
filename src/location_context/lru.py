"""LRUCache: a bounded cache that drops the least recently used value first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """A mapping bounded by the total size of its values.

    Args:
        max_size: the largest total size of all values.
        size_of: returns the size of a value; by default every value has size 1.

    Example:
        >>> cache = LRUCache[str, bytes](max_size=10, size_of=len)
        >>> cache.put("a", b"12345")
        >>> cache.put("b", b"12345")
        >>> cache.get("a")                   # now "b" is the least recently used
        b'12345'
        >>> cache.put("c", b"1")             # 11 bytes are too many: "b" is dropped
        >>> ("a" in cache, "b" in cache, "c" in cache, cache.size)
        (True, False, True, 6)
    """

    def __init__(self, max_size: int, size_of: Callable[[V], int] | None = None) -> None:
        self.max_size = max_size
        self.size = 0  # total size of all values
        self._size_of = size_of or (lambda _: 1)
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value and mark it as used; None if it is not cached."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Store the value, unless it alone is larger than `max_size`."""
        self.pop(key)
        size = self._size_of(value)
        if size > self.max_size:
            return
        self._values[key] = value
        self.size += size
        while self.size > self.max_size:
            self.pop(next(iter(self._values)))

    def pop(self, key: K) -> V | None:
        """Remove a value and return it; None if it is not cached."""
        value = self._values.pop(key, None)
        if value is not None:
            self.size -= self._size_of(value)
        return value

    def clear(self) -> None:
        self._values.clear()
        self.size = 0

    def __contains__(self, key: K) -> bool:
        return key in self._values
