"""Set version and date, build, check, and try the wheel; see scripts/release."""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = "CHANGELOG.md"
PACKAGE = "src/location_context/__init__.py"
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
# Every committed place of the version, with the text around it.
PLACES: Mapping[str, str] = {
    PACKAGE: '__version__ = "{}"',
    "src/location_context/web/examples/openapi.json": '"version": "{}"',
    "src/location_context/web/examples/status.json": '"version": "{}"',
    "deploy/kubernetes.yaml": "/location-context:{}",
}
STARTING_SECONDS = 60.0
WIDGET = "/v1/pulse?lat=43.3183&lng=-1.9812&days=3"


def set_version(root: Path, version: str, today: date, *, write: bool = True) -> list[str]:
    """Set version and date where they are missing, and return the files that this changes.

    Raises:
        SystemExit: the version has a wrong form, or the changelog has no section for it.
    """
    if not VERSION.fullmatch(version):
        sys.exit(f'Version "{version}" is not of the form 1.2.3 or 1.2.3rc1.')
    texts = {
        name: (root / name).read_text("utf-8")
        for name in (*PLACES, CHANGELOG)
        if (root / name).exists()
    }
    previous = re.search(r'__version__ = "(.+)"', texts[PACKAGE])
    assert previous is not None
    heading = re.search(rf"^## {re.escape(version)} – (.+)$", texts[CHANGELOG], re.MULTILINE)
    if heading is None:
        sys.exit(f'{CHANGELOG} has no section "## {version} – unreleased". Write it first.')
    dated = heading[0].replace("unreleased", f"{today}")
    changed = {CHANGELOG: texts[CHANGELOG].replace(heading[0], dated)}
    for name, around in PLACES.items():
        if name in texts:
            before, after = around.format(previous[1]), around.format(version)
            changed[name] = texts[name].replace(before, after)
    changed = {name: text for name, text in changed.items() if text != texts[name]}
    if write:
        for name, text in changed.items():
            (root / name).write_text(text, "utf-8")
    return sorted(changed)


def run(*command: str | Path, **options: object) -> None:
    """Run a command, and end with its status if it fails."""
    done = subprocess.run(command, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"Failed with {done.returncode}: {' '.join(map(str, command))}")


def build(dist: Path) -> Path:
    """Build the sdist, then the wheel from it, and return the wheel."""
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT)
    (wheel,) = dist.glob("*.whl")
    return wheel


def check_files(dist: Path) -> None:
    """Check the metadata of both files and the contents of the wheel."""
    tools = Path(sys.executable).parent
    run(tools / "twine", "check", "--strict", *sorted(dist.iterdir()))
    run(tools / "check-wheel-contents", *dist.glob("*.whl"))


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel in an empty environment, and return its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    pip = (programs / "python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--only-binary", ":all:", wheel, cwd=folder)
    run(*pip, "check", cwd=folder)
    return programs


def fetch_widget(programs: Path, home: Path) -> bytes:
    """Start `location-context serve` with no settings, and return its first widget."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    environment = {"PATH": f"{programs}:{os.defpath}", "HOME": str(home)}
    with (home / "serve.log").open("w+b") as log:
        server = subprocess.Popen(
            [programs / "location-context", "serve", "--port", str(port)],
            cwd=home, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_ready(server, f"{address}/v1/ready")
            with urlopen(address + WIDGET, timeout=30) as answer:
                page: bytes = answer.read()
        except (OSError, SystemExit):
            log.seek(0)
            sys.stderr.buffer.write(log.read())
            raise
        finally:
            server.terminate()
            server.wait(30)
    if not page.startswith(b"<!doctype html>") or b"</html>" not in page:
        sys.exit(f"The first widget is not a whole page: {page[:200]!r}")
    return page


def wait_until_ready(server: subprocess.Popen[bytes], address: str) -> None:
    """Return when the server is ready; end if it stops or takes longer than a minute."""
    deadline = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            sys.exit(f"location-context serve ended with {server.returncode}.")
        try:
            with urlopen(address, timeout=5):
                return
        except HTTPError as error:  # 503 while it starts
            error.close()
            time.sleep(0.1)
        except URLError:
            time.sleep(0.1)
    sys.exit(f"location-context serve was not ready after {STARTING_SECONDS:.0f} s.")


def timed(label: str, step: Callable[[], Any]) -> Any:
    """Run a step, and print how long it took."""
    begun = time.monotonic()
    result = step()
    print(f"✓ {label}: {time.monotonic() - begun:.1f} s", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    parser.add_argument("version", help="such as 0.2.0; a leading v is ignored")
    parser.add_argument("--check", action="store_true", help="fail if anything was to be set")
    options = parser.parse_args()
    version = options.version.removeprefix("v")
    changed = set_version(ROOT, version, datetime.now(UTC).date(), write=not options.check)
    if changed and options.check:
        sys.exit(f"Version or date of {version} was not set in: {', '.join(changed)}")
    print(f"✓ version {version}: {', '.join(changed) or 'set before'}")
    dist = ROOT / "dist"
    wheel = timed("built", lambda: build(dist))
    timed("metadata and contents checked", lambda: check_files(dist))
    with tempfile.TemporaryDirectory(prefix="location-context-") as name:
        folder = Path(name)
        programs = timed("installed", lambda: install(wheel, folder / "environment"))
        page = timed("served", lambda: fetch_widget(programs, folder))
    sizes = ", ".join(f"{one.name} {one.stat().st_size / 1e6:.1f} MB" for one in dist.iterdir())
    print(f"✓ first widget: {len(page):,} bytes. {sizes}")


if __name__ == "__main__":
    main()
