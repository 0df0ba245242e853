"""Records of the guide: a restaurant, the five tiers, an imported version, and their store."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal, Protocol

import msgspec

Tier = Literal["three_star", "two_star", "one_star", "good_value", "selected"]
TIERS: tuple[Tier, ...] = ("three_star", "two_star", "one_star", "good_value", "selected")
STARS: dict[Tier, int] = dict(zip(TIERS, (3, 2, 1, 0, 0), strict=True))


MAX_NOTE_LENGTH = 140  # characters: two or three lines of a card on a phone


class Restaurant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One restaurant, as imported from a dataset and stored.

    `id` is the dataset's id ("" for none) until `matching.assign_ids` replaces it with the final
    id. `country` is ISO 3166-1 alpha-2; `url` and `website` are http(s). `note` is a sentence of
    the operator, such as a hotel's own tip.
    """

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
    note: str | None = None


class TierTexts(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operator's own name (`label`) and explanation (`meaning`) of a tier, by language tag.

    The text under the tag "" is for all other languages.
    """

    label: dict[str, str] = {}
    meaning: dict[str, str] = {}


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The origin and licence of the data in one version of a guide, and the operator's choices.

    The operator may choose names of tiers (`labels`) and search radii (`radii`) for the version. If
    `kind` or `attribution` is empty, the import sets it.
    """

    source: str  # name of the file, or host of the address
    dated: date  # day on which the data was current
    kind: str = ""  # "sample", or the format of the file
    attribution: str = ""
    attribution_url: str | None = None
    license: str | None = None
    labels: dict[Tier, TierTexts] = {}  # the operator's own texts
    radii: tuple[float, ...] = ()  # km for each tier; empty: the radii in the settings

    @property
    def sample(self) -> bool:
        return self.kind == "sample"


class GuideVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One imported version of a guide; `name` is empty for the guide without a name.

    `number` is unique among the versions of all guides. `replaces` is the number of the version
    that was active before, to which the command `guide rollback` returns; None if there was none.
    """

    number: int
    name: str
    provenance: Provenance
    rows: int
    imported_at: datetime
    replaces: int | None
    active: bool


class GuideStore(Protocol):
    """A store of versions of guides; each guide name has at most one active version."""

    async def active(self) -> Mapping[str, GuideVersion]:
        """Return the active version of each guide, by name; called every 2 s, so must be quick."""
        ...

    async def load(self, number: int) -> list[Restaurant]:
        """Return the restaurants of a version; an empty list if the version was deleted.

        Raises:
            StorageError: the restaurants cannot be read, or one of the records is damaged.
        """
        ...

    async def replace(
        self,
        provenance: Provenance,
        restaurants: Sequence[Restaurant],
        imported_at: datetime,
        name: str = "",
    ) -> GuideVersion:
        """Store and activate a new version of the guide `name` in one transaction; return it."""
        ...
