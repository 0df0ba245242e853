"""Budgets end to end: a server of two workers, a command beside it, and a restart share one."""

import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from location_context.stay import system_clock
from tests.cli.test_commands import far_places, open_meteo_at
from tests.databases import OwnRedis
from tests.fakes.open_meteo import OpenMeteo
from tests.patience import wait_until
from tests.sections.weather.conftest import write_grid
from tests.web.commands import COMMAND, Serving, command, environment, serving, with_redis
from tests.web.conftest import HTTP

LIMIT, PLACES = 400, 12  # units a day; each place costs 98, so that four can be paid for
FAR = {"start": "2030-12-30", "end": "2031-01-03"}


def ask(served: Serving, key: str, lat: int) -> str | None:
    """The reason why the weather of a new place is less than was due."""
    answer = HTTP.get(
        f"http://127.0.0.1:{served.port}/v1/pulse/weather",
        params={"lat": f"{lat}", "lng": "-70", **FAR},
        headers={"Authorization": f"Bearer {key}"},
    )
    assert answer.status_code == 200, answer.text
    reason: str | None = answer.json()["degraded_reason"]
    return reason


def ask_all(served: Serving, key: str) -> list[str | None]:
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(lambda lat: ask(served, key, lat), range(30, 30 + PLACES)))


def is_spent(served: Serving, spent: float) -> bool:
    """Return True if the worker that answers knows what all have spent."""
    status = HTTP.get(f"http://127.0.0.1:{served.port}/v1/status").json()
    providers = status["sections"]["weather"]["providers"]
    day = next(one for one in providers[0]["budgets"] if one["window"] == "day")
    return bool(day["limit"] == LIMIT and day["used"] == pytest.approx(spent, abs=0.06))


def test_workers_share_a_provider_budget_with_the_warm_command_and_a_restarted_server(
    tmp_path: Path, own_redis: OwnRedis
) -> None:
    data_dir = tmp_path / "house"
    command(data_dir, "setup", "--without-fallback")
    write_grid(data_dir)
    key = json.loads(command(data_dir, "keys", "create", "test", "--json").stdout)["key"]
    standin, file = OpenMeteo(system_clock), far_places(tmp_path, PLACES)
    with standin.server.running():
        deadline = {"JSON_DEADLINE": "60"}  # a busy machine is not late
        off = {"NASA_POWER_URL": "", "OPEN_HOLIDAYS_URL": ""}
        more = open_meteo_at(standin, OPEN_METEO_BUDGET=f"{LIMIT}/day", **deadline, **off)
        with serving(data_dir, "--workers", "2", more=more | with_redis(own_redis)) as served:
            warm = subprocess.Popen(
                [*COMMAND, "warm", str(file), "--no-wait", "--json"],
                env=environment(data_dir, more),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            reasons = ask_all(served, key)
            assert warm.wait(120) == 1
            assert LIMIT - 100 < sum(standin.units) <= LIMIT
            assert "archive_unavailable" in reasons
            served.signal(signal.SIGKILL)
        with serving(data_dir, "--workers", "2", more=more | with_redis(own_redis)) as served:
            ask_all(served, key)
            assert sum(standin.units) <= LIMIT
            wait_until(lambda: is_spent(served, sum(standin.units)))
