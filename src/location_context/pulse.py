"""Every section for a point and stay, side by side, under one deadline (widget and CLI)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from location_context.errors import LocationContextError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from location_context.sections.contract import Query, Reading, Section
    from location_context.upstream.deadline import Deadline


async def read_all(
    sections: Sequence[Section], query: Query, deadline: Deadline
) -> Mapping[str, Reading | None]:
    """Each section's reading by name, in the given order; None for one that held nothing."""
    readings = await asyncio.gather(*(_read(section, query, deadline) for section in sections))
    return {section.name: reading for section, reading in zip(sections, readings, strict=True)}


async def _read(section: Section, query: Query, deadline: Deadline) -> Reading | None:
    """One section's reading; a failing section never takes the others with it."""
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
