"""An import replaces a calendar's events; garbage, an empty file or a part of one does not."""

import asyncio
import queue
import signal
import subprocess
import time

import pytest

from location_context.errors import OperatorError
from location_context.sections import sandbox as processes
from location_context.sections.events.imports import reading
from location_context.upstream import deadline
from tests.fakes.server import FakeResponse
from tests.sections.events.conftest import ICS, calendar_of
from tests.sections.events.hostile import PAGES

GOOD = ICS % b"Choir"
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
    "garbage": b"\x00\xff\x17" * 5000, "nothing": b"", "blanks": b" \r\n\r\n",
    "a page": b"<!doctype html><title>Back soon</title><p>We are being maintained.",
    "a sentence": b"Service unavailable\n", "an error in JSON": b'{"error": "maintenance"}',
    "nothing but refusals": b"title,start\nChoir,soon\n,2026-12-02\n",
}  # fmt: skip
# An import of a file reads every kind; what comes of it, feeds share with it.
OF_FEEDS = ["nothing", "a page", "nothing but refusals"]
EMPTY_FEEDS = ["a calendar of cancellations", "a table", "a page whose events are over"]


@pytest.mark.parametrize("file_name", ["town.ics", "town.csv"])
@pytest.mark.parametrize("name", UNREADABLE)
async def test_unreadable_file_changes_nothing(opened, name, file_name):
    await opened.import_file(GOOD, file_name)
    stored = await opened.feeds.calendars()
    for allow_empty in (False, True):
        with pytest.raises(OperatorError, match="othing was changed"):
            await opened.import_file(UNREADABLE[name], file_name, allow_empty=allow_empty)
        assert await opened.feeds.calendars() == stored
        assert await opened.titles() == ["Choir"]


@pytest.mark.parametrize("name", OF_FEEDS)
async def test_unreadable_file_is_not_stored_as_a_new_calendar(opened, name):
    with pytest.raises(OperatorError):
        await opened.import_file(UNREADABLE[name])
    assert await opened.feeds.calendars() == []


@pytest.mark.parametrize("name", WITHOUT_EVENTS)
async def test_calendar_without_events_replaces_stored_events_only_if_allowed(opened, name):
    await opened.import_file(GOOD, "town")
    with pytest.raises(OperatorError, match="--allow-empty"):
        await opened.import_file(WITHOUT_EVENTS[name], "town")
    assert await opened.titles() == ["Choir"]
    imported = await opened.import_file(WITHOUT_EVENTS[name], "town", allow_empty=True)
    assert (imported.calendar.rows, imported.rejected) == (0, [])
    assert await opened.titles() == []


@pytest.mark.parametrize("name", OF_FEEDS)
async def test_feed_that_answers_200_without_a_calendar_keeps_its_events(opened, feed, name):
    await opened.import_feed(feed)
    feed.respond = lambda _: FakeResponse(UNREADABLE[name])
    for _ in range(3):
        opened.clock.advance(hours=2)
        assert await opened.feeds.refresh_outdated() == 1
        (listed,) = await opened.feeds.calendars()
        assert listed.failed_with
        assert await opened.titles() == ["Choir"]
    with pytest.raises(OperatorError):  # nor when the operator adds it once more
        await opened.import_feed(feed)
    assert await opened.titles() == ["Choir"]


@pytest.mark.parametrize("name", EMPTY_FEEDS)
async def test_feed_loses_its_events_at_the_second_consecutive_answer_without_events(
    opened, feed, name
):
    good = FakeResponse(GOOD, headers={"ETag": '"1"'})
    answers = [good]

    def respond(request):
        (given,) = answers
        if (etag := given.headers.get("ETag")) and request.headers.get("if-none-match") == etag:
            return FakeResponse(status=304)
        return given

    feed.respond = respond
    await opened.import_feed(feed)
    empty = FakeResponse(WITHOUT_EVENTS[name], headers={"ETag": '"2"'})
    broken = FakeResponse(status=500)
    for answer, expected in [
        (empty, ["Choir"]), (broken, ["Choir"]), (empty, ["Choir"]), (good, ["Choir"]),
        (empty, ["Choir"]), (empty, []), (empty, []), (good, ["Choir"]),
    ]:  # fmt: skip
        answers[:] = [answer]
        opened.clock.advance(hours=2)
        await opened.feeds.refresh_outdated()
        assert await opened.titles() == expected
        (listed,) = await opened.feeds.calendars()
        assert bool(listed.failed_with) == (answer is not good and bool(expected))


async def test_import_interrupted_by_its_time_limit_replaces_no_events(opened, monkeypatch):
    """The reading is stopped after it found an event."""
    monkeypatch.setitem(reading.CPU_SECONDS, "jsonld", 1)
    good = (
        b'<script type="application/ld+json">'
        b'{"@type": "Event", "name": "%b", "startDate": "2026-12-02"}</script>'
    )
    await opened.import_file(b"<html>" + good % b"Choir" + good % b"Organ", "town.html")
    assert sorted(await opened.titles()) == ["Choir", "Organ"]
    part = good % b"Choir" + PAGES["a tag of 300,000 attributes"]()
    with pytest.raises(OperatorError, match="more than 1 second of processor time"):
        await opened.import_file(part, "town.html")
    assert sorted(await opened.titles()) == ["Choir", "Organ"]


async def test_import_with_a_limit_of_processor_time_succeeds_on_a_busy_machine(
    opened, monkeypatch
):
    """An hour passes whenever somebody looks at the wall clock."""
    moment = [time.monotonic()]

    class Busy:
        @staticmethod
        def monotonic() -> float:
            moment[0] += 3600
            return moment[0]

    rows = (f"Event {n},2026-12-{n % 28 + 1:02}T19:{n % 60:02}\n" for n in range(20_000))
    file = opened.folder / "town.csv"
    file.write_text("title,start\n" + "".join(rows))
    monkeypatch.setattr(deadline, "time", Busy)
    counted: list[int] = []
    imported = await opened.feeds.import_calendar(
        calendar_of("import", str(file)), progress=counted.append
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


async def test_import_process_that_sleeps_past_its_time_limit_is_killed(opened, monkeypatch):
    monkeypatch.setattr(processes, "WALL_SECONDS", 0.2)
    started = _stopped_at_once(monkeypatch)
    with pytest.raises(OperatorError, match=r"more than 0\.2 seconds"):
        await opened.import_file(GOOD)
    assert started.get().returncode == -signal.SIGKILL


async def test_cancelled_import_kills_the_process_that_reads_the_file(opened, monkeypatch):
    """A server that ends, or Ctrl-C: nobody waits for a limit of minutes."""
    started = _stopped_at_once(monkeypatch)
    taking = asyncio.create_task(opened.import_file(GOOD))
    child = await asyncio.to_thread(started.get)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert await asyncio.to_thread(child.wait, 2) == -signal.SIGKILL
