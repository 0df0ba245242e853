"""A machine for docs/production.md: its root commands act below a folder, on ports of a test.

What the page installs from Debian or the registry is here already. The service, nginx, PostgreSQL,
Redis, openssl and curl are the real ones; `STAND_INS` are the programs that need a whole machine.
Run as a program, this is `systemctl`: it starts what a unit says.
"""

import getpass
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from location_context.sections.weather.fallback_grid import SHAPE
from location_context.settings.data_dir import GRID_FILE
from tests.conftest import ROOT
from tests.docs.commands import blocks
from tests.serving import free_port
from tests.web.commands import environment

PAGE = ROOT / "docs" / "production.md"
FOLDERS = ("/opt/", "/etc/", "/var/lib/", "/var/backups/", "/var/log/nginx", "/usr/local/sbin/")
DEBIAN = (
    "bin", "clone", "etc/nginx/conf.d", "etc/systemd/system", "etc/cron.daily", "usr/local/sbin",
    "var/log/nginx", "var/lib/location-context",
)  # fmt: skip
STAND_INS = {
    "apt-get": 'echo "apt-get $*" >> "$MACHINE/done"',
    "runuser": 'shift 3; exec "$@"',  # -u USER --; PGUSER says who speaks to PostgreSQL
    "nginx": 'exec "$REAL_NGINX" -p "$MACHINE" -e stderr -c nginx.conf "$@"',
    "redis-cli": 'exec "$REAL_REDIS_CLI" -u "$REDIS" "$@"',
    "systemctl": 'exec "$PYTHON" -m tests.docs.machine "$@"',
    "python3": """[ "$1 $2" = "-m venv" ] || exec "$PYTHON" "$@"
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "pip $*" >> "%s/done"\\n' "$MACHINE" > "$3/bin/pip"
printf '#!/bin/sh\\nexec "%s" -m location_context "$@"\\n' "$PYTHON" > "$3/bin/location-context"
chmod 755 "$3/bin/"*""",
}
NGINX = """user {user}; pid nginx.pid; error_log stderr; events {{}}
http {{ client_body_temp_path {root}; proxy_temp_path {root}; fastcgi_temp_path {root};
uwsgi_temp_path {root}; scgi_temp_path {root}; include {root}/etc/nginx/conf.d/*.conf; }}
"""


@dataclass(frozen=True)
class Machine:
    """The folder that stands for `/`, and what stands for names and ports of the page."""

    root: Path
    instead: dict[str, str]
    environ: dict[str, str]

    def moved(self, text: str) -> str:
        """A text of the page, or a file of deploy/, as it is for this machine."""
        for shown, ours in self.instead.items():
            text = re.sub(shown, ours, text)
        return text

    def follow(self) -> tuple[int, str]:
        """Run all commands of the page in one shell, which ends at the first that fails.

        Returns its exit code, and what was printed.
        """
        script = "".join(blocks(PAGE.read_text("utf-8")))
        printed = self.root / "printed.log"  # no pipe, which what the page starts would keep open
        with printed.open("w") as out:
            done = subprocess.run(
                ["/bin/sh", "-eu"], input=self.moved(script), env=self.environ, text=True,
                cwd=self.root / "clone", stdout=out, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        return done.returncode, printed.read_text()

    def pid_files(self) -> list[Path]:
        return [*self.root.glob("*.pid")]


@contextmanager
def machine(
    root: Path, postgresql: str, redis: str, database: str, nginx: str
) -> Iterator[Machine]:
    """A machine with a clone, PostgreSQL at an address without a name, and Redis; ended at last."""
    server, (one, two) = urlsplit(postgresql), _four_digits()
    https = free_port()
    instead = {
        **{rf"(?<![\w/.]){folder}": f"{root}{folder}" for folder in FOLDERS},
        "/usr/bin/python3": "python3",
        "location_context": database,
        r"\b(1?)8001\b": rf"\g<1>{one}",
        r"\b(1?)8002\b": rf"\g<1>{two}",
        r"127\.0\.0\.1:5432": f"{server.hostname}:{server.port or 5432}",
        r"redis://127\.0\.0\.1:6379/0": redis,
        r"listen \[::\].*": "",
        r"listen 80;": f"listen 127.0.0.1:{free_port()};",
        r"listen 443\b": f"listen 127.0.0.1:{https}",
        r"\$name:443:": f"$name:{https}:",
        r"https://\$name/v1": f"https://$name:{https}/v1",
    }
    environ = {
        **environment(None),
        "MACHINE": str(root), "PYTHON": sys.executable, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "PATH": f"{root}/bin:{root}/usr/local/sbin:{os.environ['PATH']}", "REAL_NGINX": nginx,
        "REAL_REDIS_CLI": shutil.which("redis-cli") or "", "REDIS": redis,
        "PGHOST": server.hostname or "", "PGPORT": str(server.port or 5432),
        "PGUSER": server.username or "", "PGPASSWORD": server.password or "",
    }  # fmt: skip
    made = Machine(root, instead, environ)
    _furnish(made)
    try:
        yield made
    finally:
        for file in made.pid_files():
            end(file)


def _furnish(made: Machine) -> None:
    """What Debian and a clone have, the stand-ins, and a grid of the operator's."""
    root = made.root
    for folder in DEBIAN:
        (root / folder).mkdir(parents=True)
    for name, text in STAND_INS.items():
        (root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (root / "bin" / name).chmod(0o755)
    shutil.copytree(ROOT / "deploy", root / "clone" / "deploy")
    for file in (root / "clone" / "deploy").rglob("*.*"):
        if file.is_file():
            file.write_text(made.moved(file.read_text("utf-8")), "utf-8")
    (root / "nginx.conf").write_text(NGINX.format(root=root, user=getpass.getuser()))
    np.save(root / "var/lib/location-context" / GRID_FILE, np.zeros(SHAPE, np.int16))


def _four_digits() -> list[int]:
    """Two ports that are free, and free with a 1 before them."""
    found: list[int] = []
    while len(found) < 2:
        port = random.randint(2000, 9999)
        with suppress(OSError), socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", port + 10_000))
            found += [port] if port not in found else []
    return found


def end(file: Path) -> None:
    """End the process whose id is in the file, and wait until it has."""
    with suppress(ProcessLookupError, FileNotFoundError, ValueError):
        pid = int(file.read_text())
        os.kill(pid, signal.SIGTERM)
        for _ in range(800):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":  # it has, and nobody asks how
                break
            time.sleep(0.05)
        else:
            os.kill(pid, signal.SIGKILL)
    file.unlink(missing_ok=True)


def _start(root: Path, unit: str) -> None:
    """Start a service as its unit and the drop-ins of it say."""
    name, _, instance = unit.partition("@")
    folder, credentials = root / "etc/systemd/system", root / "run" / unit
    texts = [folder / f"{name}@.service", *sorted((folder / f"{name}@.service.d").glob("*.conf"))]
    text = "\n".join(path.read_text() for path in texts)
    for shown, ours in {"%i": instance, "%S": f"{root}/var/lib", "%d": str(credentials)}.items():
        text = text.replace(shown, ours)
    given = [line.partition("=")[::2] for line in text.splitlines() if re.match(r"\w+=", line)]
    credentials.mkdir(parents=True, exist_ok=True)
    environ = dict(os.environ)
    for key, value in given:
        if key == "LoadCredential":
            secret, _, path = value.partition(":")
            shutil.copy(path, credentials / secret)
        elif key == "StateDirectory":
            (root / "var/lib" / value).mkdir(exist_ok=True)
        elif key == "EnvironmentFile":
            lines = Path(value.removeprefix("-")).read_text().splitlines()
            environ |= dict(line.split("=", 1) for line in lines if "=" in line)
    environ |= dict(value.split("=", 1) for key, value in given if key == "Environment")
    with (root / f"{unit}.log").open("a") as log:
        process = subprocess.Popen(
            dict(given)["ExecStart"].split(), env=environ, cwd="/", stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    (root / f"{unit}.pid").write_text(str(process.pid))


def systemctl(root: Path, verb: str, units: list[str]) -> None:
    """The verbs that the page uses."""
    for unit in (one for one in units if not one.startswith("--")):
        if unit == "nginx":
            running = (root / "nginx.pid").read_text().strip()  # `nginx -t` leaves it empty
            subprocess.run(["nginx", *(["-s", "reload"] if running else [])], check=True)
            continue
        if verb == "restart":
            end(root / f"{unit}.pid")
        _start(root, unit)


if __name__ == "__main__":
    systemctl(Path(os.environ["MACHINE"]), sys.argv[1], sys.argv[2:])
