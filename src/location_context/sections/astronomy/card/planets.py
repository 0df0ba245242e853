"""The planets of the night panel: those that stand out, brightest first, by when to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.localisation.formats import Formats
    from location_context.sections.astronomy.response import Day, Planet

FAINTEST = 1.5  # magnitude: as bright as the brightest score of stars


@dataclass(frozen=True, kw_only=True)
class PlanetsView:
    """When to look, and which planets stand out then."""

    when: str
    names: str


def planet_views(nights: Sequence[Day], words: Formats) -> list[PlanetsView]:
    """Evening, morning and all night, as far as something stands out on every night."""
    labels = {
        "evening": words.gettext("Planets in the evening"),
        "all_night": words.gettext("Planets all night"),
        "morning": words.gettext("Planets before dawn"),
    }
    bright = sorted(nights[len(nights) // 2].planets, key=_magnitude)
    whens = {planet.name: _when(planet.name, nights) for planet in bright}
    names = _names(words)
    return [
        PlanetsView(when=label, names=words.together(found))
        for when, label in labels.items()
        if (found := [names[name] for name, seen in whens.items() if seen == when])
    ]


def _when(name: str, nights: Sequence[Day]) -> str:
    """When it stands out on every night of all; empty when it does not."""
    found = [planet for night in nights for planet in night.planets if planet.name == name]
    ways = {planet.visible for planet in found}
    if "none" in ways or any(_magnitude(planet) > FAINTEST for planet in found):
        return ""
    if len(ways) > 1:
        ways.discard("all_night")  # which is the evening and the morning too
    return ways.pop() if len(ways) == 1 else ""


def _magnitude(planet: Planet) -> float:
    return 99.0 if planet.magnitude is None else planet.magnitude


def _names(words: Formats) -> dict[str, str]:
    return {
        "mercury": words.gettext("Mercury"),
        "venus": words.gettext("Venus"),
        "mars": words.gettext("Mars"),
        "jupiter": words.gettext("Jupiter"),
        "saturn": words.gettext("Saturn"),
    }
