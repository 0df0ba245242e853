"""Service: everything opened that a request needs, put together once by `app`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from location_context.access.address import TrustedProxies
    from location_context.access.gate import Gate
    from location_context.gazetteer.gazetteer import Gazetteer
    from location_context.localisation.language import Languages
    from location_context.sections.contract import Section
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.host import Hosts


@dataclass(frozen=True, kw_only=True)
class Service:
    """The opened parts. `sections` are cached and in display order."""

    settings: Settings
    clock: Clock
    started_at: datetime
    gazetteer: Gazetteer
    languages: Languages
    sections: tuple[Section, ...]
    gate: Gate
    hosts: Hosts
    proxies: TrustedProxies
