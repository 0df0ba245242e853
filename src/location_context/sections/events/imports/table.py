"""Tables: events as CSV, a row each, with a header; commas, semicolons or tabs.

Columns: title and start are needed; end, category, venue, address, lat, lng, url, image, id,
price_min, price_max and currency may be there. Dates are ISO 8601; a row of dates alone is all-day.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from location_context.sections.events.imports.entries import (
    Entry,
    Refused,
    Window,
    amount,
    is_within,
    when,
)
from location_context.sections.events.records import degrees
from location_context.sections.events.response import Price
from location_context.sections.events.words import (
    LONGEST_TITLE,
    category_of,
    clipped,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def read_table(data: bytes, window: Window) -> Iterator[Entry | Refused]:
    """The rows; what cannot be read is told with its line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        yield Refused("the file", "it is not UTF-8")
        return
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    named = {(name or "").strip().lower() for name in rows.fieldnames or ()}
    if missing := {"title", "start"} - named:
        yield Refused("line 1", f"the header lacks {' and '.join(sorted(missing))}")
        return
    zone = ZoneInfo(window.timezone)
    try:
        for row in rows:
            given = {(k or "").strip().lower(): v for k, v in row.items() if isinstance(v, str)}
            yield from _entry(given, f"line {rows.line_num}", zone, window)
    except csv.Error as error:
        yield Refused(f"line {rows.line_num}", f"it is not CSV: {error}")


def _entry(
    row: Mapping[str, str], line: str, zone: ZoneInfo, window: Window
) -> Iterator[Entry | Refused]:
    title = plain(row.get("title"), LONGEST_TITLE)
    if title is None:
        yield Refused(line, "it has no title")
        return
    try:
        start = when(row.get("start") or "", zone)
        end = when(row["end"], zone) if (row.get("end") or "").strip() else None
    except ValueError:
        yield Refused(line, f"its dates cannot be read: {clipped(row.get('start'), 40)}")
        return
    if end is not None and (end.day < start.day or (end.at and start.at and end.at < start.at)):
        yield Refused(line, "it ends before it starts")
        return
    place = degrees(row.get("lat"), row.get("lng"))
    if place is None and (row.get("lat") or row.get("lng")):
        yield Refused(line, "its coordinates cannot be read")
        return
    if not is_within(start, end, window):
        return
    yield Entry(
        uid=row.get("id") or f"{title} {row.get('start')}",
        title=title,
        start=start,
        end=end or (start if start.at is None else None),
        all_day=start.at is None and (end is None or end.at is None),
        category=category_of(row.get("category") or ""),
        venue=plain(row.get("venue")),
        address=plain(row.get("address")),
        lat=place[0] if place else None,
        lng=place[1] if place else None,
        url=clipped(row.get("url"), 2000),
        image=clipped(row.get("image"), 2000),
        price=_price(row),
    )


def _price(row: Mapping[str, str]) -> Price | None:
    low, high = amount(row.get("price_min")), amount(row.get("price_max"))
    if low is None and high is None:
        return None
    return Price(min=low, max=high, currency=clipped(row.get("currency"), 3))
