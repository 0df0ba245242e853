"""Answers in a shared cache: how long it may hold them, their tags, and what parts them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from location_context.freshness import Freshness
from location_context.sections.contract import NotApplicable, SectionResult
from location_context.upstream.purge import place_tags
from tests.web.conftest import Client
from tests.web.full_app import PARIS, STAY, full_app

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FAR = {**PARIS, "start": "2027-06-05", "end": "2027-06-12", "lang": "en"}
NEAR = {**STAY, "lang": "en"}
TAGS = ["pulse", "pulse-weather", "pulse-astronomy", "pulse-guide", "pulse-events"]
PATIENT = {"widget_deadline": 60, "json_deadline": 60}  # so that no page lacks what is late
PLACE = ["pulse-at-48:2", "pulse-in-FR"]


@pytest.fixture(scope="module")
def purged(tmp_path_factory) -> Iterator[Client]:
    """The whole service with a CDN that can be purged."""
    folder = tmp_path_factory.mktemp("purged")
    with full_app(
        folder, purge_url="http://127.0.0.1:9/", calibrate_forecast=False, **PATIENT
    ) as client:
        yield client


def directives(response) -> dict[str, int]:
    given = (part.partition("=") for part in response.headers["cache-control"].split(", "))
    return {name: int(value) for name, _, value in given if value}


def page(client: Client, stay: dict[str, str], path: str = "/v1/pulse", **headers: str):
    response = client.get(path, stay, key=None, headers=headers)
    assert response.status_code in {200, 304}
    return response


def test_a_cdn_may_hold_climatology_and_guide_for_an_hour_a_browser_as_before(purged: Client):
    told = directives(page(purged, FAR))
    assert (told["max-age"], told["s-maxage"]) == (900, 3600)


def test_events_that_no_import_could_purge_end_the_hour(tmp_path):
    with full_app(tmp_path, **PATIENT) as client:
        told = directives(page(client, FAR))
        assert told["max-age"] == 900
        assert "s-maxage" not in told
        alone = directives(page(client, {**FAR, "sections": "guide"}))
        assert alone["max-age"] == 3600


def test_a_forecast_is_held_for_as_long_as_it_is_fresh_and_no_longer(purged: Client):
    told = directives(page(purged, NEAR))
    assert (told["max-age"], told["s-maxage"]) == (900, 1800)


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
def test_the_part_that_ends_first_ends_it_for_all(results, said):
    freshness = Freshness.of(results, "public")
    control = freshness.cache_control(freshness.seconds_left(NOW.timestamp()))
    assert control == f"{said}, stale-while-revalidate=60, stale-if-error=3600"


def test_what_lacks_something_is_held_for_its_minute_by_everyone():
    for lacking in ([result(900, 4500, lacks="late")], [result(900, 4500), None]):
        assert Freshness.of(lacking, "public").cache_control(900) == "public, max-age=60"


def test_what_is_behind_a_key_says_nothing_to_shared_caches(purged: Client):
    response = purged.get("/v1/pulse/guide", PARIS)
    assert response.headers["cache-control"].startswith("private, max-age=3600, stale")
    assert not {"surrogate-key", "cache-tag", "cdn-cache-control"} & {*response.headers}


def test_a_page_is_tagged_with_its_sections_its_place_and_its_country(purged: Client):
    headers = page(purged, FAR).headers
    assert headers["surrogate-key"].split() == [*TAGS, *PLACE]
    assert headers["cache-tag"].split(",") == [*TAGS, *PLACE]
    chosen = page(purged, {**FAR, "sections": "guide"}, "/v1/pulse.svg").headers
    assert chosen["surrogate-key"].split() == ["pulse", "pulse-guide", *PLACE]


def test_a_304_has_what_a_cdn_needs_to_hold_the_page_on(purged: Client):
    first = page(purged, FAR)
    again = page(purged, FAR, **{"If-None-Match": first.headers["etag"]})
    quickly = page(purged, FAR, **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == quickly.status_code == 304
    for name in ("surrogate-key", "cache-tag", "vary", "etag"):
        assert again.headers[name] == quickly.headers[name] == first.headers[name]
    assert directives(again)["s-maxage"] == 3600


def test_a_page_with_its_language_in_the_address_is_one_for_all_readers(purged: Client):
    german = page(purged, FAR, **{"Accept-Language": "de"})
    assert german.headers["vary"] == "Accept-Encoding"
    assert german.headers["content-language"] == "en"
    assert "cdn-cache-control" not in german.headers


def test_a_page_in_the_readers_language_is_kept_from_cdns_that_ignore_vary(purged: Client):
    headers = page(purged, {**FAR, "lang": ""}).headers
    assert headers["vary"] == "Accept-Encoding, Accept-Language"
    assert headers["cdn-cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("lat", "lng", "radius", "tags"),
    [
        (48.8566, 2.3522, 0, {"48:2"}),
        (48.8566, 2.3522, 25, {"48:2", "49:2"}),
        (48.99, 2.99, 25, {"48:2", "48:3", "49:2", "49:3"}),
        (-33.5, 180.0, 5, {"-34:-180", "-34:179"}),
        (0.0, -180.0, 0, {"0:-180"}),
    ],
)
def test_an_event_is_told_of_by_the_squares_it_reaches(lat, lng, radius, tags):
    assert {*place_tags(lat, lng, radius)} == {f"pulse-at-{one}" for one in tags}


def test_an_event_at_a_pole_reaches_every_longitude_there():
    assert len(place_tags(89.9, 0, 25)) == 2 * 360
    assert place_tags(90, 0, 0) == ["pulse-at-90:0"]
