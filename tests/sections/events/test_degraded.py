"""Events say when a provider's answer is missing, and why."""

import pytest

from location_context.sections.contract import NotApplicable
from location_context.settings import Secret
from tests.fakes import predicthq, ticketmaster
from tests.fakes.server import FakeResponse, FakeServer

pytestmark = pytest.mark.anyio
PARIS, SEA = (48.8566, 2.3522), (0.0, -30.0)
CHRISTMAS = "2026-12-24", "2026-12-26"
KEYS = {
    "ticketmaster_api_key": Secret(ticketmaster.KEY),
    "predicthq_api_key": Secret(predicthq.TOKEN),
}
SOLD = ticketmaster.responding(
    [ticketmaster.event("Phoenix", ticketmaster.at("2026-12-25", "20:00:00"))]
)
HANG, DOWN = FakeResponse(fault="hang"), FakeResponse(b"<html>Bad Gateway</html>", 502)


async def degraded_reason(opened, seconds: float = 4.0) -> str | None:
    """The reason of the answer, which is degraded when it has one and complete when not."""
    reading = await opened.read(PARIS, *CHRISTMAS, seconds)
    body = reading.body
    assert body.degraded == (body.degraded_reason is not None) == (not reading.complete)
    return body.degraded_reason


async def test_providers_that_are_not_configured_do_not_degrade_the_answer(open_section):
    async with open_section() as opened:
        assert await degraded_reason(opened) is None


async def test_with_all_that_was_asked_the_answer_is_not_degraded(open_section):
    with FakeServer(SOLD).running() as provider:
        async with open_section(ticketmaster_url=provider.url, **KEYS) as opened:
            assert await degraded_reason(opened) is None


async def test_a_failing_provider_is_provider_unavailable(open_section):
    with FakeServer(lambda _: DOWN).running() as provider:
        async with open_section(ticketmaster_url=provider.url, **KEYS) as opened:
            assert await degraded_reason(opened) == "provider_unavailable"


async def test_a_provider_s_stale_answer_is_provider_unavailable(open_section):
    with FakeServer(SOLD).running() as provider:
        async with open_section(ticketmaster_url=provider.url, **KEYS) as opened:
            assert await degraded_reason(opened) is None
            provider.respond = lambda _: DOWN
            opened.clock.move(hours=4)
            assert await degraded_reason(opened) == "provider_unavailable"


async def test_a_silent_provider_is_late(open_section):
    with FakeServer(lambda _: HANG).running() as provider:
        async with open_section(ticketmaster_url=provider.url, **KEYS) as opened:
            assert await degraded_reason(opened, 1.0) == "late"


async def test_a_provider_whose_budget_is_spent_is_budget_spent(open_section):
    with FakeServer(SOLD).running() as provider:
        spent = {"budget_share": 0.0001}  # of 4,000 calls a day: less than one
        async with open_section(ticketmaster_url=provider.url, **KEYS, **spent) as opened:
            assert await degraded_reason(opened) == "budget_spent"
        assert not provider.requests


async def test_of_several_providers_the_reason_that_lasts_longest_is_told(open_section):
    with (
        FakeServer(lambda _: HANG).running() as silent,
        FakeServer(lambda _: DOWN).running() as down,
    ):
        urls = {"ticketmaster_url": silent.url, "predicthq_url": down.url + "/v1/events/"}
        async with open_section(**urls, **KEYS) as opened:
            assert await degraded_reason(opened, 1.0) == "provider_unavailable"


async def test_no_events_that_lack_a_provider_are_kept_for_a_minute_only(open_section):
    with FakeServer(lambda _: DOWN).running() as provider:
        async with open_section(ticketmaster_url=provider.url, **KEYS) as opened:
            reading = await opened.read(SEA, *CHRISTMAS)
    assert isinstance(reading.body, NotApplicable)
    assert not reading.complete
