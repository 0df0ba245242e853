"""OpenHolidays' names of the parts of a country, as ISO 3166-2.

Some are ISO's own; others are letters where ISO has numbers, zones of several regions (France, the
Netherlands) or language communities (Belgium). Provinces stand for themselves, all of a region for
it. Districts without a code stand for their canton when they are most of it. Towns are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.events.providers.provinces import collapse_provinces

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# country: its name for a part = the ISO codes of the regions that it means
_NAMED = {
    "AT": "BL=1 KÄ=2 NÖ=3 OÖ=4 SB=5 SM=6 TI=7 VA=8 WI=9",
    "BE": "NL=VLG,BRU FR=WAL,BRU DE=",  # the German-speaking towns are no region
    "CZ": "PR=10 ST=20 JC=31 PL=32 KA=41 US=42 LI=51 KR=52 PA=53 VY=63 JM=64 OL=71 ZL=72 MO=80",
    "DE": "MV-ABS=MV",
    "FR": "ZA=ARA,BFC,NAQ ZB=BRE,CVL,GES,HDF,NOR,PAC,PDL ZC=IDF,OCC CO=20R AR=ARA BF=BFC BT=BRE "
    "CV=CVL GE=GES HF=HDF IF=IDF NA=NAQ NO=NOR OC=OCC PC=PAC PL=PDL GP=971 MQ=972 GY=973 RU=974 "
    "SP=PM YT=976",
    "IT": "AB=65 BA=77 CL=78 CM=72 ER=45 FV=36 LA=62 LI=42 LO=25 MA=57 MO=67 PI=21 PU=75 SA=88 "
    "SI=82 TO=52 TR=32 UM=55 VA=23 VE=34",
    "NL": "NO=DR,FL,FR,GR,NH,OV MI=GE,UT,ZH ZU=GE,LI,NB,ZE",  # Gelderland lies in two
    "PL": "DS=02 KP=04 LB=06 LD=10 LU=08 MA=12 MZ=14 OP=16 PD=18 PK=20 PM=22 SK=24 SL=26 WN=28 "
    "WP=30 ZP=32",
    "PT": "AV=01 BE=02 BR=03 BA=04 CB=05 CO=06 EV=07 FA=08 GU=09 LE=10 LI=11 PA=12 PO=13 SA=14 "
    "SE=15 VC=16 VR=17 VI=18 AC=20 MA=30",
    "RO": "BU=B",
}  # fmt: skip
_PROVINCES = {
    "CZ": "ST-BN=201 ST-BE=202 ST-KL=203 ST-KO=204 ST-KH=205 ST-ME=206 ST-MB=207 ST-NB=208 "
    "ST-PH=209 ST-PZ=20A ST-PB=20B ST-RA=20C JC-CB=311 JC-CK=312 JC-JH=313 JC-PI=314 JC-PT=315 "
    "JC-ST=316 JC-TA=317 PL-DO=321 PL-KT=322 PL-PM=323 PL-PJ=324 PL-PS=325 PL-RO=326 PL-TC=327 "
    "KA-CH=411 KA-KV=412 KA-SO=413 US-DC=421 US-CV=422 US-LT=423 US-LN=424 US-MO=425 US-TP=426 "
    "US-UL=427 LI-CL=511 LI-JN=512 LI-LB=513 LI-SM=514 KR-HK=521 KR-JC=522 KR-NA=523 KR-RK=524 "
    "KR-TU=525 PA-CR=531 PA-PU=532 PA-SY=533 PA-UO=534 VY-HB=631 VY-JI=632 VY-PE=633 VY-TR=634 "
    "VY-ZR=635 JM-BK=641 JM-BM=642 JM-BO=643 JM-BV=644 JM-HO=645 JM-VY=646 JM-ZN=647 OL-JE=711 "
    "OL-OC=712 OL-PV=713 OL-PR=714 OL-SU=715 ZL-KM=721 ZL-UH=722 ZL-VS=723 ZL-ZL=724 MO-BR=801 "
    "MO-FM=802 MO-KI=803 MO-NJ=804 MO-OP=805 MO-OV=806",
    "ES": "AN-AL=AL AN-CA=CA AN-CO=CO AN-GR=GR AN-HL=H AN-JA=J AN-MA=MA AN-SE=SE AR-HU=HU "
    "AR-TE=TE AR-ZG=Z",
    "IT": "TR-BZ=BZ TR-TN=TN",
}  # fmt: skip
_DISTRICTS = {
    "CH-AI": 5,
    "CH-GR": 11,
}  # how many each has: Oberegg and Moesa keep days of their own
# kinds of schools that few of the children go to, and schools of a canton's smaller language
_FEW = frozenset({"CH-BE-EO", "CH-SO-BS", "CH-SO-MS", "CH-ZH-BS", "CH-ZH-MS", "DE-MV-BBS"})


def _parts(country: str, named: str) -> dict[str, tuple[str, ...]]:
    pairs = (one.split("=") for one in named.split())
    return {
        f"{country}-{name}": tuple(f"{country}-{code}" for code in codes.split(",") if code)
        for name, codes in pairs
    }


def _all(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {
        name: isos
        for country, named in table.items()
        for name, isos in _parts(country, named).items()
    }


REGIONS = _all(_NAMED)
PROVINCES_NAMED = _all(_PROVINCES)


def regions_of(subdivisions: Sequence[str], groups: Iterable[str] = ()) -> tuple[str, ...]:
    """The ISO 3166-2 codes of the regions and provinces that a row names, in order.

    Its groups count only where it names no subdivision: else they tell which schools there.
    """
    found: set[str] = set()
    for name in subdivisions or groups:
        plain = (name,) if name.count("-") == 1 else ()
        found.update(PROVINCES_NAMED.get(name) or REGIONS.get(name, plain))
    for region, count in _DISTRICTS.items():
        named = {name for name in subdivisions if name.startswith(f"{region}-")}
        if len(named) * 2 > count:
            found.add(region)
    return collapse_provinces(found)


def is_of_few(groups: Sequence[str]) -> bool:
    """Whether a row is for schools only that most children of its region do not go to."""
    return bool(groups) and _FEW.issuperset(groups)
