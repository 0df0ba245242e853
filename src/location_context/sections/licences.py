"""Licences of data: their names, and where their terms stand. The one list of both."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence by its SPDX identifier, as people write it, and the address of its terms."""

    spdx: str
    name: str
    url: str


CC_BY = Licence("CC-BY-4.0", "CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/")
ODBL = Licence("ODbL-1.0", "ODbL 1.0", "https://opendatacommons.org/licenses/odbl/1-0/")
MIT = Licence("MIT", "MIT", "https://opensource.org/license/mit")
CC0 = Licence("CC0-1.0", "CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/")
_KNOWN = (
    CC_BY,
    ODBL,
    MIT,
    CC0,
    # of what an operator may import
    Licence("CC-BY-3.0", "CC BY 3.0", "https://creativecommons.org/licenses/by/3.0/"),
    Licence("CC-BY-SA-3.0", "CC BY-SA 3.0", "https://creativecommons.org/licenses/by-sa/3.0/"),
    Licence("CC-BY-SA-4.0", "CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    Licence("CC-BY-NC-4.0", "CC BY-NC 4.0", "https://creativecommons.org/licenses/by-nc/4.0/"),
    Licence("ODC-By-1.0", "ODC-By 1.0", "https://opendatacommons.org/licenses/by/1-0/"),
    Licence("PDDL-1.0", "PDDL 1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
    Licence("etalab-2.0", "Etalab 2.0", "https://www.etalab.gouv.fr/licence-ouverte-open-licence/"),
)
_ADDRESSES = {
    written.casefold(): one.url for one in _KNOWN for written in (one.spdx, one.name)
}  # fmt: skip


def terms_of(written: str | None) -> str | None:
    """The address of a licence's terms by its name or SPDX identifier; None when not known."""
    return _ADDRESSES.get(written.strip().casefold()) if written else None
