"""Decoding only the wanted fields of a page gives the same rows as the whole JSON."""

from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.events.fields import event_from_row, parse_rows
from location_context.sections.events.providers import ticketmaster
from tests.fakes.ticketmaster import at
from tests.fakes.ticketmaster import event as sold

PARIS = ZoneInfo("Europe/Paris")
_KIND = {part: {"id": part, "name": "Music"} for part in ("segment", "genre", "type", "subType")}
SOLD = sold(
    "A show", at("2026-12-03", "20:00:00", "2026-12-03T19:00:00Z"), zone="Europe/Paris",
    classifications=[{"primary": False}, {"primary": True, **_KIND}],
    priceRanges=[{"min": 1, "max": 3.5, "currency": "EUR"}],
    images=[{"ratio": "3_2", "width": 9}, {"ratio": "16_9", "width": 640, "url": "https://a/b"}],
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", " \t", "2026-12-05", "20:00", "Europe/Rome", "9999-12-31", "Zo\u00eb"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["0", "id", "name", "type", "venues"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@st.composite
def spoilt(draw: st.DrawFn, row: Any) -> Any:
    """The row with one value in it replaced by any other, or left out."""
    if not row or not isinstance(row, dict | list) or draw(st.integers(0, 5)) == 0:
        return draw(JSON)
    keys = list(row) if isinstance(row, dict) else list(range(len(row)))
    key, copy = draw(st.sampled_from(keys)), row.copy()
    if draw(st.integers(0, 5)) == 0:
        del copy[key]
    else:
        copy[key] = draw(spoilt(row[key]))
    return copy


@given(row=spoilt(SOLD))
def test_ticketmaster_rows_give_the_same_events_if_json_is_decoded_with_or_without_types(row):
    page = {"page": {}, "_embedded": {"events": [SOLD, row, row, SOLD]}}
    data = msgspec.json.encode(page)
    wanted = msgspec.json.decode(data, type=ticketmaster.Body).embedded.events
    whole = msgspec.json.decode(data)["_embedded"]["events"]
    found, expected = (
        list(parse_rows(rows, lambda row: ticketmaster.parse_event(row, PARIS)))
        for rows in (wanted, whole)
    )
    assert found == expected
    assert found[0].title == found[-1].title == "A show"


@pytest.mark.parametrize(
    ("value", "all_day"),
    [
        ("false", False), ("False", False), ("no", False), ("0", False), ("", False), (0, False),
        (None, False), ("true", True), ("True ", True), ("1", True), (1, True), (True, True),
    ],
)  # fmt: skip
def test_event_is_all_day_only_if_its_all_day_column_means_yes(value, all_day):
    fields = {"id": "id", "title": "title", "start": "start", "all_day": "whole"}
    row = {"id": "1", "title": "A fair", "start": "2026-12-05", "whole": value}
    assert event_from_row(row, fields, PARIS, source="town").all_day is all_day
