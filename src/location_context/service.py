"""Service: the parts that requests need, such as the sections; each process opens them once.

`read_pulse` reads several sections concurrently for one query.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

import structlog

from location_context.access.address import TrustedProxies
from location_context.access.authenticator import Authenticator
from location_context.counters import ProviderCalls
from location_context.errors import LocationContextError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.language import Languages
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Applicable, Query, SectionResult
from location_context.sections.section import Choices, Section
from location_context.settings import Settings
from location_context.stay import Clock
from location_context.upstream.deadline import ANSWER_RESERVE, Deadline
from location_context.upstream.host import Hosts

Missing: TypeAlias = Literal["late", "failed"]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Counts that the metrics and the command `warm` report.

    Attributes:
        calls: counts of calls to providers, by provider name.
        unwritten: functions that return how many rows wait to be written to the database.
        connections: returns the numbers of database connections in use and allowed (0: no limit).
        looked_up: the number of lookups in Redis, by outcome.
    """

    calls: Mapping[str, ProviderCalls]
    unwritten: Sequence[Callable[[], int]]
    connections: Callable[[], tuple[int, int]]
    looked_up: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Service:
    """The parts of a running service.

    `sections` are in the order in which pages show them. `work` has the functions that run as
    background tasks until the service ends.
    """

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
        """The accepted values by parameter name.

        The additional key `undated` lists the sections that need no dates.
        """
        found: dict[str, Collection[str]] = {
            "sections": [one.name for one in self.sections],
            "undated": [one.name for one in self.sections if not one.dated],
        }
        for cached in self.sections:
            found |= cached.section.choices
        return found


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """The results of several sections for one query.

    Attributes:
        results: the results by section name, in the requested order; some may have no data.
        missing: for the name of each section without a result, the reason: `failed`, or `late` if
            its data did not arrive by the deadline (the fetch continues for the next caller).
    """

    query: Query
    results: Mapping[str, SectionResult]
    missing: Mapping[str, Missing]

    @property
    def bodies(self) -> dict[str, Applicable]:
        """The answers of applicable sections, by section name."""
        found = {name: result.body for name, result in self.results.items()}
        return {name: body for name, body in found.items() if isinstance(body, Applicable)}


def chosen(sections: Sequence[CachedSection], names: Sequence[str]) -> tuple[CachedSection, ...]:
    """Return the named sections in the order of `names`; without names, the default sections."""
    if not names:
        return tuple(one for one in sections if one.section.shown_by_default)
    by_name = {cached.name: cached for cached in sections}
    return tuple(by_name[name] for name in names)


async def read_all(
    sections: Sequence[CachedSection | Section[Any]], query: Query, deadline: Deadline
) -> Mapping[str, SectionResult | None]:
    """Read sections concurrently under one deadline; return results (None if missing) by name."""
    pulse = await read_pulse(sections, query, deadline)
    return {section.name: pulse.results.get(section.name) for section in sections}


async def read_pulse(
    sections: Sequence[CachedSection | Section[Any]], query: Query, deadline: Deadline
) -> Pulse:
    """Read sections concurrently under one deadline; a failure does not affect other sections.

    A section's error is logged, not raised. To select sections by name, use `chosen`.
    """
    found = await asyncio.gather(*(_read(section, query, deadline) for section in sections))
    named = {section.name: one for section, one in zip(sections, found, strict=True)}
    return Pulse(
        query=query,
        results={name: one for name, one in named.items() if not isinstance(one, str)},
        missing={name: one for name, one in named.items() if isinstance(one, str)},
    )


async def _read(
    section: CachedSection | Section[Any], query: Query, deadline: Deadline
) -> SectionResult | Missing:
    """Return a section's result, or `late` or `failed` if it has none."""
    try:
        async with asyncio.timeout(deadline.left()):
            return await section.read(query, deadline)
    except (LocationContextError, TimeoutError) as error:
        structlog.get_logger().info(
            "section_left_out", section=section.name, why=type(error).__name__
        )
    except Exception:  # noqa: BLE001  a bug in one section must not hide the others
        structlog.get_logger().exception("section_failed", section=section.name)
    # if hardly any time is left, the section was waiting for a slow provider
    return "late" if deadline.left() <= ANSWER_RESERVE else "failed"
