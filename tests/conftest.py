"""What all tests share. Tests beside the project's data skip, saying so, where it is not there."""

import importlib
import logging
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpcore2
import pytest
import structlog
from hypothesis import settings

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.web import logs
from tests.databases import (  # noqa: F401  fixtures for every folder of tests
    database,
    database_settings,
    own_redis,
    pgbouncer,
    pgbouncer_settings,
    pooled_settings,
    postgresql_settings,
    postgresql_url,
    redis_prefix,
    redis_url,
    sqlite_settings,
)
from tests.evidence import Evidence
from tests.moved_clock import MovedClock
from tests.web.commands import prepared  # noqa: F401  a fixture for web and deploy

ROOT = Path(__file__).parents[1]


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that hears of all tests
        config.pluginmanager.register(Evidence())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in Chromium, and run the folders that take longest first.

    Otherwise a process would be left alone with one of them at the end.
    """
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    longest = ("widget", "web", "cluster", "deploy", "docs", "")  # the last is this folder
    rank = {ROOT / "tests" / name: number for number, name in enumerate(longest)}
    items.sort(key=lambda item: rank.get(item.path.parent, len(longest)))


settings.register_profile("ours", deadline=None)  # a busy machine is not a failure
settings.load_profile("ours")


@pytest.fixture(scope="session", autouse=True)
def _no_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands record for their user away from who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def logs_of_commands() -> Iterator[None]:
    """Errors alone, as `main` sets it before it runs a command."""
    logs.configure_for_commands()
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers.clear()


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Let commands keep what they compile: each would compile us anew, half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_trust_store() -> Iterator[None]:
    """Read the certificates once for all HTTP clients: each would take 60 ms of a processor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _http_library_loaded() -> None:
    """Load the library of the providers' calls, which the first one would otherwise wait for."""
    importlib.import_module("location_context.upstream.connections")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture(scope="session")
def gazetteer() -> Gazetteer:
    """One gazetteer for all tests, since it remembers points."""
    return Gazetteer.load()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data folder is not beside the project")
    return folder


@pytest.fixture(scope="session")
def ci() -> bool:
    """Whether a missing part is an error."""
    return os.environ.get("CI") == "true"
