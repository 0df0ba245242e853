"""Read the calendars of 2,000 drawn stays with three libraries, which must find the same entries.

`./scripts/check calendars [STAYS]` runs it. The stays lie all over the world from 2026 on. Holidays
and the sky are the real ones; further events are drawn, with titles that try every escape, times
around clock changes, and ends that are missing, equal or of another kind.
"""

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar
import structlog
from rich.console import Console
from rich.table import Table

from location_context.app import open_service
from location_context.localisation.formatter import Formatter
from location_context.sections.card import CardContext, Entry
from location_context.sections.contract import Query
from location_context.service import Service, read_pulse
from location_context.settings import Settings
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from location_context.widget.calendar import Group, encode, groups, has_calendar
from tests.moved_clock import MovedClock
from tests.web.full_app import OFF

HERE = Path(__file__).parent
NODE = HERE.parents[2] / ".calendars"
LETTERS = "aé日本ع😀;,\\\n:\" '\u2028<&%"
Read = dict[str, list[list[str]]]  # by file: uid, start and end of each entry


def drawn(chance: random.Random, stay: Stay, zone: ZoneInfo) -> list[Entry]:
    """Return entries of every kind."""

    def title() -> str:
        return "".join(chance.choices(LETTERS, k=chance.randint(1, 200))).strip() or "x"

    def moment(day: date) -> datetime:
        clock = datetime.combine(day, datetime.min.time(), zone)
        return clock + timedelta(minutes=chance.randint(0, 1439))

    found = []
    for number in range(chance.randint(0, 8)):
        day = stay.start + timedelta(chance.randint(-30, stay.days))
        last = day + timedelta(chance.randint(0, 40))
        start = chance.choice([day, moment(day)])
        end = chance.choice([None, last, moment(last), start])
        position = (chance.uniform(-90, 90), chance.uniform(-180, 180))
        found.append(
            Entry(
                id=f"{number}:{title()}",
                title=title(),
                start=start,
                end=end,
                text=title(),
                place=chance.choice(["", title()]),
                position=chance.choice([None, position]),
                url="https://example.org/?a=1;b=2,3",
                settled=chance.random() < 0.5,
            )
        )
    return found


async def write(service: Service, folder: Path, stays: int) -> None:
    """Write a calendar for each of so many stays."""
    chance = random.Random(31)
    sections = [one for one in service.sections if has_calendar(one)]
    languages = [service.languages.choose(tag) for tag in service.languages.tags]
    for number in range(stays):
        point = service.gazetteer.point(chance.uniform(-66, 71), chance.uniform(-180, 180))
        if chance.random() < 0.7:  # most of them where people live
            near = chance.choice(service.gazetteer.search(chance.choice("abcdefghklmnoprst")))
            point = service.gazetteer.point(near.lat, near.lng)
        first = date(2026, 11, 21) + timedelta(chance.randint(0, 400))
        stay = Stay(first, first + timedelta(chance.randint(0, 20)))
        query = Query(point, stay, "metric", chance.choice(languages), public=True)
        pulse = await read_pulse(sections, query, Deadline.after(60))
        assert not pulse.missing, pulse.missing
        context = CardContext(fmt=Formatter(query.language), now=service.clock())
        found = groups(sections, pulse.bodies, context)
        sky = pulse.bodies["astronomy"]
        found.append(Group(section="drawn", body=sky, entries=drawn(chance, stay, point.zone)))
        found = [] if number % 50 == 0 else found  # a calendar without entries is read too
        content = encode(found, f"{point.place}", "example.org", query)
        (folder / f"{number:05}.ics").write_bytes(content)


def with_icalendar(folder: Path) -> Read:
    """Return what icalendar reads."""

    def text(moment: date | datetime) -> str:
        if not isinstance(moment, datetime):
            return str(moment)
        return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z"

    found: Read = {}
    for path in folder.iterdir():
        calendar = icalendar.Calendar.from_ical(path.read_bytes())
        found[path.name] = [
            [str(one["uid"]), text(one["dtstart"].dt), text(one.end)]
            for one in calendar.walk("VEVENT")
        ]
    return found


def with_node(folder: Path) -> dict[str, Read]:
    """Return what each of the other libraries reads."""
    NODE.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json", "read.js"):
        shutil.copy(HERE / name, NODE)
    npm = ["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(npm, cwd=NODE, check=True)
    done = subprocess.run(
        ["node", "read.js", str(folder)],
        cwd=NODE,
        env={**os.environ, "TZ": "UTC"},
        capture_output=True,
        check=True,
    )
    found: dict[str, Read] = json.loads(done.stdout)
    return found


def in_order(entries: Sequence[Sequence[str]]) -> list[list[str]]:
    return sorted(map(list, entries), key=str)


async def main(stays: int) -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(data), **OFF)
        async with open_service(settings, clock=MovedClock()) as service:
            await write(service, Path(folder), stays)
        expected = with_icalendar(Path(folder))
        others = with_node(Path(folder))
    table = Table("library", "calendars", "entries", "calendars that differ")
    total = sum(map(len, expected.values()))
    table.add_row("icalendar", str(len(expected)), str(total), "–")
    failed = total == 0
    for library, read in others.items():
        wrong = [one for one in expected if in_order(read[one]) != in_order(expected[one])]
        table.add_row(library, str(len(read)), str(sum(map(len, read.values()))), str(len(wrong)))
        failed |= bool(wrong)
        for name in wrong[:3]:
            pairs = zip(in_order(expected[name]), in_order(read[name]), strict=False)
            print(name, next((pair for pair in pairs if pair[0] != pair[1]), "another number"))
    Console().print(table)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(int((sys.argv[1:] or ["2000"])[0]))))
