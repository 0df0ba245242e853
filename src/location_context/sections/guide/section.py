"""The guide: restaurants near a point, ranked by how far a table is worth the way.

It answers from a catalogue in memory. While the server runs, `run` looks every two seconds whether
another version became active, and changes over when its catalogue is ready; until then, and while
the database cannot be read, the one at hand serves.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Self

import structlog

from location_context.errors import StorageError, UpstreamUnavailable
from location_context.sections.contract import (
    Applicable,
    DatasetState,
    NotApplicable,
    Query,
    Reading,
)
from location_context.sections.guide.answer import Answer
from location_context.sections.guide.catalogue import Catalogue
from location_context.sections.guide.response import GuideBody
from location_context.sections.guide.travel import Router
from location_context.sections.providers import provider_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx2

    from location_context.sections.contract import NotApplicableReason, ProviderState
    from location_context.sections.guide.records import GuideVersion
    from location_context.sections.guide.store import GuideStore
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.deadline import Deadline

LIMIT = 50
_FRESH = timedelta(hours=1)
_FRESH_WITHOUT_GUIDE = timedelta(minutes=1)
_POLL_SECONDS = 2.0
_ANSWERING_SECONDS = 0.3
_MOST_TOLD = 20  # ids in a line of the log


@dataclass(frozen=True, slots=True)
class Serving:
    """The version that serves, its catalogue, and the ids of records left out as damaged."""

    version: GuideVersion
    catalogue: Catalogue
    damaged: Sequence[str] = ()


class Guide:
    """The section `guide`. It has no dates."""

    name: ClassVar[str] = "guide"
    dated: ClassVar[bool] = False
    response: ClassVar[type[Applicable]] = GuideBody
    refusal: ClassVar[type[NotApplicable]] = NotApplicable

    def __init__(
        self, store: GuideStore, clock: Clock, radii: Sequence[float], router: Router
    ) -> None:
        self._store = store
        self._clock = clock
        self._radii = tuple(radii)
        self._router = router
        self._serving: Serving | None = None
        self._loading = asyncio.Lock()
        self._looked = False
        self._failed: str | None = None  # why the version that serves cannot be followed
        self._listeners: list[Callable[[], None]] = []

    @classmethod
    def build(
        cls, settings: Settings, clock: Clock, client: httpx2.AsyncClient, store: GuideStore
    ) -> Self:
        return cls(store, clock, settings.guide_radii, Router(settings, clock, client))

    async def read(self, query: Query, deadline: Deadline) -> Reading:
        """The restaurants around the point.

        Raises:
            UpstreamUnavailable: the guide was never loaded, and the database cannot be read.
        """
        serving = await self._current()
        if serving is None:
            message = query.language.gettext("No restaurant guide is loaded.")
            return self._refused("no_guide_loaded", message)
        point = query.point
        found = serving.catalogue.query(point.lat, point.lng, self._radii, LIMIT)
        inside = [one for tier in found for one in tier.inside]
        if not inside:
            message = query.language.gettext("No restaurant of the guide is in range.")
            return self._refused("no_restaurants_in_range", message)
        ways, lacking = await self._router.travel(
            point, inside, deadline.earlier(_ANSWERING_SECONDS), public=query.public
        )
        body = Answer(query, serving.version, self._radii).body(found, ways, lacking)
        return Reading(body, self._clock() + _FRESH)

    def _refused(self, reason: NotApplicableReason, message: str) -> Reading:
        lasts = _FRESH_WITHOUT_GUIDE if reason == "no_guide_loaded" else _FRESH
        return Reading(NotApplicable(reason=reason, message=message), self._clock() + lasts)

    async def _current(self) -> Serving | None:
        if not self._looked:
            try:
                await self.refresh()
            except StorageError as error:
                raise UpstreamUnavailable(
                    "The restaurant guide cannot be read at the moment.", 5
                ) from error
        return self._serving

    async def refresh(self) -> bool:
        """Change over to the active version if it is another one; whether it was.

        Raises:
            StorageError: the database cannot be read; what serves stays.
        """
        async with self._loading:
            active = await self._store.active()
            serving = self._serving
            if active == (serving.version if serving else None):
                self._looked = True
                return False
            if active is None:
                self._change_over(None)
                return True
            restaurants = await self._store.load(active.number)
            damaged = tuple(self._store.damaged)
            if len(restaurants) + len(damaged) != active.rows:
                return False  # it was replaced and removed in between: look again
            if damaged:
                structlog.get_logger().error("guide_records_damaged", ids=damaged[:_MOST_TOLD])
            catalogue = await asyncio.to_thread(Catalogue, restaurants)
            self._change_over(Serving(active, catalogue, damaged))
            return True

    def _change_over(self, serving: Serving | None) -> None:
        self._serving, self._looked = serving, True
        for listener in self._listeners:
            listener()
        number = serving.version.number if serving else None
        structlog.get_logger().info("guide_changed_over", version=number)

    def when_changed(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever another version serves: what was kept of the old is void."""
        self._listeners.append(listener)

    async def prepare(self) -> None:
        """Load the guide, so that no request waits for it; a database that fails is told of."""
        await self._follow()

    async def run(self) -> None:
        """Follow the active version until cancelled."""
        while True:
            await self._follow()
            await asyncio.sleep(_POLL_SECONDS)

    async def close(self) -> None:
        """End what is under way."""
        await self._router.close()

    async def _follow(self) -> None:
        try:
            await self.refresh()
            self._failed = None
        except StorageError as error:
            if self._failed is None:  # say it once, not every two seconds
                structlog.get_logger().warning("guide_not_followed", why=error.message)
            self._failed = error.message

    def providers(self) -> Sequence[ProviderState]:
        return [provider_state(self._router.upstream)]

    async def dataset(self) -> DatasetState | None:
        try:
            serving = await self._current()
        except UpstreamUnavailable:
            serving = None
        if serving is None:
            return DatasetState(version=None, rows=0, imported_at=None)
        version, rows = serving.version, serving.catalogue.size
        return DatasetState(version=str(version.number), rows=rows, imported_at=version.imported_at)

    def notices(self) -> Sequence[str]:
        told = [f"The restaurant guide cannot be followed: {self._failed}"] if self._failed else []
        if not self._looked:
            return told
        if (serving := self._serving) is None:
            return [*told, "No restaurant guide is loaded: location-context guide import FILE"]
        if serving.damaged:
            told.append(
                f"{len(serving.damaged)} records of the restaurant guide are damaged and left out, "
                f"such as {serving.damaged[0]}: import the guide again, or restore a backup"
            )
        if serving.version.provenance.sample:
            year = serving.version.provenance.dated.year
            sentence = f"The sample guide of {year} serves; it is not current. "
            told.append(sentence + "Load your own: location-context guide import FILE")
        return told
