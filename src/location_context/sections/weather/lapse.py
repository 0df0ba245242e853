"""The correction for height: 6.5 K a km between the provider's cell and the point.

ICAO standard atmosphere; made once, to temperatures read from what is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.weather.records import TEMPERATURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from location_context.sections.weather.records import Columns, YearRecord

LAPSE_K_PER_M = 0.0065
_CORRECTED = {
    *TEMPERATURES,
    *(f"temperature_{end}_{level}" for end in ("max", "min") for level in ("p10", "p90")),
}


def correction(grid_metres: float | None, point_metres: float | None) -> float | None:
    """Kelvin to add at the point; None when a height is not known."""
    if grid_metres is None or point_metres is None:
        return None
    return (grid_metres - point_metres) * LAPSE_K_PER_M


def corrected(columns: Columns, kelvin: float) -> Columns:
    return {
        name: values + kelvin if name in _CORRECTED else values for name, values in columns.items()
    }


def corrected_years(years: Sequence[YearRecord], kelvin: float) -> list[YearRecord]:
    return [
        type(year)(
            year.year,
            year.temperature_max_mean + kelvin,
            year.temperature_min_mean + kelvin,
            year.precipitation_total,
            year.wet_days,
        )
        for year in years
    ]
