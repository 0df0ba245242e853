"""Tables: events as CSV, row by row."""

from datetime import UTC, date, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.sections.events.imports.reading import RejectedEntry
from location_context.sections.events.imports.tables import read_csv
from location_context.sections.events.records import ProviderEvent
from tests.sections.events.readings import split, task

WINDOW = task(date(2026, 11, 1), date(2027, 10, 31), "Europe/Paris")


def _read(data: bytes) -> tuple[list[ProviderEvent], list[RejectedEntry]]:
    return split(read_csv(data, WINDOW))


TABLE = """\
title,start,end,category,venue,lat,lng,url,price_min,currency
Market,2026-12-05,2026-12-06,market,Square,48.1,11.5,https://a.example,,
Choir,2026-12-05 19:30,,concert,Church,,,,12.5,EUR
,2026-12-05,,,,,,,,
Odd,tomorrow,,,,,,,,
Backwards,2026-12-06,2026-12-05,,,,,,,
Nowhere,2026-12-05,,,,north,south,,,
Past,2020-01-01,,,,,,,,
"""


def test_table_is_read_row_by_row_and_invalid_rows_are_named():
    entries, refused = _read(TABLE.encode())
    assert [(e.title, e.all_day, e.category) for e in entries] == [
        ("Market", True, "community"), ("Choir", False, "concert"),
    ]  # fmt: skip
    assert entries[1].start.at == datetime(2026, 12, 5, 18, 30, tzinfo=UTC)
    assert [(r.location, r.reason) for r in refused] == [
        ("line 4", "the title is missing"),
        ("line 5", "the dates cannot be read: tomorrow"),
        ("line 6", "the end is before the start"),
        ("line 7", "lat is 'north', lng is 'south'; accepted: degrees such as 48.85 and 2.35"),
    ]


def test_coordinates_may_have_decimal_commas():
    (event,), _ = _read(b"title;start;lat;lng\nChoir;2026-12-05;48,85;-2,35\n")
    assert (event.place.lat, event.place.lng) == (48.85, -2.35)


def test_time_without_an_offset_is_read_in_the_time_zone_of_the_event_venue():
    """The table is read on Paris' clock; only what names no place is on it."""
    entries, refused = _read(
        b"title,start,end,lat,lng\n"
        b"Las Palmas,2027-08-14T19:30,2027-08-14T22:00,28.12,-15.43\n"
        b"Tokyo,2027-08-14 19:30,,35.68,139.77\n"
        b"Moment,2027-08-14T19:30+02:00,,35.68,139.77\n"
        b"Nowhere,2027-08-14T19:30,,,\n"
    )
    assert refused == []
    assert {entry.title: entry.start.at.isoformat() for entry in entries} == {
        "Las Palmas": "2027-08-14T19:30:00+01:00",
        "Tokyo": "2027-08-14T19:30:00+09:00",
        "Moment": "2027-08-14T19:30:00+02:00",
        "Nowhere": "2027-08-14T19:30:00+02:00",
    }
    assert entries[0].end.at.isoformat() == "2027-08-14T22:00:00+01:00"


def test_table_rows_that_differ_only_in_place_are_different_events():
    row = b"Market,2026-12-05,%d.5,11.5\n"
    entries, _ = _read(b"title,start,lat,lng\n" + b"".join(row % n for n in range(40, 60)))
    assert len({entry.id for entry in entries}) == 20


def test_semicolons_and_tabs_separate_columns_too():
    for delimiter in (";", "\t"):
        table = "title,start,venue\nChoir,2026-12-05,Church\n".replace(",", delimiter)
        (entry,), refused = _read(table.encode())
        assert (entry.title, entry.place.name, refused) == ("Choir", "Church", [])


@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"\xff\xfe", b'title,start\n"open'])
def test_file_without_a_table_has_no_events(data):
    entries, _ = _read(data)
    assert entries == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_table_is_read_in_the_encoding_of_a_spreadsheet(encoding):
    (entry,), refused = _read("title;start\nFête;2026-12-05\n".encode(encoding))
    assert (entry.title, refused) == ("Fête", [])


def test_overlong_row_does_not_affect_the_other_rows():
    table = f"title,start\nChoir,2026-12-05\n{'x' * 200_000},2026-12-05\nOrgan,2026-12-06\n"
    entries, refused = _read(table.encode())
    assert [entry.title for entry in entries] == ["Choir", "Organ"]
    assert [one.location for one in refused] == ["line 3"]


cells = st.text(
    st.characters(exclude_characters=',;\t"\r\n', exclude_categories=["Cs"]), max_size=20
)


@settings(max_examples=50)
@given(st.lists(cells, min_size=13, max_size=13))
def test_arbitrary_row_does_not_affect_the_other_rows(row):
    names = "title,start,end,category,venue,address,lat,lng,url,image,price_min,price_max,currency"
    table = f"{names}\n{','.join(row)}\nOrgan,2026-12-06\n"
    entries, _ = _read(table.encode())
    assert "Organ" in {entry.title for entry in entries}
    assert b"NaN" not in msgspec.json.encode(entries)
