"""What tests of the web share: a server with small sections, a key, and a plain client."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from location_context.sections.section import Section
from location_context.settings import Settings
from location_context.stay import Clock, system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.database import Database
from tests.serving import Served, serve
from tests.web.sections import Broken, Empty, FakeSection, FakeUndatedSection

HTTP = httpx2.Client(verify=False, trust_env=False, timeout=20)
STAY = {"lat": "48.8566", "lng": "2.3522", "start": "2026-11-28", "end": "2026-12-01"}


def make_key(settings: Settings, *, per_minute: int = 100_000, test: bool = False) -> str:
    """A key made as the operator makes it."""

    async def work() -> str:
        database = await Database.open(settings)
        try:
            keys = await open_api_keys(settings, database, system_clock)
            minted = await keys.create(
                "a test", per_minute=per_minute, per_day=1_000_000, test=test
            )
            return minted.secret
        finally:
            await database.close()

    return asyncio.run(work())


@dataclass(frozen=True)
class Client:
    """Requests a served application, with a key unless a test gives another."""

    served: Served
    key: str

    def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        key: str | None = "",
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        sent = {"Accept-Encoding": "identity", **(headers or {})}
        if key is not None:
            sent.setdefault("Authorization", f"Bearer {key or self.key}")
        address = self.served.url + path
        return HTTP.request(method, address, params=params, headers=sent)


@contextmanager
def served_client(
    settings: Settings, *sections: Section, clock: Clock = system_clock, **of_key: Any
) -> Iterator[Client]:
    """A client with a new key of a server with these sections, or with the real ones."""
    key = make_key(settings, **of_key)
    with serve(settings, clock=clock, sections=sections or None) as served:
        yield Client(served, key)


def remaining(answer: httpx2.Response) -> int:
    """How many requests of the minute the key has left after this answer."""
    found = re.search(r'"minute";r=(\d+)', answer.headers["ratelimit"])
    assert found
    return int(found[1])


@pytest.fixture(scope="session", autouse=True)
def _connections() -> Iterator[None]:
    yield
    HTTP.close()


@pytest.fixture(scope="session")
def web_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder: Path = tmp_path_factory.mktemp("web")
    return Settings(data_dir=folder, log_level="error")


@pytest.fixture(scope="session")
def tides() -> FakeSection:
    return FakeSection(words="ebb and flow " * 200)


@pytest.fixture(scope="session")
def client(web_settings: Settings, tides: FakeSection) -> Iterator[Client]:
    with served_client(web_settings, tides, FakeUndatedSection(), Broken(), Empty()) as client:
        yield client


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The service with the sections of this package, over stand-ins of every provider."""
    from tests.web.full_app import full_app  # noqa: PLC0415  it imports this module

    with full_app(tmp_path_factory.mktemp("whole")) as client:
        yield client
