"""Rows: what every format comes down to, one mapping of known fields for each line.

Column names of all vintages and formats are told by what is left of them in small letters, so
`PhoneNumber`, `phone_number` and `Phone Number` are one field. Unknown columns are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from location_context.errors import OperatorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_ROWS = 200_000
MAX_BYTES = 200_000_000

_NAMES = {
    "id": ("id",),
    "name": ("name", "restaurant", "title", "itemlabel"),
    "award": ("award", "distinction"),
    "tier": ("tier",),
    "stars": ("stars",),
    "lat": ("lat", "latitude"),
    "lng": ("lng", "lon", "long", "longitude"),
    "coordinates": ("coord", "coordinates"),
    "address": ("address", "streetaddress"),
    "location": ("location",),
    "city": ("city", "citylabel"),
    "country": ("country", "countrycode"),
    "cuisine": ("cuisine", "cuisines", "cuisinelabel"),
    "price": ("price",),
    "price_level": ("pricelevel",),
    "min_price": ("minprice",),
    "max_price": ("maxprice",),
    "currency": ("currency",),
    "url": ("url", "item"),
    "website": ("website", "websiteurl"),
    "phone": ("phone", "phonenumber", "tel"),
    "award_year": ("awardyear", "year"),
}
FIELDS: Mapping[str, str] = {name: known for known, names in _NAMES.items() for name in names}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the line it begins on (of JSON, the number of the record) and its fields."""

    line: int
    fields: Mapping[str, str]
    broken: str | None = None  # why it could not even be taken apart

    def get(self, name: str) -> str:
        return self.fields.get(name, "")


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a file, and which format it was."""

    kind: str
    rows: list[Row] = field(repr=False)
    counted_in: str = "line"  # the word for `Row.line`


@dataclass(frozen=True, slots=True)
class Fault:
    """A row that was not taken, and why."""

    line: int
    reason: str


def known_field(column: str) -> str | None:
    """The field a column's name stands for."""
    return FIELDS.get("".join(c for c in column.casefold() if c.isalnum()))


def bounded(rows: Iterable[Row]) -> list[Row]:
    """The rows as a list.

    Raises:
        OperatorError: there are too many, or none.
    """
    kept: list[Row] = []
    for row in rows:
        if len(kept) == MAX_ROWS:
            raise OperatorError(f"The file has more than {MAX_ROWS:,} rows, which is the limit.")
        kept.append(row)
    if not kept:
        raise OperatorError("The file has no rows.")
    return kept
