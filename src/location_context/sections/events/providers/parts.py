"""Parts of countries as the holidays library names them: as ISO 3166-2, or as cities with a place.

Its keys are ISO suffixes with exceptions, listed here. Cities that keep holidays of their own are
circles; a part that is neither (the west of New South Wales) is left out, and so is one that has
an ISO 3166-1 code and holidays as a country. In Bavaria, Assumption Day is kept where most people
are Catholic: nearly everywhere but in the outlined parts of Franconia.

Missing in the library and added here: Good Friday in Hawaii (Hawaii Revised Statutes, section 8-1).
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from dateutil.easter import easter

from location_context.point import distance_km

if TYPE_CHECKING:
    from location_context.point import Point

_COUNTRIES = {
    "FI": "01",
    "FR": "971 972 973 974 976 BL MF NC PF PM TF WF",
    "NO": "21 22",
    "US": "AS GU MP PR UM VI",
}
_EXCEPTIONS: dict[tuple[str, str], str | None] = {
    ("BE", "Flemish"): "BE-VLG",
    ("BE", "French"): "BE-WAL",
    ("BE", "German"): None,
    ("BQ", "BON"): "BQ-BO",
    ("BQ", "SAB"): "BQ-SA",
    ("BQ", "STA"): "BQ-SE",
    ("AU", "NSW Western"): None,
    ("NZ", "South Canterbury"): None,
}
_CITIES: dict[tuple[str, str], tuple[float, float, float, str | None]] = {
    # centre, reach in km, the part around it from which its holidays are told apart
    ("BR", "São Paulo Capital"): (-23.57, -46.63, 20.0, "BR-SP"),
    ("CH", "Stadt Zurich"): (47.377, 8.535, 5.5, "CH-ZH"),
    ("DE", "Augsburg"): (48.367, 10.898, 8.0, "DE-BY"),
    ("ES", "Barcelona"): (41.397, 2.166, 6.5, "ES-CT"),
    ("IT", "Andria"): (41.227, 16.297, 5.0, "IT-BT"),
    ("IT", "Barletta"): (41.318, 16.283, 5.0, "IT-BT"),
    ("IT", "Cesena"): (44.139, 12.243, 6.0, "IT-FC"),
    ("IT", "Forli"): (44.222, 12.041, 6.0, "IT-FC"),
    ("IT", "Pesaro"): (43.911, 12.913, 5.0, "IT-PU"),
    ("IT", "Trani"): (41.277, 16.417, 4.0, "IT-BT"),
    ("IT", "Urbino"): (43.725, 12.636, 5.0, "IT-PU"),
    # provinces in the library, but the day is the capital's; told apart from a neighbour
    ("IT", "BA"): (41.117, 16.872, 8.0, "IT-TA"),
    ("IT", "CA"): (39.224, 9.122, 6.0, "IT-OR"),
    ("IT", "CT"): (37.502, 15.087, 7.0, "IT-SR"),
    ("IT", "FI"): (43.770, 11.256, 6.0, "IT-AR"),
    ("IT", "GE"): (44.405, 8.946, 10.0, "IT-SV"),
    ("IT", "LE"): (40.353, 18.174, 6.0, "IT-BR"),
    ("IT", "MI"): (45.464, 9.190, 8.0, "IT-PV"),
    ("IT", "NA"): (40.852, 14.268, 8.0, "IT-CE"),
    ("IT", "PA"): (38.116, 13.361, 8.0, "IT-AG"),
    ("IT", "PD"): (45.408, 11.876, 6.0, "IT-RO"),
    ("IT", "PI"): (43.716, 10.397, 6.0, "IT-LI"),
    ("IT", "RM"): (41.893, 12.483, 14.0, "IT-VT"),
    ("IT", "RN"): (44.060, 12.566, 6.0, "IT-RA"),
    ("IT", "SI"): (43.318, 11.331, 6.0, "IT-GR"),
    ("IT", "TN"): (46.067, 11.121, 6.0, "IT-BZ"),
    ("IT", "TO"): (45.070, 7.687, 8.0, "IT-CN"),
    ("IT", "TS"): (45.650, 13.777, 6.0, "IT-GO"),
    ("IT", "VE"): (45.438, 12.327, 9.0, "IT-TV"),
    ("IT", "VR"): (45.438, 10.992, 7.0, "IT-VI"),
}
_PARENTS = {"FR-6AE": "FR-GES", "FR-57": "FR-GES"}
_PROTESTANT_FRANCONIA = (  # south, north, west, east
    (49.05, 49.66, 10.10, 11.45),
    (49.85, 50.42, 11.30, 12.25),
    (50.15, 50.40, 10.70, 11.10),
)


def iso_of(country: str, key: str) -> str | None:
    """The ISO 3166-2 code of a part; None for a city, a country and what has no code."""
    if (country, key) in _CITIES or key in _COUNTRIES.get(country, "").split():
        return None
    return _EXCEPTIONS.get((country, key), f"{country}-{key}")


def also_kept(country: str, year: int) -> list[tuple[date, str]]:
    """Days that a part keeps by law and the library does not know of, with the part."""
    return [(easter(year) - timedelta(days=2), "US-HI")] if country == "US" else []


def has_all_parts(country: str) -> bool:
    """Whether the library lists every part, not only those with holidays of their own."""
    return country != "FR"


def city_keys(country: str) -> dict[str, str | None]:
    """The cities of a country that keep holidays of their own, and the part around each."""
    return {key: city[3] for (of, key), city in _CITIES.items() if of == country}


def within_city(country: str, key: str, point: Point) -> bool:
    """Whether the point lies in such a city."""
    lat, lng, reach, _ = _CITIES[country, key]
    return distance_km(point.lat, point.lng, lat, lng) <= reach


def keeps_catholic_days(point: Point) -> bool:
    """Whether holidays of Catholic municipalities are kept here (Bavaria only)."""
    return not any(
        south < point.lat < north and west < point.lng < east
        for south, north, west, east in _PROTESTANT_FRANCONIA
    )


def is_kept(regions: tuple[str, ...], region: str) -> bool:
    """Whether a region, or the one it is part of, is among those that keep a holiday."""
    return region in regions or _PARENTS.get(region) in regions
