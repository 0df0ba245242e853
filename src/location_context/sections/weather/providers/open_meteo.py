"""Open-Meteo: what its forecast and its archive share.

Kept per cell, both are asked for at the cell's centre with `elevation=nan`, which turns off the
provider's own downscaling to the terrain: the correction for height is ours, made once. Dates are
read from the answer, never from positions. What a 400 says is learned from: a range of dates, a
variable or a zone that the provider does not know.
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from location_context.errors import ProviderAnswerInvalid, ProviderRefused
from location_context.sections.weather.providers.open_meteo_answer import NAMES
from location_context.upstream.budget import DAY, HOUR, MINUTE, Budget
from location_context.upstream.provider import quiet_by_header

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from location_context.sections.weather.cells import Cell
    from location_context.settings import Settings
    from location_context.stay import Clock
    from location_context.upstream.provider import Answer, Upstream

T = TypeVar("T")
Allowed = re.Match[str] | None

NAME = "Open-Meteo"
FREE_LIMITS = {MINUTE: 480.0, HOUR: 4000.0, DAY: 8000.0}  # 80 % of 600, 5,000 and 10,000
_LESSONS = 5
_RANGE = re.compile(r"allowed range from (\S+) to ([^\s.]+)")
_INVALID = re.compile(r"invalid String value (\w+)")


def budget(settings: Settings) -> Budget:
    """This process's part of one budget for both hosts: the free limits count by address."""
    return Budget(FREE_LIMITS, share=settings.budget_share)


def weight(variables: int, days: Sequence[int]) -> float:
    """Units a call counts for: by tens of variables and fortnights, for each interval."""
    return max(variables / 10, 1.0) * sum(max(n / 14, 1.0) for n in days)


def quiet_for(clock: Clock) -> Callable[[Answer], float]:
    """Seconds of quiet that a 429 asks for: it names its window only in words."""

    def seconds(answer: Answer) -> float:
        said = answer.body[:500].decode(errors="replace").lower()
        if "daily api" in said:
            now = clock().astimezone(UTC)
            return (now.replace(hour=0, minute=1, second=0) + timedelta(days=1) - now).seconds + 1.0
        if "hourly api" in said:
            return HOUR
        return MINUTE if "minutely api" in said else quiet_by_header(answer)

    return seconds


class Asking:
    """What forecast and archive share: the key, and learning from what a 400 says."""

    def __init__(self, upstream: Upstream, settings: Settings) -> None:
        self.upstream = upstream
        self._key = settings.open_meteo_api_key
        self._lacking: set[str] = set()
        self._strange_zones: set[str] = set()

    def zone(self, cell: Cell) -> str:
        """The cell's zone, or the provider's own choice where it does not know the name."""
        return "auto" if cell.timezone in self._strange_zones else cell.timezone

    def variables(self, fields: Sequence[str]) -> list[str]:
        return [NAMES[name][0] for name in fields if NAMES[name][0] not in self._lacking]

    async def get(self, params: Mapping[str, str], units: float, *, public: bool) -> Any:
        keyed = {**params, "apikey": self._key.reveal()} if self._key else dict(params)
        answer = await self.upstream.get(keyed, units=units, public=public)
        try:
            body = answer.json()
        except ProviderAnswerInvalid as error:
            self.upstream.reject(error)
            raise
        if isinstance(body, dict) and body.get("error"):
            raise self.refuse("answered with an error")
        return body

    def refuse(self, sentence: str) -> ProviderAnswerInvalid:
        """An error for an answer that is not what was promised; counts against the provider."""
        error = ProviderAnswerInvalid(NAME, sentence)
        self.upstream.reject(error)
        return error

    async def learning(self, ask: Callable[[Allowed], Awaitable[T]], cell: Cell) -> T:
        """What `ask` gives, asked again as long as a 400 tells what to ask otherwise."""
        allowed: Allowed = None
        for _ in range(_LESSONS):
            try:
                return await ask(allowed)
            except ProviderRefused as error:
                allowed = self._learn(error, cell) or allowed
        return await ask(allowed)

    def _learn(self, error: ProviderRefused, cell: Cell) -> Allowed:
        """The allowed range a 400 names; what else it does not know is not asked for again.

        Raises:
            ProviderRefused: it says nothing to learn from.
        """
        said = _reason(error.body)
        if error.status == 400 and "timezone" in said and self.zone(cell) != "auto":
            self._strange_zones.add(cell.timezone)
            return None
        unknown = _INVALID.search(said)
        if error.status == 400 and unknown and unknown[1] not in self._lacking:
            self._lacking.add(unknown[1])
            return None
        if error.status == 400 and (allowed := _RANGE.search(said)):
            return allowed
        raise error


def _reason(body: bytes) -> str:
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return str(said.get("reason", "")) if isinstance(said, dict) else ""
