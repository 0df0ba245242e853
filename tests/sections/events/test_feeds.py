"""Imports and feeds: from a file or an address to the answer, and their failures."""

import asyncio
import subprocess
import threading
from datetime import date

import httpx2
import pytest

from location_context.errors import OperatorError
from location_context.sections.events.imports.importer import Feeds, ImportRejected, format_of
from location_context.sections.events.imports.reading import Reading, Task
from location_context.settings import Settings
from tests.fakes.server import FakeResponse
from tests.sections.events.conftest import ICS, PARIS, calendar_of
from tests.sections.events.readings import task

CHOIR, ORGAN = FakeResponse(ICS % b"Choir"), FakeResponse(ICS % b"Organ")


async def test_events_of_an_imported_file_appear_in_the_answer(opened):
    imported = await opened.import_file(ICS % b"Choir")
    reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
    dataset = await opened.section.dataset()
    assert (imported.calendar.rows, imported.rejected) == (1, [])
    (event,) = reading.body.events
    assert (event.title, event.start) == ("Choir", "2026-12-02T20:00:00+01:00")
    assert event.venue.distance == 0
    assert event.sources == ["calendars"]
    assert dataset.rows == 1


@pytest.mark.parametrize(("kind", "seconds"), [("import", 120), ("feed", 20)])
async def test_feed_gets_less_processor_time_than_an_import(
    opened, feed, monkeypatch, kind, seconds
):
    given: list[Task] = []
    parse = Reading.__init__

    def note(self: Reading, data: bytes, task: Task) -> None:
        given.append(task)
        parse(self, data, task)

    monkeypatch.setattr(Reading, "__init__", note)
    await opened.feeds.import_calendar(calendar_of(kind, feed.url + "/a.ics"))
    assert [task.cpu_seconds for task in given] == [seconds]


async def test_second_import_of_a_file_replaces_the_events_of_the_first_import(opened):
    for title in (b"Choir", b"Organ"):
        await opened.import_file(ICS % title)
    assert await opened.titles() == ["Organ"]


@pytest.mark.parametrize(
    ("country", "region", "expected"),
    [
        ("FR", None, ["Choir"]), ("FR", "FR-IDF", ["Choir"]), ("FR", "FR-BRE", []),
        ("DE", None, []),
    ],
)  # fmt: skip
async def test_event_without_a_venue_is_shown_in_the_region_of_its_calendar(
    opened, country, region, expected
):
    await opened.import_file(ICS % b"Choir", country=country, region=region)
    assert await opened.titles() == expected


async def test_event_without_a_place_is_refused_if_its_calendar_has_no_place_either(opened):
    with pytest.raises(ImportRejected, match="names no place") as refusal:
        await opened.import_file(ICS % b"Choir", country=None)
    assert len(refusal.value.rejected) == 1


@pytest.mark.parametrize("place", [PARIS, (-36.85, 174.76), (21.31, -157.86)])
async def test_event_that_lasts_many_years_is_found_on_each_of_its_days(opened, place):
    """The dates lie within what every zone can count."""
    data = (
        b"title,start,end\nTwenty years,2010-01-01,2029-12-31\n"
        b"For ever,2020-01-01T10:00Z,9999-12-31T23:59:59Z\n"
        b"From the first day,0001-01-01,2027-01-01\n"
    )
    where = {"lat": place[0], "lng": place[1], "timezone": "Europe/Paris"}
    imported = await opened.import_file(data, "town.csv", **where)
    reading = await opened.read(place, "2026-12-01", "2026-12-03")
    assert [one.location for one in imported.rejected] == ["From the first day"]
    shown = {e.title for e in reading.body.events if e.sources == ["calendars"]}
    assert shown == {"Twenty years", "For ever"}


async def test_unchanged_feed_is_requested_with_its_etag_and_keeps_its_events(opened, feed):
    def respond(request):
        if request.headers.get("if-none-match") == '"1"':
            return FakeResponse(status=304)
        headers = {"ETag": '"1"', "Content-Type": "text/calendar"}
        return FakeResponse(ICS % b"Choir", headers=headers)

    feed.respond = respond
    await opened.import_feed(feed)
    assert await opened.feeds.refresh_outdated() == 0
    opened.clock.advance(hours=2)
    assert await opened.feeds.refresh_outdated() == 1
    assert await opened.titles() == ["Choir"]
    assert [one.headers.get("if-none-match") for one in feed.requests] == [None, '"1"']


async def test_changed_feed_is_read_again_and_after_a_month_is_requested_without_its_etag(
    opened, feed
):
    feed.respond = lambda _: FakeResponse(ICS % b"Choir", headers={"ETag": '"1"'})
    await opened.import_feed(feed)
    feed.respond = lambda _: FakeResponse(ICS % b"Organ", headers={"ETag": '"2"'})
    opened.clock.advance(hours=2)
    await opened.feeds.refresh_outdated()
    assert await opened.titles() == ["Organ"]
    opened.clock.advance(days=31)
    await opened.feeds.refresh_outdated()
    assert "if-none-match" not in feed.requests[-1].headers


@pytest.mark.parametrize(
    "answer",
    [
        FakeResponse(status=500), FakeResponse(b"<html>moved</html>"), FakeResponse(fault="drop"),
        FakeResponse(b""),
        FakeResponse(status=302, headers={"Location": "http://127.0.0.1:99999/"}),
    ],
    ids=["status 500", "HTML page", "dropped connection", "empty body", "redirect to invalid port"],
)  # fmt: skip
async def test_failing_feed_keeps_its_events_and_reports_the_reason(opened, feed, answer):
    await opened.import_feed(feed)
    for respond, failing in ((answer, True), (CHOIR, False)):
        feed.respond = lambda _, respond=respond: respond
        opened.clock.advance(hours=2)
        await opened.feeds.refresh_outdated()
        assert await opened.titles() == ["Choir"]
        (listed,) = await opened.feeds.calendars()
        reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
        coverage = {c.provider: c.status for c in reading.body.coverage}
        assert bool(listed.failed_with) == bool(opened.section.warnings()) == failing
        assert coverage["calendars"] == ("stale" if failing else "ok")


async def test_unexpected_error_in_one_feed_does_not_stop_the_refreshing(opened, feed, monkeypatch):
    for name in ("a", "b"):
        await opened.import_feed(feed, f"/{name}.ics")
    monkeypatch.setattr(subprocess, "Popen", None)  # no process can be started
    opened.clock.advance(hours=2)
    assert await opened.feeds.refresh_outdated() == 2
    assert all(one.failed_with for one in await opened.feeds.calendars())
    assert set(await opened.titles()) == {"Choir"}


async def test_feed_at_a_private_ip_address_is_refused_unless_a_setting_allows_it(
    open_section, feed
):
    async with open_section(feeds_allow_private=False) as section:
        with pytest.raises(OperatorError, match="private"):
            await section.import_feed(feed)
    assert feed.requests == []


async def test_feed_without_a_url_is_refused(opened):
    with pytest.raises(OperatorError, match="needs an http or https address"):
        await opened.feeds.import_calendar(calendar_of("feed", str(opened.folder / "a.ics")))


async def test_removing_a_calendar_removes_its_events(opened):
    await opened.import_file(ICS % b"Choir")
    source = str(opened.folder / "town.ics")
    assert await opened.feeds.remove(source)
    assert not await opened.feeds.remove(source)
    assert await opened.titles() == []


async def test_running_server_shows_events_that_another_process_imported(opened):
    changes = []
    opened.section.on_change(lambda: changes.append(1))
    await opened.section.prepare()
    assert (await opened.read(PARIS, "2026-12-01", "2026-12-03")).body.coverage
    await opened.import_file(ICS % b"Choir")
    assert await opened.section.refresh()
    assert await opened.titles() == ["Choir"]
    await opened.import_file(ICS % b"Choir")
    assert not await opened.section.refresh(), "the same events again"
    await opened.feeds.remove(str(opened.folder / "town.ics"))
    assert await opened.section.refresh()
    assert len(changes) == 2


async def test_two_servers_together_refresh_a_feed_only_once(opened, feed, tmp_path):
    await opened.import_feed(feed)
    opened.clock.advance(hours=2)
    async with httpx2.AsyncClient() as client:
        settings = Settings(data_dir=tmp_path, feeds_allow_private=True)
        other = Feeds(settings, opened.clock, client, opened.store)
        counts = [await one.refresh_outdated() for one in (opened.feeds, other)]
    assert sorted(counts) == [0, 1]
    assert len(feed.requests) == 2


async def test_running_server_refreshes_feeds_by_itself(opened, feed):
    requested = threading.Event()
    await opened.import_feed(feed)
    feed.respond = lambda _: (requested.set(), ORGAN)[1]
    opened.clock.advance(hours=2)
    running = asyncio.create_task(opened.section.run())
    assert await asyncio.to_thread(requested.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_process_that_reads_a_calendar_does_not_receive_the_provider_keys(monkeypatch):
    monkeypatch.setenv("LOCATION_CONTEXT_TICKETMASTER_API_KEY", "canary")
    seen: dict = {}
    started = subprocess.Popen

    class Watched(started):
        def __init__(self, *given, **named) -> None:
            seen.update(named["env"])
            super().__init__(*given, **named)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    given = task(date(2026, 11, 1), date(2027, 10, 31), "UTC")
    assert list(Reading(ICS % b"Choir", given).found())
    assert seen
    assert "canary" not in str(seen)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"BEGIN:VCALENDAR\n", "ics"),
        (b"\xef\xbb\xbf\r\nBEGIN:VCALENDAR\n", "ics"),
        (b"BEGIN:VEVENT\n", "ics"),
        (b" [ {", "jsonld"),
        (b"<!doctype html>", "jsonld"),
        (b"title,start\n", "csv"),
        ("title\tstart\n".encode("utf-16"), "csv"),
    ],
)
def test_format_of_a_calendar_file_is_recognised_by_its_first_bytes(data, expected):
    assert format_of(data) == expected
