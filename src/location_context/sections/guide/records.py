"""Records of the guide: a restaurant, the five tiers, and what is known of an imported version."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

import msgspec

Tier = Literal["three_star", "two_star", "one_star", "good_value", "selected"]
TIERS: tuple[Tier, ...] = ("three_star", "two_star", "one_star", "good_value", "selected")
STARS: dict[Tier, int] = {
    "three_star": 3,
    "two_star": 2,
    "one_star": 1,
    "good_value": 0,
    "selected": 0,
}


class Restaurant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One restaurant as it is kept. `country` is ISO 3166-1 alpha-2; addresses are http(s)."""

    id: str
    name: str
    tier: Tier
    lat: float
    lng: float
    cuisine: tuple[str, ...] = ()
    price_level: int | None = None
    price: str | None = None
    address: str | None = None
    city: str | None = None
    country: str | None = None
    url: str | None = None
    website: str | None = None
    phone: str | None = None
    award_year: int | None = None


class Words(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operator's own words for a tier, by language tag; the tag "" stands for all others."""

    label: dict[str, str] = {}
    meaning: dict[str, str] = {}


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a version of the guide came from, and what it asks to be said of it."""

    kind: str  # sample, or the format it was read from
    source: str  # the file's name or the host it came from
    dated: date  # the day its data was true
    attribution: str
    attribution_url: str | None = None
    license: str | None = None
    labels: dict[Tier, Words] = {}

    @property
    def sample(self) -> bool:
        return self.kind == "sample"


class GuideVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One imported version. `replaces` is the version that served when this one came."""

    number: int
    provenance: Provenance
    rows: int
    imported_at: datetime
    replaces: int | None
    active: bool
