"""Events that the operator tied to a guide are those of one hotel: others do not show them."""

from tests.sections.events.conftest import ICS, PARIS

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


async def test_assigning_unchanged_events_to_another_guide_drops_cached_answers(opened):
    await opened.import_file(ICS % b"Lobby jazz", "mira.ics", **HERE)
    await opened.section.prepare()
    await opened.import_file(ICS % b"Lobby jazz", "mira.ics", guide="mira", **HERE)
    assert await opened.section.refresh()
