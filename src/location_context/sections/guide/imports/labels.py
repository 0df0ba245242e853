"""Labels: an operator's own words for the tiers, from a TOML or JSON file.

    [three_star]
    label = "Three rosettes"
    meaning = { en = "Worth crossing the country for", de = "Eine Reise durchs Land wert" }

A text stands for all languages, a table for each by its tag.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import msgspec

from location_context.errors import OperatorError
from location_context.sections.guide.records import TIERS, Tier, Words

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST = {"label": 60, "meaning": 200}


def read_labels(path: Path) -> dict[Tier, Words]:
    """The words for each tier that the file names.

    Raises:
        OperatorError: it cannot be read, or names what is no tier.
    """
    try:
        text = path.read_text(encoding="utf-8")
        value = msgspec.json.decode(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise OperatorError(f"The labels in {path} cannot be read: {error}") from None
    labels: dict[Tier, Words] = {}
    for name, words in value.items():
        tier = next((tier for tier in TIERS if tier == name), None)
        if tier is None:
            raise OperatorError(f"{path} names the tier {name!r}; accepted: {', '.join(TIERS)}")
        labels[tier] = _words(name, words)
    return labels


def _words(tier: str, given: Any) -> Words:
    if not isinstance(given, dict) or not given.keys() <= _LONGEST.keys():
        raise OperatorError(f"The words of {tier} are wrong; accepted: label and meaning")
    return Words(**{field: _by_language(tier, field, value) for field, value in given.items()})


def _by_language(tier: str, field: str, value: Any) -> dict[str, str]:
    texts = value if isinstance(value, dict) else {"": value}
    for text in texts.values():
        if not isinstance(text, str) or not 0 < len(text.strip()) <= _LONGEST[field]:
            raise OperatorError(
                f"The {field} of {tier} is {text!r}; "
                f"accepted: a text of at most {_LONGEST[field]} characters"
            )
        if not text.isprintable():
            raise OperatorError(f"The {field} of {tier} holds control characters")
    return {str(tag).lower(): text.strip() for tag, text in texts.items()}
