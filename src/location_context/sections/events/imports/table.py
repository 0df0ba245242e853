"""Tables: events as CSV, a row each, with a header; commas, semicolons or tabs.

Columns: title and start are needed; end, category, venue, address, lat, lng, url, image, id,
price_min, price_max and currency may be there. Dates are ISO 8601; a row of dates alone is all-day.
A time without an offset is in the zone of the row's own coordinates, else of the table.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from zoneinfo import ZoneInfo

from location_context.sections.events import fields
from location_context.sections.events.imports import entries

_IDENTIFYING = ("start", "venue", "address", "lat", "lng")  # tell two rows without id apart


def read_table(data: bytes, reading: entries.Reading) -> entries.Entries:
    """The rows; what cannot be read is rejected with its line."""
    rows = _rows(entries.decode_line(entries.to_utf8(data)))
    header = next(rows, None)
    columns = [name.strip().lower() for name in header[1]] if header and header[1] else []
    if missing := {"title", "start"} - set(columns):
        yield entries.RejectedEntry("line 1", f"the header lacks {' and '.join(sorted(missing))}")
        return
    zone = reading.zone
    for number, row in rows:
        location = f"line {number}"
        if row is None:
            reason = "it is not CSV, or a quote before it is not closed"
            yield entries.RejectedEntry(location, reason)
        elif row:
            values = dict(zip(columns, row, strict=False))
            yield from entries.guard(_entry(values, zone, reading), location)


def _rows(table: str) -> Iterator[tuple[int, list[str] | None]]:
    """Rows with the line they end on; None for what is not a row, after which it goes on."""
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


def _entry(row: Mapping[str, str], zone: ZoneInfo, reading: entries.Reading) -> entries.Entries:
    title = fields.strip_markup(row.get("title"), fields.MAX_TITLE_LENGTH)
    if title is None:
        raise entries.UnreadableEntry("it has no title")
    coordinates = fields.parse_coordinates(row.get("lat"), row.get("lng"))
    if coordinates is None and (row.get("lat") or row.get("lng")):
        raise entries.UnreadableEntry("its coordinates cannot be read")
    zone = entries.local_zone(coordinates, zone)
    start, end = entries.parse_times(row.get("start") or "", (row.get("end") or "").strip(), zone)
    if end is not None and (end.day < start.day or (end.at and start.at and end.at < start.at)):
        raise entries.UnreadableEntry("it ends before it starts")
    if not reading.touches(start, end):
        return
    yield reading.event(
        uid=row.get("id") or " ".join([title, *(row.get(name) or "" for name in _IDENTIFYING)]),
        title=title,
        start=start,
        end=end or (start if start.at is None else None),
        all_day=start.at is None and (end is None or end.at is None),
        category=fields.category_of(row.get("category") or ""),
        venue=fields.strip_markup(row.get("venue")),
        address=fields.strip_markup(row.get("address")),
        coordinates=coordinates,
        url=fields.single_line(row.get("url"), fields.MAX_URL_LENGTH),
        image=fields.single_line(row.get("image"), fields.MAX_URL_LENGTH),
        price=entries.parse_price(row.get("price_min"), row.get("price_max"), row.get("currency")),
    )
