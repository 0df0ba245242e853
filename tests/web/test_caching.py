"""ETags, 304, Cache-Control, Vary, content codings, HEAD and languages, over real HTTP."""

import gzip
import http.client

import brotli
import pytest

from location_context.settings import Settings
from location_context.web.response_cache import choose_coding
from tests.moved_clock import MovedClock
from tests.web.conftest import STAY, Client, remaining, served_client
from tests.web.sections import FakeSection, FakeUndatedSection

TIDES = "/v1/pulse/tides"


def test_unchanged_answer_has_status_304_with_quota_and_caching_headers(client: Client) -> None:
    first = client.get(TIDES, STAY)
    again = client.get(TIDES, STAY, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == first.headers["etag"]
    for name in ("vary", "ratelimit-policy", "content-language"):
        assert again.headers[name] == first.headers[name]
    assert "max-age" in again.headers["cache-control"]
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert "content-type" not in again.headers


@pytest.mark.parametrize("form", ["W/{}", '"other", {}', "{},\t{}", "*", '"a"{}'])
def test_if_none_match_header_accepts_weak_tags_and_lists_and_a_star(client: Client, form) -> None:
    etag = client.get(TIDES, STAY).headers["etag"]
    sent = form.format(etag, etag)
    assert client.get(TIDES, STAY, headers={"If-None-Match": sent}).status_code == 304


@pytest.mark.parametrize("junk", ["", '"', "W/", "é", '"unclosed', "," * 900, "x" * 5000])
def test_malformed_if_none_match_is_ignored(client: Client, junk) -> None:
    headers = {"If-None-Match": junk.encode("utf-8")}
    assert client.get(TIDES, STAY, headers=headers).status_code == 200


def test_status_304_requires_an_api_key_and_valid_parameters(client: Client) -> None:
    etag = {"If-None-Match": "*"}
    assert client.get(TIDES, STAY, key=None, headers=etag).status_code == 401
    assert client.get(TIDES, {**STAY, "lat": "x"}, headers=etag).status_code == 400


def raw(client: Client, coding: str):
    """The answer with its body as it came over the wire."""
    connection = http.client.HTTPConnection("127.0.0.1", client.served.port, timeout=10)
    query = "&".join(f"{name}={value}" for name, value in STAY.items())
    headers = {"Authorization": f"Bearer {client.key}", "Accept-Encoding": coding}
    connection.request("GET", f"{TIDES}?{query}", headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_each_content_coding_has_its_own_etag_and_the_same_content(client: Client) -> None:
    etags, bodies = set(), set()
    unpack = {None: bytes, "gzip": gzip.decompress, "br": brotli.decompress}
    for requested, given in (
        ("identity", None),
        ("gzip", "gzip"),
        ("br", "br"),
        ("gzip, br", "br"),
    ):
        response, body = raw(client, requested)
        assert response.headers["content-encoding"] == given
        assert int(response.headers["content-length"]) == len(body)
        etags.add(response.headers["etag"])
        bodies.add(unpack[given](body))
    assert len(etags) == 3
    assert len(bodies) == 1


def test_etag_of_one_content_coding_does_not_match_another(client: Client) -> None:
    response, _ = raw(client, "gzip")
    etag = response.headers["etag"]
    assert client.get(TIDES, STAY, headers={"If-None-Match": etag}).status_code == 200
    headers = {"If-None-Match": etag, "Accept-Encoding": "gzip"}
    assert client.get(TIDES, STAY, headers=headers).status_code == 304


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("GZIP;Q=1", "gzip"),
        ("br;q=0.5, gzip;q=0.9", "gzip"),
        ("*", "br"),
        ("*;q=0", None),
        ("br;q=0, *", "gzip"),
        ("identity", None),
        ("gzip;q=0", None),
        ("deflate, zstd", None),
        (";;;,,q=,gzip;q=x,=", None),
        ("gzip;q=2", None),
    ],
)
def test_content_coding_follows_accept_encoding_and_ignores_junk(accept, chosen):
    assert choose_coding(accept.encode()) == chosen


def test_json_caching_headers_are_private_and_follow_the_data(client: Client) -> None:
    headers = client.get(TIDES, STAY).headers
    age, *rest = headers["cache-control"].removeprefix("private, max-age=").split(", ")
    assert 0 < int(age) <= 900
    assert rest == ["stale-while-revalidate=60", "stale-if-error=3600"]
    assert set(headers["vary"].split(", ")) == {"Accept-Encoding", "Authorization"}
    assert headers["content-language"].startswith("en")
    assert "access-control-allow-origin" not in headers
    assert headers["x-content-type-options"] == "nosniff"


def test_max_age_is_the_remaining_freshness_or_a_minute_if_the_answer_is_degraded(web_settings):
    tides = FakeSection(clock := MovedClock(), fresh=900)
    with served_client(web_settings, tides, clock=clock) as client:
        assert "max-age=900" in client.get(TIDES, STAY).headers["cache-control"]
        clock.advance(300)
        assert "max-age=600" in client.get(TIDES, STAY).headers["cache-control"]
        tides.lacking = "provider_unavailable"
        clock.advance(1000)
        control = client.get(TIDES, STAY).headers["cache-control"]
        assert control == "private, max-age=60"


def test_head_has_the_headers_of_get_and_no_body(web_settings: Settings) -> None:
    # max-age counts seconds, so both are requested at one moment.
    tides = FakeSection(clock := MovedClock(), fresh=900)
    with served_client(web_settings, tides, clock=clock) as client:
        for path, params in ((TIDES, STAY), ("/v1/health", {}), ("/v1/docs", {}), ("/nothing", {})):
            got, head = client.get(path, params), client.get(path, params, method="HEAD")
            assert head.status_code == got.status_code
            assert head.content == b""
            for name in ("content-type", "content-length", "etag", "cache-control", "vary"):
                assert head.headers.get(name) == got.headers.get(name), (path, name)


def test_head_counts_against_the_quota(client: Client) -> None:
    before = remaining(client.get(TIDES, STAY))
    assert remaining(client.get(TIDES, STAY, method="HEAD")) == before - 1


def test_json_language_follows_the_lang_parameter_and_ignores_accept_language(
    client: Client,
) -> None:
    plain = client.get(TIDES, STAY, headers={"Accept-Language": "de"})
    assert plain.headers["content-language"] == "en"
    assert client.get(TIDES, {**STAY, "lang": "xx"}).headers["content-language"] == "en"
    junk = {"Accept-Language": ";q=x,,é*" * 50, "Range": "bytes=a-", "If-Range": "x"}
    encoded = {name: value.encode() for name, value in junk.items()}
    assert client.get(TIDES, STAY, headers=encoded).status_code == 200


def test_section_without_dates_ignores_the_date_parameters(client: Client) -> None:
    reads = {
        client.get("/v1/pulse/harbour", {**STAY, "start": start, "utm": start}).json()["reads"]
        for start in ("2026-11-28", "2026-11-29", "junk")
    }
    assert reads == {1}
    assert FakeUndatedSection.dated is False


def test_equal_coordinates_written_differently_share_an_answer(client: Client) -> None:
    bodies = {
        client.get(TIDES, {**STAY, "lat": lat, "lng": lng}).content
        for lat, lng in (("90", "5"), ("90.0", "-180"), ("9e1", "0"))
    }
    assert len(bodies) == 1
