"""Notices: an answer with events of a calendar carries what the operator named for it, once."""

import msgspec
import pytest

from location_context.sections.events.records import Calendar
from tests.fakes import ticketmaster
from tests.sections.events.conftest import ICS, MUNICH, PARIS

HERE = {"lat": PARIS[0], "lng": PARIS[1], "timezone": "Europe/Paris"}
TOWN = {
    **HERE, "attribution": "Ville de Paris", "attribution_url": "https://opendata.paris.fr",
    "license": "ODbL 1.0",
}  # fmt: skip
REGION = {**HERE, "attribution": "OpenAgenda, Licence Ouverte", "license": "etalab-2.0"}


async def _notices(opened, place=PARIS, first="2026-12-01", last="2026-12-03"):
    """Return the notices of an answer by their texts."""
    reading = await opened.read(place, first, last)
    return {one.text: one for one in getattr(reading.body, "attribution", [])}


async def test_answer_with_an_event_of_a_calendar_includes_the_calendar_attribution(opened):
    await opened.import_file(ICS % b"Choir", **TOWN)
    notice = (await _notices(opened))["Ville de Paris"]
    assert (notice.name, notice.url) == ("Ville de Paris", "https://opendata.paris.fr")
    assert (notice.license, notice.adapted) == ("ODbL 1.0", True)
    assert notice.license_url == "https://opendatacommons.org/licenses/odbl/1-0/"


@pytest.mark.parametrize(
    ("place", "first", "last"),
    [(PARIS, "2026-12-05", "2026-12-07"), (MUNICH, "2026-12-01", "2026-12-03")],
)
async def test_answer_without_an_event_of_a_calendar_omits_the_calendar_attribution(
    opened, place, first, last
):
    await opened.import_file(ICS % b"Choir", **TOWN)
    assert "Ville de Paris" not in await _notices(opened, place, first, last)


async def test_calendar_without_an_attribution_adds_nothing_to_the_answer_attribution(opened):
    await opened.import_file(ICS % b"Choir", **HERE)
    assert all(text.startswith(("Time zones", "Places")) for text in await _notices(opened))


async def test_equal_attributions_of_several_calendars_are_listed_once(opened):
    for name, notice in (("Choir", TOWN), ("Chess", TOWN), ("Physics", REGION)):
        await opened.import_file(ICS % name.encode(), f"{name}.ics", **notice)
    reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
    texts = [one.text for one in reading.body.attribution]
    assert [texts.count(one["attribution"]) for one in (TOWN, REGION)] == [1, 1]


async def test_event_merged_from_a_calendar_and_a_provider_has_both_attributions(open_with):
    here = {"longitude": str(PARIS[1]), "latitude": str(PARIS[0])}
    title, start = "The Choir of Saint-Eustache", ticketmaster.at("2026-12-02", "20:00:00")
    sold = ticketmaster.event(title, start, venue={"location": here})
    async with open_with("ticketmaster", ticketmaster.responding([sold])) as (opened, _):
        await opened.import_file(ICS % title.encode(), **TOWN)
        reading = await opened.read(PARIS, "2026-12-01", "2026-12-03")
    (event,) = [one for one in reading.body.events if one.title == title]
    assert set(event.sources) == {"calendars", "ticketmaster"}
    texts = {one.text for one in reading.body.attribution}
    assert "Ville de Paris" in texts
    assert any("Ticketmaster" in text for text in texts)


async def test_changed_attribution_of_unchanged_events_drops_cached_answers(opened):
    await opened.import_file(ICS % b"Choir", **TOWN)
    await opened.section.prepare()
    await opened.import_file(ICS % b"Choir", **TOWN)
    assert not await opened.section.refresh()
    await opened.import_file(ICS % b"Choir", **{**TOWN, "license": "CC BY 4.0"})
    assert await opened.section.refresh()
    assert (await _notices(opened))["Ville de Paris"].license == "CC BY 4.0"


async def test_refreshed_feed_keeps_its_attribution_and_columns(opened, feed):
    imported = await opened.import_feed(feed)
    given = {"attribution": "Town", "columns": {"title": ["nom"]}}
    calendar = msgspec.structs.replace(imported.calendar, **given)
    await opened.store.update_calendar(calendar)
    opened.clock.advance(hours=2)
    await opened.feeds.refresh_outdated()
    (stored,) = await opened.feeds.calendars()
    assert (stored.attribution, stored.columns) == ("Town", {"title": ["nom"]})


def test_calendar_stored_by_an_earlier_version_is_read():
    stored = b'{"id": "cal_1", "kind": "feed", "source": "https://a.example", "rows": 3}'
    calendar = msgspec.json.decode(stored, type=Calendar)
    assert (calendar.attribution, calendar.notice, calendar.columns) == ("", None, {})
