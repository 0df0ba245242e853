"""Hostile calendars, pages and tables, each made by a function."""

from functools import partial

GOOD = "BEGIN:VEVENT\nUID:good\nSUMMARY:Good\nDTSTART:20261201T190000Z\nEND:VEVENT\n"
NEVER = (
    "UID:h\nSUMMARY:H\nDTSTART:20000101T000000Z\n"
    "RRULE:FREQ=DAILY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=30;BYDAY=MO"
)


def calendar(*events: str, zone: str = "") -> bytes:
    body = "".join(f"BEGIN:VEVENT\n{event}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{zone}{body}{GOOD}END:VCALENDAR\n".encode()


def _event(lines: str, start: str = "20261201T000000Z") -> bytes:
    return calendar(f"UID:h\nSUMMARY:H\nDTSTART:{start}\n{lines}")


def _numbers(most: int) -> str:
    return ",".join(map(str, range(most)))


def _many(count: int, event: str) -> bytes:
    return calendar(*(event.replace("UID:h", f"UID:{number}") for number in range(count)))


def _moved() -> bytes:
    moves = [
        f"UID:h\nSUMMARY:H\nRECURRENCE-ID;RANGE=THISANDFUTURE:202{n % 7}0{n % 9 + 1}{n % 28 + 1:02}"
        f"T{n % 24:02}0000Z\nDTSTART:20261201T{n % 24:02}0000Z"
        for n in range(1500)
    ]
    return calendar("UID:h\nSUMMARY:H\nDTSTART:20200101T000000Z\nRRULE:FREQ=HOURLY", *moves)


def _zone(lines: str) -> bytes:
    zone = (
        f"BEGIN:VTIMEZONE\nTZID:Own\nBEGIN:STANDARD\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n"
        f"{lines}\nEND:STANDARD\nEND:VTIMEZONE\n"
    )
    return calendar("UID:h\nSUMMARY:H\nDTSTART;TZID=Own:20261201T190000", zone=zone)


# each ends within the bound, with a reason
LISTS = {
    "two million numbers": lambda: b"[" + b"0," * 2_000_000 + b"0]",
    "half a million empty objects": lambda: b"[" + b"{}," * 500_000 + b"{}]",
    "lists in lists": lambda: b"[" + (b"[" * 300 + b"]" * 300 + b",") * 5000 + b"0]",
    "a hundred thousand brackets": lambda: b"[" * 100_000,
    "an object of lists without an end": lambda: b'[{"title":' * 50_000,
    "a number of 5,000 digits": lambda: b'[{"title":' + b"1" * 5000 + b"}]",
    "a number beyond all numbers": lambda: b'[{"title": "x", "start": 1e400}]',
    "no coordinates": lambda: b'[{"title":"x","start":"2026-12-02","coordinates":"NaN, Infinity"}]',
}
# one event of the calendar is hostile; the other one must be read all the same
EVENTS = {
    "SECONDLY": partial(_event, "RRULE:FREQ=SECONDLY", "20000101T000000Z"),
    "MINUTELY a billion times": partial(_event, "RRULE:FREQ=MINUTELY;COUNT=1000000000"),
    "a date that never comes": partial(calendar, NEVER),
    "a billion days": partial(_event, "RRULE:FREQ=DAILY;COUNT=1000000000", "00010101T000000Z"),
    "every second of every day": partial(
        _event,
        f"RRULE:FREQ=YEARLY;BYHOUR={_numbers(24)};BYMINUTE={_numbers(60)};BYSECOND={_numbers(60)};"
        "BYDAY=MO,TU,WE,TH,FR,SA,SU",
        "19000101T000000Z",
    ),
    "an UNTIL before its start": partial(_event, "RRULE:FREQ=DAILY;UNTIL=19990101T000000Z"),
    "no start": partial(calendar, "UID:h\nSUMMARY:H"),
    "an end without a start": partial(calendar, "UID:h\nSUMMARY:H\nDTEND:20261201T000000Z"),
    "mixed dates and times": partial(
        _event,
        "DTEND;VALUE=DATE:20261202\nRRULE:FREQ=DAILY;COUNT=3;UNTIL=20270101\nEXDATE:20261202T000000",
    ),
    "an interval of nothing": partial(_event, "RRULE:FREQ=DAILY;INTERVAL=0"),
    "a rule that is none": partial(_event, "RRULE:FREQ=SOMETIMES"),
    "a hundred thousand dates": partial(
        _event, "RDATE:" + ",".join(["20261202T000000Z"] * 100_000)
    ),
    "ten thousand exceptions": partial(
        _event,
        "RRULE:FREQ=HOURLY\n"
        + "\n".join(f"EXDATE:2026{m:02}{d:02}T000000Z" for m in range(1, 13) for d in range(1, 29))
        * 12,
        "19000101T000000Z",
    ),
    "three hundred rules": partial(_event, "RRULE:FREQ=HOURLY\n" * 300, "19000101T000000Z"),
    "fifteen hundred moves of all that follows": _moved,
    "an endless length": partial(_event, "DURATION:P99999999999W"),
    "a length of digits": partial(_event, f"DURATION:P{'9' * 100_000}D"),
    "the last second of time": partial(_event, "RRULE:FREQ=DAILY", "99991231T235959Z"),
    "a zone that changes every second": partial(
        _zone, "DTSTART:19700101T000000\nRRULE:FREQ=SECONDLY"
    ),
    "a zone of a hundred thousand changes": partial(
        _zone, "DTSTART:19700101T000000\n" + "RDATE:20200101T000000\n" * 100_000
    ),
    "a hundred hostile rules": partial(_many, 100, NEVER),
}

# nothing in these can be read
CALENDARS = {
    "empty": bytes,
    "noise": lambda: b"\x00\xff" * 1000,
    "nothing but NUL": lambda: bytes(10_000_000),
    "deep": lambda: b"BEGIN:VCALENDAR\n" * 50_000,
    "parts within parts": lambda: b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + b"BEGIN:X\n" * 50_000,
    "a line of 30 MB": lambda: b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:" + b"x" * 30_000_000,
    "a line folded ever again": lambda: b"BEGIN:VEVENT\nDTSTART:" + b"\n 2" * 500_000,
    "never ending": lambda: b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\nUID:x\n" * 20_000,
    "lines that are none": lambda: b"BEGIN:VCALENDAR\n" + b"DTSTART\n" * 200_000,
}  # fmt: skip


def page(*scripts: bytes) -> bytes:
    tags = b"".join(b'<script type="application/ld+json">%b</script>' % one for one in scripts)
    return b"<!doctype html><html><head>%b</head><body></body></html>" % tags


def _bomb() -> bytes:
    entities = (b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    return (
        b'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "aaaaaaaaaa">' + b"".join(entities)
        + b']><html><head><script type="application/ld+json">&j;</script></head></html>'
    )  # fmt: skip


def _attributes() -> bytes:
    """Half a minute within the parser, where no alarm is received."""
    return b"<html><p " + b" ".join(b"a%d=1" % n for n in range(300_000)) + b">"


PAGES = {
    "an early end of the script": lambda: page(b'{"@type": "Event", "name": "</script><b>x"}'),
    "an entity bomb": _bomb,
    "twenty megabytes of tags": lambda: b"<html>" + b"<div>" * 4_000_000,
    "a million tags side by side": lambda: b"<html>" + b"<p></p>" * 1_000_000,
    "twenty thousand scripts": lambda: page(*[b"{"] * 20_000),
    "a tag of 300,000 attributes": _attributes,
    "a deep list": lambda: b"[" * 1_000_000,
    "a deep object": lambda: b'{"a":' * 500_000,
    "an event within an event, deep": lambda: b'{"@type":"Event","a":' * 900 + b"1" + b"}" * 900,
    "many nodes": lambda: b"[" + b"{}," * 2_000_000 + b"{}]",
    "a long string": lambda: b'{"@type": "Event", "name": "' + b"x" * 15_000_000 + b'"}',
    "a long number": lambda: b'{"@type": "Event", "name": ' + b"9" * 1_000_000 + b"}",
    "not text": lambda: b"<\xff\xfe\x00" * 100_000,
}

TABLES = {
    "a field of 50 MB": lambda: b"title,start\n" + b"x" * 50_000_000 + b",2026-12-01\n",
    "a quote that never closes": lambda: b'title,start\n"' + b"x,2026-12-01\n" * 1_000_000,
    "a row of ten million columns": lambda: b"title,start\n" + b"," * 10_000_000,
    "a header of a million columns": lambda: b"title,start" + b",x" * 1_000_000 + b"\n,\n",
    "rows that are none": lambda: b"title,start\n" + b"x,soon\n" * 100_000,
}
