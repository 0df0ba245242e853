"""What replaces a calendar's events and what changes nothing: garbage, emptiness, a part."""

import asyncio
import queue
import signal
import subprocess
import time

import pytest

from location_context.errors import OperatorError
from location_context.sections import sandbox as processes
from location_context.sections.events.imports import reading
from location_context.sections.events.imports.importer import calendar_id
from location_context.sections.events.records import Calendar
from location_context.upstream import deadline
from tests.fakes.server import FakeResponse, FakeServer
from tests.sections.events.hostile import PAGES

pytestmark = pytest.mark.anyio
PARIS = (48.8566, 2.3522)
EVENT = (
    b"BEGIN:VEVENT\nUID:1\nSUMMARY:Choir\nDTSTART:20261202T190000Z\nDTEND:20261202T210000Z\n"
    b"END:VEVENT\n"
)
GOOD = b"BEGIN:VCALENDAR\n" + EVENT + b"END:VCALENDAR\n"
WITHOUT_EVENTS = {
    "a calendar": b"BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n",
    "a calendar of cancellations": GOOD.replace(b"UID:1", b"UID:1\nSTATUS:CANCELLED"),
    "a calendar that is over": GOOD.replace(b"2026", b"2016"),
    "a table": b"title,start\n",
    "a list": b"[]",
    "a graph": b'{"@context": "https://schema.org", "@graph": []}',
    "a page whose events are over": (
        b'<script type="application/ld+json">{"@type": "Event", "name": "A", '
        b'"startDate": "2016-12-02"}</script>'
    ),
}
UNREADABLE = {
    "garbage": b"\x00\xff\x17" * 5000,
    "nothing": b"",
    "blanks": b" \r\n\r\n",
    "a page": b"<!doctype html><title>Back soon</title><p>We are being maintained.",
    "a sentence": b"Service unavailable\n",
    "an error in JSON": b'{"error": "maintenance"}',
    "nothing but refusals": b"title,start\nChoir,soon\n,2026-12-02\n",
}
# An import of a file reads every kind; what comes of it, feeds share with it.
OF_FEEDS = ["nothing", "a page", "nothing but refusals"]
EMPTY_FEEDS = ["a calendar of cancellations", "a table", "a page whose events are over"]


def _calendar(kind: str, source: str) -> Calendar:
    return Calendar(id=calendar_id(source), kind=kind, source=source, lat=PARIS[0], lng=PARIS[1])


async def _titles(opened) -> list[str]:
    reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
    return [event.title for event in getattr(reading.body, "events", [])]


@pytest.mark.parametrize("file_name", ["town.ics", "town.csv"])
@pytest.mark.parametrize("name", UNREADABLE)
async def test_what_cannot_be_read_changes_nothing(open_section, tmp_path, name, file_name):
    file = tmp_path / file_name
    async with open_section() as opened:
        feeds = opened.section._feeds
        file.write_bytes(GOOD)
        await feeds.import_calendar(_calendar("import", str(file)))
        stored = await feeds.calendars()
        file.write_bytes(UNREADABLE[name])
        for allow_empty in (False, True):
            with pytest.raises(OperatorError, match="othing was changed"):
                await feeds.import_calendar(_calendar("import", str(file)), allow_empty=allow_empty)
            assert await feeds.calendars() == stored
            assert await _titles(opened) == ["Choir"]


@pytest.mark.parametrize("name", OF_FEEDS)
async def test_what_cannot_be_read_is_no_new_import(open_section, tmp_path, name):
    file = tmp_path / "town.ics"
    file.write_bytes(UNREADABLE[name])
    async with open_section() as opened:
        with pytest.raises(OperatorError):
            await opened.section._feeds.import_calendar(_calendar("import", str(file)))
        assert await opened.section._feeds.calendars() == []


@pytest.mark.parametrize("name", WITHOUT_EVENTS)
async def test_a_calendar_without_events_empties_only_where_that_is_allowed(
    open_section, tmp_path, name
):
    file = tmp_path / "town"
    file.write_bytes(GOOD)
    async with open_section() as opened:
        feeds = opened.section._feeds
        await feeds.import_calendar(_calendar("import", str(file)))
        file.write_bytes(WITHOUT_EVENTS[name])
        with pytest.raises(OperatorError, match="--allow-empty"):
            await feeds.import_calendar(_calendar("import", str(file)))
        assert await _titles(opened) == ["Choir"]
        imported = await feeds.import_calendar(_calendar("import", str(file)), allow_empty=True)
        assert (imported.calendar.rows, imported.rejected) == (0, [])
        assert await _titles(opened) == []


@pytest.mark.parametrize("name", OF_FEEDS)
async def test_a_feed_that_answers_200_with_no_calendar_keeps_its_events_and_says_why(
    open_section, name
):
    with FakeServer(lambda _: FakeResponse(GOOD)).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            feeds = opened.section._feeds
            await feeds.import_calendar(_calendar("feed", server.url + "/a.ics"))
            server.respond = lambda _: FakeResponse(UNREADABLE[name])
            for _ in range(3):
                opened.clock.move(hours=2)
                assert await feeds.refresh_outdated() == 1
                (listed,) = await feeds.calendars()
                assert listed.failed_with
                assert await _titles(opened) == ["Choir"]
            with pytest.raises(OperatorError):  # nor when the operator adds it once more
                await feeds.import_calendar(_calendar("feed", server.url + "/a.ics"))
            assert await _titles(opened) == ["Choir"]


@pytest.mark.parametrize("name", EMPTY_FEEDS)
async def test_a_feed_is_emptied_when_it_came_without_events_twice_in_a_row(open_section, name):
    answers = [FakeResponse(GOOD, headers={"ETag": '"1"'})]

    def respond(asked):
        (given,) = answers
        if (etag := given.headers.get("ETag")) and asked.headers.get("if-none-match") == etag:
            return FakeResponse(status=304)
        return given

    with FakeServer(respond).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            feeds = opened.section._feeds
            await feeds.import_calendar(_calendar("feed", server.url + "/a"))
            empty = FakeResponse(WITHOUT_EVENTS[name], headers={"ETag": '"2"'})
            broken = FakeResponse(status=500)
            good = answers[0]
            for answer, expected in [
                (empty, ["Choir"]), (broken, ["Choir"]), (empty, ["Choir"]), (good, ["Choir"]),
                (empty, ["Choir"]), (empty, []), (empty, []), (good, ["Choir"]),
            ]:  # fmt: skip
                answers[:] = [answer]
                opened.clock.move(hours=2)
                await feeds.refresh_outdated()
                assert await _titles(opened) == expected
                (listed,) = await feeds.calendars()
                kept_nevertheless = answer is not good and bool(expected)
                assert bool(listed.failed_with) == kept_nevertheless


async def test_a_part_never_replaces_a_whole(open_section, tmp_path, monkeypatch):
    """The reading is stopped after it found an event."""
    monkeypatch.setitem(reading.CPU_SECONDS, "jsonld", 1)
    file = tmp_path / "town.html"
    good = (
        b'<script type="application/ld+json">'
        b'{"@type": "Event", "name": "%b", "startDate": "2026-12-02"}</script>'
    )
    async with open_section() as opened:
        feeds = opened.section._feeds
        file.write_bytes(b"<html>" + good % b"Choir" + good % b"Organ")
        await feeds.import_calendar(_calendar("import", str(file)))
        assert sorted(await _titles(opened)) == ["Choir", "Organ"]
        file.write_bytes(good % b"Choir" + PAGES["a tag of 300,000 attributes"]())
        with pytest.raises(OperatorError, match="more than 1 second of the processor"):
            await feeds.import_calendar(_calendar("import", str(file)))
        assert sorted(await _titles(opened)) == ["Choir", "Organ"]


async def test_twenty_thousand_rows_are_all_read_while_the_wall_clock_runs_away(
    open_section, tmp_path, monkeypatch
):
    """As on a machine that is busy: an hour passes whenever somebody looks at the clock."""
    moment = [time.monotonic()]

    class Busy:
        @staticmethod
        def monotonic() -> float:
            moment[0] += 3600
            return moment[0]

    file = tmp_path / "town.csv"
    rows = (f"Event {n},2026-12-{n % 28 + 1:02}T19:{n % 60:02}\n" for n in range(20_000))
    file.write_text("title,start\n" + "".join(rows))
    async with open_section() as opened:
        monkeypatch.setattr(deadline, "time", Busy)
        counted: list[int] = []
        imported = await opened.section._feeds.import_calendar(
            _calendar("import", str(file)), progress=counted.append
        )
    assert (imported.calendar.rows, imported.rejected) == (20_000, [])
    assert counted == sorted(counted)
    assert counted[-1] == 20_000


def _stopped_at_once(monkeypatch) -> queue.Queue[subprocess.Popen]:
    """Children that sleep from their first moment on, as they are started."""
    started: queue.Queue[subprocess.Popen] = queue.Queue()
    real = subprocess.Popen

    class Asleep(real):
        def __init__(self, *given, **named) -> None:
            super().__init__(*given, **named)
            self.send_signal(signal.SIGSTOP)
            started.put(self)

    monkeypatch.setattr(subprocess, "Popen", Asleep)
    return started


async def test_a_child_that_only_sleeps_is_ended(open_section, tmp_path, monkeypatch):
    file = tmp_path / "town.ics"
    file.write_bytes(GOOD)
    monkeypatch.setattr(processes, "WALL_SECONDS", 0.2)
    started = _stopped_at_once(monkeypatch)
    async with open_section() as opened:
        with pytest.raises(OperatorError, match=r"more than 0\.2 seconds"):
            await opened.section._feeds.import_calendar(_calendar("import", str(file)))
    assert started.get().returncode == -signal.SIGKILL


async def test_who_gives_up_an_import_ends_its_child(open_section, tmp_path, monkeypatch):
    """A server that ends, or Ctrl-C: nobody waits for a limit of minutes."""
    file = tmp_path / "town.ics"
    file.write_bytes(GOOD)
    started = _stopped_at_once(monkeypatch)
    async with open_section() as opened:
        taking = asyncio.create_task(
            opened.section._feeds.import_calendar(_calendar("import", str(file)))
        )
        child = await asyncio.to_thread(started.get)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        assert await asyncio.to_thread(child.wait, 2) == -signal.SIGKILL
