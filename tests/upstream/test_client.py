"""ProviderClient: every fault of a provider becomes a typed error in time, never many calls."""

import asyncio
import gc
import gzip
import socket
import threading
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from location_context.counters import ProviderCalls
from location_context.errors import (
    ProviderBackoff,
    ProviderError,
    ProviderResponseInvalid,
    ProviderStatusError,
    ProviderTimeout,
    ProviderUnreachable,
)
from location_context.stay import system_clock
from location_context.upstream.budget import DAY, HOUR, Budget
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.host import Breaker, Host, Hosts
from location_context.upstream.http import Backoff, HttpClient
from tests.fakes.server import FakeResponse, FakeServer
from tests.logs import captured_logs
from tests.moved_clock import MovedClock

SECRET = "k3y-that-must-not-show"


@pytest.fixture
async def client():
    async with HttpClient("location-context/test (a@b.example)") as opened:
        yield opened


@pytest.fixture
def standin():
    with FakeServer(lambda _: FakeResponse({"ok": True})).running() as running:
        yield running


def upstream(client, url: str, **more) -> ProviderClient:
    more.setdefault("limits", ClientLimits(timeout=0.5, max_bytes=100_000))
    return ProviderClient("Provider", url, client, more.pop("clock", system_clock), **more)


async def ask(provider: ProviderClient, **more):
    return await provider.get({"lat": "1", "apikey": SECRET}, lambda answer: answer, **more)


async def fail(provider: ProviderClient, times: int = 1) -> None:
    """Ask so often, each time to be answered with an error status."""
    for _ in range(times):
        with pytest.raises(ProviderStatusError):
            await ask(provider)


async def test_client_returns_headers_and_json(client, standin):
    provider = upstream(client, standin.url + "/v1/forecast")
    answer = await ask(provider)
    assert answer.json() == {"ok": True}
    assert answer.headers["content-type"] == "application/json"
    assert standin.requests[0].path == "/v1/forecast"
    assert standin.requests[0].headers["user-agent"] == "location-context/test (a@b.example)"
    assert provider.last_success_at is not None
    assert provider.last_error_code is None


DEEP = b"[" * 100_000 + b"]" * 100_000
FAULTS = [
    (FakeResponse(fault="hang"), ProviderTimeout),
    (FakeResponse(b"x" * 100, fault="drip"), ProviderTimeout),
    (FakeResponse(fault="drop"), ProviderUnreachable),
    (FakeResponse(b"<html>bad gateway", 502, {"Content-Type": "text/html"}), ProviderStatusError),
    (FakeResponse({"error": True}, 400), ProviderStatusError),
    (
        FakeResponse(status=302, headers={"Location": "http://127.0.0.1:1/"}),
        ProviderResponseInvalid,
    ),
    (FakeResponse(b"x" * 100_001), ProviderResponseInvalid),
    (
        FakeResponse(gzip.compress(b"0" * 50_000_000), headers={"Content-Encoding": "gzip"}),
        ProviderResponseInvalid,
    ),
    (FakeResponse(b"not gzip", headers={"Content-Encoding": "gzip"}), ProviderResponseInvalid),
]


@pytest.mark.parametrize(("answer", "error"), FAULTS)
async def test_client_raises_the_matching_error_for_each_provider_fault(
    client, standin, answer, error
):
    standin.respond = lambda _: answer
    # where the limit itself is not the claim, a busy machine may take its time
    limits = ClientLimits(timeout=0.5 if error is ProviderTimeout else 60, max_bytes=100_000)
    provider = upstream(client, standin.url, limits=limits)
    with pytest.raises(error) as raised:
        await ask(provider)
    assert len(standin.requests) <= 2
    assert provider.last_error_code == error.code
    assert SECRET not in str(raised.value)
    assert "127.0.0.1" not in str(raised.value)


@pytest.mark.parametrize("body", [b'{"cut": [1, 2', b"<html>", b"", DEEP[:100_000], b'"\xff\xfe"'])
async def test_client_raises_an_error_for_an_answer_with_invalid_json(client, standin, body):
    standin.respond = lambda _: FakeResponse(body)
    with pytest.raises(ProviderResponseInvalid):
        (await ask(upstream(client, standin.url))).json()


async def test_client_stops_reading_a_500_mb_answer_at_its_size_limit(client, standin):
    standin.respond = lambda _: FakeResponse(bytes(500_000_000))
    provider = upstream(client, standin.url, limits=ClientLimits(timeout=20, max_bytes=1_000_000))
    with pytest.raises(ProviderResponseInvalid, match="larger than"):
        await ask(provider)


BOMB = FakeResponse(gzip.compress(b"0" * 50_000_000), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize("answer", [BOMB, FakeResponse(bytes(50_000_000))], ids=["gzip", "plain"])
@pytest.mark.parametrize("cap", [40_000_000, 60_000_000], ids=["too large", "not JSON"])
async def test_provider_failure_keeps_no_response_body_in_memory(client, standin, answer, cap):
    standin.respond = lambda _: answer
    limits = ClientLimits(timeout=20, max_bytes=cap)
    provider = upstream(client, standin.url, limits=limits)
    await client.open()
    gc.collect()
    gc.disable()  # a body that waits for the next collection takes memory too
    tracemalloc.start()
    try:
        with pytest.raises(ProviderResponseInvalid):
            await provider.get_json({}, lambda body: body)
        stored, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert provider.last_error_code == "invalid_answer"
    assert stored < 10_000_000


@pytest.mark.parametrize("answer", [BOMB, FakeResponse(bytes(50_000_000))], ids=["gzip", "plain"])
async def test_error_for_a_too_large_answer_keeps_no_body_in_memory(client, standin, answer):
    standin.respond = lambda _: answer
    limits = ClientLimits(timeout=20, max_bytes=40_000_000)
    provider = upstream(client, standin.url, limits=limits)
    await client.open()
    tracemalloc.start()
    try:
        with pytest.raises(ProviderResponseInvalid) as caught:
            await ask(provider)
        stored, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.__traceback__ is not None
    assert stored < 10_000_000


async def test_closed_port_or_unknown_host_name_is_reported_as_unreachable(client):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
        for url in (closed, "http://no-such-name.invalid"):
            with pytest.raises((ProviderUnreachable, ProviderTimeout)):
                await ask(upstream(client, url))


async def test_client_stops_calling_a_provider_after_three_failures(client, standin):
    standin.respond = lambda _: FakeResponse(b"", 500)
    provider = upstream(client, standin.url)
    await fail(provider, 3)
    with pytest.raises(ProviderBackoff, match="paused"):
        await ask(provider)
    assert len(standin.requests) == 3
    assert not provider.available


async def test_answer_with_a_4xx_status_does_not_open_the_breaker(client, standin):
    standin.respond = lambda _: FakeResponse({"error": True}, 400)
    provider = upstream(client, standin.url)
    await fail(provider, 5)
    assert provider.breaker.state == "closed"


async def test_client_sends_no_call_before_the_retry_after_time_of_a_429_answer(client, standin):
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    standin.respond = lambda _: FakeResponse({"reason": "slow down"}, 429, {"Retry-After": "30"})
    provider = upstream(client, standin.url, clock=lambda: now[0])
    await fail(provider)
    now[0] += timedelta(seconds=29)
    with pytest.raises(ProviderBackoff) as raised:
        await ask(provider)
    assert raised.value.until == datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
    assert len(standin.requests) == 1
    standin.respond = lambda _: FakeResponse({})
    now[0] += timedelta(seconds=1)
    await ask(provider)


@pytest.mark.parametrize("retry_after", ["9" * 400, "9999999999", "\xb2", "-5", "soon", "", "1e3"])
async def test_pause_after_an_absurd_retry_after_header_is_at_most_a_day(
    client, standin, retry_after: str
):
    standin.respond = lambda _: FakeResponse({}, 429, {"Retry-After": retry_after})
    provider = upstream(client, standin.url)
    await fail(provider)
    assert provider.backoff_until is not None
    assert provider.backoff_until - system_clock() <= timedelta(days=1)


async def test_probe_answered_with_a_4xx_status_closes_the_breaker(client, standin):
    standin.respond = lambda _: FakeResponse(b"", 500)
    provider = upstream(client, standin.url, breaker=Breaker(pause=0.0))
    await fail(provider, 3)
    standin.respond = lambda _: FakeResponse({"error": True}, 400)
    await fail(provider)
    assert provider.breaker.state == "closed"


async def test_client_with_a_spent_budget_sends_no_call(client, standin):
    provider = upstream(client, standin.url, host=Host(Budget({DAY: 10})))
    await ask(provider, units=7)
    with pytest.raises(ProviderBackoff, match="budget"):
        await ask(provider, units=7)
    assert len(standin.requests) == 1


async def test_retry_spends_the_budget_like_the_first_call(client, standin):
    standin.respond = lambda _: FakeResponse(fault="drop")
    provider = upstream(client, standin.url, host=Host(Budget({DAY: 10})))
    with pytest.raises(ProviderUnreachable):
        await ask(provider, units=6)
    assert len(standin.requests) == 1
    assert [one.used for one in provider.host.budget.states()] == [6]


@pytest.mark.parametrize("public", [False, True])
async def test_failed_connection_spends_no_budget(client, public):
    host = Host(Budget({HOUR: 100, DAY: 1000}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ProviderUnreachable):
            await ask(upstream(client, closed, host=host), units=30, public=public)
    assert [one.spent for one in host.budget.windows] == [(0, 0), (0, 0)]
    assert host.budget.spent_share() == 0


async def test_calls_refused_during_a_breaker_probe_spend_no_budget(client, standin):
    standin.respond = Crowd(standin, 0.1).respond
    host = Host(Budget({DAY: 100}))
    provider = upstream(client, standin.url, host=host, breaker=half_open())
    results = await asyncio.gather(*(ask(provider) for _ in range(4)), return_exceptions=True)
    assert [isinstance(result, ProviderBackoff) for result in results].count(True) == 3
    assert [one.used for one in host.budget.states()] == [1]


def half_open() -> Breaker:
    """Return a breaker that lets one caller probe."""
    breaker = Breaker(threshold=1, pause=60.0)
    breaker.fail()
    breaker._until = 0.0
    return breaker


async def test_client_without_a_provider_url_sends_no_call(client):
    provider = upstream(client, "")
    assert not provider.configured
    with pytest.raises(ProviderBackoff, match="not configured"):
        await ask(provider)


async def test_retries_are_at_most_a_fifth_of_the_calls(client, standin):
    count = [0]

    def flaky(_) -> FakeResponse:
        count[0] += 1
        return FakeResponse(fault="drop") if count[0] % 2 else FakeResponse({})

    standin.respond = flaky
    provider = upstream(client, standin.url)
    for _ in range(100):
        try:
            await ask(provider)
        except ProviderError:
            provider.breaker.succeed()
    assert len(standin.requests) <= 120


class Crowd:
    """Answers after a while, and counts how many it held at once."""

    def __init__(self, standin: FakeServer, seconds: float) -> None:
        self.most = self._now = 0
        self._standin, self._seconds = standin, seconds
        self._lock = threading.Lock()

    def respond(self, _: object) -> FakeResponse:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self._standin.stopping.wait(self._seconds)
        with self._lock:
            self._now -= 1
        return FakeResponse({})


async def test_client_limits_the_number_of_concurrent_calls(client, standin):
    crowd = Crowd(standin, 0.02)
    standin.respond = crowd.respond
    limits = ClientLimits(timeout=20, max_in_flight=2)
    provider = upstream(client, standin.url, limits=limits)
    await asyncio.gather(*(ask(provider) for _ in range(12)))
    assert crowd.most == 2


async def test_timeout_in_the_queue_does_not_count_as_a_provider_failure(client, standin):
    standin.respond = Crowd(standin, 0.5).respond
    limits = ClientLimits(timeout=0.2, max_in_flight=1, max_waiting=1)
    provider = upstream(client, standin.url, limits=limits, breaker=Breaker(threshold=2))
    results = await asyncio.gather(*(ask(provider) for _ in range(3)), return_exceptions=True)
    kinds = sorted(type(result).__name__ for result in results)
    assert kinds in (
        ["ProviderBackoff", "ProviderBackoff", "ProviderTimeout"],
        ["ProviderBackoff", "ProviderTimeout", "ProviderTimeout"],  # it got the slot at the last
    )


async def test_calls_without_a_key_leave_a_quarter_of_the_queue_to_calls_with_a_key(
    client, standin
):
    standin.respond = lambda _: FakeResponse(fault="hang")
    limits = ClientLimits(timeout=20, max_in_flight=1, max_waiting=4)
    provider = upstream(client, standin.url, limits=limits)

    tasks: list[asyncio.Task[object]] = []

    async def come(callers: int, *, public: bool) -> int:
        """Return how many of so many more callers are not refused."""
        more = [asyncio.create_task(ask(provider, public=public)) for _ in range(callers)]
        for _ in range(10):
            await asyncio.sleep(0)
        tasks.extend(more)
        return [task.done() for task in more].count(False)

    assert await come(1, public=True) == 1  # in flight
    public, keyed = await come(9, public=True), await come(9, public=False)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (public, keyed) == (3, 1)


async def test_urls_of_the_same_host_share_one_call_budget_and_call_slots_and_pauses(
    client, standin
):
    host = Hosts().get("some_host", {DAY: 10.0}, at_once=1)
    crowd = Crowd(standin, 0.02)
    standin.respond = crowd.respond
    limits = ClientLimits(timeout=20)
    one = upstream(client, standin.url + "/one", host=host, limits=limits)
    two = upstream(client, standin.url + "/two", host=host, limits=limits)
    await asyncio.gather(*(ask(each) for each in (one, two) for _ in range(4)))
    assert crowd.most == 1
    assert [one.used for one in host.budget.states()] == [8]
    standin.respond = lambda _: FakeResponse(status=429, headers={"Retry-After": "30"})
    await fail(one)
    with pytest.raises(ProviderBackoff, match="requested a pause"):
        await ask(two)


async def test_pause_before_the_retry_of_a_call_delays_no_other_call(client, standin):
    answers = iter([FakeResponse({"busy": True}, 429), FakeResponse({"ok": True})])
    standin.respond = lambda _: next(answers)
    busy = Backoff(0.01, "call")
    provider = upstream(client, standin.url, backoff=lambda _: busy)
    assert (await ask(provider)).json() == {"ok": True}
    standin.respond = lambda _: FakeResponse({"busy": True}, 429)
    await fail(provider)
    assert len(standin.requests) == 4
    assert provider.available


PAGES = [b"<!DOCTYPE html><title>Maintenance", b'{"days": [1, 2', b"", b"[]", b"null", b"{}",
         b'{"error": true}', b'{"days": 3}', b'{"days": {}}']  # fmt: skip


@pytest.mark.parametrize("body", PAGES)
async def test_unreadable_answer_counts_as_a_provider_failure(client, standin, body):
    standin.respond = lambda _: FakeResponse(body)
    provider = upstream(client, standin.url, breaker=Breaker(threshold=2))
    for _ in range(2):
        with pytest.raises(ProviderResponseInvalid):
            await provider.get_json({}, lambda found: found["days"][0])
    assert provider.last_error_code == "invalid_answer"
    assert provider.last_success_at is None
    assert provider.breaker.state == "open"


async def test_client_follows_redirects_within_the_host_if_allowed(client, standin):
    def moved(request) -> FakeResponse:
        if request.path == "/old":
            return FakeResponse(status=301, headers={"Location": "/new?lat=2"})
        return FakeResponse({"path": request.path, "lat": request.query["lat"]})

    standin.respond = moved
    limits = ClientLimits(timeout=0.5, redirects=2)
    follows = upstream(client, standin.url + "/old", limits=limits)
    assert (await ask(follows)).json() == {"path": "/new", "lat": "2"}
    with pytest.raises(ProviderResponseInvalid, match="redirect"):
        await ask(upstream(client, standin.url + "/old"))
    with FakeServer(lambda _: FakeResponse({})).running() as other:
        elsewhere = {"Location": other.url + "/old"}
        standin.respond = lambda _: FakeResponse(status=302, headers=elsewhere)
        with pytest.raises(ProviderResponseInvalid, match="redirect"):
            await ask(follows)
        standin.respond = lambda _: FakeResponse(status=302, headers={"Location": "/old"})
        with pytest.raises(ProviderResponseInvalid, match="redirect"):
            await ask(follows)
        assert other.requests == []


async def test_failing_provider_is_logged_immediately_and_then_every_minute(client, standin):
    moved, seconds = MovedClock(), MovedClock()
    standin.respond = lambda _: FakeResponse({}, 500)
    provider = upstream(client, standin.url, breaker=Breaker(threshold=10_000), clock=moved)
    provider.calls = ProviderCalls("Provider", seconds.seconds)

    with captured_logs() as lines:
        await fail(provider, 20)
        seconds.advance(60)
        await fail(provider, 20)
        standin.respond = lambda _: FakeResponse({})
        for _ in range(3):
            await ask(provider)
    assert [(line["event"], line.get("status"), line.get("failures")) for line in lines] == [
        ("provider_failed", 500, 1),
        ("provider_failed", 500, 20),
        ("provider_back", None, None),
    ]
    assert provider.calls.outcomes == {"status_5xx": 40, "ok": 3}
    assert sum(provider.calls.seconds.counts) == 43


async def test_alternating_failures_do_not_flood_the_log(client, standin):
    answers = [FakeResponse({}, 500), FakeResponse({})] * 50
    standin.respond = lambda _: answers.pop(0)
    provider = upstream(client, standin.url)
    with captured_logs() as lines:
        for _ in range(50):
            await fail(provider)
            await ask(provider)
    report = [line["event"] for line in lines if line["event"].startswith("provider_")]
    assert report == ["provider_failed", "provider_back"]


async def test_breaker_logs_opening_and_closing_and_counts_refusals(client, standin):
    standin.respond = lambda _: FakeResponse({}, 500)
    provider = upstream(client, standin.url, breaker=Breaker(pause=0.001, longest=0.001))
    with captured_logs() as lines:
        await fail(provider, 3)
        provider.breaker.longest = provider.breaker.pause = 1000
        provider.breaker.fail()
        with pytest.raises(ProviderBackoff):
            await ask(provider)
        provider.breaker._until = 0.0  # its pause is over
        standin.respond = lambda _: FakeResponse({})
        await ask(provider)
    events = [line["event"] for line in lines if line["event"].startswith("breaker")]
    assert events == ["breaker_opened", "breaker_closed"]
    assert provider.calls.breaker_opened == 1
    assert provider.calls.refused == {"breaker": 1}
