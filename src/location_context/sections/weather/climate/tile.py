"""The computation of a tile's arrays from daily values.

Statistics are computed by the functions that also serve answers from archives.
"""

from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from location_context.sections.weather import climatology
from location_context.sections.weather.climate.layout import (
    PLACES,
    UNKNOWN,
    Packed,
    Scale,
    pack,
    scales_of,
)
from location_context.sections.weather.climatology import HISTORY_FIELDS, HISTORY_ROWS
from location_context.sections.weather.records import PAD_DAYS, Floats

HISTORY_SCALES = tuple(map(Scale.of, HISTORY_FIELDS))


def build_tile(
    values: Floats, first: date, years: Sequence[int], fields: Sequence[str]
) -> tuple[Packed, Packed]:
    """Return the statistics and the daily history of each cell, as the integers of a climate store.

    If a cell lacks over a fifth of a year's highs or lows, all its values are unknown, so that
    answers use another source there.

    Args:
        values: metric values, cells x ARCHIVE_FIELDS x days, NaN where unknown.
        first: the first day of the values.
        years: consecutive years, oldest first.
        fields: the fields that the source has.

    Returns:
        Two arrays with values for each date: the statistics are cells x dates x fields, the history
        is cells x dates x years x 3 (high, low, rain). A date's index is the number that
        `climatology.places` gives it, counted from 1 January as 0.
    """
    scales = scales_of(fields)
    stats = np.full((len(values), PLACES, len(scales)), UNKNOWN, np.int16)
    history = np.full((len(values), PLACES, len(years), len(HISTORY_FIELDS)), UNKNOWN, np.int16)
    day = _days(first, values.shape[-1], years)
    for slot, cell in enumerate(values):
        padded = np.pad(cell, ((0, 0), (0, 1)), constant_values=np.nan)
        placed = padded[:, day]  # ARCHIVE_FIELDS x years x (places + 30)
        own = placed[:, :, PAD_DAYS:-PAD_DAYS]
        if climatology.missing(own[:, :, : climatology.YEAR_PLACES]).any():
            continue
        columns = climatology.summarise(placed)
        columns["samples"] = climatology.sample_counts(placed)
        stats[slot] = pack(np.stack([columns[one.name] for one in scales], axis=-1), scales)
        history[slot] = pack(own[HISTORY_ROWS].transpose(2, 1, 0), HISTORY_SCALES)
    return stats, history


def _days(first: date, count: int, years: Sequence[int]) -> NDArray[np.int_]:
    """Return for each date of each year the index of its value in an array of daily values.

    That array has `count` days from `first` on. A date outside it has the index `count`. The result
    is years x (366 + 30): each year also has the 15 days before it and the 15 days after it.
    """
    ordinals = np.stack(
        [climatology.ordinals(year, -PAD_DAYS, PLACES + 2 * PAD_DAYS) for year in years]
    )
    day = ordinals - first.toordinal()
    return np.where((ordinals > 0) & (day >= 0) & (day < count), day, count)
