"""Tables: turn the rows of a CSV file, or the objects in a list of a JSON file, into events.

A CSV file has a header, and its fields are separated by commas, semicolons or tabs. A field is read
from the columns that the calendar sets for it, else from the column with the field's name
(`FIELDS`). In JSON a column is a path of keys joined by dots; for a list in the path, its first
value is used. Title and start are required. Dates are ISO 8601; a row without times is all-day. A
time without an offset is in the time zone at the row's coordinates, else in the calendar's.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from location_context.sections.events import fields
from location_context.sections.events.imports import reading
from location_context.sections.events.records import OWN_SOURCE, Place, ProviderEvent, When

Get = Callable[[str], Any]
FIELDS = (
    "title", "start", "time", "end", "category", "venue", "address", "coordinates", "lat", "lng",
    "url", "image", "id", "price_min", "price_max", "currency",
)  # fmt: skip
# these fields, with the title, identify a row without id
_IDENTIFYING = ("start", "venue", "address", "lat", "lng")
# 19:30, 19h30 or 19h, also after a short word such as "à"
_CLOCK = re.compile(
    r"\W*(?:[^\W\d]{1,4}\.?\s+)?(?:([01]?\d|2[0-3])\s?[:h]\s?([0-5]\d)|([01]\d|2[0-3])\s?h\b)",
    re.IGNORECASE,
)
_DATE = len("2026-12-05")
_MAX_NAMED = 40  # columns named in an error


def read_csv(data: bytes, task: reading.Task) -> reading.Found:
    """Yield the events of a CSV table, and a rejection with the line for each unreadable row."""
    rows = _rows(reading.decode(data))
    header = next(rows, None)
    columns = [name.strip().lower() for name in header[1]] if header and header[1] else []
    chosen = task.calendar.columns
    if missing := {"title", "start"} - {*columns, *chosen}:
        names = " and ".join(sorted(missing))
        reason = (
            f"the file is not a calendar or a page, and as a table it lacks the columns {names}"
        )
        yield reading.RejectedEntry("line 1", f"{reason}; it has: {_named(columns)}")
        return
    lacking = [one for paths in chosen.values() for one in paths if one.lower() not in columns]
    if lacking:
        reason = f"the table lacks the columns {', '.join(lacking)}; it has: {_named(columns)}"
        yield reading.RejectedEntry("line 1", reason)
        return
    for number, row in rows:
        location = f"line {number}"
        if row is None:
            reason = "the file is not CSV, or a quotation mark before it is not closed"
            yield reading.RejectedEntry(location, reason)
        elif row:
            cells = dict(zip(columns, row, strict=False))
            yield from reading.guard(_event(partial(_cell, cells), task), location)


def read_list(data: bytes, task: reading.Task) -> reading.Found:
    """Yield the events in a list of a JSON file, and a rejection for each unreadable object.

    If a column that the operator chose is missing in all objects, a warning says so. It may be
    missing in some of them, since many portals omit empty fields.
    """
    path = task.calendar.list_path or "."
    try:
        document = reading.decode_json(reading.decode(data).encode())
    except reading.UnreadableEntry as error:
        yield reading.RejectedEntry("the file", f"{error}; --list is for JSON")
        return
    entries = document if path == "." else fields.value_at(document, path)
    if not isinstance(entries, list):
        reason = f"the JSON has no list at {path}; its lists: {_named(_lists(document))}"
        yield reading.RejectedEntry("the file", reason)
        return
    for field, paths in task.calendar.columns.items():
        for one in paths:
            if entries and all(_lacks(entry, one) for entry in entries):
                keys = dict.fromkeys(
                    k for entry in entries if isinstance(entry, dict) for k in entry
                )
                reason = f"no object has this field; the objects have: {_named(keys)}"
                yield reading.RejectedEntry(f"--column {field}={one}", reason, entries=0)
    for number, entry in enumerate(entries, 1):
        location = f"object {number}"
        if isinstance(entry, dict):
            event = _event(partial(fields.value_at, entry), task)
            yield from reading.guard(event, location)
        else:
            yield reading.RejectedEntry(location, "the entry is not an object")


def _rows(table: str) -> Iterator[tuple[int, list[str] | None]]:
    """Yield each row: the number of its last line, and its cells (None if they are unreadable)."""
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


def _cell(cells: Mapping[str, str], name: str) -> str | None:
    return cells.get(name.lower())


def _named(columns: Iterable[str]) -> str:
    return fields.single_line(", ".join([*columns][:_MAX_NAMED])) or "none"


def _lists(document: Any) -> list[str]:
    """Return the paths of lists in a JSON document, one or two keys deep, for an error message."""
    found = dict(document) if isinstance(document, dict) else {".": document}
    for key, part in [*found.items()]:
        if isinstance(part, dict):
            found |= {f"{key}.{name}": value for name, value in part.items()}
    return [path for path, value in found.items() if isinstance(value, list)]


def _lacks(entry: Any, path: str) -> bool:
    """Return True if an object certainly lacks a key of a path.

    If the path leads to a null, or to a list that is empty or too short, return False, since the
    rest of the path cannot be checked.
    """
    key, _, rest = path.partition(".")
    if isinstance(entry, list):
        if key.isdecimal():
            return bool(rest) and int(key) < len(entry) and _lacks(entry[int(key)], rest)
        entry = entry[0] if entry else None
    if entry is None:
        return False
    if not isinstance(entry, dict) or key not in entry:
        return True
    return bool(rest) and _lacks(entry[key], rest)


def _event(get: Get, task: reading.Task) -> reading.Found:
    """Yield the event of a row, or a rejection; `get` returns the value of a column.

    Raises:
        UnreadableEntry: the row cannot be read.
    """
    row = {name: _value(name, get, task) for name in FIELDS}
    point = [str(row["coordinates"])] if row["coordinates"] else []
    title = fields.strip_markup(row["title"], fields.MAX_TITLE_LENGTH)
    if title is None:
        raise reading.UnreadableEntry("the title is missing")
    at = fields.parse_point(row["coordinates"]) or fields.parse_coordinates(row["lat"], row["lng"])
    placed_by = ("coordinates",) if row["coordinates"] else ("lat", "lng")
    if at is None and any(row[name] for name in placed_by):
        given = [
            f"{task.calendar.columns.get(name, [name])[0]} is {str(row[name])[:40]!r}"
            for name in placed_by
        ]
        reason = f"{', '.join(given)}; accepted: degrees such as 48.85 and 2.35"
        raise reading.UnreadableEntry(reason)
    lat, lng = at or (None, None)
    start, end = _times(row, task, reading.local_zone(at, task.zone))
    if end is not None and (end.day < start.day or (end.at and start.at and end.at < start.at)):
        raise reading.UnreadableEntry("the end is before the start")
    venue, address = fields.strip_markup(row["venue"]), fields.strip_markup(row["address"])
    yield from task.placed(
        ProviderEvent(
            id=row["id"] or " ".join([title, *(row[name] for name in _IDENTIFYING), *point]),
            source=OWN_SOURCE,
            title=title,
            category=task.category(row["category"]),
            start=start,
            end=end or (start if start.at is None else None),
            all_day=start.at is None and (end is None or end.at is None),
            place=Place(name=venue, address=address, lat=lat, lng=lng),
            url=fields.single_line(row["url"], fields.MAX_URL_LENGTH),
            image=fields.single_line(row["image"], fields.MAX_URL_LENGTH),
            price=fields.parse_price(row["price_min"], row["price_max"], row["currency"]),
        )
    )


def _times(row: Mapping[str, Any], task: reading.Task, zone: ZoneInfo) -> tuple[When, When | None]:
    """Return the row's start and end.

    There are three cases. (1) The row's field `time` has a time of day: the start is a date with
    this time; the end is a date, or None if it is the start's date. (2) The calendar sets columns
    for `time`, but in this row they have no time of day: start and end are dates. (3) The calendar
    sets no columns for `time`, and the row has no time: `start` and `end` are used unchanged.
    """
    start, end = row["start"].strip(), row["end"].strip()
    if not start:
        raise reading.UnreadableEntry("the start is missing")
    found = _CLOCK.match(row["time"])
    if found or "time" in task.calendar.columns:
        start, end = start[:_DATE], end[:_DATE]
        if found:
            end = end if end != start else ""
            start = f"{start}T{(found[1] or found[3]):0>2}:{found[2] or '00'}"
    return reading.parse_times(start, end, zone)


def _value(name: str, get: Get, task: reading.Task) -> Any:
    """Return the first non-empty value of a field's columns as text; "" if all are empty.

    For the field `coordinates` the value may also be an object.
    """
    chosen = task.calendar.columns.get(name)
    for path in chosen or (name,):
        value = get(path)
        while isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, dict) and name != "coordinates":
            if chosen and value:
                inner = f"{path}.{next(iter(value))}"[:100]
                reason = f"{path} is an object; choose one of its values, such as {inner}"
                raise reading.UnreadableEntry(reason)
            continue
        if value is not None and value != "" and not isinstance(value, bool):
            return value if isinstance(value, dict) else str(value)
    return ""
