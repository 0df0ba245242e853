"""Made-up events: a week in San Sebastián, one row each, moved to the dates of any stay."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from location_context.sections import registry
from location_context.sections.contract import Query, StayBody, point_notices
from location_context.sections.events.providers.base import EventProvider
from location_context.sections.events.response import (
    Category,
    Coverage,
    Event,
    EventsBody,
    EventStatus,
    Price,
    Venue,
)
from location_context.sections.units import Measure
from tests.widget.samples.place import point_of

FREE, EIGHTEEN = (Price(min=least, max=most, currency="EUR") for least, most in ((0, 0), (18, 60)))
LAST = 999
PROVIDERS = registry.load(registry.EVENT_PROVIDERS, EventProvider)
ATTRIBUTIONS = [one.attribution for one in PROVIDERS if one.attribution]


class Row(NamedTuple):
    """An event on a day of the stay, counted from its first; times as `19:00` or `10:00-20:00`."""

    day: int
    title: str
    category: Category
    hours: str = ""
    venue: str | None = None
    km: float | None = None
    price: Price | None = None
    status: EventStatus = "confirmed"
    url: str | None = None


WHOLE = Row(0, "Aste Nagusia, the Big Week", "festival")
ORCHESTRA = "https://kursaal.example/obn"
PROGRAMME = (
    WHOLE,
    Row(0, "Opening cannon shot", "community", "19:00", "Alde Eder", 0.4),
    Row(1, "Fireworks contest", "festival", "22:45", "La Concha", 0.25),
    Row(3, "Basque National Orchestra", "concert", "20:00", "Kursaal", 1.3, EIGHTEEN,
        url=ORCHESTRA),
    Row(4, "Perseids from Monte Urgull", "community", "23:00", None, 0.9, FREE),
    Row(5, "Summer show, San Telmo", "exhibition", "10:00-20:00", "San Telmo Museoa", 0.5),
    Row(6, "Basque rural sports day", "sport", "12:00", "Plaza", 0.6),
    Row(LAST, "Assumption Day", "public_holiday"),
    Row(LAST, "Real Sociedad, league match", "sport", "21:30", "Anoeta", 2.4, status="estimated"),
    Row(3, "Jazz on the terrace", "concert", "21:00", "Koldo", 0.7),
    Row(4, "Night market", "community", "19:30", "Gros", 1.1),
    Row(5, "Theatre in Basque: Amets", "performing_arts", "20:30", "Victoria Eugenia", 1.0,
        status="postponed"),
)  # fmt: skip


def events(query: Query) -> EventsBody:
    stay, measure = query.stay, Measure(query.units)
    assert stay is not None
    found = [_event(query, row) for row in PROGRAMME]
    return EventsBody(
        point=point_of(query),
        units=measure.body,
        as_of=datetime(2026, 11, 20, 6, 10, tzinfo=UTC),
        stale=False,
        attribution=[*ATTRIBUTIONS, *point_notices(query.point)],
        stay=StayBody(start=stay.start, end=stay.end),
        radius=measure.distance(25.0) or 0.0,
        events=sorted(found, key=lambda e: e.start[:10]),
        omitted={"concert": 2},
        coverage=[
            Coverage(provider="holidays", status="ok"),
            Coverage(provider="ticketmaster", status="not_configured"),
        ],
    )


def _event(query: Query, row: Row) -> Event:
    stay = query.stay
    assert stay is not None
    date = stay.start + timedelta(days=min(row.day, stay.days - 1))
    start, _, end = (f"{date}T{at}:00+02:00" if at else "" for at in row.hours.partition("-"))
    distance = Measure(query.units).distance(row.km)
    where = Venue(name=row.venue, address=None, lat=None, lng=None, distance=distance)
    return Event(
        id=f"{row.title}-{row.day}",
        title=row.title,
        category=row.category,
        start=start or f"{date}",
        end=f"{stay.end}" if row is WHOLE else end or None,
        all_day=not row.hours,
        overlaps=["stay"],
        status=row.status,
        venue=where if row.venue or row.km else None,
        scope="point",
        regions=[],
        uncertain=False,
        rank=50,
        url=row.url,
        image=None,
        price=row.price,
        sources=["Sample"],
    )
