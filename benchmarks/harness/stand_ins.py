"""Stand in for the providers, in a process of its own, with bodies as large as the real ones.

    python -m benchmarks.harness.stand_ins PORT [--milliseconds 50] [--events 60] [--plain]
                                           [--failing 0.1] [--requests FILE]

Open-Meteo answers as in the tests, with values that differ between places. A Ticketmaster event has
its ten pictures, attractions and links: 10 kB, as in real answers. OpenHolidays has its real rows.
Bodies are gzipped where the client accepts it, as by the real providers (`--plain`: never). The
share `--failing` of all answers is a 500. `/calls` returns how often each address was requested
since it was last read. FILE receives each request as a line of JSON: its time (POSIX), path, query
and units.
"""

import argparse
import asyncio
import gzip
import random
import time
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from location_context.stay import system_clock
from tests.fakes import open_holidays, ticketmaster
from tests.fakes.open_meteo import ARCHIVE, FORECAST, OpenMeteo
from tests.fakes.server import FakeRequest

EVENTS = "/discovery/v2/events.json"
HOLIDAYS = "/SchoolHolidays"
_WORDS = (
    "amber", "bridge", "candle", "drift", "ember", "forest", "glass", "harbour", "island",
    "jubilee", "kite", "lantern", "meadow", "night", "orchard", "paper", "quarry", "river",
    "silver", "thunder", "union", "velvet", "winter", "yellow", "zephyr",
)  # fmt: skip
_SEGMENTS = ("Music", "Sports", "Arts & Theatre", "Film", "Miscellaneous")
_RATIOS = (("16_9", 2048), ("16_9", 100), ("3_2", 1024), ("3_2", 305), ("16_9", 205),
           ("3_2", 640), ("16_9", 1024), ("4_3", 305), ("16_9", 1136), ("16_9", 640))  # fmt: skip
_DEGREES_APART = 6.0  # as places differ at a time of the year


class StandIns:
    """Answers, and how often each path was requested."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._open_meteo = OpenMeteo(system_clock)
        self._calls: Counter[str] = Counter()
        self._requests = given.requests and given.requests.open("ab", buffering=0)

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._given.port)
        await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                answered_at = loop.time() + self._given.milliseconds / 1000
                target = lines[0].split(" ")[1]
                headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
                if target == "/calls":
                    body, answered_at = msgspec.json.encode(self._calls), 0
                    self._calls.clear()
                else:
                    body = self._body(target, headers)
                coding = ""
                if not self._given.plain and "gzip" in headers.get("accept-encoding", ""):
                    body, coding = gzip.compress(body, 1), "Content-Encoding: gzip\r\n"
                await asyncio.sleep(max(0.0, answered_at - loop.time()))
                failed = target != "/calls" and random.random() < self._given.failing
                status = "500 Internal Server Error" if failed else "200 OK"
                head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{coding}"
                writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _body(self, target: str, headers: dict[str, str]) -> bytes:
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self._calls[target] += 1
        if self._requests:
            line = {"at": time.time(), "path": parts.path, "query": query, "units": _units(query)}
            self._requests.write(msgspec.json.encode(line) + b"\n")
        if parts.path in {ARCHIVE, FORECAST}:
            return msgspec.json.encode(self._weather(parts.path, query))
        request = FakeRequest(parts.path, query, headers, {}, target)
        if parts.path == EVENTS:
            return ticketmaster.responding(self._events(query))(request).encoded()
        if parts.path == HOLIDAYS:
            return open_holidays.respond(request).encoded()
        return self._open_meteo.respond(request).encoded()

    def _weather(self, path: str, query: dict[str, str]) -> Any:
        """Return the values of each place, warmer or colder from place to place."""
        lat, lng = float(query["latitude"]), float(query["longitude"])
        same = tuple((k, v) for k, v in sorted(query.items()) if k not in {"latitude", "longitude"})
        warmer = random.Random(f"{lat} {lng}").uniform(-_DEGREES_APART, _DEGREES_APART)
        blocks = [
            {**block, "latitude": lat, "longitude": lng, "daily": _warmer(block["daily"], warmer)}
            for block in self._blocks(path, same)
        ]
        return blocks if len(blocks) > 1 else blocks[0]

    @cache  # noqa: B019  it lives as long as the process
    def _blocks(self, path: str, same: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
        query = {"latitude": "45.1", "longitude": "7.2", **dict(same)}
        target = f"{path}?daily={query['daily']}"
        body = self._open_meteo.respond(FakeRequest(path, query, {}, {}, target)).body
        assert isinstance(body, list | dict)
        return body if isinstance(body, list) else [body]

    def _events(self, query: dict[str, str]) -> list[dict[str, Any]]:
        first, last = (text[:10] for text in query["localStartEndDateTime"].split(","))
        days = (date.fromisoformat(last) - date.fromisoformat(first)).days + 1
        chance, centre = (
            random.Random(query["geoPoint"]),
            ticketmaster.geohash_point(query["geoPoint"]),
        )
        return [
            _event(chance, centre, date.fromisoformat(first) + timedelta(days=number % days))
            for number in range(self._given.events)
        ]


def _units(query: Mapping[str, str]) -> float:
    """Return what a request costs: at Open-Meteo by variables and days, or by coordinates."""
    if "daily" not in query:
        return float(len(query.get("latitude", "").split(",")))
    spans = zip(
        *(query.get(name, "").split(",") for name in ("start_date", "end_date")), strict=True
    )
    days = [
        (date.fromisoformat(last) - date.fromisoformat(first)).days + 1 if first else 16
        for first, last in spans
    ]
    return max(len(query["daily"].split(",")) / 10, 1) * sum(max(n / 14, 1) for n in days)


def _warmer(daily: dict[str, list[Any]], by: float) -> dict[str, list[Any]]:
    return {
        name: [v if v is None else round(v + by, 1) for v in values]
        if "temperature" in name
        else values
        for name, values in daily.items()
    }


def _event(chance: random.Random, centre: tuple[float, float], day: date) -> dict[str, Any]:
    """Return an event with every field that Ticketmaster sends, most of which is never read."""
    name = " ".join(chance.choices(_WORDS, k=3)).title()
    number = f"{chance.getrandbits(60):x}"
    venue = {
        "name": f"{chance.choice(_WORDS).title()} Hall",
        "type": "venue",
        "id": f"v{number}",
        "url": f"https://www.ticketmaster.example/venue/{number}",
        "locale": "en-us",
        "timezone": None,
        "location": {
            "latitude": f"{centre[0] + chance.gauss(0, 0.03):.6f}",
            "longitude": f"{centre[1] + chance.gauss(0, 0.03):.6f}",
        },
        "images": _pictures(number)[:1],
        "postalCode": "90017",
        "state": {"name": "A State", "stateCode": "AS"},
        "dmas": [{"id": n} for n in range(324, 330)],
        "upcomingEvents": {"_total": 60, "tmr": 37, "ticketmaster": 23},
        "_links": {"self": {"href": f"/discovery/v2/venues/{number}?locale=en-us"}},
    }
    event = ticketmaster.event(
        name,
        ticketmaster.at(str(day), f"{chance.randrange(10, 23)}:30:00"),
        id=number,
        url=f"https://www.ticketmaster.example/{number}/event/{number}",
        venue=venue,
        images=_pictures(number),
        classifications=[
            {"primary": True, "segment": {"id": "S", "name": chance.choice(_SEGMENTS)},
             "genre": {"id": "G", "name": "Other"}, "subGenre": {"id": "H", "name": "Other"}}
        ],
        sales={"public": {"startDateTime": "2026-01-01T18:00:00Z", "startTBD": False,
                          "endDateTime": f"{day}T19:30:00Z"}},
        seatmap={"staticUrl": f"https://maps.ticketmaster.example/VenueMaps/{number}.png"},
        info="Doors open an hour before. " * 6,
        pleaseNote="Children under 14 only with an adult. " * 6,
        _links={"self": {"href": f"/discovery/v2/events/{number}?locale=en-us"}},
    )  # fmt: skip
    event["_embedded"]["attractions"] = [_attraction(chance) for _ in range(2)]
    return event


def _attraction(chance: random.Random) -> dict[str, Any]:
    name, number = " ".join(chance.choices(_WORDS, k=2)).title(), f"{chance.getrandbits(48):x}"
    return {
        "name": name,
        "type": "attraction",
        "id": number,
        "test": False,
        "url": f"https://www.ticketmaster.example/{number}-tickets/artist/{number}",
        "locale": "en-us",
        "aliases": [name.lower()],
        "externalLinks": {
            site: [{"url": f"https://{site}.example/{number}"}]
            for site in ("twitter", "facebook", "wiki", "instagram", "homepage")
        },
        "images": _pictures(number),
        "classifications": [{"primary": True, "segment": {"id": "S", "name": "Music"}}],
        "upcomingEvents": {"_total": 60, "tmr": 37, "ticketmaster": 23},
        "_links": {"self": {"href": f"/discovery/v2/attractions/{number}?locale=en-us"}},
    }


def _pictures(number: str) -> list[dict[str, Any]]:
    """Return ten sizes of a picture, as each event and each attraction has them."""
    return [
        {
            "ratio": ratio,
            "url": f"https://s1.ticketm.example/dam/a/159/9c88417d-48b3-4d51-a6de-65762caeb159_"
            f"{number}_RETINA_LANDSCAPE_{width}_{ratio}.jpg",
            "width": width,
            "height": width * 9 // 16,
            "fallback": False,
            "attribution": "TM Generic",
        }
        for ratio, width in _RATIOS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("port", type=int)
    parser.add_argument("--milliseconds", type=float, default=50.0)
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--failing", type=float, default=0.0)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--requests", type=Path, metavar="FILE")
    asyncio.run(StandIns(parser.parse_args()).serve())


if __name__ == "__main__":
    main()
