"""`/v1/pulse.ics` and the events as JSON-LD, as a guest's programs read them."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import icalendar
import pytest

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.card import Entry
from location_context.sections.contract import Query
from location_context.stay import Stay
from location_context.widget.calendar import Group, encode, span, structured
from tests.widget.service import FORECAST, LANGUAGES, STAY

ZONE = ZoneInfo("Europe/Madrid")
QUERY = Query(
    Point(43.3, -1.98, ZONE.key),
    Stay(date(2026, 1, 1), date(2026, 1, 2)),
    "metric",
    Languages.load().english,
)
NOTICE = SimpleNamespace(text="© Somebody, ODbL")


def group(*entries):
    """Return a group of these entries, with a notice."""
    point = SimpleNamespace(timezone="Europe/Madrid")
    body = SimpleNamespace(attribution=[NOTICE], as_of=None, point=point)
    return Group(section="events", body=body, entries=entries)


def read(service, given=FORECAST, **more):
    answer = service.http.get(service.address(given, "/v1/pulse.ics", **more))
    assert answer.status_code == 200, answer.text
    return answer, icalendar.Calendar.from_ical(answer.content)


def events_of(calendar):
    return {str(one["uid"]): one for one in calendar.walk("VEVENT")}


def test_calendar_has_each_event_and_each_highlight_with_its_times(service):
    _, calendar = read(service)
    found = events_of(calendar)
    assert any(uid.startswith("events-") for uid in found)
    for one in found.values():
        assert one["dtstamp"].dt.tzinfo is not None
        start, end = one["dtstart"].dt, one.get("dtend")
        assert type(start) in {date, datetime}
        assert end is None or (type(end.dt) is type(start) and end.dt > start)
        assert not isinstance(start, datetime) or start.utcoffset() == timedelta(0)


def test_calendar_entry_has_the_same_id_in_every_language(service):
    ids = [set(events_of(read(service, lang=language)[1])) for language in LANGUAGES]
    assert ids[0]
    assert all(one == ids[0] for one in ids)


def test_equal_requests_receive_byte_identical_calendars(service):
    first, again = read(service)[0], read(service, theme="dark")[0]
    assert first.content == again.content
    assert first.headers["etag"] == again.headers["etag"]
    assert first.headers["content-type"] == "text/calendar; charset=utf-8"
    assert re.fullmatch(
        r'attachment; filename="stay-2026-11-22.ics"', first.headers["content-disposition"]
    )
    assert first.headers["cache-control"] == service.page(FORECAST).headers["cache-control"]


def test_calendar_shows_the_notices_of_its_section(service):
    _, calendar = read(service)
    for one in events_of(calendar).values():
        assert "OpenStreetMap contributors, ODbL" in one["description"]


def test_calendar_has_entries_of_the_chosen_sections_only(service):
    _, calendar = read(service, sections="astronomy")
    assert all(uid.startswith("astronomy-") for uid in events_of(calendar))
    assert not events_of(read(service, sections="weather")[1])


def test_calendar_request_is_answered_with_an_error_if_one_of_its_sections_fails(service):
    sample = service.sample("events")
    sample.broken = True
    try:
        answer = service.http.get(service.address(FORECAST, "/v1/pulse.ics", lat="43.4"))
    finally:
        sample.broken = False
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "upstream_unavailable"
    assert answer.json()["error"]["message"].endswith(
        "these sections have no data: events (failed)."
    )


def test_calendar_without_entries_still_has_a_time_zone_component(service):
    _, calendar = read(service, sections="weather")
    (zone,) = calendar.subcomponents
    assert (zone.name, zone["tzid"]) == ("VTIMEZONE", "Europe/Madrid")


def test_calendar_lines_end_and_fold_as_the_standard_requires():
    title = "a;b,c\\d\ne" * 30
    body = encode([group(Entry(id="é" * 80, title=title, start=date(2026, 1, 1)))], "x", "h", QUERY)
    lines = body.split(b"\r\n")
    assert all(len(line) <= 75 for line in lines)
    assert b"\n" not in b"".join(lines)
    (one,) = icalendar.Calendar.from_ical(body).walk("VEVENT")
    assert one["summary"] == title


NOON = datetime(2026, 10, 25, 12, tzinfo=ZONE)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (date(2026, 10, 24), None, (date(2026, 10, 24), date(2026, 10, 25))),
        (date(2026, 10, 24), date(2026, 10, 26), (date(2026, 10, 24), date(2026, 10, 27))),
        (date(2026, 10, 24), NOON, (date(2026, 10, 24), date(2026, 10, 26))),
        (NOON, None, (datetime(2026, 10, 25, 11, tzinfo=UTC), None)),
        (NOON, NOON, (datetime(2026, 10, 25, 11, tzinfo=UTC), None)),
        (NOON, date(2026, 10, 25), (datetime(2026, 10, 25, 11, tzinfo=UTC),
                                    datetime(2026, 10, 25, 23, tzinfo=UTC))),
        (NOON - timedelta(hours=11), NOON, (datetime(2026, 10, 24, 23, tzinfo=UTC),
                                            datetime(2026, 10, 25, 11, tzinfo=UTC))),
    ],
)  # fmt: skip
def test_calendar_entry_end_is_exclusive_and_a_date_or_a_time_like_its_start(start, end, expected):
    assert span(Entry(id="a", title="A", start=start, end=end), ZONE) == expected


def test_page_lists_its_events_as_structured_data_for_search_engines(service):
    page = service.page(FORECAST).text
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    graph = json.loads(block)["@graph"]
    assert 0 < len(graph) <= 10
    for one in graph:
        assert one["@type"] == "Event"
        assert one["location"]["name"]
        assert one["startDate"]


def test_event_title_cannot_close_the_structured_data_script():
    entry = Entry(id="a", title="</script><b>&", start=date(2026, 1, 1), place="<!--")
    block = structured([group(entry)])
    assert block.count("<") == 2
    assert (
        json.loads(block[block.index("{") : block.rindex("}") + 1])["@graph"][0]["name"]
        == entry.title
    )


def test_widget_links_the_calendar_of_its_stay(service):
    page = service.page(FORECAST, theme="dark").text
    (link,) = re.findall(r'<a class="cal" href="([^"]+)"', page)
    address = link.replace("&amp;", "&")
    assert "theme" not in address
    assert service.http.get(address).status_code == 200
    assert 'class="cal"' not in service.page(STAY, sections="weather").text
