"""The notices that the sources of an answer ask for.

PredictHQ prescribes its words to plans with attribution. Ticketmaster's branding guide asks for its
logo, which no text can be: the words and the link are those of its own widget's logo, and the logo
is the operator's to place (`docs/decisions/events.md`). The ODbL notice is that of its section 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.contract import Attribution
from location_context.sections.licences import MIT, ODBL

if TYPE_CHECKING:
    from collections.abc import Iterable

TICKETMASTER_LOGO = (
    "Ticketmaster: its branding guide asks for its logo on every page that shows its events; the "
    "widget shows its name with a link, so place the logo on the page around it"
)
_NOTICES = {
    "holidays": Attribution(
        name="holidays",
        url="https://github.com/vacanza/holidays",
        license=MIT.name,
        text="Public holidays: holidays library, MIT License",
    ),
    "open_holidays": Attribution(
        name="OpenHolidays API",
        url="https://www.openholidaysapi.org/",
        license=ODBL.name,
        text="Contains information from the OpenHolidays API, which is made available here under "
        f"the Open Database License (ODbL), {ODBL.url}",
        adapted=True,  # subdivisions brought to regions, put together with other sources
    ),
    "ticketmaster": Attribution(
        name="Ticketmaster",
        url="https://www.ticketmaster.com/",
        license=None,
        text="Powered by Ticketmaster",
    ),
    "predicthq": Attribution(
        name="PredictHQ",
        url="https://www.predicthq.com/",
        license=None,
        text="Events by PredictHQ",
    ),
}


def notices(sources: Iterable[str]) -> list[Attribution]:
    """The notices for the providers whose events are shown."""
    used = set(sources)
    return [notice for name, notice in _NOTICES.items() if name in used]
