"""GuideStore: what the guide asks of storage. Versions are replaced in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from location_context.sections.guide.records import GuideVersion, Provenance, Restaurant


class GuideStore(Protocol):
    """Keeps whole versions of the guide; at most one of them is active."""

    @property
    def damaged(self) -> Sequence[str]:
        """The ids of the records that the last `load` could not read and left out."""
        ...

    async def active(self) -> GuideVersion | None:
        """The version that serves; cheap, asked every few seconds."""
        ...

    async def versions(self) -> list[GuideVersion]:
        """All versions kept, newest first."""
        ...

    async def load(self, number: int) -> list[Restaurant]:
        """The restaurants of a version; empty when it is gone."""
        ...

    async def replace(
        self, provenance: Provenance, restaurants: Sequence[Restaurant], imported_at: datetime
    ) -> GuideVersion:
        """Keep a new version and make it the active one, both or neither."""
        ...

    async def rollback(self) -> GuideVersion:
        """Make the version active that the active one replaced.

        Raises:
            OperatorError: there is none.
        """
        ...
