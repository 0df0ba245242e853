"""The words for each tier: neutral ones of our own, localised, or the operator's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.guide.records import TIERS, Tier, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from location_context.localisation.language import Language


class Wording:
    """Label and meaning of each tier in one language."""

    def __init__(self, language: Language, given: Mapping[Tier, Words]) -> None:
        self._own = _own(language)
        tags = _fallbacks(language.tag)
        for tier, words in given.items():
            label, meaning = self._own[tier]
            self._own[tier] = (_pick(words.label, tags, label), _pick(words.meaning, tags, meaning))

    def label(self, tier: Tier) -> str:
        return self._own[tier][0]

    def meaning(self, tier: Tier) -> str:
        return self._own[tier][1]


def _own(language: Language) -> dict[Tier, tuple[str, str]]:
    return dict(
        zip(
            TIERS,
            (
                (
                    language.gettext("Three stars"),
                    language.gettext("Among the finest tables anywhere: plan a day around it"),
                ),
                (
                    language.gettext("Two stars"),
                    language.gettext("Outstanding cooking: go well out of your way"),
                ),
                (
                    language.gettext("One star"),
                    language.gettext("Excellent cooking: worth a short drive"),
                ),
                (
                    language.gettext("Good value"),
                    language.gettext("Good cooking at a gentle price: worth a walk"),
                ),
                (
                    language.gettext("Selected"),
                    language.gettext("Recommended, and close by"),
                ),
            ),
            strict=True,
        )
    )


def _fallbacks(tag: str) -> list[str]:
    """`de-at`, `de`, then the words for all languages."""
    parts = tag.lower().split("-")
    return ["-".join(parts[:n]) for n in range(len(parts), 0, -1)] + [""]


def _pick(words: Mapping[str, str], tags: list[str], own: str) -> str:
    return next((words[tag] for tag in tags if tag in words), own)
