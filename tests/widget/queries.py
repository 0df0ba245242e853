"""What the tests of the cards ask: a point and stay, in English, at noon of 21 November 2026."""

from datetime import UTC, date, datetime, timedelta
from typing import Literal

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.sections.contract import Query
from location_context.stay import Stay

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LANGUAGES = Languages.load()
WORDS = Formatter(LANGUAGES.english)
NO_BREAK = "\u00a0"


def words_in(tag: str) -> Formatter:
    return Formatter(LANGUAGES.choose(tag))


def query(
    gazetteer: Gazetteer,
    lat: float = 43.3183,
    lng: float = -1.9812,
    start: str = "2026-11-22",
    days: int = 8,
    *,
    units: Literal["metric", "imperial"] = "metric",
) -> Query:
    first = date.fromisoformat(start)
    stay = Stay(first, first + timedelta(days=days - 1))
    return Query(gazetteer.point(lat, lng), stay, units, LANGUAGES.english)
