"""Strange but honest calendars, and what must come out of each, worked out by hand.

An occurrence is "title, start, end"; dates are whole days, both included. Times that name no clock
are Berlin's.
"""

import codecs
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    data: bytes
    shown: set[str]
    refused: tuple[str, ...] = ()


def event(*lines: str, uid: str = "a", title: str = "A") -> str:
    return "\r\n".join(["BEGIN:VEVENT", f"UID:{uid}", f"SUMMARY:{title}", *lines, "END:VEVENT", ""])


def calendar(*parts: str, head: str = "") -> bytes:
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{head}{''.join(parts)}END:VCALENDAR\r\n".encode()


def at(*lines: str, head: str = "") -> bytes:
    return calendar(event(*lines), head=head)


def zone(name: str, east: str, summer: str) -> str:
    """A VTIMEZONE with the clock changes of central Europe, from 1601 as Outlook writes it."""
    return (
        f"BEGIN:VTIMEZONE\r\nTZID:{name}\r\nBEGIN:STANDARD\r\nDTSTART:16011028T030000\r\n"
        f"RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\r\nTZOFFSETFROM:{summer}\r\nTZOFFSETTO:{east}\r\n"
        "END:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:16010325T020000\r\n"
        f"RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\r\nTZOFFSETFROM:{east}\r\nTZOFFSETTO:{summer}\r\n"
        "END:DAYLIGHT\r\nEND:VTIMEZONE\r\n"
    )


BERLIN = "DTSTART;TZID=Europe/Berlin:20261205T190000"
DAILY = (BERLIN, "RRULE:FREQ=DAILY;COUNT=3")
FIRST, SECOND, THIRD = (f"A, 2026-12-0{day}T19:00+01:00, -" for day in (5, 6, 7))
UTC_EVENT = event("DTSTART:20261205T190000Z")
IN_UTC = {"A, 2026-12-05T19:00+00:00, -"}

ZONES = {
    "a name of Windows": Case(at("DTSTART;TZID=W. Europe Standard Time:20270705T190000"),
                              {"A, 2027-07-05T19:00+02:00, -"}),
    "a name of Windows in quotes": Case(at('DTSTART;TZID="Tokyo Standard Time":20261205T190000'),
                                        {"A, 2026-12-05T19:00+09:00, -"}),
    "the file's own zone": Case(at("DTSTART;TZID=Ours:20270705T120000",
                                   head=zone("Ours", "-0400", "-0300")),
                                {"A, 2027-07-05T12:00-03:00, -"}),
    "a zone nobody knows": Case(at("DTSTART;TZID=Customized Time Zone:20261205T190000"), {FIRST}),
    "no zone": Case(at("DTSTART:20261205T190000"), {FIRST}),
    "no zone in a calendar that has one": Case(
        at("DTSTART:20261205T190000", head="X-WR-TIMEZONE:America/New_York\r\n"),
        {"A, 2026-12-05T19:00-05:00, -"}),
    "no zone at a place of its own": Case(
        at("DTSTART:20270814T193000", "DTEND:20270814T220000", "GEO:28.12;-15.43",
           head="X-WR-TIMEZONE:America/New_York\r\n"),
        {"A, 2027-08-14T19:30+01:00, 2027-08-14T22:00+01:00"}),
    "a zone nobody knows at a place of its own": Case(
        at("DTSTART;TZID=Customized Time Zone:20261205T190000", "GEO:35.68;139.77"),
        {"A, 2026-12-05T19:00+09:00, -"}),
    "a zone at a place of its own": Case(at(BERLIN, "GEO:35.68;139.77"), {FIRST}),
    "no zone in a series one date of which is elsewhere": Case(
        calendar(event("DTSTART:20261205T190000", "GEO:35.68;139.77", "RRULE:FREQ=DAILY;COUNT=2"),
                 event("RECURRENCE-ID:20261206T190000", "DTSTART:20261206T200000",
                       "GEO:28.12;-15.43")),
        {"A, 2026-12-05T19:00+09:00, -", "A, 2026-12-06T20:00+00:00, -"}),
    "UTC at a place of its own in a calendar that has a clock": Case(
        at("DTSTART:20270327T180000Z", "RRULE:FREQ=DAILY;COUNT=2", "GEO:35.68;139.77",
           head="X-WR-TIMEZONE:Europe/Berlin\r\n"),
        {"A, 2027-03-27T19:00+01:00, -", "A, 2027-03-28T19:00+02:00, -"}),
    "UTC repeated on the calendar's clock": Case(
        at("DTSTART:20270327T180000Z", "RRULE:FREQ=DAILY;COUNT=2",
           head="X-WR-TIMEZONE:Europe/Berlin\r\n"),
        {"A, 2027-03-27T19:00+01:00, -", "A, 2027-03-28T19:00+02:00, -"}),
    "an end without the start's zone": Case(
        at("DTSTART;TZID=Asia/Tokyo:20261205T190000", "DTEND:20261205T210000"),
        {"A, 2026-12-05T19:00+09:00, 2026-12-05T21:00+09:00"}),
    "a start in the hour that is skipped": Case(
        at("DTSTART;TZID=Europe/Berlin:20270328T023000"), {"A, 2027-03-28T03:30+02:00, -"}),
}  # fmt: skip

TIMES = {
    "whole days": Case(at("DTSTART;VALUE=DATE:20261205", "DTEND;VALUE=DATE:20261208"),
                       {"A, 2026-12-05, 2026-12-07"}),
    "whole days without saying so": Case(at("DTSTART:20261205"), {"A, 2026-12-05, 2026-12-05"}),
    "a whole day that ends on itself": Case(at("DTSTART:20261205", "DTEND:20261205"),
                                            {"A, 2026-12-05, 2026-12-05"}),
    "a date said to be one, with a time": Case(at("DTSTART;VALUE=DATE:20261205T190000"), {FIRST}),
    "an end before its start": Case(at(BERLIN, "DTEND;TZID=Europe/Berlin:20261205T180000"),
                                    {FIRST}),
    "a series that ends before it starts": Case(
        at(*DAILY, "DTEND;TZID=Europe/Berlin:20261205T180000"), {FIRST, SECOND, THIRD}),
    "a length below nothing": Case(at(BERLIN, "DURATION:-PT1H"), {FIRST}),
    "a length in days": Case(at("DTSTART:20261205", "DURATION:P2D"), {"A, 2026-12-05, 2026-12-06"}),
    "twenty years": Case(at("DTSTART:20100101", "DTEND:20300101"), {"A, 2010-01-01, 2029-12-31"}),
    "over, and to come after the window": Case(
        calendar(event("DTSTART:20200101"), event("DTSTART:20350101", uid="b")), set()),
}  # fmt: skip

SERIES = {
    "an exception that is a day": Case(at(*DAILY, "EXDATE;VALUE=DATE:20261206"), {FIRST, THIRD}),
    "an exception in UTC": Case(at(*DAILY, "EXDATE:20261206T180000Z"), {FIRST, THIRD}),
    "an exception without zone": Case(at(*DAILY, "EXDATE:20261206T190000"), {FIRST, THIRD}),
    "several exceptions on a line": Case(
        at(*DAILY, "EXDATE;TZID=Europe/Berlin:20261206T190000,20261207T190000"), {FIRST}),
    "whole days with an exception at midnight": Case(
        at("DTSTART:20261205", "RRULE:FREQ=DAILY;COUNT=2", "EXDATE:20261206T000000"),
        {"A, 2026-12-05, 2026-12-05"}),
    "an UNTIL in UTC": Case(at(BERLIN, "RRULE:FREQ=DAILY;UNTIL=20261206T180000Z"),
                            {FIRST, SECOND}),
    "whole days with an UNTIL in UTC": Case(
        at("DTSTART:20261205", "RRULE:FREQ=DAILY;UNTIL=20261206T000000Z"),
        {"A, 2026-12-05, 2026-12-05", "A, 2026-12-06, 2026-12-06"}),
    "dates of its own beside the rule": Case(
        at(*DAILY, "RDATE;TZID=Europe/Berlin:20261224T160000"),
        {FIRST, SECOND, THIRD, "A, 2026-12-24T16:00+01:00, -"}),
    "periods of their own length": Case(
        at("DTSTART:20261205T180000Z", "DTEND:20261205T190000Z",
           "RDATE;VALUE=PERIOD:20261206T180000Z/PT3H,20261207T180000Z/20261207T230000Z"),
        {"A, 2026-12-05T18:00+00:00, 2026-12-05T19:00+00:00",
         "A, 2026-12-06T18:00+00:00, 2026-12-06T21:00+00:00",
         "A, 2026-12-07T18:00+00:00, 2026-12-07T23:00+00:00"}),
    "one date moved into the window": Case(
        calendar(event("DTSTART:20260101T190000Z", "RRULE:FREQ=MONTHLY;COUNT=3"),
                 event("RECURRENCE-ID:20260201T190000Z", "DTSTART:20261210T190000Z", title="B")),
        {"B, 2026-12-10T19:00+00:00, -"}),
    "one date moved out of the window": Case(
        calendar(event(*DAILY),
                 event("RECURRENCE-ID;TZID=Europe/Berlin:20261206T190000", "DTSTART:20281210")),
        {FIRST, THIRD}),
    "one whole day named by its midnight": Case(
        calendar(event("DTSTART:20261205", "RRULE:FREQ=DAILY;COUNT=2"),
                 event("RECURRENCE-ID:20261206T000000", "DTSTART:20261220")),
        {"A, 2026-12-05, 2026-12-05", "A, 2026-12-20, 2026-12-20"}),
    "one date cancelled": Case(
        calendar(event(*DAILY), event("STATUS:CANCELLED", "DTSTART:20261206T180000Z",
                                      "RECURRENCE-ID:20261206T180000Z")),
        {FIRST, THIRD}),
    "all cancelled": Case(at(*DAILY, "STATUS:CANCELLED"), set()),
    "a replaced date without its series": Case(
        at("RECURRENCE-ID:20261206T180000Z", "DTSTART:20261206T200000Z"),
        {"A, 2026-12-06T20:00+00:00, -"}),
    "all that follows moved, twice": Case(
        calendar(
            event("DTSTART:20261205T180000Z", "RRULE:FREQ=DAILY;COUNT=4"),
            event("RECURRENCE-ID;RANGE=THISANDFUTURE:20261206T180000Z",
                  "DTSTART:20261206T190000Z", title="B"),
            event("RECURRENCE-ID;RANGE=THISANDFUTURE:20261208T180000Z",
                  "DTSTART:20261208T170000Z", title="C")),
        {"A, 2026-12-05T18:00+00:00, -", "B, 2026-12-06T19:00+00:00, -",
         "B, 2026-12-07T19:00+00:00, -", "C, 2026-12-08T17:00+00:00, -"}),
    "a later version": Case(
        calendar(event(BERLIN, "SEQUENCE:2"), event("DTSTART:20261224", "SEQUENCE:1")), {FIRST}),
    "two events of one UID": Case(calendar(event(BERLIN), event("DTSTART:20261224", title="B")),
                                  {FIRST, "B, 2026-12-24, 2026-12-24"}),
    "the same event twice": Case(calendar(event(BERLIN), event(BERLIN)), {FIRST}),
    "no UID, no DTSTAMP": Case(
        calendar(event(BERLIN).replace("UID:a\r\n", ""),
                 event(BERLIN, title="B").replace("UID:a\r\n", "")),
        {FIRST, FIRST.replace("A", "B")}),
}  # fmt: skip

FILES = {
    "a byte order mark": Case(codecs.BOM_UTF8 + calendar(UTC_EVENT), IN_UTC),
    "Windows' letters": Case(
        calendar(event(BERLIN, title="Fête")).decode().encode("cp1252"),
        {FIRST.replace("A", "Fête")}),
    "a fold within a letter": Case(
        calendar(event(BERLIN, title="Fête")).replace("ê".encode(), b"\xc3\r\n \xaa"),
        {FIRST.replace("A", "Fête")}),
    "lines that end in CR": Case(calendar(UTC_EVENT).replace(b"\r\n", b"\r"), IN_UTC),
    "lines that end in CR CR LF": Case(calendar(UTC_EVENT).replace(b"\r\n", b"\r\r\n"), IN_UTC),
    "folds with tabs": Case(calendar(UTC_EVENT).replace(b"T190000Z", b"T19\r\n\t0000Z"), IN_UTC),
    "blank lines": Case(calendar(UTC_EVENT).replace(b"\r\n", b"\r\n\r\n"), IN_UTC),
    "no calendar around": Case(UTC_EVENT.encode(), IN_UTC),
    "two calendars": Case(
        calendar(UTC_EVENT) + calendar(event(BERLIN, uid="b", title="B")),
        IN_UTC | {FIRST.replace("A", "B")}),
    "an alarm with times of its own": Case(
        at(BERLIN, "BEGIN:VALARM", "DURATION:PT5M", "SUMMARY:Alarm", "END:VALARM"), {FIRST}),
    "tasks and notes": Case(
        calendar("BEGIN:VTODO\r\nUID:b\r\nSUMMARY:B\r\nDTSTART:20261205\r\nEND:VTODO\r\n",
                 UTC_EVENT,
                 "BEGIN:VJOURNAL\r\nUID:c\r\nDTSTART:20261205\r\nEND:VJOURNAL\r\n"), IN_UTC),
    "a description that is not folded": Case(
        at(BERLIN, "DESCRIPTION:With", "choir", "and organ; status: fine"), {FIRST}),
    "a picture within": Case(
        at(BERLIN, "ATTACH;ENCODING=BASE64;VALUE=BINARY:" + "A" * 300_000), {FIRST}),
    "escapes, markup and entities": Case(
        calendar(event(BERLIN, title="<b>Rock</b> &amp; Roll\\, again\\; \\n live")),
        {FIRST.replace("A", "Rock & Roll, again; live", 1)}),
    "a calendar of cancellations": Case(calendar(UTC_EVENT, head="METHOD:CANCEL\r\n"), set()),
    "lines that cannot be read": Case(
        calendar(
            event("DTSTART:soon", uid="b"), event("DTSTART 20261205", uid="c"),
            event(BERLIN, "RRULE:FREQ=SOMETIMES", uid="f"), event(uid="g"),
            event(BERLIN, "EXRULE:FREQ=DAILY", uid="h"), UTC_EVENT),
        IN_UTC,
        ("the entry cannot be read: ",) * 3
        + ("the start is missing", "the entry has an EXRULE, which is not supported")),
    "a file that ends within an event": Case(
        calendar(UTC_EVENT, event(BERLIN, uid="b", title="B")).rpartition(b"END:VEVENT")[0],
        set(), ("the file is not a calendar, or ends too early",)),
}  # fmt: skip
