"""The caches that benchmarks/cdn.py puts before the service: programs that run what deploy/ ships.

Their clock is one that the benchmark moves. nginx has it from libfaketime. Varnish has it from a
header: its own reading of Cache-Control says how long a page is held, its own key and Vary which
page it is, and lines that are added to the file compare the two moments where it would ask its own
clock.
"""

import getpass
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # Python puts the folder of the script there, and not the project's

from tests.serving import free_port  # noqa: E402  found by the line above

DEPLOY = ROOT / "deploy"
GRACE = 60  # seconds, as stale-while-revalidate says
# Where Varnish would look at its clock: `X-Now` has the moment of the request, in seconds.
BEFORE = """
sub vcl_recv {
    set req.hash_always_miss = (req.http.X-Refresh || req.restarts > 0);
}
sub vcl_hit {
    if (std.real(req.http.X-Now, 0.0) >= std.real(obj.http.X-Gone, 0.0)) {
        return (restart);
    }
    if (std.real(req.http.X-Now, 0.0) >= std.real(obj.http.X-Stale, 0.0)) {
        set req.http.X-Stale = "1";
    }
}
"""
AFTER = """
sub vcl_backend_response {
    if (beresp.ttl > 0s) {
        set beresp.http.X-Stale = std.real(bereq.http.X-Now, 0.0)
            + std.real(duration=beresp.ttl, fallback=0.0);
        set beresp.http.X-Gone = std.real(beresp.http.X-Stale, 0.0) + GRACE.0;
        if (beresp.grace == 0s) {
            set beresp.http.X-Gone = beresp.http.X-Stale;
        }
        set beresp.ttl = 1d;
    }
}
sub vcl_deliver {
    if (req.http.X-Stale) {
        set resp.http.X-Cache = "STALE";
    }
}
""".replace("GRACE", str(GRACE))


class Varnish:
    """Varnish with deploy/varnish/default.vcl."""

    program, package = "varnishd", "varnish"
    knows_tags = True

    def __init__(self, folder: Path, backend: int) -> None:
        self.port, self._folder = free_port(), folder
        self._vcl = folder / "default.vcl"
        text = (DEPLOY / "varnish" / "default.vcl").read_text(encoding="utf-8")
        text = replaced(text, r"\.port = \"\d+\"", f'.port = "{backend}"')
        text = replaced(text, r"\.probe = .*", "")  # a busy machine must not seem a sick service
        text = text.replace("sub vcl_recv", f"{BEFORE}\nsub vcl_recv", 1)
        self._vcl.write_text(text + AFTER, encoding="utf-8")

    def command(self) -> Sequence[str]:
        return ["varnishd", "-F", "-j", "none", "-n", str(self._folder / "varnish"),
                "-f", str(self._vcl), "-a", f"127.0.0.1:{self.port}", "-s", "malloc,512m",
                "-p", "timeout_idle=600", "-p", "first_byte_timeout=600"]  # fmt: skip

    def environ(self) -> Mapping[str, str]:
        return {}

    def move(self, now: datetime) -> None:
        """Varnish is told with each request."""


class Nginx:
    """nginx with deploy/nginx/cache.conf."""

    program, package = "nginx", "nginx-light"
    knows_tags = False
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
        """Give it another time, from its next request on."""
        written = self._clock.with_suffix(".new")
        written.write_text(f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S}\n", encoding="ascii")
        written.rename(self._clock)


CACHES: dict[str, type[Varnish] | type[Nginx]] = {"varnish": Varnish, "nginx": Nginx}


@contextmanager
def running(cache: Varnish | Nginx, folder: Path) -> Iterator[None]:
    """The cache, empty, with its files in that folder."""
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


def require(name: str) -> None:
    """Say what to install where a program is missing."""
    kind = CACHES[name]
    if not shutil.which(kind.program):
        raise SystemExit(
            f"{kind.program} is not installed; on Debian: apt-get install {kind.package}"
        )


def _wait(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until the cache answers for the service."""
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
    """The text with what is of this run in the place of what is shipped."""
    text, count = re.subn(pattern, new, text)
    if not count:
        raise SystemExit(f"There is no {pattern} in the file of deploy/ any more")
    return text
