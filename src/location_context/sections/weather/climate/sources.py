"""The sources of a climate store: daily or hourly archives of a whole grid, read tile by tile.

A source is a class behind an entry point of the group `location_context.climate_sources`. It reads
daily values in our units, and knows nothing of statistics, stores or schedulers.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
    """A gridded archive.

    Attributes:
        name: the name of the source's entry point.
        title: the owner of the data, as `basis.provider` shows it.
        model: the model's name, as the owner states it.
        representativeness: as in `ArchiveProvider`.
        grid: the grid of its cells' centres.
        fields: those of `ARCHIVE_FIELDS` that the source has.
        lacking: the source's own names of variables that would be used but are missing.
        first, last: the first and the last day that the source covers.
        bytes_read: how many bytes this object has read so far.
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
        """Open the source at an address or path; None is its default location, if it has one.

        Raises:
            OperatorError: the source cannot be read, or lacks what every climatology needs.
        """

    @abstractmethod
    def attribution(self, today: date) -> Sequence[Attribution]:
        """Return the notices that the source's licence requires for data read today."""

    @abstractmethod
    def read(self, tile: Tile, first: date, last: date) -> Floats:
        """Return the daily values of a tile's cells, row by row.

        Returns:
            Cells x ARCHIVE_FIELDS x days in our units, NaN where unknown.
        """

    @property
    def bytes_read(self) -> int:
        return 0

    def tiles(self) -> list[Tile]:
        """Return the tiles that cover the grid; a source with chunks returns one for each chunk."""
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
    """Import and return a module of the extra `climate`.

    Raises:
        OperatorError: the extra is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise OperatorError(NEEDS_EXTRA) from None


class ZarrFolder:
    """A Zarr store at an s3:// or http(s):// address or in a directory; it counts bytes read.

    `s3://` is read without a key; AWS_ENDPOINT_URL names another server than Amazon's.
    """

    def __init__(self, location: str, config: Mapping[str, Any] = ANONYMOUS) -> None:
        self.location = location
        self._read = 0
        storage = needed("zarr.storage")
        if "://" not in location:
            self.store = storage.LocalStore(location, read_only=True)
            return
        from_url = needed("obstore.store").from_url
        options = {"client_options": {"allow_http": True}}
        if location.startswith("s3://"):
            options["config"] = dict(config)
        self.store = storage.ObjectStore(from_url(location, **options), read_only=True)

    def open(self) -> Any:
        """Return the dataset (xarray), of which only the coordinates have been read.

        Raises:
            OperatorError: there is no dataset, or it is not readable.
        """
        counting = self._counting()
        try:
            return needed("xarray").open_dataset(
                counting, engine="zarr", chunks=None, mask_and_scale=True
            )
        except OperatorError:
            raise
        except Exception as error:  # whatever a store, a codec or a server raises
            raise OperatorError(
                f"{self.location} cannot be read as Zarr: {type(error).__name__}: {error}"[:400]
            ) from error

    @property
    def bytes_read(self) -> int:
        return self._read

    def _counting(self) -> Any:
        folder = self
        wrapper: Any = needed("zarr.storage").WrapperStore

        class Counting(wrapper):  # type: ignore[misc]  # imported late
            async def get(self, *given: Any, **named: Any) -> Any:
                found = await super().get(*given, **named)
                folder._read += len(found) if found is not None else 0
                return found

        return Counting(self.store)
