"""The events card: what goes on, by date; what covers the whole stay comes first as a range."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from location_context.localisation.formatter import EN_DASH, NO_BREAK, Formatter
from location_context.sections.events.card import text
from location_context.sections.events.response import Event, EventsBody

MAX_IN_VIEW = 8


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
    dates: Sequence[DateView]
    more: Sequence[DateView]
    more_label: str
    footnote: str


@dataclass(frozen=True)
class _Placed:
    """An event with the date it is listed under; None when it covers the whole stay."""

    event: Event
    under: date | None


def card(body: EventsBody, fmt: Formatter) -> Card:
    """The card of a response."""
    placed = sorted((_place(event, body) for event in body.events), key=_listing_order)
    shown = _in_view(placed)
    hidden = [one for one in placed if one not in shown]
    label = fmt.ngettext("{count} more event", "{count} more events", len(hidden))
    return Card(
        lead=text.headline(body, fmt),
        dates=_dates(shown, body, fmt),
        more=_dates(hidden, body, fmt),
        more_label=label.format(count=fmt.number(len(hidden))),
        footnote=text.footnote(body, fmt),
    )


def _place(event: Event, body: EventsBody) -> _Placed:
    if text.covers_stay(event, body):
        return _Placed(event, None)
    return _Placed(event, max(text.day_of(event.start), body.stay.start))


def _listing_order(one: _Placed) -> tuple[bool, date]:
    return (one.under is not None, one.under or date.min)


def _in_view(placed: Sequence[_Placed]) -> list[_Placed]:
    """Eight at most: holidays and each date's first before the others, in their order."""
    seen: Counter[date | None] = Counter()
    ranks = []
    for number, one in enumerate(placed):
        holiday = one.event.category == "public_holiday"
        ranks.append((0 if holiday else 1, seen[one.under], number))
        seen[one.under] += 1
    chosen = {number for *_, number in sorted(ranks)[:MAX_IN_VIEW]}
    return [one for number, one in enumerate(placed) if number in chosen]


def _dates(placed: Sequence[_Placed], body: EventsBody, fmt: Formatter) -> list[DateView]:
    days = list(dict.fromkeys(one.under for one in placed))
    return [
        _date(day, [one.event for one in placed if one.under == day], body, fmt) for day in days
    ]


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
    spoken = f"{above}, {span}"
    return DateView(above=above, day=day, below="", spoken=spoken, months=months, events=views)


def _event(event: Event, day: date | None, body: EventsBody, fmt: Formatter) -> EventView:
    return EventView(
        title=fmt.bidi_isolate(event.title),
        url=event.url or "",
        icon=event.category,
        meta=text.meta(event, body, fmt, whole_stay=day is None),
        holiday=event.category == "public_holiday",
    )
