"""Awards: the words of every year, brought to the five tiers.

Told by pattern: a number of stars with any publisher's name in between ("3 Stars", "One Acme
Star", "★★"), the distinction for good value under its names, and the plain mention.
"""

from __future__ import annotations

import re

from location_context.sections.guide.records import TIERS, Tier

_NUMBERS = {"one": 1, "two": 2, "three": 3}
_STARS = re.compile(r"(\d|one|two|three)[\s-]+(?:[^\W\d]+\s+){0,2}stars?", re.IGNORECASE)
_SIGNS = re.compile(r"([1-3])\s*[★⭐*]|([★⭐✩*]{1,3})")
_GOOD_VALUE = re.compile(r"\bgourmand\b|\bgood[\s_-]*value\b", re.IGNORECASE)
_SELECTED = re.compile(
    r"selected(\s+restaurants?)?|(the\s+)?plate(\s+\w+)?|(\w+\s+)?plate|recommended", re.IGNORECASE
)
_RETIRED = re.compile(r"\bgreen\s+star\b|\bclover\b", re.IGNORECASE)
_BY_STARS: dict[int, Tier] = {3: "three_star", 2: "two_star", 1: "one_star"}


def tier_of(award: str, tier: str, stars: str) -> Tier | str:
    """The tier, or why there is none: from `tier` where given, then `award`, then `stars`."""
    if tier:
        return _by_name(tier) or f"the tier {tier[:40]!r} is none of {', '.join(TIERS)}"
    if award:
        return _by_award(award)
    if stars:
        number = stars.removesuffix(".0")
        if number.isdigit() and int(number) in _BY_STARS:
            return _BY_STARS[int(number)]
        return f"{stars[:40]!r} is not a number of stars from 1 to 3"
    return "it has no award, tier or stars"


def _by_name(tier: str) -> Tier | None:
    wanted = re.sub(r"[\s-]+", "_", tier.casefold()).removesuffix("s")
    return next((known for known in TIERS if known == wanted), None)


def _by_award(award: str) -> Tier | str:
    """The highest tier among the distinctions of a cell; retired ones are passed over."""
    parts = [part.strip() for part in re.split(r"[,;/|+&•]", award) if part.strip()]
    current = [part for part in parts if not _RETIRED.search(part)]
    if parts and not current:
        return "its distinction is retired and no tier"
    tiers = [tier for part in current if (tier := _tier(part))]
    if not tiers:
        return f"the award {award[:60]!r} is not known"
    return min(tiers, key=TIERS.index)


def _tier(award: str) -> Tier | None:
    if match := _STARS.fullmatch(award):
        number = match[1].lower()
        return _BY_STARS.get(int(number) if number.isdigit() else _NUMBERS[number])
    if match := _SIGNS.fullmatch(award):
        return _BY_STARS[int(match[1]) if match[1] else len(match[2])]
    if _GOOD_VALUE.search(award):
        return "good_value"
    if _SELECTED.fullmatch(award):
        return "selected"
    return _by_name(award)
