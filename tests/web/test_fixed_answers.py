"""Test keys over the whole service: every state in one call, and no provider called."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from location_context.access.keys import mint
from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.contract import Query
from location_context.settings import Secret, Settings
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from location_context.web.fixed_answers import CASES, DEFAULT_NOW, YEARS
from tests.fakes.server import FakeResponse, FakeServer
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.web.conftest import Client, make_key, remaining, served_client
from tests.web.full_app import AT_SEA, PARIS
from tests.web.sections import FakeSection

NOW = "2027-03-01T12:00:00Z"
STAY = {**PARIS, "start": "2027-03-02", "end": "2027-03-05"}
EASTER = {"start": "2027-03-26", "end": "2027-03-29"}  # with a public holiday
SECTIONS = ("weather", "astronomy", "guide", "events")
DATA = ("open_meteo_forecast_url", "open_meteo_archive_url", "met_norway_url", "nasa_power_url",
        "open_holidays_url", "ticketmaster_url", "predicthq_url", "osrm_url")  # fmt: skip


@dataclass(frozen=True)
class Installation:
    """An installation with two servers, its providers, and a key of each kind."""

    test: Client
    live: Client
    providers: FakeServer
    other: Client  # the other server, with the test key

    def get(
        self, section: str, params: dict[str, str] | None = None, now: str = NOW, case: str = ""
    ) -> httpx2.Response:
        headers = {"X-Test-Now": now} | ({"X-Test-Case": case} if case else {})
        return self.test.get(f"/v1/pulse/{section}", {**STAY, **(params or {})}, headers=headers)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with ExitStack() as stack:
        providers = stack.enter_context(FakeServer(lambda _: FakeResponse({}, 503)).running())
        secret = Secret("secret")
        settings = Settings(
            data_dir=tmp_path_factory.mktemp("test_keys"),
            log_level="error",
            contact="test@example.org",
            ticketmaster_api_key=secret,
            predicthq_api_key=secret,
            **dict.fromkeys(DATA, providers.url),
        )
        test, live = make_key(settings, test=True), make_key(settings)
        one, two = (stack.enter_context(serve(settings, clock=MovedClock())) for _ in range(2))
        yield Installation(Client(one, test), Client(one, live), providers, Client(two, test))


@pytest.fixture(autouse=True)
def _nothing_upstream(service: Installation) -> Iterator[None]:
    before = len(service.providers.requests)
    yield
    assert len(service.providers.requests) == before, "a provider was called"


@pytest.mark.parametrize("section", SECTIONS)
def test_test_key_gets_an_answer_marked_as_test_data_from_each_section(
    service: Installation, section: str
) -> None:
    answer = service.get(section)
    body = answer.json()
    assert (answer.status_code, body["type"]) == (200, section)
    assert answer.headers["X-Test"] == "true"
    assert body["attribution"][0]["name"] == "Test data"
    assert (body["stale"], body["degraded"]) == (False, False)


def mode(answer: httpx2.Response) -> tuple[str, str]:
    return answer.json()["mode"], answer.json()["basis"]["kind"]


@pytest.mark.parametrize(
    ("last", "expected"),
    [("2027-03-16", ("forecast", "forecast")), ("2027-03-17", ("climatology", "reanalysis"))],
)
def test_test_forecast_ends_on_day_16_from_the_chosen_date(
    service: Installation, last: str, expected: tuple[str, str]
) -> None:
    answer = service.get("weather", {"start": "2027-03-10", "end": last})
    assert mode(answer) == expected
    assert answer.json()["forecast_until"] == "2027-03-16"
    assert all(day["temperature_max"] is not None for day in answer.json()["days"])


def test_forecast_has_ranges_and_the_climatology_of_its_dates(
    service: Installation,
) -> None:
    body = service.get("weather").json()
    day = body["days"][0]
    assert day["temperature_max_p10"] < day["temperature_max"] < day["temperature_max_p90"]
    assert day["typical"]["years"] == list(range(2017, 2027))
    assert body["basis"]["provider"] == "Test data"


def test_times_in_answers_to_test_keys_are_in_the_time_zone_of_the_coordinates(
    service: Installation,
) -> None:
    late = service.get("weather", now="2027-03-01T23:30:00Z")  # already the 2nd in Paris
    assert late.json()["forecast_until"] == "2027-03-17"
    same = service.get("weather", now="2027-03-02T00:30:00+01:00")
    assert same.content == late.content


def test_answers_for_test_keys_use_the_documented_default_time(service: Installation) -> None:
    answer = service.test.get(
        "/v1/pulse/weather", {**PARIS, "start": "2026-11-25", "end": "2026-11-26"}
    )
    assert answer.json()["forecast_until"] == "2026-12-10"


@pytest.mark.parametrize(
    ("section", "params", "reason"),
    [
        ("weather", {"start": "2027-02-20", "end": "2027-02-28"}, "stay_in_past"),
        ("events", {"start": "2027-02-20", "end": "2027-02-28"}, "stay_in_past"),
        ("events", AT_SEA, "no_events"),
        ("guide", AT_SEA, "no_restaurants_in_range"),
    ],
)
def test_section_not_applicable_to_a_live_key_is_not_applicable_to_a_test_key(
    service: Installation, section: str, params: dict[str, str], reason: str
) -> None:
    body = service.get(section, params).json()
    assert (body["applicable"], body["reason"]) == (False, reason)


@pytest.mark.parametrize("section", SECTIONS)
def test_test_case_named_stale_marks_the_answer_as_stale(
    service: Installation, section: str
) -> None:
    answer = service.get(section, case="stale")
    assert answer.json()["stale"] is True
    if as_of := answer.json()["as_of"]:
        assert as_of < service.get(section).json()["as_of"]
    assert answer.json()["degraded_reason"] == "provider_unavailable"
    assert "max-age=60" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("weather", "forecast_unavailable"),
        ("astronomy", "provider_unavailable"),
        ("guide", "provider_unavailable"),
        ("events", "provider_unavailable"),
    ],
)
def test_test_case_named_degraded_returns_each_section_with_its_degraded_reason(
    service: Installation, section: str, reason: str
) -> None:
    body = service.get(section, EASTER, now="2027-03-25T12:00:00Z", case="degraded").json()
    assert (body["degraded"], body["degraded_reason"]) == (True, reason)


def test_degraded_weather_of_dates_within_the_forecast_range_is_climatology(
    service: Installation,
) -> None:
    assert mode(service.get("weather", case="degraded")) == ("climatology", "reanalysis")


def test_degraded_events_name_the_provider_that_did_not_answer(service: Installation) -> None:
    body = service.get("events", EASTER, case="degraded").json()
    assert {"provider": "test", "status": "unavailable"} in body["coverage"]
    assert {one["sources"][0] for one in body["events"]} == {"holidays"}


@pytest.mark.parametrize(
    ("case", "status", "kind", "headers"),
    [
        ("rate_limit_exceeded", 429, "rate_limit_error",
         {"retry-after", "ratelimit", "ratelimit-policy"}),
        ("upstream_unavailable", 503, "api_error", {"retry-after"}),
        ("service_overloaded", 503, "api_error", {"retry-after"}),
        ("internal_error", 500, "api_error", set()),
    ],
)  # fmt: skip
def test_test_case_of_an_error_returns_status_and_envelope_and_headers_of_that_error(
    service: Installation, case: str, status: int, kind: str, headers: set[str]
) -> None:
    answer = service.get("weather", case=case)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, case, kind)
    assert headers <= answer.headers.keys()
    assert len(answer.headers.get_list("ratelimit")) == ("ratelimit" in headers)
    assert error["request_id"] == answer.headers["X-Request-Id"]
    assert answer.headers["X-Test"] == "true"


def test_refused_requests_with_test_keys_do_not_use_the_quota(service: Installation) -> None:
    before = remaining(service.get("guide"))
    refused = service.get("guide", case="rate_limit_exceeded")
    assert remaining(refused) == 0
    service.get("guide", case="upstream_unavailable")
    assert remaining(service.get("guide")) == before - 1


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"X-Test-Now": "yesterday"}, "2026-11-25T12:00:00Z"),
        ({"X-Test-Now": "2027-03-01T12:00:00"}, "offset"),
        ({"X-Test-Now": "2027-02-30T12:00:00Z"}, "offset"),
        ({"X-Test-Now": "0001-01-01T00:00:00+14:00"}, "1950"),
        ({"X-Test-Now": ""}, "offset"),
        ({"X-Test-Case": "on_fire"}, ", ".join(CASES)),
    ],
)
def test_wrong_test_header_is_refused_with_the_accepted_values(
    service: Installation, headers: dict[str, str], words: str
) -> None:
    answer = service.test.get("/v1/pulse/guide", PARIS, headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_test_header")
    assert words in error["message"]


@pytest.mark.parametrize("now", [f"{YEARS[0]}-01-01T00:00:00Z", f"{YEARS[-1]}-12-31T23:59:59Z"])
@pytest.mark.parametrize("section", SECTIONS)
def test_request_for_the_earliest_or_latest_time_that_a_test_may_choose_is_answered(
    service: Installation, section: str, now: str
) -> None:
    stay = {"start": now[:10], "end": str(date.fromisoformat(now[:10]) + timedelta(91))}
    answer = service.get(section, stay, now=now)
    assert answer.json()["type"] == section
    assert len(answer.json().get("history", [()] * 10)) == 10


@pytest.mark.parametrize("header", ["X-Test-Now", "X-Test-Case"])
def test_live_key_with_a_test_header_is_refused(service: Installation, header: str) -> None:
    answer = service.live.get("/v1/pulse/guide", PARIS, headers={header: NOW})
    assert answer.json()["error"]["code"] == "invalid_test_header"
    assert "live key" in answer.json()["error"]["message"]
    assert "X-Test" not in answer.headers


def test_parameters_of_a_test_key_are_checked_as_for_a_live_key(service: Installation) -> None:
    for params in ({"lat": "91"}, {"units": "kelvin"}, {"end": "2027-03-01"}):
        test = service.get("weather", params).json()["error"]
        live = service.live.get("/v1/pulse/weather", {**STAY, **params}).json()["error"]
        assert (test["code"], test["message"]) == (live["code"], live["message"])


def test_answers_of_test_and_live_keys_never_mix(service: Installation) -> None:
    path = "/v1/pulse/astronomy"

    def marked(client: Client, **headers: str) -> tuple[bool, bool]:
        answer = client.get(path, STAY, headers=headers)
        names = {one["name"] for one in answer.json()["attribution"]}
        return "X-Test" in answer.headers, "Test data" in names

    for _ in range(2):  # the second time from a cache, if there were one
        assert marked(service.live) == (False, False)
        assert marked(service.test) == (True, True)
    etag = service.test.get(path, STAY).headers["ETag"]
    assert service.live.get(path, STAY, headers={"If-None-Match": etag}).status_code == 200


def test_requests_with_different_chosen_times_never_share_an_answer(service: Installation) -> None:
    seen = [service.get("weather", now=now).json()["mode"] for now in (NOW, "2027-01-01T00:00:00Z")]
    assert seen == ["forecast", "climatology"]
    assert service.get("weather").json()["mode"] == "forecast"


def test_unchanged_answer_to_a_test_key_is_not_sent_again(service: Installation) -> None:
    first = service.get("weather")
    again = service.test.get(
        "/v1/pulse/weather",
        STAY,
        headers={"X-Test-Now": NOW, "If-None-Match": first.headers["ETag"]},
    )
    assert (again.status_code, again.headers["X-Test"]) == (304, "true")
    assert {"X-Test-Now", "X-Test-Case"} <= set(first.headers["Vary"].split(", "))


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("case", ["", "stale", "degraded"])
def test_two_processes_give_identical_answers_to_a_test_key(
    service: Installation, section: str, case: str
) -> None:
    headers = {"X-Test-Now": NOW} | ({"X-Test-Case": case} if case else {})
    other = service.other.get(f"/v1/pulse/{section}", STAY, headers=headers)
    assert other.content == service.get(section, case=case).content


def test_year_section_depends_on_the_coordinates_and_not_on_the_dates(
    service: Installation,
) -> None:
    paris, south = service.get("year"), service.get("year", {"lat": "-33.87", "lng": "151.21"})
    highs = [[month["temperature_max"] for month in one.json()["months"]] for one in (paris, south)]
    assert highs[0][6] > highs[0][0]
    assert highs[1][6] < highs[1][0]
    assert service.get("year", EASTER).content == paris.content


def test_each_route_with_a_key_answers_a_test_key(service: Installation) -> None:
    routes = service.test.served.app.routes.values()
    keyed = [one for one in routes if one.access == "key"]
    for path in (one.path for one in keyed if "GET" in one.methods):  # test_mcp.py calls the other
        answer = service.test.get(path, STAY, headers={"X-Test-Now": NOW})
        assert (path, answer.status_code, answer.headers["X-Test"]) == (path, 200, "true")


def test_one_pulse_call_with_a_test_key_gives_the_same_answers_as_the_sections(
    service: Installation,
) -> None:
    """The answers of one call are those of the endpoints, also in a case."""
    headers = {"X-Test-Now": NOW, "X-Test-Case": "stale"}
    body = service.test.get("/v1/pulse.json", STAY, headers=headers).json()
    for name in SECTIONS:
        assert body["sections"][name] == service.get(name, case="stale").json()
    before = remaining(service.get("guide"))
    headers["X-Test-Case"] = "rate_limit_exceeded"
    refused = service.test.get("/v1/pulse.json", STAY, headers=headers)
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert refused.headers["Retry-After"] == "30"  # of the minute that its message names
    assert remaining(service.get("guide")) == before - 1


def test_test_key_of_another_installation_is_refused(service: Installation) -> None:
    other = mint("lc_test_")
    answer = service.test.get("/v1/pulse/guide", PARIS, key=other)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    mistyped = service.test.get("/v1/pulse/guide", PARIS, key=other.replace("test", "live"))
    assert mistyped.json()["error"]["code"] == "invalid_api_key"


def test_test_key_in_the_query_is_refused_and_not_repeated_in_the_answer(
    service: Installation,
) -> None:
    secret = mint("lc_test_")
    answer = service.test.get("/v1/pulse/guide", {**PARIS, "q": secret}, key=None)
    assert "must not be part of the URL" in answer.json()["error"]["message"]
    assert secret not in answer.text


def test_metrics_count_requests_with_test_keys_separately_from_live_keys(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = Settings(data_dir=tmp_path, log_level="error", metrics_address=address)
    live = make_key(settings)
    with served_client(settings, Sampled(), test=True, per_minute=3) as client:
        for _ in range(4):
            last = client.get("/v1/pulse/tides", STAY)
        assert last.status_code == 429
        client.get("/v1/pulse/tides", {**STAY, "lat": "91"}, key=live)
        requests = client.served.app.log.requests
    paths = {path: sum(n for key, n in requests.items() if key[0] == path) for path, *_ in requests}
    assert paths["test"] == 3
    assert paths["/v1/pulse/tides"] == 2  # the refusal is one before the key's kind counts


def test_widget_ignores_the_test_key_headers(service: Installation) -> None:
    params = {**STAY, "sections": "astronomy"}
    plain = service.test.get("/v1/pulse", params, key=None)
    moved = service.test.get("/v1/pulse", params, key=None, headers={"X-Test-Now": NOW})
    assert moved.status_code == 200
    assert moved.content == plain.content
    assert "X-Test" not in moved.headers


def test_api_reference_shows_a_call_for_each_test_case(service: Installation) -> None:
    page = service.test.get("/v1/docs", key=None).text
    assert all(f"X-Test-Case: {case}" in page for case in CASES)
    assert DEFAULT_NOW.strftime("%Y-%m-%dT%H:%M:%SZ") in page
    assert f"from {YEARS[0]} to {YEARS[-1]}" in page


def test_test_keys_never_cause_a_provider_call(service: Installation) -> None:
    sections = service.live.get("/v1/status", key=None).json()["sections"]
    providers = [one for section in sections.values() for one in section["providers"]]
    called = [one for one in providers if one["breaker"] is not None]
    assert len(called) > 5
    for one in called:
        assert (one["last_success_at"], one["last_error_code"]) == (None, None)
        assert not any(budget["used"] for budget in one["budgets"])
    assert not service.providers.requests


class Sampled(FakeSection):
    """A section with a sample, which a test key never reads."""

    @classmethod
    def sample(cls) -> dict[str, Any]:
        point = Point(48.65, -2.03, "Europe/Paris")
        stay = Stay(date(2026, 11, 28), date(2026, 12, 1))
        query = Query(point, stay, "metric", Languages.load().english)
        body = FakeSection(words="as in the sample").body(query)
        return {"applicable": msgspec.to_builtins(body)}

    async def before(self, query: Query, deadline: Deadline) -> None:
        raise AssertionError("it was read")


def test_third_party_section_answers_a_test_key_with_its_sample(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, log_level="error")
    with served_client(settings, Sampled(), test=True) as client:
        body = client.get("/v1/pulse/tides", STAY).json()
    assert body["attribution"][0]["name"] == "Test data"
    assert body["words"] == "as in the sample"
