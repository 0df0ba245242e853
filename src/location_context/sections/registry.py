"""The one list of sections, in display order, each built with what it needs and cached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from location_context.sections.astronomy.section import Astronomy
from location_context.sections.cached import Cached
from location_context.sections.events.section import Events
from location_context.sections.guide.section import Guide
from location_context.sections.weather.section import Weather
from location_context.upstream.shared_cache import SharedCache

if TYPE_CHECKING:
    import httpx2

    from location_context.sections.contract import Section
    from location_context.sections.events.records import EventStore
    from location_context.sections.guide.records import GuideStore
    from location_context.sections.weather.store import ClimateStore
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.host import Hosts
    from location_context.upstream.shared_cache import CacheStore


NAMES = tuple(section.name for section in (Weather, Astronomy, Guide, Events))


@dataclass(frozen=True, kw_only=True)
class Stores:
    """What the sections keep, each behind its own protocol."""

    climate: ClimateStore
    guide: GuideStore
    events: EventStore
    answers: CacheStore


def build(
    settings: Settings, clock: Clock, client: httpx2.AsyncClient, stores: Stores, hosts: Hosts
) -> list[Section]:
    """Every section of the service."""
    weather, events = (SharedCache(stores.answers, clock) for _ in range(2))
    return [
        Weather.build(settings, clock, client, stores.climate, hosts, answers=weather),
        Astronomy.build(clock),
        Guide.build(settings, clock, client, stores.guide),
        Events.build(settings, clock, client, stores.events, events),
    ]


def cached(section: Section, clock: Clock) -> Cached:
    """The section behind a cache that is emptied whenever its dataset changes."""
    kept = Cached(section, clock)
    if when_changed := getattr(section, "when_changed", None):
        when_changed(kept.forget)
    return kept
