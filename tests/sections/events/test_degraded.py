"""Events name the reason when the answer of a provider is missing."""

import pytest

from location_context.sections.events.response import NoEvents
from tests.fakes import ticketmaster
from tests.fakes.server import FakeResponse, FakeServer
from tests.sections.events.conftest import PARIS, SEA

CHRISTMAS = "2026-12-24", "2026-12-26"
SOLD = ticketmaster.responding(
    [ticketmaster.event("Phoenix", ticketmaster.at("2026-12-25", "20:00:00"))]
)
HANG, DOWN = FakeResponse(fault="hang"), FakeResponse(b"<html>Bad Gateway</html>", 502)


async def degraded_reason(opened, seconds: float = 4.0) -> str | None:
    """Return the reason of an answer that is degraded when it has one and complete when not."""
    reading = await opened.read(PARIS, *CHRISTMAS, seconds)
    body = reading.body
    assert body.degraded == (body.degraded_reason is not None) == (not reading.complete)
    return body.degraded_reason


@pytest.mark.parametrize(
    ("respond", "settings", "reason"),
    [
        (SOLD, {"ticketmaster_url": ""}, None),
        (SOLD, {}, None),
        (lambda _: DOWN, {}, "provider_unavailable"),
        (lambda _: HANG, {}, "late"),
        (SOLD, {"budget_share": 0.0001}, "budget_spent"),  # of 4,000 calls a day: less than one
    ],
    ids=["not configured", "complete", "failing", "silent", "spent budget"],
)
async def test_degraded_reason_names_why_events_of_a_provider_are_missing(
    open_section, respond, settings, reason
):
    with FakeServer(respond).running() as provider:
        async with open_section(**{"ticketmaster_url": provider.url, **settings}) as opened:
            assert await degraded_reason(opened, 1.0 if reason == "late" else 4.0) == reason
        assert bool(provider.requests) is not bool(settings)


async def test_degraded_reason_of_several_failures_is_that_of_the_longest_lasting_failure(
    open_section,
):
    with (
        FakeServer(lambda _: HANG).running() as silent,
        FakeServer(lambda _: DOWN).running() as down,
    ):
        urls = {"ticketmaster_url": silent.url, "predicthq_url": down.url + "/v1/events/"}
        async with open_section(**urls) as opened:
            assert await degraded_reason(opened, 1.0) == "provider_unavailable"


async def test_answer_without_events_is_incomplete_if_a_provider_is_missing(open_with):
    async with open_with("ticketmaster", lambda _: DOWN) as (opened, _):
        reading = await opened.read(SEA, *CHRISTMAS)
    assert isinstance(reading.body, NoEvents)
    assert not reading.complete
    assert (reading.body.degraded, reading.body.degraded_reason) == (True, "provider_unavailable")
