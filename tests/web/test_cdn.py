"""Answers in a shared cache: how long it may hold them, and what parts them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from location_context.freshness import Freshness
from location_context.sections.contract import NotApplicable, SectionResult
from tests.web.conftest import Client
from tests.web.full_app import PARIS, STAY, full_app

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FAR = {**PARIS, "start": "2027-06-05", "end": "2027-06-12", "lang": "en"}
NEAR = {**STAY, "lang": "en"}
PATIENT = {"widget_deadline": 60, "json_deadline": 60}  # so that no page lacks what is late


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Iterator[Client]:
    """The whole service."""
    folder = tmp_path_factory.mktemp("whole")
    with full_app(folder, **PATIENT) as client:
        yield client


def directives(response) -> dict[str, int]:
    given = (part.partition("=") for part in response.headers["cache-control"].split(", "))
    return {name: int(value) for name, _, value in given if value}


def page(client: Client, stay: dict[str, str], path: str = "/v1/pulse", **headers: str):
    response = client.get(path, stay, key=None, headers=headers)
    assert response.status_code in {200, 304}
    return response


def test_cdn_may_cache_climatology_and_guide_for_an_hour(whole: Client):
    report = directives(page(whole, FAR))
    assert (report["max-age"], report["s-maxage"]) == (900, 3600)


def test_cdn_may_cache_a_forecast_only_while_fresh(whole: Client):
    report = directives(page(whole, NEAR))
    assert (report["max-age"], report["s-maxage"]) == (900, 1800)


def result(fresh: float, shared: float | None = None, **more) -> SectionResult:
    body = NotApplicable(reason="no_events", message="None.")
    until = NOW + timedelta(seconds=fresh)
    longer = None if shared is None else NOW + timedelta(seconds=shared)
    return SectionResult(body, until, shared_until=longer, **more)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([result(900, 4500), result(86_400)], "public, max-age=900, s-maxage=3600"),
        ([result(900, 4500), result(1200)], "public, max-age=900, s-maxage=1200"),
        ([result(900, 4500), result(600)], "public, max-age=600"),
        ([result(300, 300)], "public, max-age=300"),  # midnight
        ([result(-20, 3580), result(86_400)], "public, max-age=0, s-maxage=3580"),
        ([result(86_400)], "public, max-age=86400"),
        ([result(-20)], "public, max-age=0, s-maxage=5"),
        ([result(900, 4500, lacks="budget_spent")], "public, max-age=900"),
    ],
)
def test_page_is_cached_as_long_as_its_shortest_lived_section(results, said):
    freshness = Freshness.of(results, "public")
    control = freshness.cache_control(freshness.seconds_left(NOW.timestamp()))
    assert control == f"{said}, stale-while-revalidate=60, stale-if-error=3600"


def test_incomplete_page_is_cached_for_a_minute():
    for lacking in ([result(900, 4500, lacks="late")], [result(900, 4500), None]):
        assert Freshness.of(lacking, "public").cache_control(900) == "public, max-age=60"


def test_answer_that_requires_a_key_is_not_cached_by_shared_caches(whole: Client):
    response = whole.get("/v1/pulse/guide", PARIS)
    assert response.headers["cache-control"].startswith("private, max-age=3600, stale")
    assert "cdn-cache-control" not in response.headers


def test_304_has_the_caching_headers_of_the_page(whole: Client):
    first = page(whole, FAR)
    again = page(whole, FAR, **{"If-None-Match": first.headers["etag"]})
    quickly = page(whole, FAR, **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == quickly.status_code == 304
    for name in ("vary", "etag"):
        assert again.headers[name] == quickly.headers[name] == first.headers[name]
    assert directives(again)["s-maxage"] == 3600


def test_page_with_the_lang_parameter_is_cached_for_all_readers(whole: Client):
    german = page(whole, FAR, **{"Accept-Language": "de"})
    assert german.headers["vary"] == "Accept-Encoding"
    assert german.headers["content-language"] == "en"
    assert "cdn-cache-control" not in german.headers


def test_page_in_the_language_of_the_reader_is_not_cached_by_cdns(whole: Client):
    headers = page(whole, {**FAR, "lang": ""}).headers
    assert headers["vary"] == "Accept-Encoding, Accept-Language"
    assert headers["cdn-cache-control"] == "no-store"
