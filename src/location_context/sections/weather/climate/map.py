"""Maps of a climate store for one month: typical highs, wet days, or the range of the highs."""

from calendar import month_name, monthrange
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from location_context.errors import OperatorError
from location_context.sections.weather import climatology
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.sources import needed
from location_context.sections.weather.climate.store import ClimateStore
from location_context.sections.weather.records import Floats
from location_context.stay import Stay

SIZE_INCHES, DOTS_PER_INCH = (12.0, 6.9), 130
SLOTS_AT_ONCE = 20_000  # 20 MB of a month


class Drawn(NamedTuple):
    """A quantity that a map can show: title, colours, levels, and a function that computes it.

    Attributes:
        levels: the values at which the colour changes.
        columns: the statistics from which the quantity is computed.
        value: a function that returns the quantity for each slot (grid cell). Its argument has the
            statistics: an array of slots x days x `columns`.
    """

    title: str
    colours: str
    levels: Floats
    columns: tuple[str, ...]
    value: Callable[[Floats], Floats]  # of slots x days x columns, for each slot


FIELDS: Mapping[str, Drawn] = {
    "temperature_max": Drawn(
        "Typical daily high, °C", "RdYlBu_r", np.arange(-40, 46, 5.0),
        ("temperature_max",), lambda days: days[..., 0].mean(axis=1),
    ),
    "wet_days": Drawn(
        "Days with at least 1 mm of rain or snow", "YlGnBu", np.arange(0, 31, 2.0),
        ("precipitation_probability",), lambda days: days[..., 0].sum(axis=1) / 100,
    ),
    "range": Drawn(
        "Span that holds eight highs in ten, °C", "viridis", np.arange(0, 31, 2.0),
        ("temperature_max_p10", "temperature_max_p90"),
        lambda days: (days[..., 1] - days[..., 0]).mean(axis=1),
    ),
}  # fmt: skip


def month_values(store: ClimateStore, month: int, field: str) -> Floats:
    """Return a quantity's value in a month for each grid cell: an array of rows x columns.

    Row 0 is in the south, column 0 in the west. Cells of the sea and unknown cells are NaN.

    Args:
        store: the climate store.
        month: 1 to 12.
        field: a key of `FIELDS`.
    """
    drawn, manifest = FIELDS[field], store.manifest
    last = monthrange(2001, month)[1]
    own = climatology.places(Stay(date(2001, month, 1), date(2001, month, last)))
    names = [one.name for one in manifest.fields]
    chosen = [names.index(name) for name in drawn.columns]
    scales = tuple(manifest.fields[place] for place in chosen)
    of_slot = np.full(manifest.slots + 1, np.nan)  # the last is for cells without a slot
    for first in range(0, manifest.slots, SLOTS_AT_ONCE):
        some = slice(first, min(first + SLOTS_AT_ONCE, manifest.slots))
        packed = store.arrays.stats[some, own[0] : own[-1] + 1][..., chosen]
        of_slot[some] = drawn.value(layout.unpack(packed, scales))
    of_slot[:-1][store.arrays.cells[:, 2] == 0] = np.nan  # all sea
    return of_slot[store.arrays.index]


def draw(store: ClimateStore, month: int, field: str, path: Path) -> None:
    """Draw the map of a quantity in a month into the file `path`, as PNG or SVG by its extension.

    Raises:
        OperatorError: the extra `climate` is not installed, or the file cannot be written.
    """
    drawn, manifest = FIELDS[field], store.manifest
    grid, values = manifest.grid, month_values(store, month, field)
    figure = needed("matplotlib.figure").Figure(figsize=SIZE_INCHES, layout="constrained")
    whole = grid.spans_globe
    axes: Any = figure.add_subplot(projection="mollweide" if whole else None)
    unit = np.radians if whole else np.asarray
    edges_lng = grid.west + (np.arange(grid.columns + 1) - 0.5) * grid.lng_step
    edges_lat = grid.south + (np.arange(grid.rows + 1) - 0.5) * grid.lat_step
    norm = needed("matplotlib.colors").BoundaryNorm(drawn.levels, 256, extend="both")
    mesh = axes.pcolormesh(
        unit(np.clip(edges_lng, -180, 180) if whole else edges_lng),
        unit(np.clip(edges_lat, -90, 90)),
        values, cmap=drawn.colours, norm=norm, rasterized=True,
    )  # fmt: skip
    axes.set_facecolor("#eef2f5")
    axes.grid(visible=True, color="#9aa7b1", linewidth=0.3)
    if whole:
        axes.set_xticklabels([])
    axes.tick_params(labelsize=8, colors="#55626d")
    years = f"{manifest.years[0]} to {manifest.years[1]}"
    figure.suptitle(f"{drawn.title} · {month_name[month]}, {years}", fontsize=15)
    bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", shrink=0.7, aspect=45, pad=0.04)
    bar.ax.tick_params(labelsize=9)
    source = f"Data: {manifest.title}, {manifest.model}"
    bar.set_label(source, fontsize=8, color="#55626d", labelpad=6)
    text_as_text = {"svg.fonttype": "none"}  # not as outlines
    try:
        with needed("matplotlib").rc_context(text_as_text):
            figure.savefig(path, dpi=DOTS_PER_INCH, facecolor="white")
    except (OSError, ValueError) as error:
        raise OperatorError(f"The map cannot be written to {path}: {error}") from None
