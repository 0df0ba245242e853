"""Tables: events as CSV, a row each, with a header; commas, semicolons or tabs.

Columns: title and start are needed; end, category, venue, address, lat, lng, url, image, id,
price_min, price_max and currency may be there. Dates are ISO 8601; a row of dates alone is all-day.
A time without an offset is in the zone of the row's own coordinates, else of the table.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from zoneinfo import ZoneInfo

from location_context.sections.events.fields import (
    MAX_TITLE_LENGTH,
    MAX_URL_LENGTH,
    category_of,
    parse_coordinates,
    single_line,
    strip_markup,
)
from location_context.sections.events.imports.entries import (
    CalendarEntry,
    Entries,
    RejectedEntry,
    UnreadableEntry,
    Window,
    decode_line,
    guard,
    is_within,
    parse_price,
    parse_times,
    to_utf8,
    zone_at_coordinates,
)

_IDENTIFYING = ("start", "venue", "address", "lat", "lng")  # tell two rows without id apart


def read_table(data: bytes, window: Window) -> Entries:
    """The rows; what cannot be read is rejected with its line."""
    rows = _rows(decode_line(to_utf8(data)))
    header = next(rows, None)
    columns = [name.strip().lower() for name in header[1]] if header and header[1] else []
    if missing := {"title", "start"} - set(columns):
        yield RejectedEntry("line 1", f"the header lacks {' and '.join(sorted(missing))}")
        return
    zone = ZoneInfo(window.timezone)
    for number, row in rows:
        location = f"line {number}"
        if row is None:
            yield RejectedEntry(location, "it is not CSV, or a quote before it is not closed")
        elif row:
            values = dict(zip(columns, row, strict=False))
            yield from guard(_entry(values, zone, window), location)


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


def _entry(row: Mapping[str, str], zone: ZoneInfo, window: Window) -> Entries:
    title = strip_markup(row.get("title"), MAX_TITLE_LENGTH)
    if title is None:
        raise UnreadableEntry("it has no title")
    coordinates = parse_coordinates(row.get("lat"), row.get("lng"))
    if coordinates is None and (row.get("lat") or row.get("lng")):
        raise UnreadableEntry("its coordinates cannot be read")
    if coordinates is not None:
        zone = zone_at_coordinates(coordinates)
    start, end = parse_times(row.get("start") or "", (row.get("end") or "").strip(), zone)
    if end is not None and (end.day < start.day or (end.at and start.at and end.at < start.at)):
        raise UnreadableEntry("it ends before it starts")
    if not is_within(start, end, window):
        return
    yield CalendarEntry(
        uid=row.get("id") or " ".join([title, *(row.get(name) or "" for name in _IDENTIFYING)]),
        title=title,
        start=start,
        end=end or (start if start.at is None else None),
        all_day=start.at is None and (end is None or end.at is None),
        category=category_of(row.get("category") or ""),
        venue=strip_markup(row.get("venue")),
        address=strip_markup(row.get("address")),
        coordinates=coordinates,
        url=single_line(row.get("url"), MAX_URL_LENGTH),
        image=single_line(row.get("image"), MAX_URL_LENGTH),
        price=parse_price(row.get("price_min"), row.get("price_max"), row.get("currency")),
    )
