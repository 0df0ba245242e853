"""The guide: restaurants near a point, each tier listed within its own radius.

An installation may have several guides: one without a name, and others that a query names. Each
guide has its own index in memory. While the server runs, `run` checks every two seconds whether an
import or a rollback made another version active. `run` switches to that version once its index is
built; until then, and while the database cannot be read, the old version stays in use.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Self

import structlog

from location_context.errors import StorageError, UpstreamUnavailable
from location_context.localisation.language import Language
from location_context.sections import contract, section
from location_context.sections.card import Card, CardContext
from location_context.sections.guide import card
from location_context.sections.guide.fixed_guide import fixed_body
from location_context.sections.guide.presenter import Presenter, to_text
from location_context.sections.guide.records import GuideStore, GuideVersion
from location_context.sections.guide.response import GuideBody
from location_context.sections.guide.restaurant_index import RestaurantIndex
from location_context.sections.guide.travel import Router
from location_context.stay import Clock
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline

MAX_RESTAURANTS = 50
_TTL = timedelta(hours=1)
_TTL_WITHOUT_GUIDE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ActiveGuide:
    """A version of a guide, with its index, from which this server process answers."""

    version: GuideVersion
    index: RestaurantIndex


class Guide(section.Section[GuideBody]):
    """The section `guide`: restaurants near the point; dates are ignored."""

    name = "guide"
    dated = False
    response = GuideBody
    parameters = ("guide",)
    order = 300
    title = "Restaurant guide: restaurants by tier, highest first"
    description = (
        "Each tier has its own radius: the higher the tier, the larger the radius. Dates are "
        "ignored. An operator may import several guides; `guide` names one of them."
    )
    samples: ClassVar[section.Samples] = {
        "applicable": {"lat": "43.3183", "lng": "-1.9812"},
        "not_applicable": section.AT_SEA,
    }
    dataset_info = section.DatasetInfo(
        name="guide",
        description="The restaurant guide.",
        hint="no guide is imported: location-context guide import FILE",
    )

    def __init__(
        self, store: GuideStore, clock: Clock, radii: Sequence[float], router: Router
    ) -> None:
        self._store = store
        self._clock = clock
        self._radii = tuple(radii)
        self._router = router
        self._guides: dict[str, ActiveGuide] = {}
        self._loading = asyncio.Lock()
        self._loaded = False
        self._failure: str | None = None  # why the last check for active versions failed

    @classmethod
    def build(cls, context: section.SectionContext) -> Self:
        settings, clock = context.settings, context.clock
        router = Router(context)
        return cls(context.stores["guide"], clock, settings.guide_radii, router)

    async def read(self, query: contract.Query, deadline: Deadline) -> contract.SectionResult:
        """Return the restaurants around the query's point.

        Raises:
            UpstreamUnavailable: the guide is not loaded, and the database cannot be read.
        """
        guide = await self._current(query.guide)
        if guide is None:
            message = query.language.gettext("No restaurant guide is available.")
            none = contract.NotApplicable(reason="no_guide_loaded", message=message)
            return self._result(none, _TTL_WITHOUT_GUIDE)
        point = query.point
        radii = guide.version.provenance.radii or self._radii
        found = guide.index.query(point.lat, point.lng, radii, MAX_RESTAURANTS)
        inside = [one for tier in found for one in tier.inside]
        if not inside:
            return self._result(_none_in_range(query), _TTL)
        ways, degraded = await self._router.travel(
            point, inside, deadline.earlier(ANSWER_RESERVE), public=query.public
        )
        body = Presenter(query, guide.version, radii).body(found, ways, degraded)
        return self._result(body, _TTL)

    async def fixed(
        self, query: contract.Query, deadline: Deadline, now: datetime, *, failing: bool
    ) -> contract.Applicable | contract.NotApplicable:
        """Return the answer for a test key: made-up restaurants, or not applicable at sea."""
        del deadline, now, failing
        return fixed_body(query, self._radii) or _none_in_range(query)

    def _result(
        self, body: GuideBody | contract.NotApplicable, ttl: timedelta
    ) -> contract.SectionResult:
        """Return a result that is fresh for `ttl`; a CDN may keep it twice as long."""
        until = self._clock() + ttl
        return contract.SectionResult(body, until, shared_until=until + ttl)

    async def _current(self, name: str = "") -> ActiveGuide | None:
        """Return the guide `name`; if `name` is empty, the guide without a name, or None.

        Raises:
            UpstreamUnavailable: `name` is not empty and this guide is not loaded, or the database
                cannot be read.
        """
        failure: StorageError | None = None
        if name not in self._guides and not self._loaded:
            try:
                await self.refresh()
            except StorageError as error:
                failure = error
        guide = self._guides.get(name)
        if guide is None and (failure or name):
            message = "The restaurant guide cannot be read at the moment."
            raise UpstreamUnavailable(message, 5) from failure
        return guide

    async def refresh(self) -> None:
        """Load the active version of every guide from the database, if it changed.

        Raises:
            StorageError: the database or a guide in it cannot be read. A guide that cannot be
                read stays at its old version; the others are still updated.
        """
        async with self._loading:
            active = await self._store.active()
            versions = {name: guide.version for name, guide in self._guides.items()}
            for name in versions.keys() - active.keys():
                self._switch(name, None)
            failure: StorageError | None = None
            for name, version in active.items():
                if versions.get(name) != version:
                    try:
                        await self._load(version)
                    except StorageError as error:  # the other guides are still switched
                        failure = error
            self.choices = {"guide": active.keys() - {""}}  # only now, when they can answer
            if failure:
                raise failure
            versions = {name: guide.version for name, guide in self._guides.items()}
            self._loaded = self._loaded or versions == active

    async def _load(self, version: GuideVersion) -> None:
        restaurants = await self._store.load(version.number)
        if len(restaurants) == version.rows:  # else it was deleted meanwhile: `run` tries again
            index = await asyncio.to_thread(RestaurantIndex, restaurants)
            self._switch(version.name, ActiveGuide(version, index))

    def _switch(self, name: str, guide: ActiveGuide | None) -> None:
        if guide is None:
            del self._guides[name]
        else:
            self._guides[name] = guide
        self.announce_change()
        version = guide.version if guide else None
        number, rows = (version.number, version.rows) if version else (None, 0)
        structlog.get_logger().info("guide_replaced", guide=name, version=number, rows=rows)

    async def prepare(self) -> None:
        """Load the guides before the first request; if the database fails, only log a warning."""
        await self._follow()

    @property
    def is_ready(self) -> bool:
        return self._loaded or bool(self._guides)

    async def run(self) -> None:
        """Load each newly activated version of a guide within two seconds, until cancelled."""
        while True:
            await self._follow()
            await asyncio.sleep(section.FOLLOW_SECONDS)

    async def close(self) -> None:
        """Cancel the requests to the OSRM server that are under way."""
        await self._router.close()

    async def _follow(self) -> None:
        try:
            await self.refresh()
            self._failure = None
        except StorageError as error:
            if self._failure is None:  # once, not every two seconds
                structlog.get_logger().warning("guide_not_followed", why=error.message)
            self._failure = error.message

    def providers(self) -> Sequence[contract.ProviderState]:
        return [section.provider_state(self._router.client)]

    async def dataset(self) -> contract.DatasetState | None:
        try:
            guide = await self._current()
        except UpstreamUnavailable:
            guide = None
        named = len(self._guides.keys() - {""})
        if guide is None:
            return contract.DatasetState(version=None, rows=0, imported_at=None, named=named)
        version, rows = guide.version, guide.index.size
        return contract.DatasetState(
            version=str(version.number), rows=rows, imported_at=version.imported_at, named=named
        )

    def warnings(self) -> Sequence[str]:
        found = []
        if self._failure:
            found.append(f"The restaurant guide cannot be updated: {self._failure}")
        if self._loaded and not self._guides:
            found.append("No restaurant guide is loaded: location-context guide import FILE")
        for name, guide in self._guides.items():
            if (provenance := guide.version.provenance).sample:
                served, option = (f" as {name!r}", f" --name {name}") if name else ("", "")
                found.append(
                    f"The sample guide of {provenance.dated.year} is active{served}. It is a "
                    "demonstration: not current, with positions up to 500 m off. "
                    f"Load your own: location-context guide import FILE{option}"
                )
        return found

    def label(self, language: Language) -> str:
        return language.pgettext("section", "restaurants")

    def summary(self, language: Language) -> str:
        return language.gettext("restaurants")

    def card(self, body: GuideBody, context: CardContext) -> Card:
        return card.card(body, context.fmt)

    def rows(self, body: GuideBody) -> int:
        """Return the number of lines in the card's list: restaurants, and their tiers' headings."""
        return min(card.MAX_SHOWN, len(body.restaurants)) + len({r.tier for r in body.restaurants})

    def updated_at(self, body: GuideBody) -> None:
        """Return None: no time of update is shown, since `as_of` is the date of an edition."""
        del body

    def text(self, body: GuideBody) -> Iterator[str | section.TextTable]:
        return to_text(body)


def _none_in_range(query: contract.Query) -> contract.NotApplicable:
    message = query.language.gettext("No restaurants from the guide are nearby.")
    return contract.NotApplicable(reason="no_restaurants_in_range", message=message)
