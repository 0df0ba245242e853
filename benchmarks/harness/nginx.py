"""Run nginx as a cache before the service, with the file in deploy/ and a clock to be moved.

The clock is that of libfaketime.
"""

import getpass
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

from tests.serving import free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
GRACE = 60  # seconds, as stale-while-revalidate says


class Nginx:
    """nginx with deploy/nginx/cache.conf."""

    _libraries = "/usr/lib/*/faketime/libfaketime.so.1"

    def __init__(self, folder: Path, backend: int) -> None:
        self.port, self._folder = free_port(), folder
        self._clock = folder / "clock"
        site = (DEPLOY / "nginx" / "cache.conf").read_text(encoding="utf-8")
        site = replaced(site, r"127\.0\.0\.1:6081;", f"127.0.0.1:{self.port};")
        site = replaced(site, r"127\.0\.0\.1:8000;", f"127.0.0.1:{backend};")
        site = replaced(site, r"/var/cache/nginx/location-context", f"{folder}/cache")
        site = replaced(site, r"proxy_read_timeout 10s;", "proxy_read_timeout 600s;")
        paths = "".join(
            f"{name}_temp_path {folder}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;\n"
            f"user {getpass.getuser()};\n"
            + "".join(f"env {name};\n" for name in self.environ() if name != "LD_PRELOAD")
            + "events {}\nhttp {\nkeepalive_timeout 600s; keepalive_requests 1000000;\n"
            + f"{paths}{site}}}\n",
            encoding="utf-8",
        )

    def command(self) -> Sequence[str]:
        return ["nginx", "-p", str(self._folder), "-c", str(self._folder / "nginx.conf"),
                "-e", "stderr"]  # fmt: skip

    def environ(self) -> Mapping[str, str]:
        found = sorted(Path("/").glob(self._libraries.lstrip("/")))
        if not found:
            raise SystemExit("libfaketime is not installed; on Debian: apt-get install faketime")
        return {
            "LD_PRELOAD": str(found[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "TZ": "UTC",
        }

    def move(self, now: datetime) -> None:
        """Set its clock, from its next request on."""
        written = self._clock.with_suffix(".new")
        written.write_text(f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S}\n", encoding="ascii")
        written.rename(self._clock)


@contextmanager
def running(cache: Nginx, folder: Path) -> Iterator[None]:
    """Run the cache, empty at first, with its files in `folder`."""
    with (
        (folder / "cache.log").open("w") as log,
        subprocess.Popen(
            cache.command(), env={**os.environ, **cache.environ()}, stdout=log, stderr=log
        ) as process,
    ):
        try:
            _wait(cache.port, process, folder / "cache.log")
            yield
        finally:
            process.terminate()


def require() -> None:
    """End and name the package to install if nginx is missing."""
    if not shutil.which("nginx"):
        raise SystemExit("nginx is not installed; on Debian: apt-get install nginx-light")


def _wait(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return once the cache answers for the service."""
    while process.poll() is None:
        with (
            suppress(OSError),
            closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection,
        ):
            connection.request("GET", "/v1/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.05)
    raise SystemExit(f"The cache did not start: {log.read_text(encoding='utf-8')}")


def replaced(text: str, pattern: str, new: str) -> str:
    """Replace each match of `pattern`; end if there is none."""
    text, count = re.subn(pattern, new, text)
    if not count:
        raise SystemExit(f"{pattern} is no longer in the file of deploy/")
    return text
