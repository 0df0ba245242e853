"""Serve a hotel's booking page on a port of its own, and the service whose widget it embeds.

The service runs over stand-ins of the providers, with the sample guide. The pages hold the code
that its builder generates.
"""

import contextlib
import functools
import os
import random
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from datetime import timedelta
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.harness import servers, service
from location_context.stay import system_clock
from tests.serving import free_port

PLACES = {  # where the sample guide has restaurants enough for a list that opens
    "London": (51.51, -0.13), "Paris": (48.8566, 2.3522), "New York": (40.75, -73.98),
    "Tokyo": (35.68, 139.76), "Hong Kong": (22.28, 114.16), "Singapore": (1.29, 103.85),
    "San Francisco": (37.78, -122.41), "Barcelona": (41.39, 2.17), "Chicago": (41.88, -87.63),
    "Seoul": (37.56, 126.98), "Madrid": (40.42, -3.7), "Copenhagen": (55.68, 12.57),
}  # fmt: skip
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Harbour House</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<style nonce="host">
*{box-sizing:border-box}body{margin:0;font:16px/1.5 system-ui,sans-serif;color:#222}
header,footer{padding:16px;background:#14342b;color:#fff}
main{max-width:960px;margin:auto;padding:16px}
.hero{display:block;width:100%;height:auto;border-radius:8px}.rooms{padding:0;list-style:none}
.rooms li{display:flex;justify-content:space-between;
border:1px solid #ccc;padding:16px;margin:8px 0}
</style></head><body>
"""
PAGE = """<header>Harbour House</header><main>
<h1>Harbour House, rooms above the old harbour</h1>
<img class="hero" src="hero.png" width="960" height="540" alt="The harbour" fetchpriority="high">
{first}
<p>{text}</p><p>{text}</p>
<h2>Rooms</h2><ul class="rooms">{rooms}</ul>
<h2>About your stay</h2>
{below}
<h2>Getting here</h2><p>{text}</p><p>{text}</p>
</main><footer>Harbour House, 1 Quay Street. Open all year.</footer></body></html>
"""
TEXT = "A house of eleven rooms, each with a view of the water, a desk and a good bed. " * 5
ROOMS = ("Single", "Double", "Twin", "Corner room", "Family room", "Suite")
STRICT = (  # a host's policy that allows its own style by nonce, and the service
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'; '
    "style-src 'nonce-host'; script-src {0}; frame-src {0}\">"
)


class Site:
    """A host's folder, served on a port of its own, and the service that it embeds."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        providers = service.start_stand_ins(folder, [], stack)
        port = free_port()
        public = {"LOCATION_CONTEXT_PUBLIC_URL": f"http://127.0.0.1:{port}"}
        environ = {**service.settings(folder, providers.port), **public}
        set_up = [sys.executable, "-m", "location_context", "setup", "--without-fallback"]
        subprocess.run(set_up, env={**os.environ, **environ}, stdout=subprocess.DEVNULL, check=True)
        factory, log = "benchmarks.harness.service:service", folder / "log"
        command = [sys.executable, "-m", servers.__name__, factory, str(port), "1"]
        self._service = stack.enter_context(
            servers.Server(command, port, environ, log=log, pinned=False)
        )
        self._service.wait("/v1/health")
        self._folder = folder / "host"
        self._folder.mkdir()
        (self._folder / "hero.png").write_bytes(hero(960, 540))
        self.origin = stack.enter_context(served(self._folder))
        self._start = system_clock().date() + timedelta(12)  # a forecast, then typical days
        self._url = public["LOCATION_CONTEXT_PUBLIC_URL"]

    def query(self, place: str) -> str:
        """Return the query of a week's stay there, as the builder's form sends it."""
        lat, lng = PLACES[place]
        end = self._start + timedelta(7)
        return f"place={place}&lat={lat}&lng={lng}&start={self._start}&end={end}".replace(" ", "+")

    def ask(self, place: str) -> None:
        """Request the widget there, so that its answer is cached."""
        status = self._service.ask(f"/v1/pulse?{self.query(place)}").status
        assert status == 200, status

    def snippet(self, browser: Browser, place: str, more: str = "") -> list[str]:
        """Return the two lines that the builder generates, with `more` chosen in its form."""
        page = browser.new_page()
        page.goto(f"{self._url}/?{self.query(place)}{more}")
        lines = page.locator("#code pre").first.inner_text().strip().splitlines()
        page.close()
        return lines

    def page(self, name: str, *, first: str = "", below: str = "", strict: bool = False) -> str:
        """Write a page of the host and return its address."""
        rooms = "".join(f"<li><b>{room}</b><span>from €90</span></li>" for room in ROOMS)
        body = PAGE.format(first=first, below=below, text=TEXT, rooms=rooms)
        policy = STRICT.format(self._url) if strict else ""
        (self._folder / f"{name}.html").write_text(
            HEAD.replace("<title>", policy + "<title>") + body
        )
        return f"{self.origin}/{name}.html"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the files of a folder and yield the origin."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def hero(width: int, height: int) -> bytes:
    """Draw the sea below the sky, with grain, as a PNG of about 100 kB."""
    chance, lines = random.Random(3), bytearray()
    for y in range(height):
        sky = y < height * 0.55
        colour = (150 - y // 8, 190 - y // 10, 220) if sky else (20, 70 + y // 16, 90 + y // 12)
        grain = chance.getrandbits(width)
        lines += b"\0" + bytes(part + (grain >> x & 1) for x in range(width) for part in colour)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
