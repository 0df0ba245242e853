"""Lint the files of deploy/, and run the steps of the Containerfile in an empty root.

Usage: ./scripts/check deploy
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[3]
DEPLOY, TOOLS = ROOT / "deploy", ROOT / ".deploy" / "bin"
CONTAINERFILE = DEPLOY / "container" / "Containerfile"
INSTALLED, DATA = "/opt/location-context", "/var/lib/location-context"
USER = "10001"


def run(*command: str | Path, **more: str) -> str:
    """Return a command's output, with `more` in its environment; end with it on failure."""
    words, environ = [str(one) for one in command], {**os.environ, **more}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=environ)
    if done.returncode:
        raise SystemExit(f"{command[0]}:\n{done.stdout}{done.stderr}")
    return done.stdout


def container_lint() -> str:
    run(TOOLS / "hadolint", CONTAINERFILE)
    return "no remark"


def compose() -> str:
    file, site = DEPLOY / "compose.yaml", "context.example.org"
    read = run(
        TOOLS / "podman-compose", "--profile", "weather", "--file", file, "config", SITE=site
    )
    return f"{len(read.splitlines())} lines"


def kubernetes() -> str:
    file = DEPLOY / "kubernetes.yaml"
    run(TOOLS / "kubernetes-validate", "--strict", file)
    return f"{len(re.findall('^kind: ', file.read_text(), re.MULTILINE))} objects"


def root(*more: str) -> list[str]:
    """Return the beginning of a command in a root with the system's programs and `more`."""
    return [
        "bwrap", "--unshare-pid", "--die-with-parent", "--clearenv",
        "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc",
        *(word for name in ("bin", "lib", "lib64", "sbin")
          for word in ("--symlink", f"usr/{name}", f"/{name}")),
        "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
        "--setenv", "PATH", f"{INSTALLED}/bin:/usr/bin:/bin", "--setenv", "HOME", "/tmp",
        *more,
    ]  # fmt: skip


def stage(folder: Path) -> Path:
    """Run the first stage and return what it leaves in /opt."""
    text = CONTAINERFILE.read_text().split("\nFROM ")[1].replace("\\\n", " ")
    opt, build = folder / "opt", folder / "build"
    opt.mkdir()
    build.mkdir()
    inherited = {
        k: v for k, v in os.environ.items() if k.startswith("PIP_") or k.endswith("_PROXY")
    }
    inside = root(
        "--bind", str(opt), "/opt", "--bind", str(build), "/build", "--chdir", "/build",
        *(word for pair in inherited.items() for word in ("--setenv", *pair)),
    )  # fmt: skip
    for kind, line in re.findall(r"^(COPY|RUN) (.+)$", text, re.MULTILINE):
        if kind == "RUN":
            run(*inside, "/bin/sh", "-euc", re.sub(r"^python ", "python3 ", line))
            continue
        *sources, target = shlex.split(line)
        for source in sources:
            put(ROOT / source, build / target)
    return opt


def put(source: Path, target: Path) -> None:
    """Copy as COPY does: the content of a folder, a file into one."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target / source.name)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(opt: Path, data: Path) -> Iterator[int]:
    """Run the service as the container does, at a free port."""
    port = free_port()
    data.mkdir()  # whose owner is the user inside
    command = re.findall(r"^CMD (\[.*\])$", CONTAINERFILE.read_text(), re.MULTILINE)[-1]
    arguments = [str(port) if one == "8000" else one for one in json.loads(command)]
    inside = root(
        "--ro-bind", str(opt), "/opt", "--bind", str(data), DATA, "--chdir", DATA,
        "--unshare-user", "--uid", USER, "--gid", USER, "--cap-drop", "ALL",
        "--setenv", "LOCATION_CONTEXT_DATA_DIR", DATA,
        "--setenv", "PYTHONDONTWRITEBYTECODE", "1", "--remount-ro", "/",
    )  # fmt: skip
    for refused in ("/opt/x", "/x", "/usr/x"):
        run(*inside, "/bin/sh", "-c", f"! touch {refused} 2>/dev/null && touch /tmp/x {DATA}/x")
    process = subprocess.Popen([*inside, "location-context", *arguments])
    try:
        yield port
    finally:
        process.terminate()
        process.wait(30)


def staged() -> str:
    """Run the first stage, and the service from it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opt = stage(folder)
        size = sum(file.lstat().st_size for file in opt.rglob("*") if file.is_file())
        with served(opt, folder / "data") as port:
            wait(lambda: urlopen(f"http://127.0.0.1:{port}/v1/ready", timeout=5).status == 200)
            healthy = re.search(
                r'^  CMD \["python", "-c", "(.+)"\]$', CONTAINERFILE.read_text(), re.MULTILINE
            )
            assert healthy
            check = healthy[1].replace(":8000/", f":{port}/")
            run(*root("--ro-bind", str(opt), "/opt"), "python", "-c", check)
    return f"ready and healthy; /opt has {size / 1e6:.0f} MB"


def wait(reached: Callable[[], bool]) -> None:
    patience = time.monotonic() + 60
    while time.monotonic() < patience:
        with suppress(URLError, OSError):
            if reached():
                return
        time.sleep(0.1)
    raise SystemExit("the service is not ready")


CHECKS: Sequence[tuple[str, Callable[[], str]]] = (
    ("Containerfile, hadolint", container_lint),
    ("compose.yaml, podman-compose", compose),
    ("kubernetes.yaml, schemas", kubernetes),
    ("Containerfile, first stage and service", staged),
)

if __name__ == "__main__":
    failed = False
    for name, check in CHECKS:
        try:
            print(f"{name:40} {check()}", flush=True)
        except SystemExit as error:
            failed = True
            print(f"{name:40} FAILED: {error}", flush=True)
    sys.exit(failed)
