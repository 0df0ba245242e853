"""Budget: how much a provider may be asked in each window, and where that is counted (`Ledger`).

What was spent stands in buckets of a sixtieth of a window, so that no stretch of a window's length
ever holds more than its limit. Processes exchange it as JSON, through a file or Redis, and join two
states by the larger number in each bucket: a bucket only grows, so that nothing is lost or counted
twice. `storage/budget.lua` keeps the same rules in Redis.
"""

import asyncio
import os
import random
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import msgspec
import structlog

from location_context.errors import DAMAGED
from location_context.settings import WINDOWS
from location_context.settings.data_dir import give_to_owner, make_folder, try_lock

SECOND, MINUTE, HOUR, DAY, MONTH = WINDOWS.values()
BUCKETS = 60  # per window
_LOCK_RETRY_SECONDS, _LOCK_PATIENCE = 0.002, 3.0  # a ledger's is held for under a millisecond
_NAMES = {seconds: name for name, seconds in WINDOWS.items()}


class _Tally(msgspec.Struct):
    """What was spent in a window.

    Attributes:
        buckets: units, and those of public traffic, by the number of the bucket since 1970.
        told: until when the log need not say again that it is spent, or its public half.
    """

    buckets: dict[int, tuple[float, float]] = {}
    told: tuple[float, float] = (0.0, 0.0)


class _State(msgspec.Struct):
    """What processes exchange: a tally by the name of its window, and how many machines count."""

    windows: dict[str, _Tally] = {}
    machines: int = 1


_decode_state = msgspec.json.Decoder(_State).decode


@dataclass(frozen=True)
class WindowState:
    """A window of a budget, in the provider's units.

    `free_in` is in seconds: when as many units are free as were asked about, 0 if they are now.
    """

    window: str
    limit: float
    used: float
    free_in: float

    @property
    def left(self) -> float:
        return max(0.0, self.limit - self.used)


class Window:
    """Units spent in the last `seconds`.

    A limit by the second is a pace: one call in each part of it. Of any other, public traffic may
    spend half, or what one answer costs (`least`) where that is more.
    """

    def __init__(self, seconds: float, limit: float, least: float) -> None:
        self.name = _NAMES.get(seconds, f"{seconds:g} s")
        self.is_pace = seconds < MINUTE
        self.seconds = seconds / max(1.0, limit) if self.is_pace else seconds
        self.limit = 1.0 if self.is_pace else limit
        self.public_limit = limit if self.is_pace else max(limit / 2, min(limit, least))
        self.tally = _Tally()

    @property
    def spent(self) -> float:
        return sum(units for units, _ in self.tally.buckets.values())

    def part(self, *, public: bool) -> tuple[float, float]:
        """The limit and what is used of it; of public traffic's part alone, if so asked."""
        if not public:
            return self.limit, self.spent
        return self.public_limit, sum(units for _, units in self.tally.buckets.values())

    def join(self, now: float, other: _Tally | None = None) -> None:
        """Take over what another state knows, and forget what has left the window.

        What lies in the future, since the clock was set back, counts as spent now.
        """
        newest, joined = self._bucket(now), dict[int, tuple[float, float]]()
        for tally in (self.tally, other or _Tally()):
            for number, (units, public) in tally.buckets.items():
                if (place := min(number, newest)) >= newest - BUCKETS:
                    held = joined.get(place, (0.0, 0.0))
                    joined[place] = (max(held[0], units), max(held[1], public))
        latest, mine = now + self.seconds, self.tally.told
        theirs = other.told if other else mine
        told = (min(latest, max(mine[0], theirs[0])), min(latest, max(mine[1], theirs[1])))
        self.tally = _Tally(joined, told)

    def allows(self, units: float, *, public: bool) -> bool:
        units = 1.0 if self.is_pace else units
        parts = [self.part(public=kind) for kind in ((False, True) if public else (False,))]
        return all(used + units <= limit for limit, used in parts)

    def add(self, now: float, units: float, *, public: bool) -> None:
        units, number = 1.0 if self.is_pace else units, self._bucket(now)
        held = self.tally.buckets.get(number, (0.0, 0.0))
        self.tally.buckets[number] = (held[0] + units, held[1] + (units if public else 0.0))

    def tell(self, now: float, *, public: bool) -> bool:
        """Whether the log is to say that it is spent: once a window."""
        told = self.tally.told
        if now < told[public]:
            return False
        until = now + self.seconds
        self.tally.told = (told[0], until) if public else (until, told[1])
        return True

    def give_back(self, units: float, *, public: bool) -> None:
        """Take units out of the newest buckets, except of a pace: the call was tried."""
        for number in () if self.is_pace else sorted(self.tally.buckets, reverse=True):
            held, of_public = self.tally.buckets[number]
            part = min(units, of_public if public else held)
            self.tally.buckets[number] = (held - part, of_public - (part if public else 0.0))
            units -= part

    def wait(self, now: float, units: float, *, public: bool = False) -> float:
        """Seconds until so many of the oldest units have left the window that `units` fit."""
        limit, used = self.part(public=public)
        units, free = 1.0 if self.is_pace else min(units, limit), limit - used
        if free >= units:
            return 0.0
        for number in sorted(self.tally.buckets):
            free += self.tally.buckets[number][public]
            if free >= units:
                return max(0.0, (number + BUCKETS + 1) / BUCKETS * self.seconds - now)
        return self.seconds

    def span(self, units: float) -> float:
        """Seconds until `units` are spent: what does not fit now comes free at an even pace."""
        over = max(0.0, units - (self.limit - self.spent))
        return over / self.limit * self.seconds

    def _bucket(self, now: float) -> int:
        return int(now / self.seconds * BUCKETS)


class Budget:
    """Weighted units for one provider, as this process knows them. No limits allow everything.

    Attributes:
        total: units spent by this process.
        machines: how many were last known to share what Redis counts, this one included.
        offset: seconds by which the clock that counts is ahead of this process' own.
        news: windows that were found spent and are to be logged, and whether by public traffic.
    """

    def __init__(
        self,
        limits: Mapping[float, float],
        now: Callable[[], float] = time.time,
        *,
        share: float = 1.0,
        least: float = 0.0,
    ) -> None:
        """`limits` maps a window's length in seconds to its units; `share` is our part of them.

        `least` is what one answer may cost, which public traffic can always spend.
        """
        self.windows = [Window(seconds, limit * share, least) for seconds, limit in limits.items()]
        self.total = 0.0
        self.machines = 1
        self.offset = 0.0
        self.news: list[tuple[str, bool]] = []
        self._clock = now

    def now(self) -> float:
        """The time by the clock that counts, in seconds."""
        return self._clock() + self.offset

    def _current(self) -> float:
        """Forget what has left the windows; gives the time."""
        now = self.now()
        for window in self.windows:
            window.join(now)
        return now

    def take(self, units: float, *, public: bool = False, machines: int = 1) -> bool:
        """Spend `units` if every window allows it; False, and nothing spent, if one does not.

        Where `machines` count apart, each unit counts so often: together they spend no more.
        """
        now = self._current()
        charged = units * machines
        refusing = [one for one in self.windows if not one.allows(charged, public=public)]
        if refusing:
            told = [
                one.name for one in refusing if not one.is_pace and one.tell(now, public=public)
            ]
            self.news += [(name, public) for name in told]
            return False
        for window in self.windows:
            window.add(now, charged, public=public)
        self.total += units
        return True

    def give_back(self, units: float, *, public: bool = False) -> None:
        """Return units that `take` spent for a call that was not made."""
        for window in self.windows:
            window.give_back(units, public=public)
        self.total -= units

    def pause(self, units: float, *, public: bool) -> float | None:
        """Seconds until the pace allows a call; None where another window refuses it."""
        now = self._current()
        refusing = [one for one in self.windows if not one.allows(units, public=public)]
        if not all(one.is_pace for one in refusing):
            return None
        return max((one.wait(now, units) for one in refusing), default=0.0)

    def spent_share(self) -> float:
        """How much is spent of the window that has the least left, from 0 to 1."""
        self._current()
        return max((one.spent / one.limit for one in self.windows if not one.is_pace), default=0.0)

    def wait(self, units: float) -> float:
        """Seconds until `units` may be spent, or a whole window's; 0 when they may be now."""
        now = self._current()
        return max((window.wait(now, units) for window in self.windows), default=0.0)

    def span(self, units: float) -> float:
        """Seconds, about, until so many units are spent, more than a window holds included."""
        self._current()
        return max((one.span(units) for one in self.windows if not one.is_pace), default=0.0)

    def states(self, units: float = 1.0, *, public: bool = False) -> list[WindowState]:
        """Each window but a pace, or public traffic's part of it, and when `units` are free."""
        now = self._current()
        return [
            WindowState(one.name, *one.part(public=public), one.wait(now, units, public=public))
            for one in self.windows
            if not one.is_pace
        ]

    def dump(self) -> bytes:
        """What is known, for other processes."""
        windows = {one.name: one.tally for one in self.windows}
        return msgspec.json.encode(_State(windows, self.machines))

    def join(self, data: bytes) -> bool:
        """Take over what another process dumped; False where the data are damaged."""
        try:
            state = _decode_state(data)
        except DAMAGED:
            return False
        now = self.now()
        for window in self.windows:
            window.join(now, state.windows.get(window.name))
        self.machines = max(1, state.machines)
        return True


class Ledger(Protocol):
    """Where the units of a budget are counted."""

    async def take(self, budget: Budget, units: float, *, public: bool) -> bool:
        """As `Budget.take`, for all who share this; the budget then knows what they spent."""
        ...

    async def give_back(self, budget: Budget, units: float, *, public: bool) -> None:
        """Return units that `take` spent for a call that was not made."""
        ...

    async def refresh(self, budget: Budget) -> None:
        """Bring what the budget knows up to date."""
        ...


class FileLedger:
    """Counts over all processes that share `folder`, and over restarts.

    The state is replaced whole under a lock that is held for under a millisecond; without the lock
    nothing may be spent. Where the folder cannot be written to, this process counts alone.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._lock, self._file = folder / f"{name}.lock", folder / f"{name}.json"
        self._new = folder / f"{name}.new"
        self._alone = False

    @cached_property
    def machine(self) -> str:
        """Names all who share this folder; this process alone where it cannot be written to.

        With the host's name, so that a folder that is copied to another machine is another one.
        """
        file, own = self._folder / "machine", self._folder / f"machine-{secrets.token_hex(8)}"
        try:
            make_folder(self._folder)
            own.write_text(own.name, encoding="ascii")
            give_to_owner(own)
            with suppress(FileExistsError):
                file.hardlink_to(own)  # whole, and the first one wins
            own.unlink()
            return f"{socket.gethostname()}:{file.read_text(encoding='ascii')}"
        except OSError:
            return own.name

    async def take(
        self, budget: Budget, units: float, *, public: bool, divided: bool = False
    ) -> bool:
        """`divided`: by the machines that count apart while Redis is gone."""
        try:
            async with self._shared(budget):
                machines = budget.machines if divided else 1
                return budget.take(units, public=public, machines=machines)
        except TimeoutError:
            structlog.get_logger().warning("budget_file_locked", file=self._file.name)
            return False

    async def give_back(self, budget: Budget, units: float, *, public: bool) -> None:
        """Likewise; a process that read the file meanwhile still counts them."""
        with suppress(TimeoutError):
            async with self._shared(budget):
                budget.give_back(units, public=public)

    async def refresh(self, budget: Budget) -> None:
        with suppress(OSError):
            self._read(budget)

    async def save(self, budget: Budget) -> None:
        """Keep what the budget knows, such as what Redis said."""
        known = budget.dump()
        with suppress(OSError):
            if self._file.read_bytes() == known:
                return
        machines = budget.machines
        with suppress(TimeoutError):
            async with self._shared(budget):
                budget.machines = machines

    @asynccontextmanager
    async def _shared(self, budget: Budget) -> AsyncIterator[None]:
        """The budget with what others spent, which is written back."""
        descriptor = None
        try:
            try:
                descriptor = await self._locked()
                self._read(budget)
            except TimeoutError:
                raise
            except OSError as error:
                self._count_alone(error)
            try:
                yield
                if descriptor is not None:
                    self._new.write_bytes(budget.dump())
                    give_to_owner(self._new)
                    self._new.replace(self._file)
                    self._alone = False
            except OSError as error:
                self._count_alone(error)
        finally:
            if descriptor is not None:
                os.close(descriptor)  # which releases the lock

    async def _locked(self) -> int:
        until = time.monotonic() + _LOCK_PATIENCE
        while (descriptor := try_lock(self._lock)) is None:
            if time.monotonic() > until:
                raise TimeoutError
            await asyncio.sleep(_LOCK_RETRY_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311  jitter, no secret
        return descriptor

    def _read(self, budget: Budget) -> None:
        with suppress(FileNotFoundError):
            if not budget.join(self._file.read_bytes()):
                structlog.get_logger().warning("budget_file_damaged", file=self._file.name)

    def _count_alone(self, error: OSError) -> None:
        if not self._alone:
            why = error.strerror or type(error).__name__
            structlog.get_logger().warning("budget_not_shared", file=self._file.name, why=why)
        self._alone = True
