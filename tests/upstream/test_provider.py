"""Upstream: every fault of a provider becomes a typed error in time, and never a flood of calls."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from datetime import UTC, datetime, timedelta

import pytest

from location_context.errors import (
    ProviderAnswerInvalid,
    ProviderError,
    ProviderQuiet,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnreachable,
)
from location_context.stay import system_clock
from location_context.upstream.breaker import Breaker
from location_context.upstream.budget import DAY, Budget
from location_context.upstream.provider import Upstream, UpstreamLimits, http_client
from tests.standins.server import Answered, StandIn

pytestmark = pytest.mark.anyio
SECRET = "k3y-that-must-not-show"


@pytest.fixture
async def client():
    async with http_client("location-context/test (a@b.example)") as opened:
        yield opened


@pytest.fixture
def standin():
    with StandIn(lambda _: Answered({"ok": True})).running() as running:
        yield running


def upstream(client, url: str, **more) -> Upstream:
    more.setdefault("limits", UpstreamLimits(timeout=0.5, max_bytes=100_000))
    return Upstream("Provider", url, client, more.pop("clock", system_clock), **more)


async def ask(provider: Upstream, **more):
    return await provider.get({"lat": "1", "apikey": SECRET}, **more)


async def test_a_good_answer_comes_with_its_headers_and_json(client, standin):
    provider = upstream(client, standin.url + "/v1/forecast")
    answer = await ask(provider)
    assert answer.json() == {"ok": True}
    assert answer.headers["content-type"] == "application/json"
    assert standin.asked[0].path == "/v1/forecast"
    assert standin.asked[0].headers["user-agent"] == "location-context/test (a@b.example)"
    assert provider.last_success_at is not None
    assert provider.last_error_code is None


DEEP = b"[" * 100_000 + b"]" * 100_000
FAULTS = [
    (Answered(fault="hang"), ProviderTimeout),
    (Answered(b"x" * 100, fault="drip"), ProviderTimeout),
    (Answered(fault="drop"), ProviderUnreachable),
    (Answered(b"<html>bad gateway", 502, {"Content-Type": "text/html"}), ProviderRefused),
    (Answered({"error": True}, 400), ProviderRefused),
    (Answered(status=302, headers={"Location": "http://127.0.0.1:1/"}), ProviderAnswerInvalid),
    (Answered(b"x" * 100_001), ProviderAnswerInvalid),
    (
        Answered(gzip.compress(b"0" * 50_000_000), headers={"Content-Encoding": "gzip"}),
        ProviderAnswerInvalid,
    ),
    (Answered(b"not gzip", headers={"Content-Encoding": "gzip"}), ProviderAnswerInvalid),
]


@pytest.mark.parametrize(("answer", "error"), FAULTS)
async def test_each_fault_becomes_its_typed_error_within_the_time_limit(
    client, standin, answer, error
):
    standin.respond = lambda _: answer
    provider = upstream(client, standin.url)
    began = time.monotonic()
    with pytest.raises(error) as raised:
        await ask(provider)
    assert time.monotonic() - began < 3
    assert len(standin.asked) <= 2
    assert provider.last_error_code == error.code
    assert SECRET not in str(raised.value)
    assert "127.0.0.1" not in str(raised.value)


@pytest.mark.parametrize("body", [b'{"cut": [1, 2', b"<html>", b"", DEEP[:100_000], b'"\xff\xfe"'])
async def test_what_is_not_json_is_said_to_be_so(client, standin, body):
    standin.respond = lambda _: Answered(body)
    with pytest.raises(ProviderAnswerInvalid):
        (await ask(upstream(client, standin.url))).json()


async def test_an_answer_of_500_mb_is_left_at_the_cap(client, standin):
    standin.respond = lambda _: Answered(bytes(500_000_000))
    provider = upstream(client, standin.url, limits=UpstreamLimits(timeout=20, max_bytes=1_000_000))
    with pytest.raises(ProviderAnswerInvalid, match="larger than"):
        await ask(provider)


async def test_a_closed_port_and_an_unknown_name_are_unreachable(client):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
        for url in (closed, "http://no-such-name.invalid"):
            with pytest.raises((ProviderUnreachable, ProviderTimeout)):
                await ask(upstream(client, url))


async def test_after_three_failures_the_provider_is_left_alone(client, standin):
    standin.respond = lambda _: Answered(b"", 500)
    provider = upstream(client, standin.url)
    for _ in range(3):
        with pytest.raises(ProviderRefused):
            await ask(provider)
    with pytest.raises(ProviderQuiet, match="left alone"):
        await ask(provider)
    assert len(standin.asked) == 3
    assert not provider.available


async def test_a_wrong_call_does_not_open_the_breaker(client, standin):
    standin.respond = lambda _: Answered({"error": True}, 400)
    provider = upstream(client, standin.url)
    for _ in range(5):
        with pytest.raises(ProviderRefused):
            await ask(provider)
    assert provider.breaker.state == "closed"


async def test_a_429_means_quiet_until_the_time_it_names(client, standin):
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    standin.respond = lambda _: Answered({"reason": "slow down"}, 429, {"Retry-After": "30"})
    provider = upstream(client, standin.url, clock=lambda: now[0])
    with pytest.raises(ProviderRefused):
        await ask(provider)
    now[0] += timedelta(seconds=29)
    with pytest.raises(ProviderQuiet) as raised:
        await ask(provider)
    assert raised.value.until == datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
    assert len(standin.asked) == 1
    standin.respond = lambda _: Answered({})
    now[0] += timedelta(seconds=1)
    await ask(provider)


@pytest.mark.parametrize("asked", ["9" * 400, "\xb2", "-5", "soon", "", "1e3"])
async def test_a_senseless_retry_after_is_a_bounded_quiet(client, standin, asked: str):
    standin.respond = lambda _: Answered({}, 429, {"Retry-After": asked})
    provider = upstream(client, standin.url)
    with pytest.raises(ProviderRefused):
        await ask(provider)
    assert provider.quiet_until is not None
    assert provider.quiet_until - system_clock() <= timedelta(days=32)


async def test_a_provider_that_refuses_a_probe_is_alive_again(client, standin):
    standin.respond = lambda _: Answered(b"", 500)
    provider = upstream(client, standin.url, breaker=Breaker(pause=0.0))
    for _ in range(3):
        with pytest.raises(ProviderRefused):
            await ask(provider)
    standin.respond = lambda _: Answered({"error": True}, 400)
    with pytest.raises(ProviderRefused):
        await ask(provider)
    assert provider.breaker.state == "closed"


async def test_a_spent_budget_means_not_asking(client, standin):
    provider = upstream(client, standin.url, budget=Budget({DAY: 10}))
    await ask(provider, units=7)
    with pytest.raises(ProviderQuiet, match="budget"):
        await ask(provider, units=7)
    assert len(standin.asked) == 1


async def test_a_retry_is_paid_for_like_the_first_call(client, standin):
    standin.respond = lambda _: Answered(fault="drop")
    provider = upstream(client, standin.url, budget=Budget({DAY: 10}))
    with pytest.raises(ProviderUnreachable):
        await ask(provider, units=6)
    assert len(standin.asked) == 1
    assert provider.budget.spent() == {DAY: 6}


async def test_a_spent_budget_does_not_use_up_the_probe(client, standin):
    provider = upstream(client, standin.url, budget=Budget({DAY: 10}), breaker=Breaker(pause=0))
    provider.late()
    with pytest.raises(ProviderQuiet, match="budget"):
        await ask(provider, units=11)
    await ask(provider, units=1)
    assert provider.breaker.state == "closed"


async def test_a_provider_without_an_address_is_never_asked(client):
    provider = upstream(client, "")
    assert not provider.configured
    with pytest.raises(ProviderQuiet, match="not configured"):
        await ask(provider)


async def test_with_half_of_the_connections_breaking_calls_grow_by_a_fifth_at_most(client, standin):
    count = [0]

    def flaky(_) -> Answered:
        count[0] += 1
        return Answered(fault="drop") if count[0] % 2 else Answered({})

    standin.respond = flaky
    provider = upstream(client, standin.url)
    for _ in range(100):
        try:
            await ask(provider)
        except ProviderError:
            provider.breaker.succeed()
    assert len(standin.asked) <= 120


async def test_no_more_calls_at_once_than_the_bound(client, standin):
    provider = upstream(
        client, standin.url, limits=UpstreamLimits(timeout=0.4, max_bytes=100, max_in_flight=2)
    )
    standin.respond = lambda _: Answered(fault="hang")
    results = await asyncio.gather(*(ask(provider) for _ in range(6)), return_exceptions=True)
    assert all(isinstance(result, ProviderError) for result in results)
    assert len(standin.asked) == 2
