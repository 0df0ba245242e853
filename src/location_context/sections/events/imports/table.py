"""Tables: events as CSV, a row each, with a header; commas, semicolons or tabs.

Columns: title and start are needed; end, category, venue, address, lat, lng, url, image, id,
price_min, price_max and currency may be there. Dates are ISO 8601; a row of dates alone is all-day.
A time without an offset is on the clock of the row's own coordinates, else on the table's.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from location_context.sections.events.fields import (
    MAX_TITLE_LENGTH,
    category_of,
    parse_coordinates,
    single_line,
    strip_markup,
)
from location_context.sections.events.imports.encoding import text, utf8
from location_context.sections.events.imports.entries import (
    Entry,
    Refused,
    Window,
    amount,
    guarded,
    is_within,
    own_zone,
    when,
)
from location_context.sections.events.response import Price

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAMING = ("start", "venue", "address", "lat", "lng")  # what tells two rows without id apart


def read_table(data: bytes, window: Window) -> Iterator[Entry | Refused]:
    """The rows; what cannot be read is told with its line."""
    rows = _rows(text(utf8(data)))
    header = next(rows, None)
    named = [name.strip().lower() for name in header[1]] if header and header[1] else []
    if missing := {"title", "start"} - set(named):
        yield Refused("line 1", f"the header lacks {' and '.join(sorted(missing))}")
        return
    zone = ZoneInfo(window.timezone)
    for number, row in rows:
        where = f"line {number}"
        if row is None:
            yield Refused(where, "it is not CSV, or a quote before it is not closed")
        elif row:
            given = dict(zip(named, row, strict=False))
            yield from guarded(_entry(given, where, zone, window), where)


def _rows(table: str) -> Iterator[tuple[int, list[str] | None]]:
    """Rows with the line they end on; None for what is no row, after which it goes on."""
    header = table.partition("\n")[0]
    reader = csv.reader(io.StringIO(table, newline=""), delimiter=max(",;\t", key=header.count))
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield reader.line_num, None
        else:
            yield reader.line_num, row


def _entry(
    row: Mapping[str, str], line: str, zone: ZoneInfo, window: Window
) -> Iterator[Entry | Refused]:
    title = strip_markup(row.get("title"), MAX_TITLE_LENGTH)
    if title is None:
        yield Refused(line, "it has no title")
        return
    place = parse_coordinates(row.get("lat"), row.get("lng"))
    if place is None and (row.get("lat") or row.get("lng")):
        yield Refused(line, "its coordinates cannot be read")
        return
    if place is not None:
        zone = own_zone(place)
    try:
        start = when(row.get("start") or "", zone)
        end = when(row["end"], zone) if (row.get("end") or "").strip() else None
    except ValueError:
        yield Refused(line, f"its dates cannot be read: {single_line(row.get('start'), 40)}")
        return
    if end is not None and (end.day < start.day or (end.at and start.at and end.at < start.at)):
        yield Refused(line, "it ends before it starts")
        return
    if not is_within(start, end, window):
        return
    yield Entry(
        uid=row.get("id") or " ".join([title, *(row.get(name) or "" for name in _NAMING)]),
        title=title,
        start=start,
        end=end or (start if start.at is None else None),
        all_day=start.at is None and (end is None or end.at is None),
        category=category_of(row.get("category") or ""),
        venue=strip_markup(row.get("venue")),
        address=strip_markup(row.get("address")),
        lat=place[0] if place else None,
        lng=place[1] if place else None,
        url=single_line(row.get("url"), 2000),
        image=single_line(row.get("image"), 2000),
        price=_price(row),
    )


def _price(row: Mapping[str, str]) -> Price | None:
    low, high = amount(row.get("price_min")), amount(row.get("price_max"))
    if low is None and high is None:
        return None
    return Price(min=low, max=high, currency=single_line(row.get("currency"), 3))
