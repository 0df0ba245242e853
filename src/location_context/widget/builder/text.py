"""Words: everything the builder says, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from babel.numbers import format_decimal

from location_context.localisation.formats import Formats
from location_context.localisation.language import Language
from location_context.stay import Stay, horizon


def page(language: Language, topics: str) -> Mapping[str, str]:
    """The words that are always there; `topics` lists what the sections are about."""
    gettext = language.gettext
    return {
        "title": gettext("What surrounds a stay, in one iframe"),
        "introduction": gettext(
            "{sections} for any point and dates. "
            "Set it up here and paste two lines into a property or booking page."
        ).replace("{sections}", Formats.begun(topics)),
        "skip": gettext("Skip to the embed code"),
        "documentation": gettext("Documentation"),
        "reference": gettext("API"),
        "status": gettext("Status"),
        "no_key": gettext("No key"),
        "no_key_for": gettext("public widget"),
        "size_of": gettext("whole page, at most"),
        "none_of": gettext("cookies, trackers"),
        **_form(language),
        **_results(language),
    }


def _form(language: Language) -> Mapping[str, str]:
    gettext = language.gettext
    return {
        "form": gettext("Set up the widget"),
        "place": gettext("Place"),
        "place_hint": gettext("Pick a place or type a point."),
        "searching_failed": gettext("The search does not answer; type the coordinates."),
        "no_match": gettext("No place of that name; type its coordinates."),
        "others": gettext("Other places of that name"),
        "keep": gettext("Keep the coordinates as they were"),
        "latitude": gettext("Latitude"),
        "longitude": gettext("Longitude"),
        "arrive": gettext("Arrive"),
        "leave": gettext("Leave"),
        "theme": gettext("Theme"),
        "light": language.pgettext("theme", "Light"),
        "dark": language.pgettext("theme", "Dark"),
        "auto": language.pgettext("theme", "Auto"),
        "accent": gettext("Accent"),
        "own_accent": gettext("Another colour"),
        "hex": gettext("Accent as a hex colour"),
        "units": gettext("Units"),
        "metric": gettext("Metric"),
        "imperial": gettext("Imperial"),
        "language": gettext("Language"),
        "visitors": gettext("Visitor’s"),
        "show": gettext("Show code and preview"),
    }


def _results(language: Language) -> Mapping[str, str]:
    gettext = language.gettext
    return {
        "code": gettext("Embed code"),
        "copy_code": gettext("Copy"),
        "copied": gettext("Copied"),
        "select": gettext("Select the code and copy it."),
        "line_1": gettext("Line 1"),
        "line_1_does": gettext("shows the widget, with or without JavaScript."),
        "line_2": gettext("Line 2"),
        "line_2_does": gettext("keeps the iframe as tall as its content."),
        "later": gettext("Code and preview come back once the marked field is right."),
        "preview": gettext("Preview"),
        "width": gettext("Width of the preview"),
        "phone": gettext("Phone"),
        "column": gettext("Column"),
        "full": gettext("Full width"),
        "json": gettext("The same data as JSON"),
        "json_hint": gettext("An endpoint for each section, one key, kept on your server."),
        "places_from": gettext("Place search"),
    }


def zone(timezone: str, language: Language) -> str:
    """Which clock the times follow."""
    return language.gettext("{zone} time.").replace("{zone}", timezone.replace("_", " "))


def nights(stay: Stay, language: Language) -> str:
    count = stay.days - 1
    if not count:
        return language.gettext("One day, no night.")
    words = language.ngettext("{count} night.", "{count} nights.", count)
    return words.replace("{count}", str(format_decimal(count, locale=language.locale)))


def mode(stay: Stay, today: date, language: Language, not_past: str) -> str:
    """Where the dates lie, seen from today at the point; what comes of it the preview tells.

    `not_past` lists the sections that say nothing of a stay that is over.
    """
    gettext = language.gettext
    if stay.is_past(today):
        return gettext("These dates are past. Not shown: {sections}.").replace(
            "{sections}", not_past
        )
    if stay.within_horizon(today):
        return gettext("Within the 16-day forecast.")
    if stay.start <= horizon(today):
        return gettext("The first days are within the 16-day forecast, the others beyond it.")
    return gettext("Beyond the 16-day forecast.")


def shown(language: Language) -> Mapping[str, str]:
    """What the preview shows, by the codes of its description, and why by the codes of reasons."""
    gettext = language.gettext
    return {
        "forecast": gettext("The preview shows a forecast."),
        "forecast_reanalysis": gettext(
            "The preview shows a forecast, then what past years were like."
        ),
        "forecast_monthly_mean": gettext("The preview shows a forecast, then monthly averages."),
        "reanalysis": gettext("The preview shows what past years were like."),
        "monthly_mean": gettext("The preview shows monthly averages."),
        "forecast_unavailable": gettext("No forecast can be had at the moment."),
        "archive_unavailable": gettext("Data of past years cannot be had at the moment."),
    }


def matches(count: int, language: Language) -> str:
    """How many places a search found, for who cannot see the list."""
    words = language.ngettext("{count} place found.", "{count} places found.", count)
    return words.replace("{count}", str(format_decimal(count, locale=language.locale)))


def wrong(code: str, field: str, message: str, language: Language) -> str:
    """What a field accepts, after the error of this code; other codes keep their own sentence."""
    gettext = language.gettext
    sentences = {
        "invalid_latitude": gettext("A number from -90 to 90."),
        "invalid_longitude": gettext("A number from -180 to 180."),
        "invalid_date": gettext("A date from 1900 to 2050."),
        "invalid_date_range": gettext("Leave on the day of arrival or later."),
        "date_range_too_long": gettext("At most 92 days."),
        "invalid_accent": gettext("A colour such as #0f766e."),
        "invalid_place": gettext("At most 120 characters."),
    }
    if code == "missing_parameter":
        code = {"lat": "invalid_latitude", "lng": "invalid_longitude"}.get(field, "invalid_date")
    return sentences.get(code, message)
