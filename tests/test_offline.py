"""With nothing outside reachable, every section still answers, in time, and the widget shows it.

The server is the command `serve` as a person starts it, in its own process, after `setup`; the
providers are a closed port, or one that accepts and never answers.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType

import httpx2
import msgspec
import pytest

from tests.fakes.server import FakeResponse, FakeServer
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.sections.weather.conftest import write_grid
from tests.serving import answers, free_port
from tests.web.commands import command

PROVIDERS = (
    "OPEN_METEO_FORECAST", "OPEN_METEO_ARCHIVE", "MET_NORWAY", "NASA_POWER", "OPEN_HOLIDAYS",
    "TICKETMASTER", "PREDICTHQ",
)  # fmt: skip
COMMAND = [sys.executable, "-m", "location_context"]


@dataclass(frozen=True)
class Running:
    """A served process with its first key, and what `setup` printed."""

    url: str
    key: str
    printed: str

    def get(self, path: str) -> httpx2.Response:
        """An answer, within the patience of a client."""
        return httpx2.get(
            self.url + path,
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=PATIENCE_SECONDS,
            trust_env=False,
        )


def environment(
    data_dir: Path, provider: str, more: Mapping[str, float] = MappingProxyType({})
) -> dict[str, str]:
    given = {f"LOCATION_CONTEXT_{name}_URL": provider for name in PROVIDERS}
    keys = {
        f"LOCATION_CONTEXT_{name}": "a-key"
        for name in ("TICKETMASTER_API_KEY", "PREDICTHQ_API_KEY")
    }
    return {
        **os.environ,
        **given,
        **keys,
        **{f"LOCATION_CONTEXT_{name}": str(value) for name, value in more.items()},
        "LOCATION_CONTEXT_CONTACT": "a@b.example",
        "LOCATION_CONTEXT_LOG_FORMAT": "console",
        "LOCATION_CONTEXT_DATA_DIR": str(data_dir),
    }


@dataclass(frozen=True)
class Prepared:
    """A data directory that `setup` prepared, for a server on this port, and what it printed."""

    folder: Path
    port: int
    printed: str


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder, port = tmp_path_factory.mktemp("prepared") / "data", free_port()
    options = ("--without-fallback", "--port", str(port))
    done = command(folder, "setup", *options, more=environment(folder, ""))
    write_grid(folder)
    return Prepared(folder, port, done.stdout)


def run_service(
    prepared: Prepared,
    folder: Path,
    provider: str,
    port: int,
    more: Mapping[str, float] = MappingProxyType({}),
) -> Iterator[Running]:
    """A server on a copy of the prepared data."""
    shutil.copytree(prepared.folder, folder)
    key = next(word for word in prepared.printed.split() if word.startswith("lc_live_"))
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port)], env=environment(folder, provider, more),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            while "Serving at" not in line:
                assert line, "the server ended before it served"
                line = server.stdout.readline()
            running = Running(f"http://127.0.0.1:{port}", key, prepared.printed)
            wait_until(lambda: answers(port))
            yield running
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)


@pytest.fixture(scope="module")
def closed(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Every provider's address is a port where nothing listens; deadlines outlast our patience."""
    folder = tmp_path_factory.mktemp("closed") / "data"
    provider = f"http://127.0.0.1:{free_port()}/x"
    late = dict.fromkeys(("JSON_DEADLINE", "WIDGET_DEADLINE"), 2 * PATIENCE_SECONDS)
    yield from run_service(prepared, folder, provider, prepared.port, late)


@pytest.fixture(scope="module")
def silent(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Every provider accepts and never answers."""
    folder = tmp_path_factory.mktemp("silent") / "data"
    with FakeServer(lambda _: FakeResponse(fault="hang")).running() as provider:
        yield from run_service(prepared, folder, f"{provider.url}/x", free_port())


def next_week() -> str:
    start = date.today() + timedelta(days=7)  # noqa: DTZ011  the process reads the real clock too
    return f"start={start}&end={start + timedelta(days=6)}"


def new_year() -> str:
    year = date.today().year  # noqa: DTZ011  the process reads the real clock too
    return f"start={year}-12-30&end={year + 1}-01-03"


PARIS = "lat=48.8566&lng=2.3522"


def paths() -> list[str]:
    return [
        f"/v1/pulse/weather?{PARIS}&{next_week()}",
        f"/v1/pulse/weather?{PARIS}&start=2040-07-01&end=2040-07-07",
        f"/v1/pulse/astronomy?{PARIS}&{next_week()}",
        f"/v1/pulse/guide?{PARIS}",
        f"/v1/pulse/events?{PARIS}&{new_year()}",
    ]


def assert_applicable(answer: httpx2.Response) -> None:
    assert answer.status_code == 200, answer.text
    assert msgspec.json.decode(answer.content)["applicable"] is True


def test_sections_answer_before_their_deadline_when_providers_refuse_connections(closed: Running):
    for path in paths():
        assert_applicable(closed.get(path))


def test_widget_shows_each_section_when_providers_refuse_connections(closed: Running):
    answer = closed.get(f"/v1/pulse?{PARIS}&{new_year()}&place=Paris")
    assert answer.status_code == 200
    for card in ("stay", "astronomy", "guide"):
        assert f'aria-labelledby="h-{card}"' in answer.text, card
    assert "public_holiday" in answer.text
    assert "Monthly average" in answer.text
    assert "not current" in answer.text


def test_sections_answer_by_their_deadline_when_providers_never_answer(silent: Running):
    for path in paths():
        received: list[httpx2.Response] = []
        # on a busy machine, the first answers may miss their deadline and be 503
        wait_until(lambda: received.append(silent.get(path)) or received[-1].status_code != 503)  # noqa: B023
        assert_applicable(received[-1])


def test_widget_shows_each_section_when_providers_never_answer(silent: Running):
    answer = silent.get(f"/v1/pulse?lat=48.85&lng=2.35&{new_year()}")
    for card in ("stay", "astronomy", "guide"):
        assert f'aria-labelledby="h-{card}"' in answer.text, card
    assert "public_holiday" in answer.text


def test_curl_command_printed_by_setup_works(closed: Running):
    line = next(text for text in closed.printed.splitlines() if text.strip().startswith("curl "))
    done = subprocess.run(
        f"{line} --silent --fail --noproxy '*'", shell=True, capture_output=True, check=True
    )
    assert msgspec.json.decode(done.stdout)["applicable"] is True


def test_second_run_of_the_setup_command_changes_nothing(prepared: Prepared, tmp_path: Path):
    folder = tmp_path / "data"
    shutil.copytree(prepared.folder, folder)
    done = command(folder, "setup", "--without-fallback", "--json", more=environment(folder, ""))
    again = msgspec.json.decode(done.stdout)
    assert "lc_live_" in prepared.printed
    assert again["key"] is None
    assert again["guide_imported"] is False
