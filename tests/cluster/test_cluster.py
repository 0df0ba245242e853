"""Two replicas of two workers behind nginx: some of what `./scripts/check cluster` shows."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.findings import Given
from tests.cluster.parts import MissingProgram
from tests.cluster.scenarios import CLOCK_AHEAD, key_revoked, quota, replica_killed
from tests.databases import missing

SHORT = Given(pause=1.0, rate=10.0, places=4)


@pytest.fixture(scope="module")
async def cluster() -> AsyncIterator[Cluster]:
    """One for all tests, with the clock of a replica 90 s ahead."""
    async with AsyncExitStack() as stack:
        made = Cluster(ahead=CLOCK_AHEAD)
        try:
            await stack.enter_async_context(made)
        except MissingProgram as error:
            missing(str(error))
        yield made


async def test_cluster_admits_exactly_as_many_requests_as_the_quota_allows(
    cluster: Cluster,
) -> None:
    held, seen = await quota(cluster, SHORT)
    assert held, seen


async def test_cluster_refuses_a_revoked_key_within_5_s(cluster: Cluster) -> None:
    held, seen = await key_revoked(cluster, SHORT)
    assert held, seen


async def test_cluster_fails_no_request_while_a_replica_restarts(cluster: Cluster) -> None:
    held, seen = await replica_killed(cluster, SHORT)
    assert held, seen
