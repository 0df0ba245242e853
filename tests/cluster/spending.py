"""Scenarios of calls to providers: nothing twice, and never more than their budgets."""

import asyncio
import csv
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.harness.stand_ins import ARCHIVE, EVENTS, HOLIDAYS
from tests.cluster.cluster import Cluster, Request
from tests.cluster.findings import Finding, Given
from tests.cluster.load import Client, cities

CALLERS = 40
QUIET_SECONDS = 3.0  # without a call: nothing is fetched any more
LIMITS = {"Open-Meteo": 400, "OpenHolidays": 8, "Ticketmaster": 12}
BUDGETS = {"OPEN_METEO_API_KEY": "", "OPEN_METEO_BUDGET": "400/minute",
           "OPEN_HOLIDAYS_BUDGET": "8/minute", "TICKETMASTER_BUDGET": "12/day"}  # fmt: skip
WARM_PLACES = 500
WARM_BUDGETS = {"OPEN_METEO_API_KEY": "", "OPEN_METEO_BUDGET": "12000/minute",
                "OPEN_HOLIDAYS_BUDGET": "60/minute"}  # fmt: skip
WARM_PATIENCE = 900.0
LATE_SECONDS = 5.0  # that a call may be on its way on a busy machine
IN_FLIGHT_SECONDS = 5.0  # an answer that is fetched is stored by then


async def cold_cell(cluster: Cluster, _: Given) -> Finding:
    key, _ = await cluster.key("a caller")
    headers = {"Authorization": f"Bearer {key}"}
    start = datetime.now(UTC).date() + timedelta(days=5)
    query = f"lat=40.4165&lng=-3.7026&start={start}&end={start + timedelta(days=6)}"
    clients = [Client(cluster.replicas[number % 2]) for number in range(CALLERS)]
    statuses: Counter[int] = Counter()
    for section in ("weather", "events"):
        request = (client.ask(f"/v1/pulse/{section}?{query}", headers) for client in clients)
        statuses += Counter(answer.status for answer in await asyncio.gather(*request))
    for client in clients:
        client.close()
    await _quiet(cluster)
    calls = cluster.requests()
    twice = [f"{count} × {path}" for (path, _), count in _counts(calls).items() if count > 1]
    seen = ", ".join(f"{n} × {path}" for path, n in Counter(c.path for c in calls).items())
    return Finding(
        set(statuses) == {200} and not twice and bool(calls),
        f"calls: {seen}; alike: {', '.join(twice) or 'none'}",
    )


async def _quiet(cluster: Cluster) -> None:
    """Wait until what is fetched behind the answers has come."""
    while any(time.time() - call.at < QUIET_SECONDS for call in cluster.requests()):  # noqa: ASYNC110
        await asyncio.sleep(0.2)


def _counts(calls: Sequence[Request]) -> Counter[tuple[str, tuple[tuple[str, str], ...]]]:
    """How often each received the same call."""
    return Counter((call.path, tuple(sorted(call.query.items()))) for call in calls)


async def budget_over_restart(cluster: Cluster, given: Given) -> Finding:
    key, _ = await cluster.key("a caller")
    places = cities()
    began = time.time()
    await _ask_anew(cluster, key, places, given.pause)
    before = cluster.requests()
    for part in (*cluster.replicas, cluster.redis):
        part.kill()
    await cluster.redis.start()
    await asyncio.gather(*(replica.start() for replica in cluster.replicas))
    await _ask_anew(cluster, key, places, max(given.pause, began + 75 - time.time()))
    spent = _most_in_a_minute(before), _most_in_a_minute(cluster.requests())
    seen = [
        f"{name} {spent[0][name]:.0f}, then {spent[1][name]:.0f} of {limit}"
        for name, limit in LIMITS.items()
    ]
    held = all(spent[1][name] <= limit for name, limit in LIMITS.items())
    was_spent = spent[0]["Open-Meteo"] > LIMITS["Open-Meteo"] / 2
    return Finding(held and was_spent, "; ".join(seen))


async def _ask_anew(
    cluster: Cluster, key: str, places: Iterator[tuple[float, float]], seconds: float
) -> None:
    """Ask for cold places for so long, a few at once."""
    until, headers = time.monotonic() + seconds, {"Authorization": f"Bearer {key}"}
    start = datetime.now(UTC).date() + timedelta(days=40)
    stay = f"start={start}&end={start + timedelta(days=6)}"
    while time.monotonic() < until:
        request = []
        for (lat, lng), replica in zip(places, cluster.replicas * 2, strict=False):
            client = Client(replica)
            for section in ("weather", "events"):
                path = f"/v1/pulse/{section}?lat={lat}&lng={lng}&{stay}"
                request.append(client.ask(path, {**headers, "Connection": "close"}))
        with suppress(OSError, EOFError, TimeoutError):  # what counts are the providers' calls
            await asyncio.gather(*request)


def _provider(call: Request) -> str:
    return {EVENTS: "Ticketmaster", HOLIDAYS: "OpenHolidays"}.get(call.path, "Open-Meteo")


def _most_in_a_minute(calls: Sequence[Request]) -> Counter[str]:
    """The most units of each provider in any minute; of Ticketmaster, in all.

    A call comes a little after it was counted, so that a minute begins late here.
    """
    most: Counter[str] = Counter()
    for name in ("Open-Meteo", "OpenHolidays", "Ticketmaster"):
        mine = [call for call in calls if _provider(call) == name]
        span = 60 - LATE_SECONDS if name != "Ticketmaster" else 86400
        sums = (sum(c.units for c in mine if first.at <= c.at < first.at + span) for first in mine)
        most[name] = round(max(sums, default=0))
    return most


async def warm_killed(cluster: Cluster, _: Given) -> Finding:
    file = cluster.folder / "places.csv"
    _write_places(file)
    first = await cluster.begin("warm", str(file), "--json")
    try:
        while sum(call.path == ARCHIVE for call in cluster.requests()) < WARM_PLACES / 4:
            if first.returncode is not None:
                raise RuntimeError((await first.communicate())[1].decode())
            await asyncio.sleep(0.2)
    finally:
        with suppress(ProcessLookupError):
            first.kill()
    killed, _ = time.time(), await first.communicate()
    second = await cluster.begin("warm", str(file), "--json")
    try:
        out, err = await asyncio.wait_for(second.communicate(), WARM_PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            second.kill()
    if not out:
        raise RuntimeError(err.decode())
    return _warmed(json.loads(out), cluster.requests(), killed)


def _warmed(said: dict[str, Any], calls: Sequence[Request], killed: float) -> Finding:
    """Whether all places are complete, and nothing that had come was fetched again."""
    places = sum(said["read"]["weather"].values())
    twice = [alike for alike, count in _counts(calls).items() if count > 1]
    held = {
        (call.path, tuple(sorted(call.query.items())))
        for call in calls
        if call.at < killed - IN_FLIGHT_SECONDS
    }
    again = Counter(path for path, query in twice if (path, query) in held)
    cut = len(twice) - again.total()
    seen = [
        f"{places - len(said['incomplete'])} of {places} complete",
        ", ".join(f"{n} × {path}" for path, n in Counter(call.path for call in calls).items()),
        f"{cut} cut by the kill and made again",
        "again: " + (", ".join(f"{n} × {path}" for path, n in again.items()) or "none"),
    ]  # fmt: skip
    return Finding(places == WARM_PLACES and not said["incomplete"] and not again, "; ".join(seen))


def _write_places(file: Path) -> None:
    """Every second one with a stay that no forecast reaches."""
    start = datetime.now(UTC).date() + timedelta(days=60)
    far = (str(start), str(start + timedelta(days=6)))
    with file.open("w", newline="") as rows:
        table = csv.writer(rows)
        table.writerow(("lat", "lng", "start", "end"))
        for number, place in zip(range(WARM_PLACES), cities(), strict=False):
            table.writerow((*place, *(far if number % 2 else ("", ""))))
