"""The sources of a climate store: daily or hourly weather archives of a grid, read tile by tile.

A source is a class with an entry point in the group `location_context.climate_sources`. It only
reads daily values and converts them to our units; other modules compute the statistics and the
store.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date
from importlib import import_module
from typing import Any, ClassVar, Self

from location_context.errors import OperatorError
from location_context.sections.contract import Attribution
from location_context.sections.weather.climate.layout import Grid, Tile
from location_context.sections.weather.records import Floats

GROUP = "location_context.climate_sources"
NEEDS_EXTRA = 'This needs the extra climate: pip install "location-context[climate]"'
TILE_CELLS = 15
ANONYMOUS = {"skip_signature": True, "region": "us-west-2"}


class ClimateSource(ABC):
    """A weather archive on a regular grid, from which climate stores are built.

    Attributes:
        name: the name of the source's entry point.
        title: the owner of the data, as `basis.provider` in the answer shows it.
        model: the model's name, as the owner states it.
        representativeness: how far the highs and lows of one place may be from its grid cell's:
            standard errors in K; None if unknown.
        grid: the grid of its cells' centres.
        fields: the fields of `ARCHIVE_FIELDS` that the source has.
        lacking: the variables, by the source's own names, that would be used but are missing.
        first, last: the first and the last day that the source covers.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    model: ClassVar[str]
    representativeness: ClassVar[tuple[float, float] | None] = None
    grid: Grid
    fields: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    first: date
    last: date

    @classmethod
    @abstractmethod
    def open(cls, location: str | None) -> Self:
        """Open the source at a path or URL; None means the source's default location, if any.

        Raises:
            OperatorError: the source cannot be read, or lacks a field that every climatology needs.
        """

    @abstractmethod
    def attribution(self, today: date) -> Sequence[Attribution]:
        """Return the notices that the source's licence requires for data read today."""

    @abstractmethod
    def read(self, tile: Tile, first: date, last: date) -> Floats:
        """Return the daily values of a tile's cells from `first` to `last`.

        Returns:
            Cells (row by row) x `ARCHIVE_FIELDS` x days in our units, NaN where unknown.
        """

    def tiles(self) -> list[Tile]:
        """Return tiles that cover the grid; if the data are in chunks, one tile for each chunk."""
        grid = self.grid
        return [
            Tile(
                row, column,
                min(TILE_CELLS, grid.rows - row), min(TILE_CELLS, grid.columns - column),
            )
            for row in range(0, grid.rows, TILE_CELLS)
            for column in range(0, grid.columns, TILE_CELLS)
        ]  # fmt: skip


def needed(module: str) -> Any:
    """Import and return a module that is installed with the extra `climate`.

    Raises:
        OperatorError: the extra is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise OperatorError(NEEDS_EXTRA) from None


def open_zarr(location: str) -> Any:
    """Open the Zarr in a directory, or at an s3:// or http(s):// URL, as an xarray dataset.

    Only the coordinates are read now; other values are read when they are used. `s3://` URLs are
    read without a key; the environment variable AWS_ENDPOINT_URL selects a server other than
    Amazon's.

    Raises:
        OperatorError: there is no dataset, or it is not readable.
    """
    storage = needed("zarr.storage")
    if "://" in location:
        options: dict[str, Any] = {"client_options": {"allow_http": True}}
        if location.startswith("s3://"):
            options["config"] = ANONYMOUS
        store = storage.ObjectStore(
            needed("obstore.store").from_url(location, **options), read_only=True
        )
    else:
        store = storage.LocalStore(location, read_only=True)
    xarray = needed("xarray")
    try:
        return xarray.open_dataset(store, engine="zarr", chunks=None, mask_and_scale=True)
    except Exception as error:  # whatever a store, a codec or a server raises
        raise OperatorError(
            f"{location} cannot be read as Zarr: {type(error).__name__}: {error}"[:400]
        ) from error
