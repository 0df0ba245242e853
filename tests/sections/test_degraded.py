"""The codes of what is degraded: one table, one order, and a flag that follows from the reason."""

from datetime import timedelta
from typing import get_args

import msgspec
import pytest

from location_context.errors import (
    ProviderBackoff,
    ProviderBudgetSpent,
    ProviderStatusError,
    ProviderTimeout,
    UpstreamUnavailable,
)
from location_context.freshness import Freshness
from location_context.sections.contract import (
    DEGRADED,
    DegradedReason,
    NotApplicable,
    SectionResult,
    degraded_by,
    foremost,
)
from tests.moved_clock import NOON
from tests.sections.conftest import QUERY, failing, soon
from tests.web.sections import FakeSection


def test_each_degraded_reason_has_exactly_one_sentence():
    assert tuple(DEGRADED) == get_args(DegradedReason)


def test_degraded_and_complete_flags_follow_from_degraded_reason():
    whole = FakeSection().body(QUERY)
    lesser = msgspec.structs.replace(whole, degraded_reason="late")
    for body, degraded in ((whole, False), (lesser, True)):
        assert body.degraded is degraded
        assert SectionResult(body, NOON).complete is not degraded
        assert msgspec.json.decode(msgspec.json.encode(body))["degraded"] is degraded


def test_most_important_of_several_degraded_reasons_is_reported():
    assert foremost([None, "late", "provider_unavailable", None]) == "provider_unavailable"
    assert foremost(reversed(DEGRADED)) == "forecast_unavailable"
    assert foremost(["budget_spent", "late"]) == "late"  # since a retry helps
    assert foremost([None]) is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError(), "late"),
        (ProviderTimeout("x", "did not answer in time"), "late"),
        (ProviderBudgetSpent("x", "the budget of calls is spent"), "budget_spent"),
        (ProviderBackoff("x", "requested a pause"), "provider_unavailable"),
        (ProviderStatusError("x", 502), "provider_unavailable"),
    ],
)
def test_each_provider_error_maps_to_its_degraded_reason(error, reason):
    assert degraded_by(error) == reason


@pytest.mark.parametrize("before", [None, "budget_spent"])
async def test_stale_answer_after_a_failed_read_is_degraded(before, cached, tides, clock):
    tides.lacking = before
    await cached.read(QUERY, soon())
    failing(tides, UpstreamUnavailable("nothing", 5))
    clock.advance(timedelta(minutes=30).total_seconds())
    body = (await cached.read(QUERY, soon())).body
    assert (body.stale, body.degraded) == (True, True)
    assert body.degraded_reason == (before or "provider_unavailable")


def test_answer_is_cacheable_if_only_a_spent_budget_degrades_it():
    whole = FakeSection().body(QUERY)
    for reason in (None, *DEGRADED):
        for stale in (False, True):
            lesser = msgspec.structs.replace(whole, degraded_reason=reason, stale=stale)
            expected = reason is None or (reason == "budget_spent" and not stale)
            assert SectionResult(lesser, NOON).is_cacheable is expected
    nothing = NotApplicable(reason="no_events", message="none")
    assert [SectionResult(nothing, NOON, one).is_cacheable for one in (None, *DEGRADED)] == [
        True, False, False, False, False, True,
    ]  # fmt: skip


def test_spent_budget_shortens_caching_of_an_answer_by_the_service_but_not_by_http_clients():
    body = msgspec.structs.replace(FakeSection().body(QUERY), degraded_reason="budget_spent")
    freshness = Freshness.of([SectionResult(body, NOON + timedelta(days=1))], "public")
    assert freshness.cache_control(86_400).startswith("public, max-age=900, ")
    assert freshness.cache_control(300).startswith("public, max-age=300, ")
    now = NOON.timestamp()
    assert freshness.reusable_until(now) == now + 60
    late = msgspec.structs.replace(body, degraded_reason="late")
    both = Freshness.of([SectionResult(one, NOON) for one in (body, late)], "public")
    assert both.cache_control(300) == "public, max-age=60"
    assert both.reusable_until(now) == now + 5
