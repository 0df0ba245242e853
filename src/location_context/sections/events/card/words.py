"""The words of the events card: its sentence and the line under each event."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from location_context.localisation.formats import Formats
    from location_context.sections.events.response import Event, EventsBody


def lead(body: EventsBody, words: Formats) -> str:
    """One sentence: a holiday first, else what lasts throughout, else how many."""
    said = []
    holiday = next((e for e in body.events if e.category == "public_holiday"), None)
    if holiday is not None:
        said.append(_holiday(holiday, body, words))
    others = [e for e in body.events if e.category != "public_holiday"]
    whole = next((e for e in others if _throughout(e, body)), None)
    if whole is not None and whole.category != "school_holiday":
        said.append(
            words.gettext("{title} all through the stay").format(title=words.isolated(whole.title))
        )
        others.remove(whole)
    elif others:
        text = words.ngettext("{count} event", "{count} events", len(others))
        if holiday is not None:
            text = words.ngettext("{count} more event", "{count} more events", len(others))
        said.append(text.format(count=len(others)))
    if holiday is None and whole is None:
        text = words.ngettext(
            "{count} event during the stay.", "{count} events during the stay.", len(others)
        )
        return text.format(count=len(others))
    if len(said) == 1:
        return words.gettext("{sentence}.").format(sentence=said[0])
    return words.gettext("{first}; {second}.").format(first=said[0], second=said[1])


def _holiday(event: Event, body: EventsBody, words: Formats) -> str:
    day = max(day_of(event.start), body.stay.start)
    if day_of(event.start) == body.stay.end and body.stay.start != body.stay.end:
        text = words.gettext("{title} on the day you leave")
    elif day_of(event.start) == body.stay.start and body.stay.start != body.stay.end:
        text = words.gettext("{title} on the day you arrive")
    else:
        text = words.gettext("{title} on {date}")
    return text.format(title=words.isolated(event.title), date=words.day(day))


def _throughout(event: Event, body: EventsBody) -> bool:
    first, last = day_of(event.start), day_of(event.end or event.start)
    return first <= body.stay.start and last >= body.stay.end and body.stay.start < body.stay.end


def meta(event: Event, body: EventsBody, words: Formats, *, whole: bool) -> str:
    """Kind, time, venue, distance, price, as far as they are known."""
    if event.category == "public_holiday":
        return _closed(event, body, words)
    parts = [_status(event, words)] if whole else _when(event, body, words)
    if event.venue is not None:
        parts.append(words.isolated(event.venue.name or ""))
        if event.venue.distance is not None:
            parts.append(words.distance(event.venue.distance, body.units.distance))
    parts.append(_price(event, words))
    known = [part for part in parts if part]
    if event.venue is None or len(known) < 2:
        known.insert(0, kind(event, words))
    return "\u00a0· ".join(known)


def _closed(event: Event, body: EventsBody, words: Formats) -> str:
    text = words.gettext("Public holiday. Shops and banks may close.")
    if body.point.region in event.regions:
        text = words.gettext("Public holiday in this region. Shops and banks may close.")
    elif event.regions:
        text = words.gettext("Public holiday in parts of the country.")
    return _estimated(text, event, words)


def _estimated(text: str, event: Event, words: Formats) -> str:
    if event.status != "estimated":
        return text
    date = words.gettext("Date estimated")
    return words.sentences([text, words.gettext("{sentence}.").format(sentence=date)])


def _when(event: Event, body: EventsBody, words: Formats) -> list[str]:
    """Its times, with "About" before those that a provider estimates, or its last date."""
    until, hours = _until(event, body, words), _hours(event, words)
    if hours and not until and event.status == "estimated":
        return [words.gettext("About {time}").format(time=hours)]
    return [_status(event, words), until or hours]


def _status(event: Event, words: Formats) -> str:
    """What is not settled, in words."""
    if event.status == "postponed":
        return words.gettext("Postponed")
    return words.gettext("Date estimated") if event.status == "estimated" else ""


def _until(event: Event, body: EventsBody, words: Formats) -> str:
    first, last = day_of(event.start), day_of(event.end or event.start)
    dates_only = event.end is not None and _moment(event.end) is None
    if last > first and (dates_only or (last - first).days > 1):
        return words.gettext("until {date}").format(date=words.date_short(min(last, _far(body))))
    return ""


def _hours(event: Event, words: Formats) -> str:
    start = _moment(event.start)
    if start is None or event.all_day:
        return ""
    end = _moment(event.end) if event.end else None
    if end is not None and end.date() == start.date() and end > start:
        return words.times(start, end)
    return words.time(start)


def _far(body: EventsBody) -> date:
    return date(body.stay.end.year + 1, 12, 31)


def _price(event: Event, words: Formats) -> str:
    if event.price is None:
        return ""
    if event.price.min == 0 and not event.price.max:
        return words.gettext("free")
    if event.price.min is None or event.price.currency is None:
        return ""
    amount = words.money(event.price.min, event.price.currency)
    return words.gettext("from {price}").format(price=amount).replace(" ", "\u00a0")


def kind(event: Event, words: Formats) -> str:
    """The category in words."""
    return {
        "public_holiday": words.gettext("Public holiday"),
        "school_holiday": words.gettext("School holidays"),
        "observance": words.gettext("Observance"),
        "concert": words.gettext("Concert"),
        "festival": words.gettext("Festival"),
        "sport": words.gettext("Sport"),
        "performing_arts": words.gettext("Stage"),
        "exhibition": words.gettext("Exhibition"),
        "conference": words.gettext("Conference"),
        "community": words.gettext("Community"),
        "other": words.gettext("Event"),
    }[event.category]


def day_of(text: str) -> date:
    """The local date of an event's start or end."""
    return date.fromisoformat(text[:10])


def _moment(text: str) -> datetime | None:
    """The moment a text names; None when it is a date."""
    return datetime.fromisoformat(text) if "T" in text else None
