"""Titles of highlights, in the asked language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from location_context.localisation.language import Language
    from location_context.sections.astronomy.response import EclipseKind, HighlightType


def moment_title(kind: HighlightType, language: Language) -> str:
    """The words for a phase, an equinox or a solstice."""
    words = {
        "new_moon": language.gettext("New Moon"),
        "first_quarter": language.gettext("First quarter"),
        "full_moon": language.gettext("Full Moon"),
        "last_quarter": language.gettext("Last quarter"),
        "march_equinox": language.gettext("March equinox"),
        "june_solstice": language.gettext("June solstice"),
        "september_equinox": language.gettext("September equinox"),
        "december_solstice": language.gettext("December solstice"),
    }
    return words[kind]


def solar_eclipse_title(kind: EclipseKind, language: Language) -> str:
    """The words for a solar eclipse as seen from the point."""
    words = {
        "partial": language.gettext("Partial eclipse of the Sun"),
        "annular": language.gettext("Annular eclipse of the Sun"),
        "total": language.gettext("Total eclipse of the Sun"),
    }
    return words[kind]


def lunar_eclipse_title(kind: EclipseKind, language: Language) -> str:
    """The words for a lunar eclipse as seen from the point."""
    words = {
        "penumbral": language.gettext("Penumbral eclipse of the Moon"),
        "partial": language.gettext("Partial eclipse of the Moon"),
        "total": language.gettext("Total eclipse of the Moon"),
    }
    return words[kind]


def clock_change_title(forward: bool, language: Language) -> str:
    """The words for a clock put forward or back."""
    if forward:
        return language.gettext("Clocks go forward")
    return language.gettext("Clocks go back")


def shower_title(name: str, language: Language) -> str:
    """The name of a meteor shower."""
    words = {
        "quadrantids": language.gettext("Quadrantid meteors"),
        "lyrids": language.gettext("Lyrid meteors"),
        "eta_aquariids": language.gettext("Eta Aquariid meteors"),
        "southern_delta_aquariids": language.gettext("Southern Delta Aquariid meteors"),
        "alpha_capricornids": language.gettext("Alpha Capricornid meteors"),
        "perseids": language.gettext("Perseid meteors"),
        "draconids": language.gettext("Draconid meteors"),
        "orionids": language.gettext("Orionid meteors"),
        "southern_taurids": language.gettext("Southern Taurid meteors"),
        "northern_taurids": language.gettext("Northern Taurid meteors"),
        "leonids": language.gettext("Leonid meteors"),
        "geminids": language.gettext("Geminid meteors"),
        "ursids": language.gettext("Ursid meteors"),
    }
    return words[name]
