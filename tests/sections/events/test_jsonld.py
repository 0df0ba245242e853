"""JSON-LD in pages and files."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.sections.events.imports.jsonld import read_jsonld
from location_context.sections.events.imports.reading import Reading
from location_context.sections.events.records import ProviderEvent
from tests.sections.events.hostile import page
from tests.sections.events.readings import split, task

WINDOW = task(date(2026, 11, 1), date(2027, 10, 31), "Europe/Paris", "jsonld")
EVENT = {
    "@context": "https://schema.org", "@type": "MusicEvent", "name": "Phoenix",
    "startDate": "2026-12-03T20:00:00+01:00", "url": "https://a.example/phoenix",
    "location": {"@type": "Place", "name": "Olympia",
                 "geo": {"latitude": "48.87", "longitude": 2.33},
                 "address": {"streetAddress": "28 bd des Capucines", "addressLocality": "Paris"}},
    "offers": [{"lowPrice": "35", "highPrice": 80, "priceCurrency": "EUR"}],
}  # fmt: skip


def _read(value: object) -> list[ProviderEvent]:
    return split(read_jsonld(msgspec.json.encode(value), WINDOW))[0]


def test_event_in_a_page_is_read_with_all_its_fields():
    (entry,), refused = split(read_jsonld(page(msgspec.json.encode(EVENT)), WINDOW))
    assert refused == []
    assert entry.start.at == datetime(2026, 12, 3, 19, tzinfo=UTC)
    assert (entry.title, entry.category, entry.place.name) == ("Phoenix", "concert", "Olympia")
    assert (entry.place.lat, entry.place.lng) == (48.87, 2.33)
    assert entry.place.address == "28 bd des Capucines, Paris"
    assert (entry.price.min, entry.price.max, entry.price.currency) == (35, 80, "EUR")


@pytest.mark.parametrize(
    "wrapped",
    [
        [EVENT], {"@graph": [EVENT]}, {"@type": "WebPage", "mainEntity": {"about": [[EVENT]]}},
        EVENT | {"@type": ["Thing", "https://schema.org/MusicEvent"]},
        EVENT | {"@type": "schema:MusicEvent"},
    ],
    ids=["list", "@graph", "nested", "several types", "prefixed type"],
)  # fmt: skip
def test_jsonld_event_is_read_at_any_depth_of_the_document(wrapped):
    assert [entry.title for entry in _read(wrapped)] == ["Phoenix"]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-12-03", "2026-12-05", ("2026-12-03", "2026-12-05", True)),
        ("2026-12-03", None, ("2026-12-03", None, False)),
        ("2026-12-03T20:00", None, ("2026-12-03T20:00:00+01:00", None, False)),
        ("2026-12-03T20:00:00-0500", None, ("2026-12-04T02:00:00+01:00", None, False)),
        (
            "2026-12-03T19:00:00Z",
            "2026-12-03T18:00:00Z",
            ("2026-12-03T20:00:00+01:00", None, False),
        ),
    ],
)
def test_jsonld_start_and_end_become_the_expected_local_times(start, end, expected):
    (entry,) = _read(EVENT | {"startDate": start, "endDate": end})
    zone = ZoneInfo("Europe/Paris")
    shown = entry.start.local(zone).isoformat(), entry.end and entry.end.local(zone).isoformat()
    assert (*shown, entry.all_day) == expected


def test_time_without_an_offset_is_read_in_the_time_zone_of_the_event_venue():
    geo = {"geo": {"latitude": 35.68, "longitude": 139.77}}
    event = EVENT | {"startDate": "2026-12-03T20:00", "endDate": "2026-12-03T22:00"}
    (entry,) = _read(event | {"location": geo})
    assert entry.start.at.isoformat() == "2026-12-03T20:00:00+09:00"
    assert entry.end.at.isoformat() == "2026-12-03T22:00:00+09:00"
    (entry,) = _read(event | {"location": "Olympia"})
    assert entry.start.at.isoformat() == "2026-12-03T20:00:00+01:00"


def test_long_list_of_events_is_read_to_its_end():
    event = {"@type": "Event", "startDate": "2026-12-03"}
    items = [
        {"@type": "ListItem", "position": n, "item": event | {"name": f"Event {n}"}}
        for n in range(10_000)  # ten times what Python may call into itself
    ]
    assert len(_read({"@type": "ItemList", "itemListElement": items})) == 10_000


def test_cancelled_online_undated_and_past_events_are_left_out():
    events = [
        EVENT | {"eventStatus": "https://schema.org/EventCancelled"},
        EVENT | {"eventAttendanceMode": "https://schema.org/OnlineEventAttendanceMode"},
        EVENT | {"startDate": "soon"},
        EVENT | {"startDate": "2015-10-31"},
        EVENT | {"name": ""},
    ]
    assert _read(events) == []


def test_postponed_event_has_its_status():
    assert _read(EVENT | {"eventStatus": "EventPostponed"})[0].status == "postponed"


def test_real_jsonld_files_are_read_with_the_right_times_and_places(shared_data):
    folder = shared_data / "events" / "jsonld"
    songkick = (folder / "songkick_elysian_fields_2015.raw.jsonld").read_bytes()
    window = task(date(2015, 1, 1), date(2015, 12, 31), "America/New_York")
    (concert,), _ = split(read_jsonld(songkick, window))
    assert concert.start.at == datetime(2015, 10, 31, 23, 30, tzinfo=UTC)
    place = concert.place
    assert (concert.category, place.lat, place.lng) == ("concert", 40.660109, -73.953193)
    festival = (folder / "marsai_festival_2026_all_day.jsonld").read_bytes()
    window = task(date(2026, 1, 1), date(2026, 12, 31), "Europe/Paris")
    (entry,), _ = split(read_jsonld(festival, window))
    assert (entry.start.day, entry.end.day, entry.all_day) == (
        date(2026, 6, 15), date(2026, 6, 20), True,
    )  # fmt: skip
    assert entry.category == "festival"


def test_broken_jsonld_script_does_not_affect_other_scripts_of_the_page():
    data = page(
        msgspec.json.encode(EVENT), b"{broken", msgspec.json.encode(EVENT | {"name": "Air"})
    )
    entries, refused = split(Reading(data, WINDOW).found())
    assert [entry.title for entry in entries] == ["Phoenix", "Air"]
    assert [one.location for one in refused] == ["script 2"]


def test_jsonld_events_with_the_same_url_get_different_ids():
    both = [EVENT, EVENT | {"name": "Air"}, EVENT | {"location": "Zénith"}]
    assert len({entry.id for entry in _read(both)}) == 3


def test_jsonld_events_that_differ_only_in_place_get_different_ids():
    places = [
        {"geo": {"latitude": 48.8, "longitude": 2.3}},
        {"geo": {"latitude": 48.9, "longitude": 2.3}},
        {"address": "1 rue A"}, {"address": {"streetAddress": "2 rue A"}},
    ]  # fmt: skip
    entries = _read([EVENT | {"location": place} for place in places])
    assert len({entry.id for entry in entries}) == 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_page_is_read_in_its_encoding(encoding):
    """UTF-8 also where the page does not say so, as with most."""
    script = msgspec.json.encode(EVENT | {"name": "Fête"})
    meta = b'<meta charset="windows-1252">' if encoding == "cp1252" else b""
    data = page(script).replace(b"<head>", b"<head>" + meta).decode().encode(encoding)
    (entry,), _ = split(read_jsonld(data, WINDOW))
    assert entry.title == "Fête"


def test_jsonld_text_with_line_breaks_markup_lists_and_value_objects_is_read():
    script = msgspec.json.encode(
        EVENT | {"name": [{"@value": "<i>Rock</i> &amp;|Roll"}], "startDate": ["2026-12-03"]}
    )
    (entry,), refused = split(read_jsonld(page(script.replace(b"|", b"\n")), WINDOW))
    assert (entry.title, entry.start.day, refused) == ("Rock & Roll", date(2026, 12, 3), [])


words = st.text(max_size=9)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=50)
@given(st.sampled_from(sorted(EVENT)), json)
def test_arbitrary_field_does_not_affect_other_events(name, value):
    entries = _read([EVENT | {name: value}, EVENT | {"name": "Air"}])
    assert "Air" in {entry.title for entry in entries}
    assert msgspec.json.encode(entries)
