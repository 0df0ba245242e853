"""The footnote of the events card: what is not listed, not read in full, or could not be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from location_context.localisation.formats import Formats
    from location_context.sections.events.response import CoverageStatus, EventsBody


def footnote(body: EventsBody, omitted: int, words: Formats) -> str:
    """Nothing when all is there. A provider without a name for guests is never named."""
    said = []
    if omitted:
        text = words.ngettext(
            "{count} more event is not listed.", "{count} more events are not listed.", omitted
        )
        said.append(text.format(count=words.number(omitted)))
    if parts := _named(body, "partial", words):
        text = words.gettext("Not read in full: {providers}.")
        said.append(text.format(providers=words.together(parts)))
    if silent := _named(body, "unavailable", words):
        text = words.gettext("Not reached just now: {providers}.")
        said.append(text.format(providers=words.together(silent)))
    if any(one.status == "not_configured" for one in body.coverage):
        said.append(words.gettext("Not every source of events is connected here."))
    return words.sentences(said)


def _named(body: EventsBody, status: CoverageStatus, words: Formats) -> list[str]:
    """The providers of that status that guests have a name for."""
    names = provider_names(words)
    return [names[one.provider] for one in body.coverage
            if one.status == status and one.provider in names]  # fmt: skip


def provider_names(words: Formats) -> dict[str, str]:
    """What a guest reads for each provider's code in `coverage`."""
    return {
        "holidays": words.gettext("public holidays"),
        "calendars": words.gettext("local calendars"),
        "open_holidays": "OpenHolidays",
        "ticketmaster": "Ticketmaster",
        "predicthq": "PredictHQ",
    }
