"""Every row of the contract's error table, over real HTTP."""

from dataclasses import replace

import pytest
from starlette.responses import Response

from tests.moved_clock import MovedClock
from tests.web.conftest import STAY, Client, served_client
from tests.web.sections import Broken, Empty, FakeSection

ROWS = [
    # status, type, code, path, changed parameters
    (400, "missing_parameter", "tides", {"lat": None}),
    (400, "missing_parameter", "tides", {"start": ""}),
    (400, "invalid_latitude", "tides", {"lat": "90.0000001"}),
    (400, "invalid_longitude", "tides", {"lng": "180.1"}),
    (400, "invalid_date", "tides", {"start": "2026-02-30"}),
    (400, "invalid_date_range", "tides", {"start": "2026-12-02"}),
    (400, "date_range_too_long", "tides", {"end": "2027-02-28"}),
    (400, "invalid_units", "tides", {"units": "kelvin"}),
    (400, "invalid_language", "tides", {"lang": "no such tag"}),
    (500, "internal_error", "broken", {}),
    (503, "upstream_unavailable", "empty", {}),
]


def check(response, status: int, kind: str, code: str) -> None:
    assert response.status_code == status
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"type", "code", "message", "request_id"}
    assert (body["error"]["type"], body["error"]["code"]) == (kind, code)
    assert body["error"]["request_id"] == response.headers["x-request-id"]
    assert body["error"]["request_id"].startswith("req_")
    assert body["error"]["message"]
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["content-type"] == "application/json"
    assert "etag" not in response.headers


@pytest.mark.parametrize(("status", "code", "section", "changed"), ROWS)
def test_wrong_or_failing_request_is_answered_with_the_error_envelope(
    client: Client, status, code, section, changed
) -> None:
    params = {k: v for k, v in {**STAY, **changed}.items() if v is not None}
    response = client.get(f"/v1/pulse/{section}", params)
    kind = "invalid_request_error" if status == 400 else "api_error"
    check(response, status, kind, code)
    assert ("retry-after" in response.headers) == (status == 503)
    assert ("ratelimit" in response.headers) == (status == 400)


def test_repeated_parameter_is_reported_before_other_parameter_errors(client: Client) -> None:
    response = client.get("/v1/pulse/tides?lat=x&lng=2&start=2026-11-28&lang=en&lang=en")
    check(response, 400, "invalid_request_error", "duplicate_parameter")
    assert "lang" in response.json()["error"]["message"]


def test_misspelt_parameter_is_refused_with_a_hint(client: Client) -> None:
    response = client.get("/v1/pulse/tides", {**STAY, "unit": "imperial"})
    check(response, 400, "invalid_request_error", "unknown_parameter")
    assert "did you mean units?" in response.json()["error"]["message"]
    assert client.get("/v1/pulse/tides", {**STAY, "utm_source": "a", "_": "1"}).status_code == 200
    page = client.get("/v1/pulse", {**STAY, "them": "dark"}, key=None)
    assert page.status_code == 400
    assert "unknown_parameter" in page.text
    known = {"url": "http://127.0.0.1:8000/v1/pulse", "maxwidht": "5"}
    check(
        client.get("/v1/oembed", known, key=None), 400, "invalid_request_error", "unknown_parameter"
    )


@pytest.mark.parametrize("query", ["lat=%zz", "lat=%", "place=%00", "x=%ff", "x=%ed%a0%80"])
def test_query_with_broken_escapes_is_refused_as_malformed(client, query) -> None:
    check(
        client.get(f"/v1/pulse/tides?{query}", key=None),
        400,
        "invalid_request_error",
        "malformed_request",
    )


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/v1", "/v1/", "/v1/pulse/tides/", "/v1/health/", "/v1/health%0A", "/V1/health"],
)
def test_unknown_path_is_not_found_without_a_redirect(client, path):
    check(client.get(path, key=None), 404, "invalid_request_error", "not_found")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"])
@pytest.mark.parametrize("path", ["/v1/pulse/tides", "/v1/health", "/v1/docs"])
def test_methods_other_than_get_and_head_are_refused_with_an_allow_header(
    client, method, path
) -> None:
    response = client.get(path, method=method)
    check(response, 405, "invalid_request_error", "method_not_allowed")
    assert response.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "authorization",
    [None, "Basic abc", "Bearer", "lc_live_x", "Token lc_live_x"],
)
def test_request_without_a_bearer_key_gets_the_error_missing_api_key(
    client: Client, authorization
) -> None:
    headers = {"Authorization": authorization} if authorization is not None else {}
    response = client.get("/v1/pulse/tides", STAY, key=None, headers=headers)
    check(response, 401, "authentication_error", "missing_api_key")
    assert response.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in response.json()["error"]["message"]


@pytest.mark.parametrize("key", ["x" * 10_000, "lc_live_" + "0" * 49, "sch\xe4tze"])
def test_unknown_key_gets_the_error_invalid_api_key(client: Client, key) -> None:
    headers = {"Authorization": f"Bearer {key}".encode("latin-1")}
    response = client.get("/v1/pulse/tides", STAY, key=None, headers=headers)
    check(response, 401, "authentication_error", "invalid_api_key")
    assert "not recognised" in response.json()["error"]["message"]


def test_key_in_the_url_is_refused_and_not_repeated_in_the_answer(client: Client) -> None:
    response = client.get("/v1/pulse/tides", {**STAY, "api_key": client.key}, key=None)
    check(response, 401, "authentication_error", "missing_api_key")
    assert client.key not in response.text


def test_internal_server_error_shows_no_internals(client: Client) -> None:
    text = client.get("/v1/pulse/broken", STAY).text
    assert "inside" not in text
    assert "RuntimeError" not in text


def test_of_several_errors_the_one_that_is_first_in_a_fixed_order_is_reported(
    client: Client,
) -> None:
    codes = [
        client.get("/nothing?x=%zz", method="POST", key=None),
        client.get("/nothing", method="POST", key=None),
        client.get("/v1/pulse/tides", method="POST", key=None),
        client.get("/v1/pulse/tides", key=None),
        client.get("/v1/pulse/tides"),
    ]
    assert [r.json()["error"]["code"] for r in codes] == [
        "malformed_request",
        "not_found",
        "method_not_allowed",
        "missing_api_key",
        "missing_parameter",
    ]


def test_spent_quota_is_answered_429_until_the_retry_after_time(web_settings) -> None:
    clock = MovedClock()
    with served_client(web_settings, FakeSection(clock), clock=clock, per_minute=2) as client:
        assert client.get("/v1/pulse/tides", STAY).status_code == 200
        assert client.get("/v1/pulse/tides", {**STAY, "lat": "x"}).status_code == 400
        response = client.get("/v1/pulse/tides", STAY)
        check(response, 429, "rate_limit_error", "rate_limit_exceeded")
        assert response.headers["ratelimit"].startswith('"minute";r=0;t=')
        assert response.headers["ratelimit-policy"].startswith('"minute";q=2;w=60, "day"')
        clock.advance(int(response.headers["retry-after"]))
        assert client.get("/v1/pulse/tides", STAY).status_code == 200


def test_server_error_uses_no_quota_and_has_no_quota_headers(web_settings) -> None:
    with served_client(web_settings, Broken(), Empty(), FakeSection(), per_minute=3) as client:
        for section, status in (("broken", 500), ("empty", 503)) * 4:
            response = client.get(f"/v1/pulse/{section}", STAY)
            assert response.status_code == status
            assert "ratelimit" not in response.headers
        left = client.get("/v1/pulse/tides", STAY).headers["ratelimit"]
        assert left.startswith('"minute";r=2;')


def test_widget_answers_a_wrong_method_or_malformed_query_with_an_error_page(
    client: Client,
) -> None:
    wrong = client.get("/v1/pulse", method="POST", key=None)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    assert "method_not_allowed" in wrong.text
    malformed = client.get("/v1/pulse?place=%zz", key=None)
    assert malformed.status_code == 400
    for response in (wrong, malformed):
        assert response.headers["content-type"].startswith("text/html")


class UnreadyTemplate(Exception):
    """What a page raises that cannot be drawn."""


def unready(*_: object) -> Response:
    raise UnreadyTemplate


def test_error_page_that_fails_to_render_is_replaced_by_the_json_error_envelope(
    client: Client,
) -> None:
    routes = client.served.app.routes
    route = routes["/v1/pulse"]
    routes["/v1/pulse"] = replace(route, error_response=unready)
    try:
        response = client.get("/v1/pulse", {"lat": "91"}, key=None)
    finally:
        routes["/v1/pulse"] = route
    check(response, 400, "invalid_request_error", "invalid_latitude")
