"""OpenHolidays' names of the parts of a country, as ISO 3166-2.

Some are ISO's own; others are letters where ISO has numbers, zones of several regions (France, the
Netherlands), language communities (Belgium) or kinds of schools, of which the general ones count.
A part below a region, or of some schools only, is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# country: its name for a part = the ISO codes of the regions that it means
_NAMED = {
    "AT": "BL=1 KÄ=2 NÖ=3 OÖ=4 SB=5 SM=6 TI=7 VA=8 WI=9",
    "BE": "NL=VLG,BRU FR=WAL,BRU DE=",  # the German-speaking towns are no region
    "CH": "GR-VS=GR SO-VS=SO ZH-VS=ZH",
    "CZ": "PR=10 ST=20 JC=31 PL=32 KA=41 US=42 LI=51 KR=52 PA=53 VY=63 JM=64 OL=71 ZL=72 MO=80",
    "DE": "MV-ABS=MV",
    "FR": "ZA=ARA,BFC,NAQ ZB=BRE,CVL,GES,HDF,NOR,PAC,PDL ZC=IDF,OCC CO=20R",
    "IT": "AB=65 BA=77 CL=78 CM=72 ER=45 FV=36 LA=62 LI=42 LO=25 MA=57 MO=67 PI=21 PU=75 SA=88 "
    "SI=82 TO=52 TR=32 UM=55 VA=23 VE=34",
    "NL": "NO=DR,FL,FR,GR,NH,OV MI=GE,UT,ZH ZU=LI,NB,ZE",  # part of Gelderland is in the south
    "PL": "DS=02 KP=04 LB=06 LD=08 LU=10 MA=12 MZ=14 OP=16 PD=18 PK=20 PM=22 SK=24 SL=26 WN=28 "
    "WP=30 ZP=32",
    "PT": "AV=01 BE=02 BR=03 BA=04 CB=05 CO=06 EV=07 FA=08 GU=09 LE=10 LI=11 PA=12 PO=13 SA=14 "
    "SE=15 VC=16 VR=17 VI=18 AC=20 MA=30",
}  # fmt: skip


def _parts(country: str, named: str) -> dict[str, tuple[str, ...]]:
    pairs = (one.split("=") for one in named.split())
    return {
        f"{country}-{name}": tuple(f"{country}-{code}" for code in codes.split(",") if code)
        for name, codes in pairs
    }


REGIONS = {
    name: isos for country, named in _NAMED.items() for name, isos in _parts(country, named).items()
}


def regions_of(names: Iterable[str]) -> tuple[str, ...]:
    """The ISO 3166-2 codes of all regions that these names mean, in order."""
    found: set[str] = set()
    for name in names:
        plain = (name,) if name.count("-") == 1 else ()
        found.update(REGIONS.get(name, plain))
    return tuple(sorted(found))
