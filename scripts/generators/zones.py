"""Write src/location_context/gazetteer/zones.npy, the boundaries of zones that the gazetteer maps.

They are those that tzfpy packages, as `requirements/` pins it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import tzfpy
from numpy.typing import NDArray

from location_context.gazetteer.zones import FILE
from scripts.generators.cities import packed


def polygons(zone: str) -> Iterator[list[NDArray]]:
    """Yield the rings of each polygon, the outer one first, as rows of longitude, latitude."""
    for feature in msgspec.json.decode(tzfpy.get_tz_polygon_geojson(zone))["features"]:
        given = feature["geometry"]
        for rings in [given["coordinates"]] if given["type"] == "Polygon" else given["coordinates"]:
            yield [np.array(ring, "<f4") for ring in rings]


def outline(rings: Sequence[NDArray]) -> NDArray:
    """Join the rings to one line: to each hole, around it and back, which cancels out."""
    closed = [np.vstack([ring, ring[:1]]) for ring in rings]
    holes = [part for hole in closed[1:] for part in (hole, closed[0][:1])]
    return np.vstack([closed[0], *holes])


def columns() -> dict[str, NDArray]:
    """Return the table by its columns, which `Boundaries` describes."""
    zones = sorted(tzfpy.timezonenames())
    found = [
        (number, outline(rings)) for number, zone in enumerate(zones) for rings in polygons(zone)
    ]
    lines = [line for _, line in found]
    lows, highs = (np.array([end(line, axis=0) for line in lines]) for end in (np.min, np.max))
    corners = np.vstack(lines)
    return {
        "lng": corners[:, 0],
        "lat": corners[:, 1],
        "ends": np.cumsum([len(line) for line in lines]).astype("<u4"),
        "west": lows[:, 0],
        "south": lows[:, 1],
        "east": highs[:, 0],
        "north": highs[:, 1],
        "zone": np.array([number for number, _ in found], "<u2"),
        "zones": np.array([zone.encode() for zone in zones]),
    }


def files() -> dict[Path, bytes]:
    return {FILE: packed(columns())}
