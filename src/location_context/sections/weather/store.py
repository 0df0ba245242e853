"""ClimateStore: what the weather section asks of storage. What is kept once is kept for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from location_context.sections.weather.records import MonthRow


class ClimateStore(Protocol):
    """Keeps the archive per source, grid cell, year and month, and heights of points."""

    async def load(self, source: str, cell: str, months: Sequence[int]) -> list[MonthRow]:
        """Every year kept of these months (1 to 12) of a cell."""
        ...

    async def keep(self, rows: Sequence[MonthRow]) -> None:
        """Keep rows, in place of those kept before; all or none."""
        ...

    async def height(self, lat: float, lng: float) -> float | None:
        """The kept height of a point in m; None when it was never asked for."""
        ...

    async def keep_heights(self, heights: Mapping[tuple[float, float], float]) -> None:
        """Keep the heights of points in m; one that is kept already stays."""
        ...

    async def extent(self) -> tuple[int, datetime | None]:
        """How many rows are kept, and when the newest came."""
        ...
