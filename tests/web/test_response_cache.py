"""Cached responses: they equal what a handler answers, for all whom it would answer."""

import http.client
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import date

import pytest
from starlette.responses import Response

from location_context.errors import UpstreamUnavailable
from location_context.exchange import Exchange
from location_context.sections.contract import SectionResult
from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import Served
from tests.web.conftest import STAY, Client, served_client
from tests.web.sections import FakeSection

TIDES = "/v1/pulse/tides"
WIDGET = "/v1/pulse"
OWN = {"x-request-id", "ratelimit", "cache-control", "date"}  # of one request


class Changing(FakeSection):
    """Says when its data have changed; what it awaits may come later."""

    awaited: Future | None = None

    async def read(self, query, deadline) -> SectionResult:
        return replace(await super().read(query, deadline), awaits=self.awaited)

    def on_change(self, listener) -> None:
        self.listeners = [*getattr(self, "listeners", []), listener]


async def closed(_: Exchange) -> Response:
    return Response(status_code=418)


@contextmanager
def handlers_closed(served: Served) -> Iterator[None]:
    """Only cached responses are answered with 200."""
    routes, before = served.app.routes, dict(served.app.routes)
    routes |= {path: replace(route, handle=closed) for path, route in before.items()}
    try:
        yield
    finally:
        routes |= before


@pytest.fixture
def tides(clock: MovedClock) -> Changing:
    return Changing(clock, fresh=900, words="ebb and flow " * 200)


@pytest.fixture
def own(web_settings: Settings, clock: MovedClock, tides: Changing) -> Iterator[Client]:
    """A server of this test alone, whose clock and section it may change."""
    with served_client(web_settings, tides, clock=clock) as client:
        yield client


@pytest.mark.parametrize("path", [TIDES, WIDGET])
def test_cached_response_equals_the_first_except_for_per_request_headers(own: Client, path) -> None:
    for lat, coding in enumerate(("identity", "gzip", "br", "br;q=0.5, gzip")):
        headers = {"Accept-Encoding": coding, "Accept-Language": "de"}
        given = {**STAY, "lat": f"{lat}"}  # each the first of its place
        first = own.get(path, given, headers=headers)
        with handlers_closed(own.served):
            again = own.get(path, given, headers=headers)
        assert (again.status_code, again.content) == (200, first.content), coding
        assert first.headers.keys() == again.headers.keys()
        differing = {name for name in first.headers if first.headers[name] != again.headers[name]}
        assert differing <= OWN, coding
        assert first.headers["x-request-id"] != again.headers["x-request-id"]


@pytest.mark.parametrize("path", [TIDES, WIDGET])
def test_304_of_a_cached_response_has_the_headers_of_a_new_response(own: Client, path) -> None:
    etag = {"If-None-Match": own.get(path, STAY, method="HEAD").headers["etag"]}
    long = own.get(path, STAY, headers=etag)
    own.get(path, STAY)
    with handlers_closed(own.served):
        short = own.get(path, STAY, headers=etag)
        other = own.get(path, STAY, headers={"If-None-Match": '"another"'})
    assert (long.status_code, short.status_code, other.status_code) == (304, 304, 200)
    assert short.content == b""
    assert long.headers.keys() == short.headers.keys()


def test_cached_response_ages_and_expires(own: Client, clock, tides) -> None:
    own.get(TIDES, STAY)
    clock.advance(600)
    with handlers_closed(own.served):
        assert "max-age=300," in own.get(TIDES, STAY).headers["cache-control"]
    clock.advance(400)  # longer ago than an old answer is given while a new one is read
    with handlers_closed(own.served):
        assert own.get(TIDES, STAY).status_code == 418
    own.get(TIDES, STAY)
    assert tides.reads == 2


@pytest.mark.parametrize(
    ("lacking", "seconds"), [("provider_unavailable", 5), ("budget_spent", 60)]
)
def test_incomplete_response_is_cached_until_the_next_retry_of_the_missing_data(
    own: Client, clock, tides: Changing, lacking, seconds
) -> None:
    tides.lacking = lacking
    paths = (TIDES, WIDGET, "/v1/pulse.svg", "/v1/pulse.png")
    first = {path: own.get(path, STAY).content for path in paths}
    with handlers_closed(own.served):
        clock.advance(seconds - 1)
        for path in paths:
            again = own.get(path, STAY)
            assert (again.status_code, again.content) == (200, first[path]), path
        clock.advance(2)
        assert [own.get(path, STAY).status_code for path in paths] == [418] * 4


@pytest.mark.parametrize("path", [TIDES, WIDGET])
def test_response_is_cached_until_data_fetched_in_the_background_arrive(
    own: Client, tides: Changing, path
) -> None:
    tides.awaited = Future()
    own.get(path, STAY)
    with handlers_closed(own.served):
        assert own.get(path, STAY).status_code == 200
        tides.awaited.set_result(None)
        assert own.get(path, STAY).status_code == 418


@pytest.mark.parametrize("path", [TIDES, WIDGET])
def test_stale_response_is_not_cached_again(own: Client, clock, tides: Changing, path) -> None:
    tides.lacking = "provider_unavailable"
    own.get(path, STAY)
    clock.advance(6)
    own.get(path, STAY)  # the old one, while a new one is read
    with handlers_closed(own.served):
        assert own.get(path, STAY).status_code == 418


@pytest.mark.parametrize("path", [TIDES, WIDGET])
def test_request_with_a_matching_etag_also_fills_the_cache(own: Client, path) -> None:
    etag = {"If-None-Match": own.get(path, STAY, method="HEAD").headers["etag"]}
    first = own.get(path, STAY, headers=etag)
    with handlers_closed(own.served):
        again = own.get(path, STAY, headers=etag)
        whole = own.get(path, STAY)
    assert (first.status_code, again.status_code, whole.status_code) == (304, 304, 200)
    assert first.headers.keys() == again.headers.keys()


@pytest.mark.parametrize("path", [TIDES, WIDGET])
def test_change_of_the_data_clears_the_response_cache(own: Client, tides: Changing, path) -> None:
    own.get(path, STAY)
    for listener in tides.listeners:
        listener()
    with handlers_closed(own.served):
        assert own.get(path, STAY).status_code == 418


def test_response_computed_from_data_before_a_change_is_not_cached(
    own: Client, tides: Changing
) -> None:
    async def change(query, deadline) -> None:
        for listener in tides.listeners:
            listener()

    tides.before = change
    own.get(TIDES, STAY)
    with handlers_closed(own.served):
        assert own.get(TIDES, STAY).status_code == 418


def test_cached_response_requires_a_key(own: Client) -> None:
    own.get(TIDES, STAY)
    assert own.get(TIDES, STAY, key=None).status_code == 401
    assert own.get(TIDES, STAY, key="lc_live_wrong").status_code == 401
    doubled = http.client.HTTPConnection("127.0.0.1", own.served.port, timeout=10)
    doubled.putrequest("GET", TIDES + "?" + "&".join(f"{n}={v}" for n, v in STAY.items()))
    for _ in range(2):
        doubled.putheader("Authorization", f"Bearer {own.key}")
    doubled.endheaders()
    assert doubled.getresponse().status == 401
    doubled.close()


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("key=x", 401, "must not be part of the URL"),
        ("a=lc_live_x", 401, "must not be part of the URL"),
        ("%61pi_key=x", 401, "must not be part of the URL"),
        ("a=%zz", 400, "escape"),
        ("a=%ff", 400, "UTF-8"),
    ],
)
def test_key_in_the_url_or_broken_escapes_are_reported_before_a_missing_key(
    own: Client, query: str, status: int, message: str
) -> None:
    answer = own.get(f"{TIDES}?{query}", key=None)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]


def test_quotas_count_cached_responses(web_settings: Settings) -> None:
    with served_client(web_settings, FakeSection(), per_minute=5) as client:
        answers = [client.get(TIDES, STAY) for _ in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 3
    left = [answer.headers["ratelimit"].split(";")[1] for answer in answers]
    assert left == ["r=4", "r=3", "r=2", "r=1", "r=0", "r=0", "r=0", "r=0"]
    assert answers[-1].json()["error"]["code"] == "rate_limit_exceeded"


def test_widget_limit_counts_cached_responses(web_settings: Settings) -> None:
    settings = Settings(data_dir=web_settings.data_dir, log_level="error", widget_per_minute=3)
    with served_client(settings, FakeSection()) as client:
        answers = [client.get(WIDGET, STAY, key=None) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 2
    assert "<html" in answers[-1].text


def test_each_language_is_cached_separately(own: Client) -> None:
    languages = ["de", "fr", None, "de, fr;q=0.5", "ja"]
    for _ in range(2):
        found = []
        for language in languages:
            headers = {"Accept-Language": language} if language else {}
            found.append(own.get(WIDGET, STAY, headers=headers).headers["content-language"])
        assert found == ["de", "fr", "en", "de", "ja"]
    request = {**STAY, "lang": "es"}
    for language in ("de", "ja"):
        answer = own.get(WIDGET, request, headers={"Accept-Language": language})
        assert answer.headers["content-language"] == "es"
        assert "Accept-Language" not in answer.headers["vary"]


def test_host_header_and_draining_are_checked_before_a_cached_response_is_sent(own: Client) -> None:
    own.get(TIDES, STAY)
    assert own.get(TIDES, STAY, headers={"Host": "a b"}).status_code == 400
    own.served.app.draining = True
    try:
        assert own.get(TIDES, STAY).headers["connection"] == "close"
    finally:
        own.served.app.draining = False


@pytest.mark.parametrize("path", [TIDES, WIDGET])
def test_exception_in_the_admission_check_is_answered_with_status_500(own: Client, path) -> None:
    own.get(path, STAY)

    class Broken:
        async def admit(self, *_: object) -> None:
            raise RuntimeError("the inside of the house")

    app, admission = own.served.app, own.served.app._admission
    app._admission = Broken()
    try:
        answer = own.get(path, STAY)
    finally:
        app._admission = admission
    assert answer.status_code == 500
    assert "internal_error" in answer.text
    assert "inside of the house" not in answer.text


class Splitting(Changing):
    """Read twice of a stay across the horizon; the near part fails."""

    splits_at_horizon = True

    async def before(self, query, deadline) -> None:
        if query.stay.end < date(2026, 12, 10):
            raise UpstreamUnavailable("It holds nothing.", 5)


def test_page_that_lacks_its_forecast_days_because_of_a_failure_is_cached_for_a_minute(
    web_settings: Settings, clock
) -> None:
    with served_client(web_settings, Splitting(clock), clock=clock) as client:
        answer = client.get(WIDGET, {**STAY, "end": "2026-12-20"}, key=None)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=60"
