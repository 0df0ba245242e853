"""Read a calendar in tests: its dates and its zone."""

from datetime import date
from typing import Any

from location_context.sections.events.imports.reading import Format, RejectedEntry, Task
from location_context.sections.events.records import Calendar, ProviderEvent


def task(first: date, last: date, timezone: str, format_: Format = "ics", **more: Any) -> Task:
    """Return what is to be read of a calendar for Germany between two dates."""
    given: dict[str, Any] = {"id": "cal_test", "kind": "import", "source": "x", "country": "DE"}
    return Task(Calendar(**given | {"timezone": timezone} | more), format_, first, last)


def split(found: Any) -> tuple[list[ProviderEvent], list[RejectedEntry]]:
    """Part events from rejections."""
    both = list(found)
    return (
        [one for one in both if isinstance(one, ProviderEvent)],
        [one for one in both if isinstance(one, RejectedEntry)],
    )
