"""What tests of the web share: a server with small sections, a key, and a plain client."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from location_context.settings import Settings
from location_context.stay import system_clock
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
    key = make_key(web_settings)
    with serve(web_settings, sections=[tides, FakeUndatedSection(), Broken(), Empty()]) as served:
        yield Client(served, key)
