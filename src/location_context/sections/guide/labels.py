"""Labels of the tiers: neutral ones of our own, localised, or the operator's from a file.

    [three_star]
    label = "Three rosettes"
    meaning = { en = "Worth crossing the country for", de = "Eine Reise durchs Land wert" }

A text stands for all languages, a table for each by its tag. The file is TOML or JSON.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from location_context.errors import OperatorError
from location_context.localisation.language import Language
from location_context.sections.guide.records import TIERS, Tier, TierTexts

_MAX_LENGTH = {"label": 60, "meaning": 200}  # characters; the widget shows them in one line


class TierLabels:
    """Label and meaning of each tier in one language."""

    def __init__(self, language: Language, own: Mapping[Tier, TierTexts]) -> None:
        self._texts = _default_texts(language)
        parts = language.tag.lower().split("-")
        tags = ["-".join(parts[:n]) for n in range(len(parts), 0, -1)] + [""]  # de-at, de, all
        for tier, texts in own.items():
            label, meaning = self._texts[tier]
            self._texts[tier] = (
                next((texts.label[tag] for tag in tags if tag in texts.label), label),
                next((texts.meaning[tag] for tag in tags if tag in texts.meaning), meaning),
            )

    def label(self, tier: Tier) -> str:
        return self._texts[tier][0]

    def meaning(self, tier: Tier) -> str:
        return self._texts[tier][1]


def _default_texts(language: Language) -> dict[Tier, tuple[str, str]]:
    return {
        "three_star": (
            language.gettext("Three stars"),
            language.gettext("Among the finest tables anywhere: plan a day around it"),
        ),
        "two_star": (
            language.gettext("Two stars"),
            language.gettext("Outstanding cooking: go well out of your way"),
        ),
        "one_star": (
            language.gettext("One star"),
            language.gettext("Excellent cooking: worth a short drive"),
        ),
        "good_value": (
            language.gettext("Good value"),
            language.gettext("Good cooking at a gentle price: worth a walk"),
        ),
        "selected": (language.gettext("Selected"), language.gettext("Recommended, and close by")),
    }


def read_labels(path: Path) -> dict[Tier, TierTexts]:
    """The operator's texts for each tier that the file names.

    Raises:
        OperatorError: it cannot be read, or a name or text in it is not accepted.
    """
    try:
        text = path.read_text(encoding="utf-8")
        value = msgspec.json.decode(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise OperatorError(f"The labels in {path} cannot be read: {error}") from None
    labels: dict[Tier, TierTexts] = {}
    for name, texts in value.items():
        tier = next((tier for tier in TIERS if tier == name), None)
        if tier is None:
            raise OperatorError(f"{path} names the tier {name!r}; accepted: {', '.join(TIERS)}")
        if not isinstance(texts, dict) or not texts.keys() <= _MAX_LENGTH.keys():
            raise OperatorError(f"The texts of {tier} are wrong; accepted: label and meaning")
        by_language = {field: _by_language(tier, field, value) for field, value in texts.items()}
        labels[tier] = TierTexts(**by_language)
    return labels


def _by_language(tier: str, field: str, value: Any) -> dict[str, str]:
    texts = value if isinstance(value, dict) else {"": value}
    for text in texts.values():
        if not isinstance(text, str) or not 0 < len(text.strip()) <= _MAX_LENGTH[field]:
            raise OperatorError(
                f"The {field} of {tier} is {text!r}; "
                f"accepted: a text of at most {_MAX_LENGTH[field]} characters"
            )
        if not text.isprintable():
            raise OperatorError(f"The {field} of {tier} holds control characters")
    return {str(tag).lower(): text.strip() for tag, text in texts.items()}
