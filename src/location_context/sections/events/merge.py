"""Merge: the same event told by two providers becomes one, with both in `sources`.

Two tell of the same when they start together, lie together and are named alike: the same date and,
where both know the time, at most 90 minutes apart; at most 500 m apart, or 3 km when the venue's
name is alike; names alike by shared words, weighed by their length, without what any event may say
(live, tour, night) and the venue's own name. Public holidays of the same date are the same day
where both hold for the same parts. How well this does is measured in `tests/sections/events`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from location_context.point import distance_km

if TYPE_CHECKING:
    from collections.abc import Iterable

    from location_context.sections.events.records import Place, Told
    from location_context.sections.events.visible import Seen

_TRUSTED = ("calendars", "ticketmaster", "holidays", "open_holidays", "predicthq")
_APART = timedelta(minutes=90)
_NEAR_KM, _NEAR_BY_NAME_KM = 0.5, 3.0
_ALIKE = 0.6
_WORDS = re.compile(r"\w+")
_PARTICLES = frozenset({
    "the", "a", "an", "and", "of", "in", "at", "on", "de", "la", "le", "les", "el", "los",
    "der", "die", "das", "und", "et", "y", "i", "il", "lo", "du", "des", "del", "d", "l",
    "s",
})  # fmt: skip
_VAGUE = frozenset({
    "live", "tour", "concert", "concerts", "konzert", "concierto", "tickets", "ticket",
    "show", "world", "presents", "with", "feat", "ft", "featuring", "special", "guest",
    "guests", "vs", "v", "edition", "annual", "event", "festival", "noel", "christmas",
    "weihnachten", "navidad", "opera", "ballet", "jazz", "rock", "night", "nuit", "day",
    "jour", "park", "parc", "city", "market", "marche", "markt", "gala",
    "comedy", "classic", "orchestra", "orchestre", "choir", "stage", "musical", "year",
    "years", "new",
})  # fmt: skip


def merge(seen: Iterable[Seen]) -> list[Seen]:
    """One for each event; the most trusted provider's words, the others' where it is silent."""
    by_day: dict[object, list[Seen]] = defaultdict(list)
    for event in sorted(seen, key=_trust):
        bucket = by_day[event.first]
        at = next((n for n, known in enumerate(bucket) if is_same(known, event)), None)
        if at is None:
            bucket.append(event)
        else:
            bucket[at] = _joined(bucket[at], event)
    return [event for bucket in by_day.values() for event in bucket]


def is_same(one: Seen, other: Seen) -> bool:
    """Whether two providers tell of the same event; two of one provider never are."""
    if set(one.sources) & set(other.sources):
        return False
    a, b = one.told, other.told
    if "public_holiday" in {a.category, b.category}:
        return a.category == b.category and one.first == other.first and a.regions == b.regions
    if a.category != b.category and "other" not in {a.category, b.category} and not _blur(a, b):
        return False
    if one.first != other.first or not _together(a, b):
        return False
    alike = _alike(a, b)
    return alike >= _ALIKE and _near(a.place, b.place)


def _blur(a: Told, b: Told) -> bool:
    """Categories that providers draw differently: a festival of music, a community's theatre."""
    return {a.category, b.category} <= _ON_STAGE or {a.category, b.category} <= _FAIRS


_ON_STAGE = frozenset({"concert", "festival", "performing_arts", "community"})
_FAIRS = frozenset({"exhibition", "conference", "community", "festival"})


def _together(a: Told, b: Told) -> bool:
    if a.start.at is None or b.start.at is None:
        return True
    return abs(a.start.at - b.start.at) <= _APART


def _near(a: Place | None, b: Place | None) -> bool:
    if a is None or b is None:
        return a is b
    if a.lat is None or a.lng is None or b.lat is None or b.lng is None:
        return _similarity(_words(a.name), _words(b.name)) >= _ALIKE
    distance = distance_km(a.lat, a.lng, b.lat, b.lng)
    if distance <= _NEAR_KM:
        return True
    return distance <= _NEAR_BY_NAME_KM and _similarity(_words(a.name), _words(b.name)) >= _ALIKE


def _alike(a: Told, b: Told) -> float:
    """How alike two titles are, 0 to 1, without the words of the venue where others are left.

    Where one has no word that names something (Christmas concert), all its words count.
    """
    venue = _words(a.place.name if a.place else None) | _words(b.place.name if b.place else None)
    mine, theirs = _words(a.title), _words(b.title)
    mine, theirs = mine - venue or mine, theirs - venue or theirs
    if min(_weight(mine - _VAGUE), _weight(theirs - _VAGUE)) > 0:
        return _similarity(mine, theirs)
    return _weight(mine & theirs) / _weight(mine | theirs) if mine | theirs else 0.0


def _similarity(a: frozenset[str], b: frozenset[str]) -> float:
    """The naming words that two texts share: against all where each has one of its own.

    "Candlelight: Vivaldi" is not "Candlelight: Queen"; "Phoenix" is "Phoenix with Air".
    """
    a, b = a - _VAGUE or a, b - _VAGUE or b
    against = a | b if a - b and b - a else min(a, b, key=_weight)
    return _weight(a & b) / _weight(against) if against else 0.0


def _weight(words: Iterable[str]) -> float:
    return float(sum(min(len(word), 8) for word in words))


def _words(text: str | None) -> frozenset[str]:
    plain = unicodedata.normalize("NFKD", (text or "").casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    words = frozenset(_WORDS.findall(plain))
    return words - _PARTICLES or words


def _trust(event: Seen) -> tuple[int, str]:
    source = event.told.source
    return _TRUSTED.index(source) if source in _TRUSTED else len(_TRUSTED), event.told.id


def _joined(one: Seen, other: Seen) -> Seen:
    """The first's account, completed by the second's."""
    a, b = one.told, other.told
    told = msgspec.structs.replace(
        a,
        category=b.category if a.category == "other" else a.category,
        start=b.start if a.start.at is None and b.start.at and not a.all_day else a.start,
        end=a.end or b.end,
        status="postponed" if "postponed" in {a.status, b.status} else a.status,
        place=a.place or b.place,
        rank=b.rank if a.rank is None else a.rank,
        url=a.url or b.url,
        image=a.image or b.image,
        price=a.price or b.price,
    )
    distance = other.distance if one.distance is None else one.distance
    last = max(one.last, other.last) if a.end is None else one.last
    return replace(
        one, told=told, sources=one.sources + other.sources, distance=distance, last=last
    )
