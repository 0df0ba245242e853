"""Dashboard and alerts in `deploy/` ask only for what is there, and what they ask for moves."""

import asyncio
import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from location_context.settings import Secret, Settings
from location_context.web.metrics import METRICS, PREFIX
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.fakes.server import FakeResponse
from tests.moved_clock import MovedClock
from tests.patience import wait_until
from tests.serving import free_port, serve
from tests.web.conftest import STAY, Client, make_key
from tests.web.full_app import OFF, load_sample_guide
from tests.web.test_metrics import Samples, at, scrape

DEPLOY = Path(__file__).parents[2] / "deploy"
SELECTOR = re.compile(rf"{PREFIX}([a-z_]+)(?:\{{([^}}]*)\}})?")
MATCHER = re.compile(r"(\w+)(?:=~|!~|!=|=)")
FROM_OUTSIDE = {"instance", "job"}  # labels that Prometheus adds
SUFFIXES = ("_bucket", "_sum", "_count")
CONSTANT = {  # while one process serves
    "build_info",
    "workers",
    "database_connections_limit",
    "provider_units_limit",
    "dataset_rows",  # these two: what was imported before the start
    "dataset_timestamp_seconds",
}


def expressions() -> list[str]:
    """What every panel, variable and alert asks."""
    board = json.loads((DEPLOY / "grafana" / "location-context.json").read_text("utf-8"))
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8"))
    request = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    request += [variable["definition"] for variable in board["templating"]["list"][1:]]
    return request + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def test_dashboard_and_alerts_use_existing_metrics_and_labels() -> None:
    by_name = {metric.name: metric for metric in METRICS}
    request = expressions()
    assert len(request) > 50
    for expression in request:
        for name, matchers in SELECTOR.findall(expression):
            metric = by_name.get(name)
            if metric is None:
                metric = by_name[re.sub("_(bucket|sum|count)$", "", name)]
                assert metric.kind == "histogram"
            labels = set(MATCHER.findall(matchers)) - FROM_OUTSIDE
            assert labels <= set(metric.labels), expression
        for by in re.findall(r"by \(([^)]*)\)", expression):
            known = {label for name, _ in SELECTOR.findall(expression)
                     for label in by_name.get(re.sub("_(bucket|sum|count)$", "", name),
                                              by_name.get(name)).labels}  # fmt: skip
            assert set(by.replace(" ", "").split(",")) <= known | FROM_OUTSIDE | {"le"}, expression


def test_dashboard_shows_each_metric() -> None:
    shown = {name for expression in expressions() for name, _ in SELECTOR.findall(expression)}
    shown |= {re.sub("_(bucket|sum|count)$", "", name) for name in shown}
    assert {metric.name for metric in METRICS} <= shown


@dataclass
class Load:
    """A service with one weather provider, whose metrics are at `address`."""

    client: Client
    address: str
    meteo: OpenMeteo
    database: Path
    seen: list[Samples] = field(default_factory=list)

    def look(self) -> Samples:
        self.seen.append(scrape(self.address))
        return self.seen[-1]

    def until(self, report: Any) -> None:
        """Scrape until `report`, of the samples, is true."""
        wait_until(lambda: report(self.look()))

    def weather(self, lat: str, **more: str) -> int:
        request = {**STAY, "lat": lat, **more}
        return self.client.get("/v1/pulse/weather", request).status_code

    def at_once(self, lat: str, *languages: str) -> list[threading.Thread]:
        """Request one place in several languages; return the threads that wait."""
        asking = [
            threading.Thread(target=self.weather, args=(lat,), kwargs={"lang": one})
            for one in languages
        ]
        for one in asking:
            one.start()
        return asking


@contextmanager
def loaded(folder: Path) -> Iterator[Load]:
    clock, address = MovedClock(), f"127.0.0.1:{free_port()}"
    meteo = OpenMeteo(clock)
    with meteo.server.running() as server:
        urls = {
            "open_meteo_forecast_url": server.url + FORECAST,
            "open_meteo_archive_url": server.url + ARCHIVE,
        }
        settings = Settings(
            data_dir=folder,
            log_level="error",
            metrics_address=address,
            redis_url=Secret("redis://127.0.0.1:9"),
            widget_per_minute=2,
            json_deadline=3.0,  # in which both requests in flight are seen
            **{**OFF, **urls},
        )
        asyncio.run(load_sample_guide(settings, clock))
        key = make_key(settings)
        with serve(settings, clock=clock) as served:
            yield Load(Client(served, key), address, meteo, folder / "location-context.sqlite3")


def moved(seen: list[Samples]) -> set[str]:
    """The metrics of which some sample was not always the same."""
    names = {name for samples in seen for name, _ in samples}
    changed = {
        name for name in names
        if len({json.dumps([[*sorted(labels), value] for (one, labels), value in
                            sorted(samples.items(), key=str) if one == name])
                for samples in seen}) > 1
    }  # fmt: skip
    return {name.removesuffix(suffix) for name in changed for suffix in ("", *SUFFIXES)}


def test_each_metric_changes_under_load(tmp_path: Path) -> None:
    with loaded(tmp_path) as load:
        start = load.look()
        assert at(start, "dataset_rows", "guide") == 577
        assert at(start, "dataset_timestamp_seconds", "guide") > 1.7e9
        assert load.weather("48.85") == 200
        load.until(lambda found: at(found, "quotas_counted_alone") == 1)  # without Redis
        for section in ("astronomy", "guide", "events", "nothing"):
            load.client.get(f"/v1/pulse/{section}", STAY)
        for _ in range(3):
            load.client.get("/v1/pulse", STAY, key=None)
        load.look()
        # two requests for one place of a silent provider are in flight together
        load.meteo.faults = dict.fromkeys((FORECAST, ARCHIVE), FakeResponse(fault="hang"))
        asking = load.at_once("10", "en", "de")
        load.until(lambda found: at(found, "requests_in_flight") == 2)
        for one in asking:
            one.join()
        # a provider that fails until its breaker opens
        load.meteo.faults = dict.fromkeys((FORECAST, ARCHIVE), FakeResponse({}, 500))
        for number in range(20, 26):
            load.weather(str(number))
        load.until(lambda found: at(found, "breaker_open") > 0)
        load.until(lambda found: at(found, "upstream_refused_total", "breaker") > 0)
        load.client.served.app.draining = True
        load.look()
        assert at(load.look(), "resident_memory_bytes") > 20e6
        expected = {metric.name for metric in METRICS} - CONSTANT
        expected -= {"unwritten_rows", "database_connections"}  # the next test
        expected.discard("quotas_counted_alone")  # before the first scrape, sometimes
        assert expected - moved(load.seen) <= {"resident_memory_bytes"}


def test_metrics_count_the_rows_not_yet_written_while_the_database_is_locked(
    tmp_path: Path,
) -> None:
    with loaded(tmp_path) as load:
        assert at(load.look(), "unwritten_rows") == 0
        with closing(sqlite3.connect(load.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert load.weather("48.85") == 200
            load.until(lambda found: at(found, "unwritten_rows") > 0)
            load.until(lambda found: at(found, "database_connections") > 0)
            other.execute("ROLLBACK")
        load.until(lambda found: at(found, "unwritten_rows") == 0)
        load.until(lambda found: at(found, "database_connections") == 0)
