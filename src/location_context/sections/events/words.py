"""Words: titles, places and categories as sources write them, made fit for one line."""

from __future__ import annotations

import html
import re

from location_context.sections.events.response import Category

LONGEST_TITLE, LONGEST_TEXT = 300, 500
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")

_WORDS: dict[str, Category] = {
    "concert": "concert", "music": "concert", "gig": "concert", "musik": "concert",
    "festival": "festival", "fest": "festival", "market": "community", "fair": "festival",
    "sport": "sport", "sports": "sport", "match": "sport", "football": "sport", "race": "sport",
    "theatre": "performing_arts", "theater": "performing_arts", "dance": "performing_arts",
    "opera": "performing_arts", "comedy": "performing_arts", "performing": "performing_arts",
    "exhibition": "exhibition", "expo": "exhibition", "museum": "exhibition", "art": "exhibition",
    "conference": "conference", "congress": "conference", "seminar": "conference",
    "talk": "conference", "lecture": "conference", "workshop": "conference",
    "community": "community", "social": "community", "meetup": "community",
    "holiday": "public_holiday", "holidays": "public_holiday", "observance": "observance",
}  # fmt: skip


def category_of(words: str) -> Category | None:
    """The category that a source's own words name, if one does."""
    lowered = words[:LONGEST_TEXT].casefold().replace("_", " ").replace("-", " ")
    whole = lowered.replace(" ", "_")
    if whole in Category.__args__:  # type: ignore[attr-defined]  # the words of the Literal
        return whole  # type: ignore[return-value]  # it is one of them
    return next(
        (_WORDS[word] for word in lowered.replace(",", " ").split() if word in _WORDS), None
    )


def clipped(text: object, longest: int = LONGEST_TEXT) -> str | None:
    """Words on one line, not too long; None when there are none."""
    given = str(text or "")[: 4 * longest]
    plain = " ".join("".join(c if c.isprintable() else " " for c in given).split())
    return plain[:longest] or None


def plain(text: object, longest: int = LONGEST_TEXT) -> str | None:
    """Likewise, for words that people read: without the markup that many pages leave in them."""
    given = _TAG.sub(" ", str(text or "")[: 8 * longest])
    return clipped(_ENTITY.sub(lambda entity: html.unescape(entity[0]), given), longest)
