"""The notices that the sources of an answer ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.contract import Attribution

if TYPE_CHECKING:
    from collections.abc import Iterable

_ODBL = "https://opendatacommons.org/licenses/odbl/1-0/"
_NOTICES = {
    "holidays": Attribution(
        name="holidays",
        url="https://github.com/vacanza/holidays",
        license="MIT",
        text="Public holidays: holidays library, MIT License",
    ),
    "open_holidays": Attribution(
        name="OpenHolidays API",
        url="https://www.openholidaysapi.org/",
        license="ODbL 1.0",
        text="Contains information from the OpenHolidays API, which is made available here under "
        f"the Open Database License (ODbL), {_ODBL}",
    ),
    "ticketmaster": Attribution(
        name="Ticketmaster",
        url="https://www.ticketmaster.com/",
        license=None,
        text="Event data by Ticketmaster",
    ),
    "predicthq": Attribution(
        name="PredictHQ",
        url="https://www.predicthq.com/",
        license=None,
        text="Event data by PredictHQ",
    ),
}


def notices(sources: Iterable[str]) -> list[Attribution]:
    """The notices for the providers whose events are shown."""
    used = set(sources)
    return [notice for name, notice in _NOTICES.items() if name in used]
