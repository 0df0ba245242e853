"""Imports and feeds: from a file or an address to the answer, and what happens when they fail."""

import asyncio
import subprocess
import threading
from datetime import date, timedelta

import httpx2
import pytest

from location_context.errors import OperatorError
from location_context.sections.events.imports.importer import (
    Feeds,
    ImportRejected,
    calendar_id,
    format_of,
)
from location_context.sections.events.imports.reading import Reading, Task
from location_context.sections.events.records import Calendar
from location_context.settings import Settings
from tests.fakes.server import FakeResponse, FakeServer
from tests.sections.events.readings import task

pytestmark = pytest.mark.anyio
PARIS = (48.8566, 2.3522)
ICS = (
    b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:%b\nDTSTART:20261202T190000Z\n"
    b"DTEND:20261202T210000Z\nEND:VEVENT\nEND:VCALENDAR\n"
)


def _calendar(kind: str, source: str, **given) -> Calendar:
    place = {"lat": PARIS[0], "lng": PARIS[1], "timezone": "Europe/Paris"} | given
    return Calendar(id=calendar_id(source), kind=kind, source=source, **place)


async def _titles(opened) -> list[str]:
    reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
    return [event.title for event in getattr(reading.body, "events", [])]


async def test_a_file_is_imported_and_answered(open_section, tmp_path):
    file = tmp_path / "town.ics"
    file.write_bytes(ICS % b"Choir")
    async with open_section() as opened:
        imported = await opened.section._feeds.import_calendar(_calendar("import", str(file)))
        reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
        dataset = await opened.section.dataset()
    assert (imported.calendar.rows, imported.rejected) == (1, [])
    (event,) = reading.body.events
    assert (event.title, event.start) == ("Choir", "2026-12-02T20:00:00+01:00")
    assert event.venue.distance == 0
    assert event.sources == ["calendars"]
    assert dataset.rows == 1


@pytest.mark.parametrize(("kind", "seconds"), [("import", 120), ("feed", 20)])
async def test_a_feed_has_less_of_the_processor_than_an_import(
    open_section, monkeypatch, kind, seconds
):
    given: list[Task] = []
    parse = Reading.__init__

    def note(self: Reading, data: bytes, task: Task) -> None:
        given.append(task)
        parse(self, data, task)

    monkeypatch.setattr(Reading, "__init__", note)
    with FakeServer(lambda _: FakeResponse(ICS % b"Choir")).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            await opened.section._feeds.import_calendar(_calendar(kind, server.url + "/a.ics"))
    assert [task.cpu_seconds for task in given] == [seconds]


async def test_an_import_again_replaces_what_the_same_file_gave(open_section, tmp_path):
    file = tmp_path / "town.ics"
    async with open_section() as opened:
        for title in (b"Choir", b"Organ"):
            file.write_bytes(ICS % title)
            await opened.section._feeds.import_calendar(_calendar("import", str(file)))
        assert await _titles(opened) == ["Organ"]


async def test_events_without_a_place_are_refused_unless_the_calendar_has_one(
    open_section, tmp_path
):
    file = tmp_path / "town.ics"
    file.write_bytes(ICS % b"Choir")
    async with open_section() as opened:
        nowhere = Calendar(id="a", kind="import", source=str(file))
        with pytest.raises(ImportRejected, match="names no place") as refusal:
            await opened.section._feeds.import_calendar(nowhere)
        assert len(refusal.value.rejected) == 1
        for country, region, expected in [
            ("FR", None, ["Choir"]), ("FR", "FR-IDF", ["Choir"]), ("FR", "FR-BRE", []),
            ("DE", None, []),
        ]:  # fmt: skip
            where = Calendar(
                id="a", kind="import", source=str(file), country=country, region=region
            )
            await opened.section._feeds.import_calendar(where)
            assert await _titles(opened) == expected


@pytest.mark.parametrize("place", [PARIS, (-36.85, 174.76), (21.31, -157.86)])
async def test_what_goes_on_for_years_or_for_ever_is_found(open_section, tmp_path, place):
    """Filed where it is looked for, and within what every zone can count."""
    file = tmp_path / "town.csv"
    file.write_text(
        "title,start,end\nTwenty years,2010-01-01,2029-12-31\n"
        "For ever,2020-01-01T10:00Z,9999-12-31T23:59:59Z\n"
        "From the first day,0001-01-01,2027-01-01\n"
    )
    async with open_section() as opened:
        calendar = _calendar("import", str(file), lat=place[0], lng=place[1])
        imported = await opened.section._feeds.import_calendar(calendar)
        reading = await opened.read(place, "2026-12-01", "2026-12-03")
    assert [one.location for one in imported.rejected] == ["From the first day"]
    shown = {e.title for e in reading.body.events if e.sources == ["calendars"]}
    assert shown == {"Twenty years", "For ever"}


async def test_a_feed_is_asked_with_its_etag_and_kept_when_nothing_changed(open_section):
    def respond(asked):
        if asked.headers.get("if-none-match") == '"1"':
            return FakeResponse(status=304)
        return FakeResponse(
            ICS % b"Choir", headers={"ETag": '"1"', "Content-Type": "text/calendar"}
        )

    with FakeServer(respond).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            feeds = opened.section._feeds
            await feeds.import_calendar(_calendar("feed", server.url + "/a.ics"))
            assert await feeds.refresh_outdated() == 0
            opened.clock.move(hours=2)
            assert await feeds.refresh_outdated() == 1
            assert await _titles(opened) == ["Choir"]
        assert [asked.headers.get("if-none-match") for asked in server.requests] == [None, '"1"']


async def test_a_feed_that_changed_is_read_anew_and_after_a_month_in_any_case(open_section):
    with FakeServer(
        lambda _: FakeResponse(ICS % b"Choir", headers={"ETag": '"1"'})
    ).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            feeds = opened.section._feeds
            await feeds.import_calendar(_calendar("feed", server.url + "/a.ics"))
            server.respond = lambda _: FakeResponse(ICS % b"Organ", headers={"ETag": '"2"'})
            opened.clock.move(hours=2)
            await feeds.refresh_outdated()
            assert await _titles(opened) == ["Organ"]
            opened.clock.now += timedelta(days=31)
            await feeds.refresh_outdated()
        assert "if-none-match" not in server.requests[-1].headers


@pytest.mark.parametrize(
    "answer",
    [
        FakeResponse(status=500), FakeResponse(b"<html>moved</html>"), FakeResponse(fault="drop"),
        FakeResponse(b""), FakeResponse(status=302, headers={"Location": "http://127.0.0.1:99999/"}),
    ],
    ids=["500", "a page", "dropped", "empty", "to no port"],
)  # fmt: skip
async def test_a_feed_that_fails_keeps_its_events_and_says_why(open_section, answer):
    with FakeServer(lambda _: FakeResponse(ICS % b"Choir")).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            feeds = opened.section._feeds
            await feeds.import_calendar(_calendar("feed", server.url + "/a.ics"))
            server.respond = lambda _: answer
            opened.clock.move(hours=2)
            await feeds.refresh_outdated()
            assert await _titles(opened) == ["Choir"]
            (listed,) = await feeds.calendars()
            reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
            assert listed.failed_with
            assert opened.section.warnings()
            assert {c.provider: c.status for c in reading.body.coverage}["calendars"] == "stale"
            server.respond = lambda _: FakeResponse(ICS % b"Choir")
            opened.clock.move(hours=2)
            await feeds.refresh_outdated()
            assert (await feeds.calendars())[0].failed_with is None


async def test_a_feed_that_fails_as_nobody_foresaw_does_not_end_the_refreshing(
    open_section, monkeypatch
):
    with FakeServer(lambda _: FakeResponse(ICS % b"Choir")).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            feeds = opened.section._feeds
            for name in ("a", "b"):
                await feeds.import_calendar(_calendar("feed", f"{server.url}/{name}.ics"))
            monkeypatch.setattr(subprocess, "Popen", None)  # no process can be started
            opened.clock.move(hours=2)
            assert await feeds.refresh_outdated() == 2
            assert all(one.failed_with for one in await feeds.calendars())
            assert set(await _titles(opened)) == {"Choir"}


async def test_a_feed_inside_is_refused_unless_a_setting_allows_it(open_section):
    with FakeServer(lambda _: FakeResponse(ICS % b"Choir")).running() as server:
        async with open_section() as opened:
            with pytest.raises(OperatorError, match="private"):
                await opened.section._feeds.import_calendar(
                    _calendar("feed", server.url + "/a.ics")
                )
        assert server.requests == []


async def test_a_feed_needs_an_address(open_section, tmp_path):
    async with open_section() as opened:
        with pytest.raises(OperatorError, match="needs an address"):
            await opened.section._feeds.import_calendar(_calendar("feed", str(tmp_path / "a.ics")))


async def test_a_removed_feed_is_gone_with_its_events(open_section, tmp_path):
    file = tmp_path / "town.ics"
    file.write_bytes(ICS % b"Choir")
    async with open_section() as opened:
        feeds = opened.section._feeds
        await feeds.import_calendar(_calendar("import", str(file)))
        assert await feeds.remove(str(file))
        assert not await feeds.remove(str(file))
        assert await _titles(opened) == []


async def test_an_import_is_followed_by_servers_that_had_no_calendar(open_section, tmp_path):
    file = tmp_path / "town.ics"
    file.write_bytes(ICS % b"Choir")
    async with open_section() as opened:
        changes = []
        opened.section.on_change(lambda: changes.append(1))
        await opened.section.prepare()
        assert (await opened.read(PARIS, "2026-12-01", "2026-12-03")).body.coverage
        feeds = opened.section._feeds
        await feeds.import_calendar(_calendar("import", str(file)))
        assert await opened.section.refresh()
        reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
        assert [event.title for event in reading.body.events] == ["Choir"]
        await feeds.import_calendar(_calendar("import", str(file)))
        assert not await opened.section.refresh(), "the same events again"
        await feeds.remove(str(file))
        assert await opened.section.refresh()
    assert len(changes) == 2


async def test_two_servers_refresh_a_feed_once(open_section, tmp_path):
    with FakeServer(lambda _: FakeResponse(ICS % b"Choir")).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            await opened.section._feeds.import_calendar(_calendar("feed", server.url + "/a.ics"))
            opened.clock.move(hours=2)
            async with httpx2.AsyncClient() as client:
                settings = Settings(data_dir=tmp_path, feeds_allow_private=True)
                other = Feeds(settings, opened.clock, client, opened.store)
                counts = [
                    await opened.section._feeds.refresh_outdated(),
                    await other.refresh_outdated(),
                ]
    assert sorted(counts) == [0, 1]
    assert len(server.requests) == 2


async def test_the_server_refreshes_feeds_by_itself_while_it_runs(open_section):
    asked_again = threading.Event()
    with FakeServer(lambda _: FakeResponse(ICS % b"Choir")).running() as server:
        async with open_section(feeds_allow_private=True) as opened:
            await opened.section._feeds.import_calendar(_calendar("feed", server.url + "/a.ics"))
            server.respond = lambda _: (asked_again.set(), FakeResponse(ICS % b"Organ"))[1]
            opened.clock.move(hours=2)
            running = asyncio.create_task(opened.section.run())
            assert await asyncio.to_thread(asked_again.wait, 10)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running


def test_the_reading_process_does_not_see_the_keys_of_the_server(monkeypatch):
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
def test_a_format_is_known_by_what_it_begins_with(data, expected):
    assert format_of(data) == expected
