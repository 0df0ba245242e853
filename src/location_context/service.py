"""Service: the open parts that requests need, put together once by `app`."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from location_context.access.address import TrustedProxies
from location_context.access.authenticator import Authenticator
from location_context.counters import ProviderCalls
from location_context.errors import LocationContextError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.language import Languages
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Query, SectionResult
from location_context.sections.section import Choices, Section
from location_context.settings import Settings
from location_context.stay import Clock
from location_context.upstream.deadline import Deadline
from location_context.upstream.host import Hosts


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Values that only the metrics read.

    Attributes:
        calls: by provider.
        unwritten: functions that count rows still to be written.
        connections: those to the database in use, and their greatest number (0: any).
        looked_up: the number of look-ups in Redis, by outcome.
    """

    calls: Mapping[str, ProviderCalls]
    unwritten: Sequence[Callable[[], int]]
    connections: Callable[[], tuple[int, int]]
    looked_up: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Service:
    """The open parts. `sections` are in display order; `work` runs while the service does."""

    settings: Settings
    clock: Clock
    started_at: datetime
    gazetteer: Gazetteer
    languages: Languages
    sections: tuple[CachedSection, ...]
    authenticator: Authenticator
    hosts: Hosts
    proxies: TrustedProxies
    measured: Measured
    work: Sequence[Callable[[], Coroutine[Any, Any, None]]]

    @property
    def choices(self) -> Choices:
        """The names that parameters accept: of the sections, and of their data."""
        found: dict[str, Collection[str]] = {"sections": [one.name for one in self.sections]}
        for cached in self.sections:
            found |= cached.section.choices
        return found


def chosen(sections: Sequence[CachedSection], names: Sequence[str]) -> tuple[CachedSection, ...]:
    """Return the sections of these names, in their order; without names all in display order."""
    if not names:
        return tuple(sections)
    by_name = {cached.name: cached for cached in sections}
    return tuple(by_name[name] for name in names)


async def read_all(
    sections: Sequence[CachedSection | Section[Any]], query: Query, deadline: Deadline
) -> Mapping[str, SectionResult | None]:
    """Read all sections side by side under one deadline; return results, None if one failed."""
    results = await asyncio.gather(*(_read(section, query, deadline) for section in sections))
    return {section.name: result for section, result in zip(sections, results, strict=True)}


async def _read(
    section: CachedSection | Section[Any], query: Query, deadline: Deadline
) -> SectionResult | None:
    """Return one section's result; its failure does not affect other sections."""
    try:
        async with asyncio.timeout(deadline.left()):
            return await section.read(query, deadline)
    except (LocationContextError, TimeoutError) as error:
        structlog.get_logger().info(
            "section_left_out", section=section.name, why=type(error).__name__
        )
    except Exception:  # noqa: BLE001  one broken section must not blank the guest's page
        structlog.get_logger().exception("section_failed", section=section.name)
    return None
