"""Events that the operator tied to a guide are those of one hotel: others do not show them."""

import pytest

from tests.sections.events.conftest import ICS, PARIS

pytestmark = pytest.mark.anyio
DATES = ("2026-12-01", "2026-12-03")
HERE = {"lat": PARIS[0], "lng": PARIS[1], "timezone": "Europe/Paris"}


async def _titles(opened, guide: str = "") -> set[str]:
    body = (await opened.read(PARIS, *DATES, guide=guide)).body
    return {event.title for event in getattr(body, "events", [])}


async def test_events_of_a_guide_are_shown_with_that_guide_only(opened):
    await opened.import_file(ICS % b"Lobby jazz", "mira.ics", guide="mira", **HERE)
    await opened.import_file(ICS % b"Town choir", "town.ics", **HERE)
    assert await _titles(opened) == {"Town choir"}
    assert await _titles(opened, "mira") == {"Lobby jazz", "Town choir"}
    assert await _titles(opened, "seine") == {"Town choir"}


async def test_notice_of_another_guide_s_events_is_not_shown(opened):
    given = {**HERE, "attribution": "Hotel Mira"}
    await opened.import_file(ICS % b"Lobby jazz", "mira.ics", guide="mira", **given)
    await opened.import_file(ICS % b"Town choir", "town.ics", **HERE)
    shown = {}
    for guide in ("", "mira"):
        body = (await opened.read(PARIS, *DATES, guide=guide)).body
        shown[guide] = "Hotel Mira" in {one.text for one in body.attribution}
    assert shown == {"": False, "mira": True}


async def test_change_of_the_guide_of_unchanged_events_drops_cached_answers(opened):
    await opened.import_file(ICS % b"Lobby jazz", "mira.ics", **HERE)
    await opened.section.prepare()
    await opened.import_file(ICS % b"Lobby jazz", "mira.ics", guide="mira", **HERE)
    assert await opened.section.refresh()
