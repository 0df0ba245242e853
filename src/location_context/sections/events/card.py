"""The card: the part of the widget that shows events.

Each event is a `Moment` on its day. Public holidays are also a `Fact`, which is shown more
prominently.
"""

from datetime import date, datetime

from location_context.localisation.formatter import Formatter
from location_context.sections.card import Card, Entry, Fact, Moment
from location_context.sections.events.response import Event, EventsBody

MONTH = 28  # days within which "Wed 12" can mean only one date

_Placed = tuple[date | None, Event]  # date under which the event is listed; None: the whole stay


def card(body: EventsBody, fmt: Formatter, today: date) -> Card:
    """Return the widget's card: a moment for each event, and a fact for the public holidays."""
    return Card(
        facts=[one for one in (_holidays(body, fmt, today),) if one],
        moments=[_moment_of(event, day, body, fmt) for day, event in _placed(body)],
    )


def entries(body: EventsBody, fmt: Formatter) -> list[Entry]:
    """Return each event as an entry for the guest's calendar."""
    return [_entry(event, fmt) for event in body.events]


def _entry(event: Event, fmt: Formatter) -> Entry:
    venue, price = event.venue, event.price
    named = [part for part in (venue.name, venue.address) if part] if venue else []
    lat, lng = (venue.lat, venue.lng) if venue else (None, None)
    notes = (_status(event, fmt), category_name(event, fmt), _price(event, fmt), _doubt(event, fmt))
    return Entry(
        id=event.id,
        title=event.title,
        start=_moment(event.start) or day_of(event.start),
        end=(_moment(event.end) or day_of(event.end)) if event.end else None,
        text=" · ".join(note for note in notes if note),
        place=", ".join(named),
        position=None if lat is None or lng is None else (lat, lng),
        url=event.url or "",
        settled=event.status == "confirmed",
        price=(price.min, price.max, price.currency) if price else None,
    )


def _moment_of(event: Event, day: date | None, body: EventsBody, fmt: Formatter) -> Moment:
    lasts = day is None or bool(_until(event, body, fmt)) or event.category == "school_holiday"
    return Moment(
        day=day,
        title=fmt.bidi_isolate(event.title),
        text=_meta(event, body, fmt, whole_stay=day is None),
        icon=event.category,
        url=event.url or "",
        id=event.id,
        kind="holiday" if _is_sure_holiday(event) else "lasting" if lasts else "event",
        weight=event.rank or 0,
    )


def _holidays(body: EventsBody, fmt: Formatter, today: date) -> Fact | None:
    """Return a fact that names the stay's public holidays from today on; None if there are none."""
    sure = [one for one in body.events if _is_sure_holiday(one)]
    days = {max(day_of(one.start), body.stay.start): one for one in sure}
    left = {day: one for day, one in sorted(days.items()) if day >= today}
    if not left:
        return None
    is_long = (body.stay.end - body.stay.start).days >= MONTH
    name = fmt.date_short if is_long else fmt.day
    dates = fmt.join_list([name(day) for day in left])
    value, caption = dates, fmt.gettext("{title}: shops may close")
    title = fmt.bidi_isolate(next(iter(left.values())).title)
    if len(left) > 1:
        count = fmt.ngettext("{count} holiday", "{count} holidays", len(left))
        value, title = count.format(count=fmt.number(len(left))), dates
    return Fact(
        value=value,
        caption=caption.format(title=title),
        icon="public_holiday",
        tone="sun",
        weight=80,
    )


def _placed(body: EventsBody) -> list[_Placed]:
    """Return each event with the date under which to list it, in order of date.

    For events that cover the whole stay the date is None; these events come first.
    """
    placed = [
        (None if covers_stay(one, body) else max(day_of(one.start), body.stay.start), one)
        for one in body.events
    ]
    return sorted(placed, key=lambda one: (one[0] is not None, one[0] or date.min))


def _is_sure_holiday(event: Event) -> bool:
    """Return True for a public holiday that is certainly observed at the point."""
    return event.category == "public_holiday" and not event.uncertain


def covers_stay(event: Event, body: EventsBody) -> bool:
    """Return True if the event lasts from the first to the last day of the stay.

    For a stay of a single day, return False.
    """
    first, last = day_of(event.start), day_of(event.end or event.start)
    return first <= body.stay.start and last >= body.stay.end and body.stay.start < body.stay.end


def _meta(event: Event, body: EventsBody, fmt: Formatter, *, whole_stay: bool) -> str:
    """Return the line below an event's title: time, place and price, as far as known.

    If none of them is known, the line is the category. For a public holiday, the line says instead
    that shops may close, or that only parts of the country have the holiday.
    """
    if event.category == "public_holiday":
        return _public_holiday(event, fmt)
    parts = [_status(event, fmt)] if whole_stay else _when(event, body, fmt)
    if event.venue is not None and event.venue.name:
        parts.append(fmt.bidi_isolate(event.venue.name))
    elif event.venue is not None and event.venue.distance is not None:
        parts.append(fmt.distance(event.venue.distance, body.units.distance))
    parts += [_price(event, fmt), _doubt(event, fmt)]
    known = [part for part in parts if part]
    return "\u00a0· ".join(known or [category_name(event, fmt)])


def _doubt(event: Event, fmt: Formatter) -> str:
    """Return a note if it is uncertain that the point observes the event; otherwise ""."""
    return fmt.gettext("in parts of the country") if event.uncertain else ""


def _public_holiday(event: Event, fmt: Formatter) -> str:
    text = fmt.gettext("shops and banks may close")
    if event.uncertain:
        text = fmt.gettext("holiday in parts of the country")
    estimated = fmt.gettext("Date estimated") if event.status == "estimated" else ""
    return "\u00a0· ".join(part for part in (estimated, text) if part)


def _when(event: Event, body: EventsBody, fmt: Formatter) -> list[str]:
    """Return two texts: the status, and the hours or (for an event of several days) the last date.

    For an estimated event with times, return one text instead, such as "About 20:00".
    """
    until, hours = _until(event, body, fmt), _hours(event, fmt)
    if hours and not until and event.status == "estimated":
        return [fmt.gettext("About {time}").format(time=hours)]
    return [_status(event, fmt), until or hours]


def _status(event: Event, fmt: Formatter) -> str:
    """Return "Postponed" or "Date estimated" in the visitor's language; "" if confirmed."""
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
    """Return the name of the event's category in the visitor's language."""
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
    """Return the local date in `text`, the ISO 8601 start or end of an event in the response."""
    return date.fromisoformat(text[:10])


def _moment(text: str) -> datetime | None:
    """Return the date and time in `text`, an event's start or end; None if it is only a date."""
    return datetime.fromisoformat(text) if "T" in text else None
