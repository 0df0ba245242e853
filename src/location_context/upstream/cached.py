"""Cached: a cache that fetches missing values; concurrent callers of a key share one fetch.

Forecasts, archives, elevations, events, travel times and the sections' results are all cached here.
A fresh value is returned at once. Otherwise one fetch serves all callers in all processes.
Each caller waits until its own deadline; the fetch continues after that, for later callers.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from location_context.errors import DAMAGED, ProviderBackoff, ProviderError
from location_context.lru import LRUCache
from location_context.stay import Clock
from location_context.upstream.deadline import Deadline, SingleFlight
from location_context.upstream.shared_cache import CacheRecord, SharedCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Fetch = Callable[[], Awaitable[V] | AsyncIterator[V]]


@dataclass(frozen=True, slots=True)
class Entry(Generic[V]):
    """A cached value, with the times at which it was fetched and should be fetched again.

    Attributes:
        value: the fetched value.
        fetched_at: the time at which the oldest part of the value was fetched.
        fresh_until: the time at which the value becomes stale.
        retry_at: the time to fetch again; before `fresh_until` if the value is incomplete.
        complete: True if another fetch would not add data.
        error: the error due to which the value is incomplete or could not be renewed, or None.
        public: True if it was fetched for the public widget, which may spend half of each budget.
    """

    value: V
    fetched_at: datetime
    fresh_until: datetime
    retry_at: datetime
    complete: bool = True
    error: Exception | None = None
    public: bool = False

    def serves(self, *, public: bool) -> bool:
        """Return True if the entry may answer the widget (`public`) or a request with an API key.

        An incomplete value that was fetched for the widget may answer only the widget: a request
        with an API key fetches again, because it may spend more of each budget.
        """
        return self.complete or public or not self.public


@dataclass(frozen=True)
class Sharing(Generic[K, V]):
    """A description of how processes share the complete values of a `Cached`.

    Attributes:
        cache: the cache through which processes share values.
        name: returns the provider and the key under which a value is stored.
        pack: encodes a value and its fetch time as bytes.
        unpack: decodes what `pack` returned; raises one of `DAMAGED` for damaged data.
        stored: True to store values also in the database, which the provider's terms must allow.
        serves: receives a key and a stored value; returns True if the value has some of the data
            that the key requests. Equal keys may request different data.
    """

    cache: SharedCache
    name: Callable[[K], tuple[str, str]]
    pack: Callable[[V, datetime], bytes]
    unpack: Callable[[bytes], tuple[V, datetime]]
    stored: bool = True
    serves: Callable[[K, V], bool] = lambda _key, _value: True


class Cached(Generic[K, V]):
    """A cache of values by key, which fetches missing values or takes them from other processes.

    A `fetch` is a function without arguments. It returns an awaitable of the value, or an async
    iterator of parts of the value, which `merge` joins. At most one fetch per key is under way; it
    continues when its callers stop waiting. This class sets no limits on calls to a provider: the
    `ProviderClient` that a fetch calls does.

    Args:
        clock: returns the time, UTC.
        fresh: the time for which a value is fresh: a time span, or a function of key, value and
            fetch time that returns the end of freshness.
        stale: the age up to which a value may be used if no newer one is available; None: no limit
            except `max_size`.
        max_size: the largest total size of all values.
        size_of: returns the size of a value; without it every value counts 1.
        merge: joins an earlier and a later value. If set, an incomplete value adds to the previous
            value instead of replacing it.
        is_complete: returns True if another fetch would not add to this value.
        retry_incomplete: the time after which an incomplete value is fetched again.
        apart: True if requests with an API key never share a fetch with requests for the widget.
            If False, they share it, and a request with an API key fetches again only if the shared
            fetch was refused or incomplete.
        sharing: describes how processes share values; None if they do not.

    Example:
        >>> import asyncio
        >>> from datetime import UTC
        >>> async def main():
        ...     source = Cached[str, str](
        ...         clock=lambda: datetime.now(UTC),
        ...         fresh=timedelta(minutes=30),
        ...         stale=timedelta(hours=6),
        ...         max_size=2_000,
        ...     )
        ...     async def fetch():  # a real fetch calls its `ProviderClient`
        ...         return "sunny"
        ...     entry = await source.get("Paris", fetch, Deadline.after(2.0))
        ...     await source.close()
        ...     return entry.value, entry.complete, source.peek("Paris") == entry
        >>> asyncio.run(main())
        ('sunny', True, True)
    """

    def __init__(  # noqa: PLR0913  each argument is one rule of this source
        self,
        clock: Clock,
        *,
        fresh: timedelta | Callable[[K, V, datetime], datetime],
        stale: timedelta | None,
        max_size: int,
        size_of: Callable[[V], int] | None = None,
        merge: Callable[[V, V], V] | None = None,
        is_complete: Callable[[V], bool] | None = None,
        retry_incomplete: timedelta = timedelta(minutes=5),
        apart: bool = False,
        sharing: Sharing[K, V] | None = None,
    ) -> None:
        self._entries: LRUCache[K, Entry[V]] = LRUCache(
            max_size, (lambda entry: size_of(entry.value)) if size_of else None
        )
        self._in_flight: SingleFlight[Entry[V]] = SingleFlight()
        self._clock = clock
        self._fresh = fresh
        self._stale = stale
        self._merge = merge
        self._is_complete = is_complete or (lambda _: True)
        self._retry_incomplete = retry_incomplete
        self._apart = apart
        self._sharing = sharing
        self._parts: dict[K, V] = {}  # parts received by fetches under way
        self._generation = 0

    def peek(self, key: K) -> Entry[V] | None:
        """Return the cached value, fresh or stale, without a fetch; None if there is none."""
        entry = self._entries.get(key)
        if entry and self._stale is not None and self._clock() - entry.fetched_at > self._stale:
            self._entries.pop(key)
            return None
        return entry

    async def get(
        self, key: K, fetch: Fetch[V], deadline: Deadline, *, public: bool = False
    ) -> Entry[V]:
        """Return the best value by the deadline: fresh, else stale, else the parts received so far.

        If the fetch failed or was late, the entry's `error` is the reason. `public` means that
        the value is for the widget.

        Raises:
            ProviderError: nothing is cached, and the fetch failed.
            TimeoutError: no value by the deadline; the fetch continues for the next caller.
        """
        try:
            return await self.get_fresh(key, fetch, deadline, public=public)
        except (ProviderError, TimeoutError) as error:
            entry = self.peek(key) or self._partial(key)
            if entry is None:
                raise
            return replace(entry, error=error)

    async def get_fresh(
        self, key: K, fetch: Fetch[V], deadline: Deadline, *, public: bool = False
    ) -> Entry[V]:
        """Return the cached value until its `retry_at`; after that, fetch and return a new value.

        Raises:
            ProviderError: the fetch failed; any other error of `fetch` is raised unchanged.
            TimeoutError: no value by the deadline; the fetch continues for the next caller.
        """
        cached = self.peek(key)
        if cached and self._clock() < cached.retry_at and cached.serves(public=public):
            return cached
        joins = self.is_fetching(key, public=public)
        try:
            entry = await self._wait(key, fetch, deadline, public=public)
        except ProviderBackoff:
            if public or not joins:
                raise
        else:
            if not joins or entry.serves(public=public):
                return entry
        return await self._wait(key, fetch, deadline, public=public)

    async def _wait(self, key: K, fetch: Fetch[V], deadline: Deadline, *, public: bool) -> Entry[V]:
        """Wait for the fetch under way and return its result; start a fetch if there is none."""
        flight = self._flight(key, public=public)
        return await self._in_flight.run(
            flight, lambda: self._run(key, fetch, public=public), deadline
        )

    def start(self, key: K, fetch: Fetch[V], *, public: bool = False) -> None:
        """Start a fetch in the background, unless one is under way."""
        flight = self._flight(key, public=public)
        self._in_flight.start(flight, lambda: self._run(key, fetch, public=public))

    def put(self, key: K, value: V) -> None:
        """Cache a value that was obtained without a fetch of this cache.

        Other processes can read the value only later: after the next delayed write to the database
        or, with Redis, when the next fetch of this process ends and all waiting values are written.
        """
        self._share(key, self._store(key, value, None, public=False))

    def drop(self, key: K) -> None:
        """Remove the value of a key."""
        self._entries.pop(key)

    def is_fetching(self, key: K, *, public: bool = False) -> bool:
        """Return True if a fetch of this key is under way.

        If the cache was created with `apart=True`, fetches with the other `public` are ignored.
        """
        return self._flight(key, public=public) in self._in_flight

    def _flight(self, key: K, *, public: bool) -> Hashable:
        """Return the key under which concurrent callers share a fetch.

        If the cache was created with `apart=True`, widget and API callers have different keys.
        """
        return (key, public) if self._apart else key

    def clear(self) -> None:
        """Remove all values; the results of fetches under way will not be cached."""
        self._entries.clear()
        self._generation += 1

    async def close(self) -> None:
        """Cancel running fetches; finish storing values that other processes share."""
        await self._in_flight.close()
        if self._sharing:
            await self._sharing.cache.close()

    async def _run(self, key: K, fetch: Fetch[V], *, public: bool) -> Entry[V]:
        """Return a fresh value of another process; else fetch one while holding the key's lock."""
        if (sharing := self._sharing) is None:
            return await self._fetch(key, fetch, public=public)
        name = sharing.name(key)
        data = await sharing.cache.load(*name, stored=sharing.stored)
        if (entry := self._fresh_shared(key, data)) is not None:
            return entry
        async with sharing.cache.locked(*name) as data:
            if (entry := self._fresh_shared(key, data)) is not None:
                return entry
            return await self._fetch(key, fetch, public=public)

    async def _fetch(self, key: K, fetch: Fetch[V], *, public: bool) -> Entry[V]:
        generation = self._generation
        value, error = await self._collect(key, fetch)
        cached = generation == self._generation
        entry = self._store(key, value, error, public=public, cached=cached)
        if cached:
            self._share(key, entry)
        return entry

    async def _collect(self, key: K, fetch: Fetch[V]) -> tuple[V, ProviderError | None]:
        """Return the fetched value, and the error if the fetch failed after its first part."""
        fetched = fetch()
        if not isinstance(fetched, AsyncIterator):
            return await fetched, None
        try:
            async for part in fetched:
                before = self._parts.get(key)
                joined = part if before is None or not self._merge else self._merge(before, part)
                self._parts[key] = joined
        except ProviderError as error:
            if key not in self._parts:
                raise
            error.__traceback__ = error.__context__ = None  # cached: free the frames' memory
            return self._parts[key], error
        else:
            return self._parts[key], None
        finally:
            self._parts.pop(key, None)

    def _store(
        self,
        key: K,
        value: V,
        error: ProviderError | None,
        *,
        public: bool,
        cached: bool = True,
    ) -> Entry[V]:
        """Return the entry of a value, and cache it if `cached`.

        If the cache has a function `merge`, it joins an incomplete value with the previous value.
        Otherwise, an incomplete value does not replace a complete value that is still fresh.
        """
        now, before = self._clock(), self.peek(key)
        complete = error is None and self._is_complete(value)
        fresh_until = self._fresh_until(key, value, now)
        retry_at = fresh_until if complete else min(fresh_until, now + self._retry_incomplete)
        entry = Entry(value, now, fresh_until, retry_at, complete, error, public)
        if not complete and before and self._merge:
            entry = replace(
                entry,
                value=self._merge(before.value, value),
                fetched_at=before.fetched_at,
                fresh_until=before.fresh_until,
            )
        elif not complete and before and before.complete and now < before.retry_at:
            return entry  # keep the complete value that a parallel fetch has cached
        if cached:
            self._entries.put(key, entry)
        return entry

    def _fresh_until(self, key: K, value: V, fetched_at: datetime) -> datetime:
        if isinstance(self._fresh, timedelta):
            return fetched_at + self._fresh
        return self._fresh(key, value, fetched_at)

    def _partial(self, key: K) -> Entry[V] | None:
        """Return the parts received so far by a fetch under way; None if there are none."""
        if (value := self._parts.get(key)) is None:
            return None
        now = self._clock()
        return Entry(value, now, self._fresh_until(key, value, now), now, complete=False)

    def _fresh_shared(self, key: K, data: bytes | None) -> Entry[V] | None:
        """Cache the value that another process packed as `data`; return it if it is fresh."""
        if self._sharing is None or not data:
            return None
        try:
            value, fetched_at = self._sharing.unpack(data)
        except DAMAGED:
            return None
        if not self._sharing.serves(key, value):
            return None
        fresh_until, before = self._fresh_until(key, value, fetched_at), self.peek(key)
        entry = Entry(value, fetched_at, fresh_until, fresh_until)
        if before is None or before.fetched_at < fetched_at:
            self._entries.put(key, entry)
        return entry if self._clock() < fresh_until else None

    def _share(self, key: K, entry: Entry[V]) -> None:
        sharing = self._sharing
        if sharing is None or not entry.complete or not sharing.cache.saves(stored=sharing.stored):
            return
        expires = entry.fresh_until if self._stale is None else entry.fetched_at + self._stale
        data = sharing.pack(entry.value, entry.fetched_at)
        record = CacheRecord(*sharing.name(key), expires, data)
        sharing.cache.save(record, stored=sharing.stored)
