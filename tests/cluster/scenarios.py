"""Scenarios: what must hold while parts of a cluster end and return, each with its own cluster.

A request failed unless it got its right answer: 503 is a failure, and so is a closed connection.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.cluster.cluster import Cluster
from tests.cluster.findings import Finding, Given
from tests.cluster.load import Client, Load, guest
from tests.cluster.spending import (
    BUDGETS,
    WARM_BUDGETS,
    budget_over_restart,
    cold_cell,
    warm_killed,
)

KEYS = 3
QUOTA, AT_ONCE = 100, 500
CLOCK_AHEAD = 90.0
REVOKED_WITHIN = 5.0
REPLACED_SECONDS = 5.0  # until nginx asks a new replica again: above its `fail_timeout`
SKY = "/v1/pulse/astronomy?lat=48.8566&lng=2.3522&start=2026-12-01&end=2026-12-03"


class Scenario(NamedTuple):
    """What is claimed, how it is tried, and what its cluster needs."""

    claim: str
    run: Callable[[Cluster, Given], Awaitable[Finding]]
    needs: Mapping[str, Any] = {}

    async def finding(self, given: Given) -> Finding:
        """Tried in a cluster of its own."""
        async with Cluster(**self.needs) as cluster:
            return await self.run(cluster, given)


async def _under_load(
    cluster: Cluster, given: Given, steps: Callable[[], Awaitable[None]]
) -> Finding:
    """What came of requests while the steps were taken, with a pause before and after."""
    keys = [(await cluster.key(f"key {number}"))[0] for number in range(KEYS)]
    async with Load(cluster.proxy, keys, rate=given.rate, places=given.places) as load:
        await asyncio.sleep(given.pause)
        await steps()
        await asyncio.sleep(given.pause)
    seen = f"{load.count:,} requests, {len(load.failed)} failed, slowest {load.slowest:.1f} s"
    degraded = load.answers["degraded"]
    more = [f"{degraded:,} degraded"] if degraded else []
    return Finding(not load.failed, "; ".join([seen, *more, *load.failed[:5]]))


async def replica_killed(cluster: Cluster, given: Given) -> Finding:
    async def steps() -> None:
        cluster.replicas[0].kill()
        await asyncio.sleep(given.pause)
        await cluster.replicas[0].start()

    return await _under_load(cluster, given, steps)


async def redis_stops(cluster: Cluster, given: Given) -> Finding:
    async def steps() -> None:
        await cluster.redis.stop()
        await asyncio.sleep(given.pause)
        await cluster.redis.start()

    return await _under_load(cluster, given, steps)


async def postgresql_restarts(cluster: Cluster, given: Given) -> Finding:
    async def steps() -> None:
        await cluster.postgresql.stop()
        await cluster.postgresql.start()

    return await _under_load(cluster, given, steps)


async def rolling_upgrade(cluster: Cluster, given: Given) -> Finding:
    async def steps() -> None:
        for replica in cluster.replicas:
            await replica.stop()
            await replica.start()
            await asyncio.sleep(REPLACED_SECONDS)

    return await _under_load(cluster, given, steps)


async def quota(cluster: Cluster, _: Given) -> Finding:
    key, _ = await cluster.key("a quota", per_minute=QUOTA)
    statuses = await _statuses([Client(cluster.proxy, guest(n)) for n in range(AT_ONCE)], key)
    return Finding(
        statuses == {200: QUOTA, 429: AT_ONCE - QUOTA},
        ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items())),
    )


async def key_revoked(cluster: Cluster, _: Given) -> Finding:
    key, number = await cluster.key("leaked")

    async def everywhere() -> Counter[int]:
        """New connections, of which each worker of both replicas takes some."""
        return await _statuses([Client(one) for one in cluster.replicas for _ in range(20)], key)

    before = await everywhere()
    await cluster.command("keys", "revoke", number)
    revoked = time.monotonic()
    passed, later = 0.0, before
    while time.monotonic() < revoked + REVOKED_WITHIN + 2:
        request = time.monotonic()
        later = await everywhere()
        if later[200]:
            passed = request - revoked
        await asyncio.sleep(0.1)
    held = set(before) == {200} and set(later) == {401} and passed < REVOKED_WITHIN
    return Finding(held, f"last accepted after {passed:.1f} s; then {dict(later)}")


async def _statuses(clients: Sequence[Client], key: str) -> Counter[int]:
    """How each of these is answered, all at once."""
    headers = {"Authorization": f"Bearer {key}"}
    answers = await asyncio.gather(*(client.ask(SKY, headers) for client in clients))
    for client in clients:
        client.close()
    return Counter(answer.status for answer in answers)


SCENARIOS = {
    "replica-killed": Scenario("a replica is killed and comes back", replica_killed),
    "redis-stops": Scenario("Redis stops and returns, empty", redis_stops),
    "postgresql-restarts": Scenario("PostgreSQL restarts", postgresql_restarts),
    "rolling-upgrade": Scenario("replicas are replaced one by one", rolling_upgrade),
    "quota": Scenario("a quota of 100 over four workers, 500 at once: 100 pass", quota),
    "quota-wrong-clock": Scenario(
        "the same with the clock of a replica 90 s ahead", quota, {"ahead": CLOCK_AHEAD}
    ),
    "key-revoked": Scenario("a revoked key is dead everywhere within 5 s", key_revoked),
    "cold-cell": Scenario(
        "a cold place requested 40 times of both replicas at once: nothing is fetched twice",
        cold_cell,
    ),
    "budget": Scenario(
        "replicas and Redis are killed in the middle of a minute: no budget is exceeded",
        budget_over_restart,
        {"settings": BUDGETS},
    ),
    "warm": Scenario(
        "`warm` of 500 places, killed and run again: complete, and nothing is fetched twice",
        warm_killed,
        {"settings": WARM_BUDGETS},
    ),
}
