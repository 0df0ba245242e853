"""The parts of a cluster, each a process of its own on a free port of loopback.

A part ends with its block, and with the process that started it, however that ends. PostgreSQL
refuses root, so that root runs it as another user, in a folder that is given to it.
"""

import asyncio
import ctypes
import os
import pwd
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Self

import psycopg
import redis

from tests.conftest import ROOT
from tests.serving import free_port
from tests.web.commands import COMMAND

PATIENCE_SECONDS = 180.0
WORKERS = 2
_SET_PDEATHSIG = 1  # linux/prctl.h


class MissingProgram(RuntimeError):
    """A program that is not installed here."""

    def __init__(self, name: str, package: str = "") -> None:
        super().__init__(f"There is no {name} (apt-get install {package or name})")


class Part:
    """A command that listens on `port`; what it prints goes into `log`."""

    ends_with = signal.SIGTERM
    user: str | None = None

    def __init__(self, name: str, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self.name, self.folder, self.port = name, folder / name, free_port()
        self.folder.mkdir()
        self.log = self.folder / "log"
        self.environ = {**os.environ, **(environ or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    async def answers(self) -> bool:
        """Whether it is ready for what it is there for."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def begin(self) -> None:
        """Start it, without waiting until it is ready."""
        with self.log.open("ab") as lines:
            self._process = subprocess.Popen(
                self.command(),
                env=self.environ,
                cwd=self.folder if self.user else ROOT,
                stdout=lines,
                stderr=lines,
                start_new_session=True,
                user=self.user,
                group=self.user and pwd.getpwnam(self.user).pw_gid,
                extra_groups=[] if self.user else None,
                preexec_fn=_end_with_parent,  # noqa: PLW1509  threads only ask over HTTP
            )

    async def start(self) -> Self:
        """Start it, and wait until it is ready."""
        self.begin()
        await self.ready()
        return self

    async def ready(self) -> None:
        patience = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < patience and self.runs:
            if await self.answers():
                return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"{self.name} did not start:\n{self.said()[-3000:]}")

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        if self.runs and self._process is not None:
            self._process.send_signal(number)

    async def ended(self) -> None:
        """Wait until it has ended by itself, or after a signal."""
        patience = time.monotonic() + PATIENCE_SECONDS
        while self.runs:
            if time.monotonic() > patience:
                raise RuntimeError(f"{self.name} did not end")
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        self.signal(self.ends_with)
        await self.ended()

    def kill(self) -> None:
        """End it and all below it at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_SECONDS)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGTERM)


class PostgreSQL(Part):
    """A PostgreSQL that keeps its rows in `folder`; ended fast, as its packages do."""

    ends_with = signal.SIGINT

    def __init__(self, folder: Path) -> None:
        super().__init__("postgresql", folder)
        self._programs = _postgresql_programs()
        self._rows = self.folder / "rows"
        if os.geteuid() == 0:
            self.user = "postgres" if _is_user("postgres") else "nobody"
            for path in (self.folder, *folder.parents, folder):
                if path.is_relative_to(folder):
                    path.chmod(0o711)
            shutil.chown(self.folder, self.user)
        made = ["-D", str(self._rows), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        self._run([str(self._programs / "initdb"), *made])

    def _run(self, command: Sequence[str]) -> None:
        done = subprocess.run(
            command, cwd=self.folder, user=self.user, extra_groups=[] if self.user else None,
            group=self.user and pwd.getpwnam(self.user).pw_gid,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def __exit__(self, *_: object) -> None:
        self.signal(self.ends_with)  # killed, it would leave shared memory
        if self._process is not None:
            self._process.wait(PATIENCE_SECONDS)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def command(self) -> Sequence[str]:
        listening = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        program = str(self._programs / "postgres")
        return [program, "-D", str(self._rows), "-p", str(self.port), *listening]

    async def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.Error:
            return False
        return True


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _postgresql_programs() -> Path:
    """The folder of `initdb` and `postgres`, which Debian keeps off the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = shutil.which("initdb")
    if not found and program is None:
        raise MissingProgram("initdb", "postgresql")
    return found[-1].parent if found else Path(str(program)).resolve().parent


class Redis(Part):
    """A Redis that keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__("redis", folder)
        if shutil.which("redis-server") is None:
            raise MissingProgram("redis-server")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        options = ["--save", "", "--bind", "127.0.0.1", "--dir", str(self.folder)]
        return ["redis-server", "--port", str(self.port), *options]

    async def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=5) as client:
                return bool(client.ping())
        except (OSError, redis.RedisError):
            return False


class Web(Part):
    """A part that answers over HTTP."""

    ready_path = "/v1/ready"
    tls: ssl.SSLContext | None = None  # of those who ask it

    async def answers(self) -> bool:
        return await asyncio.to_thread(self.status, self.ready_path) == 200

    def status(self, path: str) -> int | None:
        """The status of an answer; None where none came."""
        connection = (
            HTTPSConnection("localhost", self.port, timeout=5, context=self.tls)
            if self.tls
            else HTTPConnection("127.0.0.1", self.port, timeout=5)
        )
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()


class Providers(Web):
    """The stand-ins of all providers, each request of which is a line in `requests`."""

    ready_path = "/calls"

    def __init__(self, folder: Path, milliseconds: int = 50) -> None:
        super().__init__("providers", folder)
        self.requests = self.folder / "requests"
        self.requests.touch()
        self._milliseconds = milliseconds

    def command(self) -> Sequence[str]:
        options = ["--milliseconds", str(self._milliseconds), "--requests", str(self.requests)]
        return [sys.executable, "-m", "benchmarks.harness.stand_ins", str(self.port), *options]


class Replica(Web):
    """The service as an operator runs it; `ahead` is by how many seconds its clock is wrong."""

    def __init__(
        self, name: str, folder: Path, environ: Mapping[str, str], ahead: float = 0.0
    ) -> None:
        super().__init__(name, folder, environ)
        self._ahead = ahead

    def command(self) -> Sequence[str]:
        arguments = ["serve", "--port", str(self.port), "--workers", str(WORKERS)]
        if self._ahead:
            return [sys.executable, "-m", "tests.cluster.wrong_clock", str(self._ahead), *arguments]
        return [*COMMAND, *arguments]
