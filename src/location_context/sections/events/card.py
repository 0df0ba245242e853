"""The events card: what goes on, by date; what covers the whole stay comes first as a range."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from location_context.localisation.formatter import EN_DASH, NO_BREAK, Formatter
from location_context.sections.card import Brief, BriefItem
from location_context.sections.events.response import CoverageStatus, Event, EventsBody

MAX_IN_VIEW = 8
MONTH = 28  # days in which a weekday with its number names one date
HOLIDAY_WEIGHT, STAY_WEIGHT = 300, 200  # in a brief; above every rank


@dataclass(frozen=True, kw_only=True)
class EventView:
    """One event as it is shown."""

    title: str
    url: str
    icon: str
    meta: str
    holiday: bool


@dataclass(frozen=True, kw_only=True)
class DateView:
    """Events under one date, or under a range when they cover the whole stay.

    `months` says that the range names months and so takes two lines.
    """

    above: str
    day: str
    below: str
    spoken: str
    months: bool = False
    events: Sequence[EventView]


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the template shows."""

    lead: str
    in_view: int
    dates: Sequence[DateView]
    more: Sequence[DateView]
    more_label: str
    footnote: str


_Placed = tuple[date | None, Event]  # by the date it is listed under; None: the whole stay


def card(body: EventsBody, fmt: Formatter, names: Mapping[str, str]) -> Card:
    """The card of a response; `names`: what guests read for each provider's code."""
    placed = _placed(body)
    shown = _in_view(placed)
    hidden = [one for one in placed if one not in shown]
    label = fmt.ngettext("{count} more event", "{count} more events", len(hidden))
    return Card(
        lead=headline(body, fmt),
        in_view=len(shown),
        dates=_dates(shown, body, fmt),
        more=_dates(hidden, body, fmt),
        more_label=label.format(count=fmt.number(len(hidden))),
        footnote=footnote(body, fmt, names),
    )


def _placed(body: EventsBody) -> list[_Placed]:
    """In order of date, what covers the whole stay first."""
    placed = [
        (None if covers_stay(one, body) else max(day_of(one.start), body.stay.start), one)
        for one in body.events
    ]
    return sorted(placed, key=lambda one: (one[0] is not None, one[0] or date.min))


def _in_view(placed: Sequence[_Placed]) -> list[_Placed]:
    """Eight at most: sure holidays and each date's first before the others, in their order."""
    seen: Counter[date | None] = Counter()
    ranks = []
    for number, (under, event) in enumerate(placed):
        ranks.append((not _is_sure_holiday(event), seen[under], number))
        seen[under] += 1
    chosen = {number for *_, number in sorted(ranks)[:MAX_IN_VIEW]}
    return [one for number, one in enumerate(placed) if number in chosen]


def _dates(placed: Sequence[_Placed], body: EventsBody, fmt: Formatter) -> list[DateView]:
    by_day: dict[date | None, list[Event]] = defaultdict(list)
    for under, event in placed:
        by_day[under].append(event)
    return [_date(day, events, body, fmt) for day, events in by_day.items()]


def _date(day: date | None, events: Sequence[Event], body: EventsBody, fmt: Formatter) -> DateView:
    views = [_event(event, day, body, fmt) for event in events]
    if day is None:
        return _whole_stay(views, body, fmt)
    below = ""
    if day == body.stay.start:
        below = fmt.gettext("Arrive")
    elif day == body.stay.end:
        below = fmt.gettext("Leave")
    spoken = ", ".join(part for part in (fmt.date_long(day), below) if part)
    return DateView(
        above=fmt.weekday(day), day=str(day.day), below=below, spoken=spoken, events=views
    )


def _whole_stay(views: Sequence[EventView], body: EventsBody, fmt: Formatter) -> DateView:
    """The range of the stay; over two months it may break after its dash."""
    first, last = body.stay.start, body.stay.end
    span, above = fmt.date_range(first, last), fmt.gettext("Whole stay")
    months = (first.year, first.month) != (last.year, last.month)
    day = span.replace(NO_BREAK, " ").replace(EN_DASH, "–") if months else span
    spoken = f"{above}, {fmt.date_range_long(first, last)}"
    return DateView(above=above, day=day, below="", spoken=spoken, months=months, events=views)


def _event(event: Event, day: date | None, body: EventsBody, fmt: Formatter) -> EventView:
    return EventView(
        title=fmt.bidi_isolate(event.title),
        url=event.url or "",
        icon=event.category,
        meta=_meta(event, body, fmt, whole_stay=day is None),
        holiday=_is_sure_holiday(event),
    )


def _is_sure_holiday(event: Event) -> bool:
    """Whether it is a public holiday that the point's region is known to observe."""
    return event.category == "public_holiday" and not event.uncertain


def brief(body: EventsBody, fmt: Formatter) -> Brief:
    """Holidays first, then what lasts throughout, then what ranks highest; read by date."""
    placed = _placed(body)
    total = len(placed) + sum(body.omitted.values())
    items = [_brief_item(event, day, body, fmt) for day, event in placed]
    note = fmt.gettext("{count} in all").format(count=fmt.number(total))
    return Brief(heading=fmt.gettext("Events"), note=note, items=items)


def _brief_item(event: Event, day: date | None, body: EventsBody, fmt: Formatter) -> BriefItem:
    holiday = _is_sure_holiday(event)
    name_of_day = fmt.day if (body.stay.end - body.stay.start).days < MONTH else fmt.date_short
    when = fmt.gettext("Whole stay") if day is None else name_of_day(day)
    times = [_status(event, fmt)] if day is None else _when(event, body, fmt)
    venue = fmt.bidi_isolate(event.venue.name or "") if event.venue else ""
    where = venue if venue and not holiday else category_name(event, fmt)
    weight = STAY_WEIGHT if day is None else event.rank or 0
    return BriefItem(
        name=fmt.bidi_isolate(event.title),
        details=[text for text in (when, *times, where, _doubt(event, fmt)) if text],
        url=event.url or "",
        icon=event.category,
        weight=HOLIDAY_WEIGHT if holiday else weight,
    )


def headline(body: EventsBody, fmt: Formatter) -> str:
    """Return one sentence: a holiday first, else what lasts throughout, else how many.

    An uncertain event is only counted: the guest may not meet it.
    """
    holiday = next((e for e in body.events if _is_sure_holiday(e)), None)
    others = [e for e in body.events if not _is_sure_holiday(e)]
    whole = next((e for e in others if covers_stay(e, body) and not e.uncertain), None)
    count = len(others) + sum(body.omitted.values())
    shown = fmt.number(count)
    if holiday is None and whole is None:
        text = fmt.ngettext(
            "{count} event during the stay.", "{count} events during the stay.", count
        )
        return text.format(count=shown)
    clauses = [_holiday(holiday, body, fmt)] if holiday else []
    if whole is not None and whole.category != "school_holiday":
        clauses.append(
            fmt.gettext("{title} all through the stay").format(title=fmt.bidi_isolate(whole.title))
        )
    elif count:
        text = fmt.ngettext("{count} event", "{count} events", count)
        if holiday is not None:
            text = fmt.ngettext("{count} more event", "{count} more events", count)
        clauses.append(text.format(count=shown))
    if len(clauses) == 1:
        return fmt.gettext("{sentence}.").format(sentence=clauses[0])
    return fmt.gettext("{first}; {second}.").format(first=clauses[0], second=clauses[1])


def _holiday(event: Event, body: EventsBody, fmt: Formatter) -> str:
    day = max(day_of(event.start), body.stay.start)
    if day_of(event.start) == body.stay.end and body.stay.start != body.stay.end:
        text = fmt.gettext("{title} on the day you leave")
    elif day_of(event.start) == body.stay.start and body.stay.start != body.stay.end:
        text = fmt.gettext("{title} on the day you arrive")
    else:
        text = fmt.gettext("{title} on {date}")
    return text.format(title=fmt.bidi_isolate(event.title), date=fmt.day(day))


def covers_stay(event: Event, body: EventsBody) -> bool:
    """Whether it covers the whole of a stay of several days."""
    first, last = day_of(event.start), day_of(event.end or event.start)
    return first <= body.stay.start and last >= body.stay.end and body.stay.start < body.stay.end


def _meta(event: Event, body: EventsBody, fmt: Formatter, *, whole_stay: bool) -> str:
    """Kind, time, venue, distance, price, as far as they are known."""
    if event.category == "public_holiday":
        return _public_holiday(event, fmt)
    parts = [_status(event, fmt)] if whole_stay else _when(event, body, fmt)
    if event.venue is not None:
        parts.append(fmt.bidi_isolate(event.venue.name or ""))
        if event.venue.distance is not None:
            parts.append(fmt.distance(event.venue.distance, body.units.distance))
    parts += [_price(event, fmt), _doubt(event, fmt)]
    known = [part for part in parts if part]
    if event.venue is None or len(known) < 2:
        known.insert(0, category_name(event, fmt))
    return "\u00a0· ".join(known)


def _doubt(event: Event, fmt: Formatter) -> str:
    """Say that only parts of the country observe it, perhaps not the one around the point."""
    return fmt.gettext("in parts of the country") if event.uncertain else ""


def _public_holiday(event: Event, fmt: Formatter) -> str:
    text = fmt.gettext("Public holiday. Shops and banks may close.")
    if event.uncertain:
        text = fmt.gettext("Public holiday in parts of the country.")
    elif event.regions:
        text = fmt.gettext("Public holiday in this region. Shops and banks may close.")
    if event.status != "estimated":
        return text
    date = fmt.gettext("Date estimated")
    return fmt.join_sentences([text, fmt.gettext("{sentence}.").format(sentence=date)])


def _when(event: Event, body: EventsBody, fmt: Formatter) -> list[str]:
    """Its times, with "About" before those that a provider estimates, or its last date."""
    until, hours = _until(event, body, fmt), _hours(event, fmt)
    if hours and not until and event.status == "estimated":
        return [fmt.gettext("About {time}").format(time=hours)]
    return [_status(event, fmt), until or hours]


def _status(event: Event, fmt: Formatter) -> str:
    """That it is postponed, or its date estimated."""
    if event.status == "postponed":
        return fmt.gettext("Postponed")
    return fmt.gettext("Date estimated") if event.status == "estimated" else ""


def _until(event: Event, body: EventsBody, fmt: Formatter) -> str:
    first, last = day_of(event.start), day_of(event.end or event.start)
    dates_only = event.end is not None and _moment(event.end) is None
    if last > first and (dates_only or (last - first).days > 1):
        shown = min(last, date(body.stay.end.year + 1, 12, 31))
        return fmt.gettext("until {date}").format(date=fmt.date_short(shown))
    return ""


def _hours(event: Event, fmt: Formatter) -> str:
    start = _moment(event.start)
    if start is None or event.all_day:
        return ""
    end = _moment(event.end) if event.end else None
    if end is not None and end.date() == start.date() and end > start:
        return fmt.times(start, end)
    return fmt.time(start)


def _price(event: Event, fmt: Formatter) -> str:
    if event.price is None:
        return ""
    if event.price.min == 0 and not event.price.max:
        return fmt.gettext("free")
    if event.price.min is None or event.price.currency is None:
        return ""
    amount = fmt.money(event.price.min, event.price.currency)
    return fmt.gettext("from {price}").format(price=amount).replace(" ", "\u00a0")


def category_name(event: Event, fmt: Formatter) -> str:
    """The category in fmt."""
    return {
        "public_holiday": fmt.gettext("Public holiday"),
        "school_holiday": fmt.gettext("School holidays"),
        "observance": fmt.gettext("Observance"),
        "concert": fmt.gettext("Concert"),
        "festival": fmt.gettext("Festival"),
        "sport": fmt.gettext("Sport"),
        "performing_arts": fmt.gettext("Stage"),
        "exhibition": fmt.gettext("Exhibition"),
        "conference": fmt.gettext("Conference"),
        "community": fmt.gettext("Community"),
        "other": fmt.gettext("Event"),
    }[event.category]


def day_of(text: str) -> date:
    """The local date of an event's start or end."""
    return date.fromisoformat(text[:10])


def _moment(text: str) -> datetime | None:
    """The moment a text names; None when it is a date."""
    return datetime.fromisoformat(text) if "T" in text else None


def footnote(body: EventsBody, fmt: Formatter, names: Mapping[str, str]) -> str:
    """What is not listed, and which providers gave less than they have; empty if none did.

    A provider without a name for guests is never named.
    """

    def named(status: CoverageStatus) -> list[str]:
        found = (names.get(one.provider) for one in body.coverage if one.status == status)
        return [name for name in found if name]

    sentences = []
    if omitted := sum(body.omitted.values()):
        text = fmt.ngettext(
            "{count} more event is not listed.", "{count} more events are not listed.", omitted
        )
        sentences.append(text.format(count=fmt.number(omitted)))
    if partial := named("partial"):
        text = fmt.gettext("Not read in full: {providers}.")
        sentences.append(text.format(providers=fmt.join_list(partial)))
    if unreachable := named("unavailable"):
        text = fmt.gettext("Not reached just now: {providers}.")
        sentences.append(text.format(providers=fmt.join_list(unreachable)))
    return fmt.join_sentences(sentences)
