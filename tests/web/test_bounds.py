"""Bounds and fairness: what needs no key fills no memory, and takes no keyed caller's turn."""

import gc
import math
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec
import pytest

from location_context.stay import Clock, system_clock
from location_context.upstream.deadline import Deadline
from location_context.web.application import REFUSAL_SECONDS
from tests.patience import wait_until
from tests.web.conftest import HTTP, STAY, Client, served_client
from tests.web.sections import Busy, FakeSection, Slow, occupied

LONG = 40_000  # bytes of a header that the server lets through
MANY = 12  # each waits for one refusal


@pytest.fixture(scope="module")
def generous(web_settings) -> Iterator[Client]:
    """A server that refuses no address."""
    settings = msgspec.structs.replace(web_settings, widget_per_minute=100_000)
    with served_client(settings, FakeSection()) as client:
        yield client


@pytest.mark.parametrize("name", ["Host", "Accept-Encoding", "Accept-Language", "query"])
def test_long_headers_and_queries_are_not_kept_in_memory(generous: Client, name: str) -> None:
    def ask(number: int) -> None:
        text = f"{number}" + "a" * LONG
        headers = {"Accept-Encoding": "br", **({} if name == "query" else {name: text})}
        given = {**STAY, "x": text[: LONG // 2] if name == "query" else ""}
        for path in ("/v1/pulse", "/v1/pulse.svg", "/v1/pulse.png", "/v1/pulse/tides"):
            HTTP.get(generous.served.url + path, params=given, headers=headers)

    ask(0)
    tracemalloc.start()
    try:
        for number in range(1, MANY):
            ask(number)
        gc.collect()  # a rendered template is a cycle
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < MANY * LONG / 5


@pytest.fixture
def strict(web_settings) -> Iterator[Client]:
    """A server that gives each address two requests a minute."""
    settings = msgspec.structs.replace(web_settings, widget_per_minute=2)
    with served_client(settings, FakeSection()) as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/v1/oembed?url=x", "/v1/docs", "/v1/docs/embedding", "/v1/openapi.json"]
)
def test_page_request_without_a_key_counts_against_the_quota_of_its_ip_address(
    strict, path: str
) -> None:
    statuses = [strict.get(path, key=None).status_code for _ in range(3)]
    assert 429 not in statuses[:2]
    assert statuses[2] == 429


def test_api_reference_describes_status_429_for_each_rate_limited_path(
    strict, client: Client
) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]
    documented = {path for path, one in paths.items() if "429" in one["get"]["responses"]}
    counted = {path for path in paths if [strict.get(path).status_code for _ in range(3)][2] == 429}
    assert counted - documented == set()
    assert {"/v1/docs", "/v1/oembed", "/v1/openapi.json", "/v1/pulse"} <= counted


@pytest.mark.parametrize("path", ["/v1/health", "/v1/status", "/v1/embed.js"])
def test_health_and_status_and_embed_script_have_no_rate_limit(strict, path: str) -> None:
    assert [strict.get(path, key=None).status_code for _ in range(4)] == [200] * 4


def test_callers_without_a_key_leave_a_quarter_of_the_slots_to_callers_with_a_key(
    web_settings,
) -> None:
    settings = msgspec.structs.replace(web_settings, max_in_flight=4, widget_deadline=30.0)
    slow = Slow()
    with served_client(settings, slow, FakeSection()) as client:

        def visit(lat: int) -> int:
            return client.get("/v1/pulse", {**STAY, "lat": f"{lat}"}, key=None).status_code

        with occupied(slow, *(partial(visit, lat) for lat in range(3))):
            wait_until(lambda: client.served.app.limiter.in_flight == 3)
            assert visit(9) == 503
            assert client.get("/v1/pulse/tides", STAY).status_code == 200


def test_refused_caller_takes_no_concurrency_slot(web_settings) -> None:
    """An address over its quota and an unknown key are refused as such, with all slots taken."""
    settings = msgspec.structs.replace(web_settings, max_in_flight=4, widget_per_minute=1)
    slow = Slow()
    with served_client(settings, slow) as client:
        assert client.get("/v1/docs", key=None).status_code == 200
        requests = (
            partial(client.get, "/v1/pulse/slow", {**STAY, "lat": f"{n}"}) for n in range(4)
        )
        with occupied(slow, *requests):
            wait_until(lambda: client.served.app.limiter.in_flight == 4)
            assert client.get("/v1/pulse", STAY, key=None).status_code == 429
            unknown = "lc_live_" + "A" * 43
            assert client.get("/v1/pulse/slow", STAY, key=unknown).status_code == 401


class Hurried(Busy):
    """Keeps the processor, and notes how long each answer may still take."""

    def __init__(self, clock: Clock = system_clock) -> None:
        super().__init__(0.05, clock)
        self.left: list[float] = []

    async def before(self, query, deadline: Deadline) -> None:
        self.left.append(deadline.left())
        await super().before(query, deadline)


def test_waiting_time_of_a_request_counts_towards_its_deadline(web_settings) -> None:
    hurried = Hurried()
    with served_client(web_settings, hurried) as client, ThreadPoolExecutor(40) as pool:
        request = [{**STAY, "lat": f"{lat}"} for lat in range(40)]
        answers = list(pool.map(lambda one: client.get("/v1/pulse/busy", one), request))
    assert {answer.status_code for answer in answers} == {200}
    # forty of 0.05 s, of which sixteen at most start at once: the last has waited for the others
    assert min(hurried.left) < web_settings.json_deadline - 0.4


def test_repeated_refused_requests_are_answered_with_a_delay(strict) -> None:
    """Each connection that repeats refused requests at once gets four of them a second."""

    def refused(key: str | None) -> float:
        began = time.monotonic()
        path = "/v1/pulse/tides" if key else "/v1/pulse"
        status = strict.get(path, STAY, key=key).status_code
        assert status in {200, 401, 429}
        return time.monotonic() - began if status != 200 else math.inf

    unknown = "lc_live_" + "A" * 43
    assert min(refused(key) for key in (unknown, *[None] * 4)) >= REFUSAL_SECONDS


def test_widget_page_for_refused_requests_is_rendered_only_once(strict) -> None:
    pages = [strict.get("/v1/pulse", STAY, key=None) for _ in range(4)][2:]
    ids = [page.headers["x-request-id"] for page in pages]
    assert [page.status_code for page in pages] == [429, 429]
    assert ids[0] != ids[1]
    for page, own in zip(pages, ids, strict=True):
        assert own in page.text
    assert pages[0].text.replace(ids[0], ids[1]) == pages[1].text


def test_host_header_of_more_than_255_characters_is_refused_as_malformed(client: Client) -> None:
    answer = HTTP.get(client.served.url + "/v1/health", headers={"Host": "a" * 256})
    assert answer.status_code == 400
