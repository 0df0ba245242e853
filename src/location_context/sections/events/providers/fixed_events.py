"""FixedEvents: made-up events for test keys, near any point on land."""

from datetime import date, datetime, time, timedelta

from location_context.point import Point
from location_context.sections.contract import Query
from location_context.sections.events.providers.base import EventProvider, ProviderResult
from location_context.sections.events.records import Place, ProviderEvent, When
from location_context.sections.events.response import Price
from location_context.upstream.deadline import Deadline


class FixedEvents(EventProvider):
    """A provider of one made-up concert each evening, for test keys.

    If `failing`, it acts like a provider that does not answer.
    """

    name = "test"

    def __init__(self, *, failing: bool) -> None:
        self._failing = failing

    async def fetch_events(self, query: Query, deadline: Deadline) -> ProviderResult:
        """Return a made-up concert for each day of the stay; no concerts at sea or if `failing`."""
        del deadline
        if self._failing:
            return ProviderResult("unavailable")
        if query.point.country is None:
            return ProviderResult("not_covered")
        return ProviderResult("ok", [_concert(day, query.point) for day in query.dates.dates()])


def _concert(day: date, point: Point) -> ProviderEvent:
    start = datetime.combine(day, time(20), point.zone)
    return ProviderEvent(
        id=f"concert-{day}",
        source=FixedEvents.name,
        title="Test concert",
        category="concert",
        start=When.of(start),
        end=When.of(start + timedelta(hours=2)),
        place=Place(name="Test hall", address="1 Test Street", lat=point.lat, lng=point.lng),
        price=Price(min=20.0, max=45.0, currency="EUR"),
        url="https://example.org/concert",
    )
