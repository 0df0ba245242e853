"""Checks of a climate store: checksums, plausible values, and some cells recomputed."""

from collections.abc import Callable, Iterator

import numpy as np

from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.build import days_of, sum_of
from location_context.sections.weather.climate.layout import TileState
from location_context.sections.weather.climate.sources import ClimateSource
from location_context.sections.weather.climate.store import ClimateStore
from location_context.sections.weather.climate.tile import build_tile
from location_context.sections.weather.records import FIELDS, Floats

MISSING_SHARE = 0.05  # of the cells; a source may lack a few cells at its edge
SPOT_CHECKS = 20
SEED = 29


def findings(
    store: ClimateStore, source: ClimateSource | None, advance: Callable[[], None]
) -> Iterator[str]:
    """Check a climate store, and yield a sentence for each fault.

    Args:
        store: an open store, whose shapes were checked when it was opened.
        source: the source from which one cell in each of twenty tiles is recomputed; None skips
            this check.
        advance: called after each tile.
    """
    manifest, unknown = store.manifest, 0
    for state in manifest.tiles:
        slots = slice(state.first_slot, state.first_slot + state.cells)
        stats, history = store.arrays.stats[slots], store.arrays.history[slots]
        if sum_of(stats, history) != state.sha256:
            yield f"the checksum of tile {state.tile.key} differs from the manifest"
        unknown += int((stats[:, 0, 0] == layout.UNKNOWN).sum())
        yield from _implausible(state, layout.unpack(stats, manifest.fields), manifest.fields)
        advance()
    if unknown > MISSING_SHARE * manifest.slots:
        yield f"{unknown} of {manifest.slots} cells have no values"
    if source is not None:
        yield from _spot_checks(store, source)


def _implausible(
    state: TileState, values: Floats, scales: tuple[layout.Scale, ...]
) -> Iterator[str]:
    """Check the values of a tile.

    Yield a sentence for each field with values outside its limits, or with p10 above p90.
    """
    columns = {scale.name: values[..., place] for place, scale in enumerate(scales)}
    for name, column in columns.items():
        field = FIELDS.get(name.removesuffix("_p10").removesuffix("_p90"))
        if field and not ((column >= field.lowest) & (column <= field.highest)
                          | np.isnan(column)).all():  # fmt: skip
            yield f"tile {state.tile.key}: {name} is beyond {field.lowest} to {field.highest}"
    for name in ("temperature_max", "temperature_min"):
        if (columns[f"{name}_p10"] > columns[f"{name}_p90"] + 0.011).any():
            yield f"tile {state.tile.key}: {name}_p10 is above {name}_p90"


def _spot_checks(store: ClimateStore, source: ClimateSource) -> Iterator[str]:
    """Choose some random tiles, and recompute one cell of each tile from the source.

    Yield a sentence for each cell whose new values differ from those in the store.
    """
    manifest, years = store.manifest, store.manifest.year_list
    first, last = days_of(years)
    random = np.random.default_rng(SEED)
    count = min(SPOT_CHECKS, len(manifest.tiles))
    for place in random.choice(len(manifest.tiles), count, replace=False):
        state = manifest.tiles[place]
        tile = state.tile
        index = store.arrays.index[
            tile.row : tile.row + tile.rows, tile.column : tile.column + tile.columns
        ].reshape(-1)
        cell = int(random.choice(np.flatnonzero(index >= 0)))
        slot = int(index[cell])
        values = source.read(tile, first, last)[[cell]]
        stats, history = build_tile(values, first, years, source.fields)
        if not (
            np.array_equal(stats[0], store.arrays.stats[slot])
            and np.array_equal(history[0], store.arrays.history[slot])
        ):
            row, column = divmod(cell, tile.columns)
            lat = manifest.grid.lat(tile.row + row)
            lng = manifest.grid.lng(tile.column + column)
            yield f"the values of the cell at {lat:g}, {lng:g} differ from the source"
