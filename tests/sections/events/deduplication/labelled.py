"""Labelled pairs: an event as two providers write it, and whether a guest would call it the same.

A row of `pairs/*.csv` holds two titles with their categories (the second blank: the same one), the
names of their venues (`=`: the same, blank: not known, `-`: no place at all), how many km lie
between them (blank: one has no coordinates), both starts (`20:00`, `+1 20:00` a day later, `?` time
not known, `all` all-day, `0..4` all-day over five days; `=`: the same) and the label.
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from location_context.point import Point
from location_context.sections.events.deduplication.match_score import (
    MODEL,
    match_score,
    read_record,
)
from location_context.sections.events.records import LocalEvent, Place, ProviderEvent, When
from location_context.sections.events.selection import relevant_events
from location_context.stay import Stay

PAIRS = Path(__file__).parent / "pairs"
POINT = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
DAY = date(2026, 12, 3)
STAY = Stay(date(2026, 12, 1), date(2026, 12, 10))
_LAT, _LNG = 48.8701, 2.3281
_KM_PER_DEGREE = 111.195
_WIDE = {"public_holiday", "school_holiday", "observance"}


def is_duplicate(one: LocalEvent, other: LocalEvent) -> bool:
    """Whether two providers describe the same event; two of one provider never are."""
    return match_score(read_record(one), read_record(other)) >= MODEL.threshold


@dataclass(frozen=True)
class Pair:
    """Two events of two providers, and whether they are the same."""

    one: ProviderEvent
    other: ProviderEvent
    same: bool

    def events(self) -> tuple[LocalEvent, LocalEvent]:
        (one,), (other,) = (
            relevant_events([event], POINT, STAY, 25) for event in (self.one, self.other)
        )
        return one, other

    def __str__(self) -> str:
        return f"{self.one.title} | {self.other.title}"


@dataclass(frozen=True)
class Measured:
    """How well a decision agrees with the labels."""

    rightly: int
    wrongly: list[str]
    missed: list[str]
    pairs: int

    @property
    def precision(self) -> float:
        return self.rightly / (self.rightly + len(self.wrongly))

    @property
    def recall(self) -> float:
        return self.rightly / (self.rightly + len(self.missed))

    def __str__(self) -> str:
        return f"{self.pairs} pairs: precision {self.precision:.3f}, recall {self.recall:.3f}"


def pairs(name: str) -> list[Pair]:
    """The labelled pairs of one set, a file of `pairs/`."""
    with (PAIRS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter=";", quoting=csv.QUOTE_NONE)
        return [_pair(number, row) for number, row in enumerate(rows)]


def acts() -> list[str]:
    """Names of acts and works, no two of which are the same."""
    return (PAIRS / "acts.txt").read_text(encoding="utf-8").splitlines()


def measured(given: list[Pair], is_duplicate: Callable[[LocalEvent, LocalEvent], bool]) -> Measured:
    """A decision beside the labels."""
    decided = [(pair, is_duplicate(*pair.events())) for pair in given]
    return Measured(
        rightly=sum(pair.same and same for pair, same in decided),
        wrongly=[str(pair) for pair, same in decided if same and not pair.same],
        missed=[str(pair) for pair, same in decided if pair.same and not same],
        pairs=len(given),
    )


def _pair(number: int, row: dict[str, str]) -> Pair:
    places = list(_places(row))
    titles = row["title"], row["other_title"]
    categories = row["category"], row["other_category"] or row["category"]
    starts = row["start"], _same_as(row["start"], row["other_start"])
    accounts = [
        ProviderEvent(
            id=f"{number}-{source}", source=source, title=title, category=category, place=place,
            scope="country" if category in _WIDE else "point", **_times(start),
        )
        for source, title, category, place, start in zip(
            ("ticketmaster", "predicthq"), titles, categories, places, starts, strict=True
        )
    ]  # fmt: skip
    return Pair(*accounts, same={"yes": True, "no": False}[row["same"]])


def _places(row: dict[str, str]) -> Iterator[Place | None]:
    names = row["venue"], _same_as(row["venue"], row["other_venue"])
    for name, away in zip(names, ("0", row["km"]), strict=True):
        if name == "-":
            yield None
        elif not away:
            yield Place(name=name or None)
        else:
            yield Place(name=name or None, lat=_LAT + float(away) / _KM_PER_DEGREE, lng=_LNG)


def _times(text: str) -> dict[str, object]:
    if ".." in text or text == "all":
        first, last = (int(n) for n in (text.split("..") if ".." in text else (0, 0)))
        days = DAY + timedelta(days=first), DAY + timedelta(days=last)
        return {"start": When(days[0]), "end": When(days[1]), "all_day": True}
    shift, _, clock = text.rpartition(" ")
    day = DAY + timedelta(days=int(shift or 0))
    if clock == "?":
        return {"start": When(day)}
    moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=POINT.zone)
    return {"start": When.of(moment)}


def _same_as(first: str, second: str) -> str:
    return first if second == "=" else second
