"""`/metrics`: true of all processes together, whatever happens to one of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from location_context.settings import Settings
from location_context.web.metrics import METRICS, PREFIX, AllProcesses
from tests.databases import OwnRedis
from tests.patience import wait_until
from tests.serving import free_port, serve
from tests.web.commands import Serving, command, serving, with_redis
from tests.web.conftest import HTTP, STAY, Client, served_client
from tests.web.sections import Broken, Empty, FakeSection, Slow, occupied

Samples = dict[tuple[str, frozenset[str]], float]
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def scrape(address: str) -> Samples:
    """Every sample by its name without the prefix, and the values of its labels."""
    response = HTTP.get(f"http://{address}/metrics")
    assert response.status_code == 200
    return {
        (one.name.removeprefix(PREFIX), frozenset(one.labels.values())): one.value
        for family in parse_text(response.text)
        for one in family.samples
    }


def at(samples: Samples, name: str, *labels: str) -> float:
    """The sum of the samples of this name that have these values among their labels."""
    return sum(
        value for (one, held), value in samples.items() if one == name and held >= set(labels)
    )


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def measured(tmp_path: Path, address: str) -> Iterator[Client]:
    """A server whose metrics are at `address`."""
    settings = Settings(data_dir=tmp_path, log_level="error", metrics_address=address)
    with served_client(settings, FakeSection(), Broken(), Empty()) as client:
        yield client


def test_metrics_count_answers_by_route_status_code_and_cache(measured, address) -> None:
    for _ in range(3):
        measured.get("/v1/pulse/tides", STAY)
    etag = measured.get("/v1/pulse/tides", STAY).headers["etag"]
    measured.get("/v1/pulse/tides", STAY, headers={"If-None-Match": etag})
    measured.get("/v1/pulse/tides", STAY, key=None)
    measured.get("/v1/pulse/tides", {**STAY, "lat": "91"})
    measured.get("/v1/pulse/empty", STAY)
    measured.get("/v1/pulse/broken", STAY)
    measured.get("/v1/lc_live_secret")
    measured.get("/v1/pulse", STAY, key=None)
    found, tides = scrape(address), "/v1/pulse/tides"
    assert at(found, "requests_total", tides, "200", "") == 4
    assert at(found, "requests_total", tides, "304") == 1
    assert at(found, "requests_total", tides, "401", "missing_api_key") == 1
    assert at(found, "requests_total", tides, "400", "invalid_latitude") == 1
    assert at(found, "requests_total", "503", "upstream_unavailable") == 1
    assert at(found, "requests_total", "500", "internal_error") == 1
    assert at(found, "requests_total", "other", "404", "not_found") == 1
    assert at(found, "requests_total", "/v1/pulse", "200") == 1
    assert at(found, "responses_total", tides, "miss") == 1
    assert at(found, "responses_total", tides, "response") == 4
    assert at(found, "section_reads_total", "tides", "miss") == 1
    assert at(found, "section_reads_total", "empty", "failed") == 2
    assert at(found, "request_duration_seconds_count", tides) == 7
    assert at(found, "request_duration_seconds_bucket", tides, "+Inf") == 7
    assert "secret" not in str(found)
    assert measured.key not in str(found)


def test_metrics_count_refusals_for_a_spent_quota_by_window(tmp_path, address) -> None:
    settings = Settings(
        data_dir=tmp_path, log_level="error", metrics_address=address, widget_per_minute=1
    )
    with served_client(settings, FakeSection(), per_minute=2) as client:
        statuses = [client.get("/v1/pulse/tides", STAY).status_code for _ in range(3)]
        pages = [client.get("/v1/pulse", STAY, key=None).status_code for _ in range(3)]
        found = scrape(address)
    assert statuses == [200, 200, 429]
    assert pages == [200, 429, 429]
    assert at(found, "quota_refusals_total", "minute") == 1
    assert at(found, "quota_refusals_total", "widget") == 2
    assert at(found, "quotas_counted_alone") == 0


def test_metrics_show_requests_in_flight_and_whether_the_server_is_draining(
    tmp_path, address
) -> None:
    settings = Settings(data_dir=tmp_path, log_level="error", metrics_address=address)
    slow = Slow()
    with served_client(settings, slow) as client:
        assert at(scrape(address), "requests_in_flight") == 0
        assert at(scrape(address), "workers_ready") == 1
        with occupied(slow, partial(client.get, "/v1/pulse/slow", STAY)):
            assert slow.entered.wait(10)
            assert at(scrape(address), "requests_in_flight") == 1
        client.served.app.draining = True
        assert at(scrape(address), "workers_ready") == 0
        assert at(scrape(address), "workers") == 1


def test_metrics_are_served_only_at_the_configured_metrics_address(measured, address) -> None:
    assert measured.get("/metrics", key=None).status_code == 404
    for path in ("/", "/v1/health", "/metrics/"):
        assert HTTP.get(f"http://{address}{path}").status_code == 404


def test_metrics_are_valid_in_both_formats_of_prometheus(measured, address) -> None:
    url = f"http://{address}/metrics"
    plain = list(parse_text(HTTP.get(url).text))
    opened = HTTP.get(url, headers={"Accept": OPENMETRICS})
    assert opened.headers["content-type"].startswith("application/openmetrics-text")
    for families in (plain, list(parse_openmetrics(opened.text))):
        kinds = {family.name: family.type for family in families}
        assert kinds == {(PREFIX + one.name).removesuffix("_total"): one.kind for one in METRICS}


def test_metrics_library_is_not_loaded_without_a_metrics_address(tmp_path) -> None:
    code = (
        "import asyncio, sys, pathlib; from location_context.app import create_app;"
        "from location_context.settings import Settings\n"
        "async def work():\n"
        "  app = create_app(Settings(data_dir=pathlib.Path(sys.argv[1])))\n"
        "  async with app.lifespan(app): print('prometheus_client' in sys.modules)\n"
        "asyncio.run(work())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == "False"


def test_serve_refuses_a_wrong_or_used_metrics_address(tmp_path, address) -> None:
    wrong = {"LOCATION_CONTEXT_METRICS_ADDRESS": "9464"}
    done = command(tmp_path, "serve", more=wrong, fails=True)
    assert "METRICS_ADDRESS: the value must be an address and a port" in done.stderr
    settings = Settings(data_dir=tmp_path, log_level="error", metrics_address=address)
    with serve(settings, sections=[]):
        taken = {"LOCATION_CONTEXT_METRICS_ADDRESS": address}
        done = command(tmp_path, "serve", "--port", str(free_port()), more=taken, fails=True)
    assert f"Cannot listen on {address}" in done.stderr


def test_metrics_ignore_an_empty_file_of_a_killed_worker(tmp_path: Path) -> None:
    (tmp_path / "counter_1.db").touch()
    assert not list(AllProcesses(tmp_path).collect())


def workers_of(served: Serving) -> list[int]:
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
    return [int(pid) for pid in children.read_text(encoding="ascii").split()]


def until(report: float, address: str, *sample: str) -> list[float]:
    """Scrape until the sample is this, and return every value of requests on the way."""
    seen = []

    def is_reached() -> bool:
        found = scrape(address)
        seen.append(at(found, "requests_total", "/v1/pulse/astronomy"))
        return at(found, *sample) == report

    wait_until(is_reached)
    return seen


@pytest.mark.skipif(sys.platform != "linux", reason="it finds the workers in /proc")
def test_metrics_of_two_workers_never_fall_when_a_worker_is_killed(
    tmp_path, address, own_redis: OwnRedis
) -> None:
    command(tmp_path, "setup", "--without-fallback")
    key = command(tmp_path, "keys", "create", "scraped").stdout.split()[-1]
    sent = {"Authorization": f"Bearer {key}"}
    stay = {"lat": "48.85", "lng": "2.35", "start": "2026-11-28", "end": "2026-12-01"}
    counted = ("requests_total", "/v1/pulse/astronomy", "200")
    more = {"LOCATION_CONTEXT_METRICS_ADDRESS": address}
    with serving(tmp_path, "--workers", "2", more=more | with_redis(own_redis)) as served:
        url = f"http://127.0.0.1:{served.port}/v1/pulse/astronomy"
        until(2, address, "workers_ready")
        for _ in range(40):
            assert HTTP.get(url, params=stay, headers=sent).status_code == 200
        until(40, address, *counted)
        before = workers_of(served)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len(set(workers_of(served)) - {before[0]}) == 2)
        seen = until(2, address, "workers_ready")
        assert set(seen) == {40}
        for _ in range(40):
            HTTP.get(url, params=stay, headers=sent)
        seen = until(80, address, *counted)
        assert seen == sorted(seen)
