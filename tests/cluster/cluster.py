"""Cluster: two replicas of two workers behind nginx, with PostgreSQL, Redis and all providers."""

import asyncio
import json
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from benchmarks.harness.stand_ins import ARCHIVE, EVENTS, FORECAST
from tests.cluster.parts import PATIENCE_SECONDS, PostgreSQL, Providers, Redis, Replica
from tests.cluster.proxy import Nginx
from tests.conftest import ROOT
from tests.fakes import ticketmaster
from tests.web.commands import COMMAND, environment

WITHOUT_LIMIT = 1_000_000_000


class Request(NamedTuple):
    """A call of a provider: when (POSIX), where, with what, for how many units."""

    at: float
    path: str
    query: Mapping[str, str]
    units: float


class Cluster:
    """All parts, set up and running while its block lasts.

    `settings` are added to those of the replicas, and `ahead` is by how many seconds the clock of
    the second one is wrong.
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | None = None,
        ahead: float = 0.0,
    ) -> None:
        self._more, self._ahead = settings or {}, ahead
        self._stack = ExitStack()

    def _make(self) -> None:
        enter = self._stack.enter_context
        self.folder = Path(enter(TemporaryDirectory(prefix="location-context-cluster-")))
        self.providers = enter(Providers(self.folder))
        self.redis = enter(Redis(self.folder))
        self.postgresql = enter(PostgreSQL(self.folder))
        self._settings = self._all_settings()
        self.replicas = tuple(
            enter(Replica(name, self.folder, self.environ(name), clock))
            for name, clock in (("one", 0.0), ("two", self._ahead))
        )
        self.proxy = enter(Nginx(self.folder, self.replicas))

    def _all_settings(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self.providers.port}"
        settings: dict[str, Any] = {
            "DATABASE_URL": self.postgresql.url,
            "REDIS_URL": self.redis.url,
            "KEY_PEPPER": "the pepper of a cluster on loopback",
            "TRUSTED_PROXIES": "127.0.0.1/32",
            "OPEN_METEO_FORECAST_URL": address + FORECAST,
            "OPEN_METEO_ARCHIVE_URL": address + ARCHIVE,
            "OPEN_METEO_API_KEY": "a customer's",
            "MET_NORWAY_URL": "",
            "NASA_POWER_URL": "",
            "OPEN_HOLIDAYS_URL": address,
            "TICKETMASTER_URL": address + EVENTS,
            "TICKETMASTER_API_KEY": ticketmaster.KEY,
            "TICKETMASTER_BUDGET": "",
            "OPEN_HOLIDAYS_BUDGET": "",
            **self._more,
        }
        return {f"LOCATION_CONTEXT_{name}": str(value) for name, value in settings.items()}

    def environ(self, name: str) -> dict[str, str]:
        """What the machine of that name sets; each has a data directory of its own."""
        home = {"XDG_DATA_HOME": str(self.folder / "home"), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        return environment(self.folder / f"data of {name}", {**self._settings, **home})

    async def __aenter__(self) -> Self:
        try:
            self._make()
            stores = self.providers, self.redis, self.postgresql
            await asyncio.gather(*(part.start() for part in stores))
            await self.command("setup", "--without-fallback", "--json")
            await asyncio.gather(*(replica.start() for replica in self.replicas))
            await self.proxy.start()
        except BaseException:
            self._stack.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stack.close()

    async def begin(self, *arguments: str) -> asyncio.subprocess.Process:
        """A command of the service while it runs on the first machine."""
        return await asyncio.create_subprocess_exec(
            *COMMAND, *arguments, env=self.environ("one"), cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    async def command(self, *arguments: str) -> str:
        """What a command prints, run to its end."""
        process = await self.begin(*arguments)
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
        if process.returncode:
            raise RuntimeError(f"location-context {' '.join(arguments)}\n{err.decode()}")
        return out.decode()

    async def key(self, name: str, per_minute: int = WITHOUT_LIMIT) -> tuple[str, str]:
        """The secret and the id of a new key."""
        quota = ["--per-minute", str(per_minute), "--per-day", str(WITHOUT_LIMIT)]
        made = json.loads(await self.command("keys", "create", name, *quota, "--json"))
        return made["key"], made["id"]

    def requests(self) -> list[Request]:
        """All calls of the providers so far."""
        lines = self.providers.requests.read_text().splitlines()
        return [Request(**json.loads(line)) for line in lines]
