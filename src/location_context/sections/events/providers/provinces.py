"""Provinces: the part of a region that a point lies in, where schools keep days by province."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.events.providers.parts import is_kept
from location_context.sections.events.providers.province_maps import (
    ANDALUSIA,
    CZECHIA,
    TRENTINO_SOUTH_TYROL,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from location_context.point import Point

_MAPS = {"CZ": CZECHIA, "ES": ANDALUSIA, "IT": TRENTINO_SOUTH_TYROL}
_ARAGON = frozenset({"ES-HU", "ES-TE", "ES-Z"})  # not mapped


def _region_of(province: str) -> str:
    """The region of a mapped province; a Czech district's code begins with its region's."""
    return {"ES": "ES-AN", "IT": "IT-32"}.get(province[:2], province[: len("CZ-20")])


def _provinces() -> dict[str, frozenset[str]]:
    """All provinces of each region that has any here."""
    found = {"ES-AR": _ARAGON}
    for code in (code for each in _MAPS.values() for code in each.codes.values()):
        found[_region_of(code)] = found.get(_region_of(code), frozenset()) | {code}
    return found


PROVINCES = _provinces()


def collapse_provinces(codes: Iterable[str]) -> tuple[str, ...]:
    """The codes in order, regions in place of their provinces where all of them are named."""
    found = set(codes)
    for region, provinces in PROVINCES.items():
        if provinces <= found:
            found = (found - provinces) | {region}
    return tuple(sorted(found))


def province_of(point: Point) -> str | None:
    """The ISO 3166-2 code of the province, where a map tells one of the point's region."""
    known = _MAPS.get(point.country or "")
    province = known.at(point.lat, point.lng) if known else None
    if province is None or point.region not in {None, _region_of(province)}:
        return None
    return province


def observed_at(regions: tuple[str, ...], point: Point) -> bool | None:
    """Whether a holiday of these regions and provinces is kept at the point; None: not known."""
    province = province_of(point)
    region = point.region or (_region_of(province) if province else None)
    if not regions or province in regions:
        return True
    if region is None:
        return None
    if is_kept(regions, region):
        return True
    among = not PROVINCES.get(region, frozenset()).isdisjoint(regions)
    return None if among and province is None else False
