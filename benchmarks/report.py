"""Run all benchmarks of docs/performance.md one after the other, and make its table.

    python -m benchmarks.report [--rounds 5] [--only cold …] [--write] [--json]

It takes about ten minutes, and prints the table with the commit, time and machine. `--write` puts
the table into docs/performance.md and draws the picture again. With `--only`, the rows of other
benchmarks stay as they are.
"""

import argparse
import json
import operator
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from scripts.generators import picture

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- figures: benchmarks.report -->\n", "<!-- end of figures -->\n"
HEAD = "| what | figure | goal | beside | command |\n|---|---|---|---|---|\n"


class Row(NamedTuple):
    """A line of the table: a part of an entry of a benchmark's JSON, and its goal."""

    what: str
    script: str
    entry: str
    part: str
    form: str  # as in format(), with the unit after a space
    goal: float | None
    beside: str
    most: bool = False  # True: the goal is a maximum

    def line(self, found: Mapping[str, Any]) -> str:
        value = self.value(found)
        form, _, unit = self.form.partition(" ")
        shown = f"{value:{form}} {unit}".strip()
        goal = ""
        if self.goal is not None:
            meets = (operator.le if self.most else operator.ge)(value, self.goal)
            bound = f"{'≤' if self.most else '≥'} {self.goal:g} {unit}".strip()
            goal = f"{bound} {'✓' if meets else '✗'}"
        return f"| {self.what} | {shown} | {goal} | {self.beside} | `{self.script}` |\n"

    def value(self, found: Mapping[str, Any]) -> float:
        value: float = found[self.entry][self.part]
        return value


RAW, ASGI = "of_raw", "raw ASGI, same bytes and headers"
SPEED, WORKERS, COLD = "warm", "warm --workers", "cold"
GROWTH, START, MEMORY = "growth", "start", "memory"
BOUNDS = "memory --caches"
SKY, GUIDE = "computation", "queries"
LITTLE = "the same with a hundredth"
ROWS = [
    Row("JSON section, warm", SPEED, "section", RAW, ".2f of raw", 0.8, ASGI),
    Row("the same, brotli", SPEED, "section, br", RAW, ".2f of raw", 0.8, ASGI),
    Row("the same", SPEED, "section", "times_fastapi", ".1f times", 6, "FastAPI, pydantic, uvloop"),
    Row("304", SPEED, "section, 304", RAW, ".2f of raw", 0.85, ASGI),
    Row("widget, warm", SPEED, "widget", RAW, ".2f of raw", 0.75, ASGI),
    Row("widget, gzip", SPEED, "widget, gzip", RAW, ".2f of raw", 0.75, ASGI),
    Row("widget, brotli", SPEED, "widget, br", RAW, ".2f of raw", 0.75, ASGI),
    Row("widget, 304", SPEED, "widget, 304", RAW, ".2f of raw", 0.85, ASGI),
    Row("CPU of a section", SPEED, "section", "cpu_us", ".0f µs", None, ""),
    Row("of raw ASGI", SPEED, "section", "raw_cpu_us", ".0f µs", None, ""),
    Row("of nginx's static file", SPEED, "section", "nginx_cpu_us", ".0f µs", None, ""),
    Row("section, p99 at half load", SPEED, "section", "p99_of_raw", ".1f × raw's", 2, ASGI,
        True),
    Row("widget, p99 at half load", SPEED, "widget, br", "p99_of_raw", ".1f × raw's", 2, ASGI,
        True),
    Row("two workers with Redis, as measured on shared cores", WORKERS, "two, Redis", "times_one",
        ".2f × one", 1.7, "one worker with Redis"),
    Row("two workers with Redis, by CPU", WORKERS, "two, Redis", "times_one_by_cpu", ".2f × one",
        1.7, "one worker with Redis"),
    Row("Redis, CPU of a request", WORKERS, "one, Redis", "more_us", ".0f µs more", 150,
        "one worker without", True),
    Row("cold widgets", COLD, "widget", "a_second_and_core", ".0f a second and core", 100,
        "stand-ins at 50 ms"),
    Row("cold widget alone", COLD, "widget alone", "wall_ms", ".0f ms", 65, "50 ms of stand-ins",
        True),
    Row("weather, cold", COLD, "weather", "beyond_ms", ".1f ms CPU", 4, "an empty section", True),
    Row("events, cold", COLD, "events", "beyond_ms", ".1f ms CPU", 4, "an empty section", True),
    Row("astronomy, cold", COLD, "astronomy", "beyond_ms", ".1f ms CPU", 2, "an empty section",
        True),
    Row("guide, cold", COLD, "guide", "beyond_ms", ".2f ms CPU", 0.3, "an empty section", True),
    Row("an empty section, uncached", COLD, "nothing", "cpu_ms", ".2f ms CPU", None, ""),
    Row("a thousand callers of one cold page, answered", COLD, "a thousand callers", "status 200",
        ".0f", 1000, ""),
    Row("the most calls of a provider's resource for them", COLD, "a thousand callers",
        "most_calls", ".0f", 1, "", True),
    Row("longest piece on the event loop", COLD, "event loop", "longest_ms", ".1f ms CPU", 5, "",
        True),
    *(
        Row(f"{name}, a hundredfold", GROWTH, entry, "grown", ".2f × the CPU", 1.3, LITTLE, True)
        for name, entry in (("catalogue", "guide"), ("events", "events"), ("keys", "keys"),
                            ("caches", "caches"))
    ),
    Row("start, to health", START, "CPU s, health", "median", ".2f s CPU", None, ""),
    Row("start, to the first answer", START, "CPU s, first astronomy", "median", ".2f s CPU", 1.2,
        "", True),
    Row("of an empty Starlette", START, "CPU s, empty Starlette", "median", ".2f s CPU", None, ""),
    Row("worker, every section answered", START, "MB, largest worker", "median", ".0f MB PSS", 120,
        "",
        True),
    Row("command around the workers", START, "MB, command", "median", ".0f MB PSS", 40, "", True),
    Row("command and worker together", START, "MB, all", "median", ".0f MB PSS", None, ""),
    Row("worker after 8,000 distinct points", MEMORY, "8,000 points", "worker_mb", ".0f MB PSS",
        None, ""),
    Row("all caches of a worker, when full", BOUNDS, "all", "mb_full", ".0f MB", None, ""),
    Row("the sky of a week", SKY, "skyfield", "times", ".0f times", 200, "skyfield's almanac"),
    Row("the same", SKY, "ephem", "times", ".0f times", 20, "ephem"),
    Row("the same", SKY, "astronomy-engine", "times", ".0f times", None, "astronomy-engine"),
    Row("guide, at restaurants", GUIDE, "at restaurants", "times_rtree", ".1f times", 5, "R*Tree"),
    Row("guide, anywhere", GUIDE, "anywhere", "times_rtree", ".1f times", 5, "R*Tree"),
    Row("guide, at restaurants", GUIDE, "at restaurants", "times_kdtree", ".1f times", None,
        "scipy's k-d tree"),
]  # fmt: skip


def run(script: str, rounds: int) -> dict[str, Any]:
    """Run a benchmark and return its figures."""
    print(script, file=sys.stderr)
    name, *options = script.split()
    command = [sys.executable, "-m", f"benchmarks.{name}", *options, "--json"]
    done = subprocess.run(
        [*command, f"--rounds={rounds}"], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True
    )
    found = json.loads(done.stdout)
    if script == COLD:
        crowd = found["a thousand callers"]
        crowd["most_calls"] = max(crowd[name] for name in crowd if name.startswith("calls"))
    return found


def rows_of(page: str) -> dict[tuple[str, str, str], str]:
    """Return the lines of the page, by what, beside and command."""
    lines = page.partition(BEGIN)[2].partition(END)[0].splitlines(keepends=True)
    cells = ([cell.strip() for cell in line.split("|")] for line in lines)
    return {
        (cell[1], cell[4], cell[5]): line
        for cell, line in zip(cells, lines, strict=True)
        if len(cell) == 7
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    scripts = list(dict.fromkeys(row.script for row in ROWS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=scripts, default=scripts)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    page = PAGE.read_text()
    before = rows_of(page)
    found = {script: run(script, given.rounds) for script in given.only}
    if given.json:
        print(json.dumps(found, indent=1))
    table = HEAD
    for row in ROWS:
        if row.script in found:
            table += row.line(found[row.script])
        else:
            table += before.get((row.what, row.beside, f"`{row.script}`"), "")
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    one, _, fifteen = os.getloadavg()
    table += (
        f"\nCommit {commit}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, load "
        f"{one:.1f} at the end and {fifteen:.1f} over 15 minutes; {given.rounds} rounds.\n"
    )
    if given.write:
        head, _, rest = page.partition(BEGIN)
        page = head + BEGIN + table + END + rest.partition(END)[2]
        PAGE.write_text(page)
        picture.PICTURE.write_text(picture.picture(page))
    elif not given.json:
        print(table)


if __name__ == "__main__":
    main()
