"""The events card: what goes on, by date; what covers the whole stay comes first as a range."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from location_context.localisation.formats import EN_DASH, NO_BREAK
from location_context.sections.events.card.footnote import footnote
from location_context.sections.events.card.words import day_of, lead, meta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.localisation.formats import Formats
    from location_context.sections.events.response import Event, EventsBody

IN_VIEW = 8


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


def card(body: EventsBody, words: Formats) -> Card:
    """The card of an answer."""
    placed = sorted((_place(event, body) for event in body.events), key=_first_whole_then_date)
    shown = _in_view(placed)
    rest = [one for one in placed if one not in shown]
    more = len(rest) + sum(body.omitted.values())
    label = words.ngettext("{count} more event", "{count} more events", len(rest))
    return Card(
        lead=lead(body, words),
        dates=_dates(shown, body, words),
        more=_dates(rest, body, words),
        more_label=label.format(count=words.number(len(rest))),
        footnote=footnote(body, more - len(rest), words),
    )


def _place(event: Event, body: EventsBody) -> _Placed:
    start, end = day_of(event.start), day_of(event.end or event.start)
    if start <= body.stay.start and end >= body.stay.end and body.stay.start < body.stay.end:
        return _Placed(event, None)
    return _Placed(event, max(start, body.stay.start))


def _first_whole_then_date(one: _Placed) -> tuple[bool, date]:
    return (one.under is not None, one.under or date.min)


def _in_view(placed: Sequence[_Placed]) -> list[_Placed]:
    """Eight at most: holidays and each date's first before the others, in their order."""
    seen: Counter[date | None] = Counter()
    ranks = []
    for number, one in enumerate(placed):
        holiday = one.event.category == "public_holiday"
        ranks.append((0 if holiday else 1, seen[one.under], number))
        seen[one.under] += 1
    chosen = {number for *_, number in sorted(ranks)[:IN_VIEW]}
    return [one for number, one in enumerate(placed) if number in chosen]


def _dates(placed: Sequence[_Placed], body: EventsBody, words: Formats) -> list[DateView]:
    days = list(dict.fromkeys(one.under for one in placed))
    return [
        _date(day, [one.event for one in placed if one.under == day], body, words) for day in days
    ]


def _date(day: date | None, events: Sequence[Event], body: EventsBody, words: Formats) -> DateView:
    views = [_event(event, day, body, words) for event in events]
    if day is None:
        return _whole(views, body, words)
    below = ""
    if day == body.stay.start:
        below = words.gettext("Arrive")
    elif day == body.stay.end:
        below = words.gettext("Leave")
    spoken = ", ".join(text for text in (words.date_long(day), below) if text)
    return DateView(
        above=words.weekday(day), day=str(day.day), below=below, spoken=spoken, events=views
    )


def _whole(views: Sequence[EventView], body: EventsBody, words: Formats) -> DateView:
    """The range of the stay; over two months it may break after its dash."""
    first, last = body.stay.start, body.stay.end
    span, above = words.span(first, last), words.gettext("Whole stay")
    months = (first.year, first.month) != (last.year, last.month)
    day = span.replace(NO_BREAK, " ").replace(EN_DASH, "–") if months else span
    spoken = f"{above}, {span}"
    return DateView(above=above, day=day, below="", spoken=spoken, months=months, events=views)


def _event(event: Event, day: date | None, body: EventsBody, words: Formats) -> EventView:
    return EventView(
        title=words.isolated(event.title),
        url=event.url or "",
        icon=event.category,
        meta=meta(event, body, words, whole=day is None),
        holiday=event.category == "public_holiday",
    )
