"""`/v1/pulse.ics`: events and sky highlights of a stay as a calendar; also events as JSON-LD.

Times are in UTC, so that every program shows the same instant. If a section is unavailable, the
answer is an error: programs would delete the entries that an incomplete calendar lacks.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from location_context.errors import UpstreamUnavailable
from location_context.exchange import Exchange, Route
from location_context.freshness import Freshness
from location_context.localisation.formatter import Formatter
from location_context.parameters import CALENDAR, DEFAULT_ACCENT, DEFAULT_RADIUS, Parameters, parse
from location_context.sections.cached_section import CachedSection
from location_context.sections.card import CardContext, Entry
from location_context.sections.contract import Applicable, Query
from location_context.sections.section import Section
from location_context.service import Service, chosen, read_pulse
from location_context.settings import Settings
from location_context.upstream.deadline import Deadline
from location_context.widget import content, embedding
from location_context.widget.render import FRAME_HEADERS, NEGOTIATED

PATH = "/v1/pulse.ics"
MAX_STRUCTURED = 10  # events as JSON-LD on a page, so that the page fits into one round trip
UNDATED = datetime(2026, 1, 1, tzinfo=UTC)  # DTSTAMP of computed entries, which never change


@dataclass(frozen=True, kw_only=True)
class Group:
    """The calendar entries of one section, and the answer (`body`) that they were made from."""

    section: str
    body: Applicable
    entries: Sequence[Entry]


def route(service: Service) -> Route:
    """Return the route of `/v1/pulse.ics`."""
    listed = [one for one in service.sections if has_calendar(one)]
    handle = partial(_handle, service, listed)
    return Route(PATH, handle, sections=[one.section for one in listed])


def has_calendar(cached: CachedSection) -> bool:
    """Return True if the section provides calendar entries."""
    return type(cached.section).calendar is not Section.calendar


def address(settings: Settings, given: Parameters) -> str:
    """Return the URL of the calendar with the place and stay of a widget's parameters."""
    plain = replace(
        given, units="metric", theme="light", accent=DEFAULT_ACCENT, layout=None,
        background="surface", font="system", radius=DEFAULT_RADIUS, title="show",
    )  # fmt: skip
    return embedding.public_url(settings, f"{PATH}?{embedding.widget_query(plain)}")


async def _handle(service: Service, listed: Sequence[CachedSection], request: Exchange) -> Response:
    given = parse(request.query, CALENDAR, service.languages, service.choices)
    language = given.language or service.languages.accept(request.accept_language)
    point, now = service.gazetteer.point(given.lat, given.lng), service.clock()
    request.near = f"{point.lat:.1f},{point.lng:.1f}"
    stay = given.stay_from(point.today(now))
    query = Query(point, stay, given.units, language, given.guide, public=True)
    sections = [one for one in chosen(service.sections, given.sections) if one in listed]
    deadline = Deadline(request.arrived_at + service.settings.widget_deadline)
    pulse = await read_pulse(sections, query, deadline)
    if pulse.missing:
        named = ", ".join(f"{name} ({why})" for name, why in pulse.missing.items())
        raise UpstreamUnavailable(
            f"The calendar is not available now: these sections have no data: {named}.", 5
        )
    request.cache = query.read_as
    request.freshness = Freshness.of(pulse.results.values(), "public")
    if given.days:
        midnight = point.next_midnight(now).timestamp()
        request.freshness = request.freshness.until(midnight)
    fmt = Formatter(language)
    head = content.header(given, query.dates, point, fmt)
    found = groups(sections, pulse.bodies, CardContext(fmt=fmt, now=now))
    host = urlsplit(service.settings.public_url).hostname or "localhost"
    headers = {
        "Content-Language": language.tag,
        "Content-Disposition": f'attachment; filename="stay-{query.dates.start}.ics"',
        **FRAME_HEADERS,
        **({} if given.language else NEGOTIATED),
    }
    body = encode(found, f"{head.place}, {head.dates}", host, query)
    return Response(body, 200, headers, media_type="text/calendar; charset=utf-8")


def groups(
    sections: Iterable[CachedSection], bodies: Mapping[str, Applicable], context: CardContext
) -> list[Group]:
    """Return the calendar entries of every section with an answer in `bodies`."""
    return [
        Group(section=one.name, body=body, entries=one.section.calendar(body, context))
        for one in sections
        if (body := bodies.get(one.name))
    ]


def encode(found: Iterable[Group], name: str, host: str, query: Query) -> bytes:
    """Return the calendar as iCalendar text, with the title `name`; each UID ends with `@host`.

    A calendar without entries contains the time zone of `query`, because RFC 5545 requires content.
    """
    import icalendar  # noqa: PLC0415  large, takes 0.1 s

    calendar = icalendar.Calendar()
    calendar.add("prodid", "-//Location Context//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", name)
    for group in found:
        notices = "\n".join(one.text for one in group.body.attribution)
        zone, stamp = ZoneInfo(group.body.point.timezone), group.body.as_of or UNDATED
        for entry in group.entries:
            start, end = span(entry, zone)
            event = icalendar.Event()
            digest = hashlib.blake2b(entry.id.encode(), digest_size=12).hexdigest()
            event.add("uid", f"{group.section}-{digest}@{host}")  # hashed: ids are arbitrary text
            event.add("dtstamp", stamp.astimezone(UTC).replace(microsecond=0))
            event.add("dtstart", start)
            if end is not None:
                event.add("dtend", end)
            event.add("summary", entry.title)
            event.add("description", "\n\n".join(one for one in (entry.text, notices) if one))
            if entry.place:
                event.add("location", entry.place)
            if entry.position:
                event.add("geo", entry.position)
            if entry.url:
                event.add("url", entry.url)
            event.add("status", "CONFIRMED" if entry.settled else "TENTATIVE")
            event.add("transp", "TRANSPARENT")  # does not mark the guest as busy
            calendar.add_component(event)
    if not calendar.subcomponents:  # RFC 5545 wants one
        zone_id, stay = query.point.timezone, query.dates
        calendar.add_component(
            icalendar.Timezone.from_tzid(zone_id, first_date=stay.start, last_date=stay.end)
        )
    return bytes(calendar.to_ical())


def span(entry: Entry, zone: ZoneInfo) -> tuple[date | datetime, date | datetime | None]:
    """Return an entry's start and exclusive end (None: unknown): dates, or times in UTC."""
    start, end = entry.start, entry.end
    if not isinstance(start, datetime):
        last = end.astimezone(zone).date() if isinstance(end, datetime) else end
        return start, max(start, last or start) + timedelta(days=1)
    if end is None:
        return start.astimezone(UTC), None
    if not isinstance(end, datetime):
        end = datetime.combine(end + timedelta(days=1), time(), zone)
    return start.astimezone(UTC), end.astimezone(UTC) if end > start else None


def structured(found: Iterable[Group]) -> Markup:
    """Return a script block of JSON-LD with up to ten events that have a venue, or empty text."""
    events = [_structured(one) for group in found for one in group.entries if one.place]
    if not events:
        return Markup("")
    data = msgspec.json.encode(
        {"@context": "https://schema.org", "@graph": events[:MAX_STRUCTURED]}
    )
    text = data.decode().replace("<", "\\u003c")  # so that no title can close the script block
    return Markup(f'<script type="application/ld+json">{text}</script>')  # noqa: S704  see above


def _structured(entry: Entry) -> dict[str, Any]:
    event = {"@type": "Event", "name": entry.title, "startDate": entry.start}
    if entry.end:
        event["endDate"] = entry.end
    event["location"] = {"@type": "Place", "name": entry.place}
    if entry.url:
        event["url"] = entry.url
    if entry.price and entry.price[0] is not None and entry.price[2]:
        low, _, currency = entry.price
        event["offers"] = {"@type": "Offer", "price": low, "priceCurrency": currency}
    return event
