"""Host: what a provider counts by caller, whichever of its addresses is asked and by whom.

Units spent, calls in flight, and the quiet it asked for belong to the host: every `Upstream` that
asks it, of whatever section, shares one `Host`, which `Hosts` hands out by name.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from location_context.upstream.budget import Budget
from location_context.upstream.slots import LocalSlots

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from datetime import datetime

    from location_context.upstream.slots import Slots


class Host:
    """One provider's machines as its terms count them."""

    def __init__(self, budget: Budget | None = None, slots: Slots | None = None) -> None:
        """`budget` in the provider's units; `slots` for calls in flight; None is without limit."""
        self.budget = budget or Budget({})
        self.quiet_until: datetime | None = None
        self.answers = False  # whether the newest call to it succeeded, or was refused in form
        self._slots = slots

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Waits until one more call may be in flight, and counts it until the block ends."""
        async with AsyncExitStack() as stack:
            if self._slots is not None:
                await stack.enter_async_context(self._slots.hold())
            yield


class Hosts:
    """The shared hosts of one process, by name. `make_slots` counts calls beyond the process.

    Example:
        host = hosts.get("open_meteo", {MINUTE: 480.0}, at_once=3)
        upstream = Upstream("open_meteo_marine", url, client, clock, host=host)
    """

    def __init__(
        self,
        make_slots: Callable[[str, int], Slots] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` is the clock of the budgets, in seconds."""
        self._now = now
        self._make_slots = make_slots or (lambda _, count: LocalSlots(count))
        self._hosts: dict[str, Host] = {}

    @property
    def refused(self) -> int:
        """How many calls the budgets of hosts that answer did not allow so far."""
        return sum(host.budget.refused for host in self._hosts.values() if host.answers)

    def wait(self, units: float) -> float:
        """Seconds until every host may be asked for so many units."""
        return max((host.budget.wait(units) for host in self._hosts.values()), default=0.0)

    def span(self, share: float) -> float:
        """Seconds that spending so many times what was spent so far will take."""
        budgets = [host.budget for host in self._hosts.values()]
        return max((budget.span(budget.total * share) for budget in budgets), default=0.0)

    def get(
        self, name: str, limits: Mapping[float, float], *, share: float = 1.0, at_once: int | None
    ) -> Host:
        """The host of that name; whoever asks first settles its limits.

        Args:
            name: a word for file names and Redis keys, such as `open_meteo`.
            limits: units by the length of their window in seconds, as `Budget` takes them.
            share: this process's part of them.
            at_once: calls in flight, over all processes; None is without limit.
        """
        if name not in self._hosts:
            slots = None if at_once is None else self._make_slots(name, at_once)
            self._hosts[name] = Host(Budget(limits, self._now, share=share), slots)
        return self._hosts[name]
