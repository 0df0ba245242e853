"""Cells: the grid squares within which points share what a provider said.

The archive is kept per cell of 0.25 degrees (ERA5), the forecast per cell of 0.1 degrees (the finer
of the models), NASA POWER per its half degree. A cell is asked for at its centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from location_context.point import Point

ARCHIVE_DEGREES = 0.25
FORECAST_DEGREES = 0.1
POWER_DEGREES = 0.5


@dataclass(frozen=True, slots=True)
class Cell:
    """The centre of a cell, and the zone whose days are meant."""

    lat: float
    lng: float
    timezone: str

    @property
    def key(self) -> str:
        return f"{self.lat:.4f},{self.lng:.4f},{self.timezone}"

    @property
    def params(self) -> dict[str, str]:
        return {"latitude": f"{self.lat:.4f}", "longitude": f"{self.lng:.4f}"}


def cell_of(point: Point, degrees: float, timezone: str | None = None) -> Cell:
    """The cell that holds the point; at the poles and the date line there is one."""
    lat = round(round(point.lat / degrees) * degrees, 4) + 0.0
    lng = round(round(point.lng / degrees) * degrees, 4) + 0.0
    if abs(lat) == 90:
        lng = 0.0
    return Cell(lat, 180.0 if lng == -180 else lng, timezone or point.timezone)
