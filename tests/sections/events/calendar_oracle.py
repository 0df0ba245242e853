"""An expansion of calendars that shares nothing with the shipped one: generate and test, by days.

It reads lines by itself and, for each day from a series' first, asks whether the rule allows it
(RFC 5545, section 3.3.10), for the parts of rules that calendars in `../shared` use.
"""

import calendar
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

_DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
# the large calendar's own VTIMEZONE for this misspelt name has the clock of central Europe
_OWN_ZONES = {"GMT Standard Time": "Europe/London", "Europe/lisbon": "Europe/Paris"}


@dataclass
class Lines:
    """One VEVENT: its properties with parameters, in order."""

    properties: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    def all(self, name: str):
        return [(p, v) for n, p, v in self.properties if n == name]

    def one(self, name: str):
        return next(iter(self.all(name)), None)

    def text(self, name: str) -> str | None:
        found = self.one(name)
        return found[1] if found else None


def events(text: str) -> tuple[list[Lines], str | None]:
    unfolded = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
    stack: list[str] = []
    found: list[Lines] = []
    zone = None
    for line in unfolded.split("\n"):
        name, _, value = line.partition(":")
        if name == "BEGIN":
            stack.append(value.strip())
            if value.strip() == "VEVENT":
                found.append(Lines())
            continue
        if name == "END":
            if value.strip() in stack:
                while stack.pop() != value.strip():
                    pass
            continue
        if line.startswith("X-WR-TIMEZONE:"):
            zone = value.strip()
        if stack and stack[-1] == "VEVENT":
            head, *given = name.split(";")
            while name.count('"') % 2:  # a colon within a quoted parameter
                more, _, value = value.partition(":")
                name += ":" + more
                head, *given = name.split(";")
            parameters = dict(p.split("=", 1) for p in given if "=" in p)
            found[-1].properties.append((head.upper(), parameters, value.strip()))
    return found, zone


def moment(parameters: dict[str, str], value: str, zone: ZoneInfo) -> date | datetime:
    """A date, or an aware moment."""
    value = value.partition("/")[0]
    if len(value) == 8:
        return date(int(value[:4]), int(value[4:6]), int(value[6:]))
    given = datetime.strptime(value[:15], "%Y%m%dT%H%M%S")  # noqa: DTZ007  the zone comes next
    if value.endswith("Z"):
        return given.replace(tzinfo=UTC)
    name = parameters.get("TZID", "").strip('"')
    name = _OWN_ZONES.get(name, name)
    return given.replace(tzinfo=ZoneInfo(name) if name else zone)


def moments(given, zone: ZoneInfo):
    return [moment(p, part, zone) for p, v in given for part in v.split(",")]


def day_of(value: date | datetime) -> date:
    return value.date() if isinstance(value, datetime) else value


class Rule:
    def __init__(self, text: str, start: date) -> None:
        parts = dict(part.split("=", 1) for part in text.strip(";").split(";"))
        self.freq = parts["FREQ"]
        self.interval = int(parts.get("INTERVAL", 1))
        self.count = int(parts["COUNT"]) if "COUNT" in parts else None
        self.until = parts.get("UNTIL")
        self.week_start = _DAYS.index(parts.get("WKST", "MO"))
        self.months = [int(m) for m in parts["BYMONTH"].split(",")] if "BYMONTH" in parts else None
        self.month_days = (
            [int(d) for d in parts["BYMONTHDAY"].split(",")] if "BYMONTHDAY" in parts else None
        )
        self.days = parts["BYDAY"].split(",") if "BYDAY" in parts else None
        assert not {"BYSETPOS", "BYYEARDAY", "BYWEEKNO", "BYHOUR"} & parts.keys(), text
        self.start = start

    def allows(self, day: date) -> bool:
        return self._period(day) % self.interval == 0 and self._parts(day)

    def _period(self, day: date) -> int:
        start = self.start
        if self.freq == "DAILY":
            return (day - start).days
        if self.freq == "WEEKLY":
            return (self._week(day) - self._week(start)).days // 7
        if self.freq == "MONTHLY":
            return (day.year - start.year) * 12 + day.month - start.month
        return day.year - start.year

    def _week(self, day: date) -> date:
        return day - timedelta(days=(day.weekday() - self.week_start) % 7)

    def _parts(self, day: date) -> bool:  # noqa: PLR0911  one way out for each part of a rule
        start = self.start
        if self.months and day.month not in self.months:
            return False
        if self.month_days:
            length = calendar.monthrange(day.year, day.month)[1]
            if not {day.day, day.day - length - 1} & set(self.month_days):
                return False
        if self.days:
            return any(self._is_day(day, given) for given in self.days)
        if self.freq == "WEEKLY":
            return day.weekday() == start.weekday()
        if self.freq == "MONTHLY" and not self.month_days:
            return day.day == start.day
        if self.freq == "YEARLY" and not self.month_days:
            same_month = self.months is not None or day.month == start.month
            return same_month and day.day == start.day
        return True

    def _is_day(self, day: date, given: str) -> bool:
        if day.weekday() != _DAYS.index(given[-2:]):
            return False
        if len(given) == 2:
            return True
        nth = int(given[:-2])
        if self.freq == "YEARLY" and not self.months:
            first, last = date(day.year, 1, 1), date(day.year, 12, 31)
        else:
            first = day.replace(day=1)
            last = day.replace(day=calendar.monthrange(day.year, day.month)[1])
        return nth == (day - first).days // 7 + 1 if nth > 0 else -nth == (last - day).days // 7 + 1


def expand(text: str, first: date, last: date, default: str) -> set[tuple]:
    """(title, start, last date or end moment) of each occurrence that touches the dates."""
    found, named = events(text)
    zone = ZoneInfo(named or default)
    series: dict[str, list[Lines]] = {}
    for number, event in enumerate(found):
        series.setdefault(event.text("UID") or f"{number}", []).append(event)
    result = set()
    for parts in series.values():
        for occurrence in _series(parts, zone, named, last + timedelta(days=3)):
            result |= _shown(*occurrence, first, last)
    return result


def _series(parts: list[Lines], zone: ZoneInfo, named: str | None, last: date):
    """Each (event, start) of a series: its dates, with those replaced that are given again."""
    masters = [e for e in parts if not e.one("RECURRENCE-ID")]
    newest = max((int(e.text("SEQUENCE") or 0) for e in masters), default=0)
    masters = [e for e in masters if int(e.text("SEQUENCE") or 0) == newest][-1:]
    starts: dict[object, Lines] = {}
    for master in masters:
        for start in _starts(master, zone, named, last):
            starts[_key(start)] = (master, start)
    again = [e for e in parts if e.one("RECURRENCE-ID")]
    for event in sorted(again, key=lambda e: int(e.text("SEQUENCE") or 0)):
        replaced = moment(*event.one("RECURRENCE-ID"), zone)
        starts.pop(_key(replaced), None)
        starts.pop(day_of(replaced), None)
        starts["again", _key(moment(*event.one("RECURRENCE-ID"), zone))] = (
            event, moment(*event.one("DTSTART"), zone),
        )  # fmt: skip
    for event, start in starts.values():
        yield event, start, zone


def _key(value: date | datetime):
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _starts(event: Lines, zone: ZoneInfo, named: str | None, last: date):
    start = moment(*event.one("DTSTART"), zone)
    if named and isinstance(start, datetime) and start.tzinfo is UTC:
        start = start.astimezone(zone)  # X-WR-TIMEZONE: the rule runs on that clock
    found = [start] if not event.all("RRULE") else []
    for _, text in event.all("RRULE"):
        found += _repeated(Rule(text, day_of(start)), start, last, zone)
    found += moments(event.all("RDATE"), zone)
    excluded = {_key(value) for value in moments(event.all("EXDATE"), zone)}
    return {v for v in found if _key(v) not in excluded and day_of(v) not in excluded}


def _repeated(rule: Rule, start: date | datetime, last: date, zone: ZoneInfo):
    found, day = [], day_of(start)
    until = moment({}, rule.until, zone) if rule.until else None
    while day <= last and (rule.count is None or len(found) < rule.count):
        if rule.allows(day):
            value = start.replace(year=day.year, month=day.month, day=day.day) if isinstance(
                start, datetime) else day  # fmt: skip
            if until is not None and _after(value, until):
                break
            found.append(value)
        day += timedelta(days=1)
    return found


def _after(value: date | datetime, until: date | datetime) -> bool:
    if isinstance(value, datetime) and isinstance(until, datetime):
        return value > until
    return day_of(value) > day_of(until)


def _duration(text: str) -> timedelta:
    days, hours, minutes = (
        int(found[1]) if (found := re.search(rf"(\d+){unit}", text)) else 0 for unit in "DHM"
    )
    assert re.fullmatch(r"P(\d+D)?(T(\d+H)?(\d+M)?)?", text), text
    return timedelta(days=days, hours=hours, minutes=minutes)


def _shown(event: Lines, start, zone: ZoneInfo, first: date, last: date) -> set[tuple]:
    if (event.text("STATUS") or "").upper() == "CANCELLED" or not event.text("SUMMARY"):
        return set()
    own = moment(*event.one("DTSTART"), zone)
    length = None
    if (given := event.one("DTEND")) is not None:
        end = moment(*given, zone)
        if isinstance(own, datetime) and isinstance(end, datetime):
            length = end - own
        else:
            length = timedelta(days=(day_of(end) - day_of(own)).days)
    elif (given := event.one("DURATION")) is not None:
        length = _duration(given[1])
    for parameters, value in event.all("RDATE"):  # a period brings its own end
        for part in value.split(","):
            if "/" in part and _key(moment(parameters, part, zone)) == _key(start):
                length = moment(parameters, part.partition("/")[2], zone) - start
    title = event.text("SUMMARY").replace("\\,", ",").replace("\\;", ";").replace("\\n", " ")
    title = " ".join(title.replace("\\\\", "\\").split())[:300]
    if not isinstance(start, datetime):
        final = start + max(length or timedelta(), timedelta(days=1)) - timedelta(days=1)
        return {(title, start, final)} if start <= last and final >= first else set()
    known = length is not None and length > timedelta()
    end_moment = (start.astimezone(UTC) + length) if known else None
    touched = (end_moment or start.astimezone(UTC)).astimezone(start.tzinfo).date()
    if start.date() <= last and touched >= first:
        return {(title, start.astimezone(UTC), end_moment)}
    return set()
