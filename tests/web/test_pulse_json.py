"""`/v1/pulse.json`: several sections in one call, over real HTTP."""

from pathlib import Path

import pytest

from location_context.settings import Settings
from tests.fakes.open_meteo import ARCHIVE, ELEVATION, FORECAST, OpenMeteo
from tests.moved_clock import MovedClock
from tests.web.conftest import STAY, Client, remaining, served_client
from tests.web.full_app import full_app
from tests.web.sections import FakeSection, FakeUndatedSection, Slow

PULSE = "/v1/pulse.json"
HERE = {"lat": "48.8566", "lng": "2.3522"}
TWO = {"points": "48.8566,2.3522;43.3,-1.98", "start": STAY["start"], "end": STAY["end"]}
BOTH = {**STAY, "sections": "tides,harbour"}


def error(answer) -> str:
    return answer.json()["error"]["code"]


def test_section_within_a_pulse_equals_the_answer_of_its_own_endpoint(whole: Client) -> None:
    pulse = whole.get(PULSE, STAY)
    assert pulse.status_code == 200
    body = pulse.json()
    assert body["type"] == "pulse"
    assert body["stay"] == {"start": STAY["start"], "end": STAY["end"]}
    assert body["point"]["place"] == "Paris"
    assert set(body["sections"]) >= {"weather", "astronomy", "guide", "events"}
    for name in body["sections"]:
        alone = whole.get(f"/v1/pulse/{name}", STAY)
        assert f'"{name}":{alone.text}' in pulse.text


def test_pulse_lists_sections_that_are_not_applicable_separately_with_a_reason(
    whole: Client,
) -> None:
    at_sea = {**STAY, "lat": "-45", "lng": "-130", "sections": "guide,astronomy,events"}
    body = whole.get(PULSE, at_sea).json()
    assert list(body["sections"]) == ["astronomy"]
    reasons = {name: one["reason"] for name, one in body["not_applicable"].items()}
    assert reasons == {"guide": "no_restaurants_in_range", "events": "no_events"}
    assert body["point"]["place"] is None


def test_pulses_are_listed_in_the_order_of_the_requested_points(client: Client) -> None:
    body = client.get(PULSE, {**TWO, "sections": "tides"}).json()
    assert body["type"] == "pulses"
    assert [one["point"]["lat"] for one in body["results"]] == [48.8566, 43.3]
    assert {one["type"] for one in body["results"]} == {"pulse"}


def test_pulse_of_only_sections_without_dates_needs_no_dates(client: Client) -> None:
    body = client.get(PULSE, {**HERE, "sections": "harbour"}).json()
    assert body["stay"] is None
    assert list(body["sections"]) == ["harbour"]
    refused = client.get(PULSE, {**HERE, "sections": "harbour,tides"})
    assert error(refused) == "missing_parameter"


def test_days_parameter_of_a_pulse_counts_from_the_local_date_of_the_point(client: Client) -> None:
    body = client.get(PULSE, {**HERE, "days": "3", "sections": "tides"}).json()
    assert body["stay"] == body["sections"]["tides"]["stay"]


def test_pulse_lists_a_failed_section_as_unavailable_and_returns_the_other_sections(
    client: Client,
) -> None:
    answer = client.get(PULSE, {**STAY, "sections": "tides,broken,empty"})
    assert answer.status_code == 200
    assert list(answer.json()["sections"]) == ["tides"]
    assert answer.json()["unavailable"] == {"broken": "failed", "empty": "failed"}
    assert "max-age=60" in answer.headers["cache-control"]


def test_pulse_whose_sections_all_failed_is_answered_503_and_uses_no_quota(client: Client) -> None:
    before = remaining(client.get(PULSE, {**BOTH, "lang": "de"}))
    refused = client.get(PULSE, {**STAY, "sections": "broken,empty"})
    assert (refused.status_code, error(refused)) == (503, "upstream_unavailable")
    assert refused.headers["retry-after"]
    assert refused.json()["error"]["message"].startswith("No section has data")
    assert remaining(client.get(PULSE, {**STAY, "sections": "tides"})) == before - 1


def test_pulse_lists_a_section_that_misses_the_deadline_as_unavailable_because_late(
    tmp_path: Path,
) -> None:
    settings = Settings(data_dir=tmp_path, log_level="error", json_deadline=0.5)
    slow = Slow(MovedClock())
    with served_client(settings, FakeSection(MovedClock()), slow, clock=MovedClock()) as client:
        answer = client.get(PULSE, STAY)
        alone = client.get(PULSE, {**STAY, "sections": "slow"})
        slow.let_go()
    assert alone.json()["error"]["message"].startswith("No section was ready in time")
    assert answer.json()["unavailable"] == {"slow": "late"}
    assert list(answer.json()["sections"]) == ["tides"]


def test_each_section_of_each_point_uses_one_quota_unit(client: Client) -> None:
    before = remaining(client.get(PULSE, BOTH))
    three = {**TWO, "points": f"{TWO['points']};48.8566,2.35220", "sections": "tides,harbour"}
    answer = client.get(PULSE, three)
    assert len(answer.json()["results"]) == 3
    assert remaining(answer) == before - 4
    assert remaining(client.get(PULSE, {**BOTH, "lat": "x"})) == before - 5


def test_pulse_that_exceeds_the_quota_is_refused_and_uses_no_quota(tmp_path: Path) -> None:
    settings, clock = Settings(data_dir=tmp_path, log_level="error"), MovedClock()
    sections = [FakeSection(clock), FakeUndatedSection(clock)]
    with served_client(settings, *sections, clock=clock, per_minute=5) as client:
        assert remaining(client.get(PULSE, BOTH)) == 3
        refused = client.get(PULSE, {**TWO, "sections": "tides,harbour"})
        assert (refused.status_code, error(refused)) == (429, "rate_limit_exceeded")
        assert "counts as 4" in refused.json()["error"]["message"]
        assert remaining(refused) == 3
        assert remaining(client.get(PULSE, {**STAY, "sections": "tides"})) == 2
        clock.advance(int(refused.headers["retry-after"]))
        assert remaining(client.get(PULSE, {**TWO, "sections": "tides,harbour"})) == 1


def test_unchanged_pulse_has_status_304_and_a_head_request_gets_no_body(client: Client) -> None:
    first = client.get(PULSE, BOTH)
    again = client.get(PULSE, BOTH, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["vary"] == first.headers["vary"] == "Accept-Encoding, Authorization"
    head = client.get(PULSE, BOTH, method="HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == first.headers["etag"]


def test_pulse_is_fresh_until_the_first_of_its_sections_expires(tmp_path: Path) -> None:
    settings, clock = Settings(data_dir=tmp_path, log_level="error"), MovedClock()
    sections = [FakeSection(clock, fresh=900), FakeUndatedSection(clock, fresh=300)]
    with served_client(settings, *sections, clock=clock) as client:
        answer = client.get(PULSE, BOTH)
        assert answer.headers["cache-control"].startswith("private, max-age=300,")
        clock.advance(299)
        client.get(PULSE, BOTH)
        assert sections[0].reads == sections[1].reads == 1


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"points": "48.8566"}, "invalid_points"),
        ({"points": "48.8566,2.3522;91,0"}, "invalid_points"),
        ({"points": "48.8566,2.3522;"}, "invalid_points"),
        ({"points": ";".join(["1,1"] * 26)}, "invalid_points"),
        ({"points": "1,1", "lat": "1"}, "conflicting_parameters"),
        ({"points": ""}, "missing_parameter"),
        ({"points": "1,1", "days": "2"}, "conflicting_parameters"),
        ({"points": "1,1", "sections": "wether"}, "invalid_sections"),
    ],
)
def test_pulse_with_malformed_points_is_refused(client: Client, changed, code) -> None:
    answer = client.get(PULSE, {**TWO, **changed})
    assert (answer.status_code, error(answer)) == (400, code)


def test_nearby_points_of_a_pulse_share_the_provider_calls_of_their_grid_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """25 points in one cell: one forecast and one archive; an elevation each, as a spot has one."""
    made = []
    monkeypatch.setattr(
        "tests.web.full_app.OpenMeteo", lambda clock: made.append(OpenMeteo(clock)) or made[-1]
    )
    near = ";".join(f"{48.8566 + i / 10000:.4f},{2.3522 + i / 10000:.4f}" for i in range(25))
    with full_app(tmp_path) as client:
        for start, end in (("2026-11-28", "2026-12-01"), ("2027-05-01", "2027-05-07")):
            body = client.get(PULSE, {"points": near, "start": start, "end": end}).json()
            assert "results" in body, body
            assert not any(one["unavailable"] for one in body["results"])
            assert len({one["sections"]["weather"]["mode"] for one in body["results"]}) == 1
        (meteo,) = made
        assert len(meteo.calls(FORECAST)) == 1
        months = [one.query["start_date"] for one in meteo.calls(ARCHIVE)]
        assert len(months) == len(set(months))
        assert len(meteo.calls(ELEVATION)) <= 25
