"""Open-Meteo: what its forecast and its archive share.

Neither is told an `elevation`: the server then brings every model it mixes to the height of its
90 m terrain at the asked coordinates, which the answer names, so that one correction from there to
a point's own height holds for all days. Dates are read from the answer, never from positions. What
a 400 says is learned from: a range of dates, a variable or a zone that the provider does not know.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from location_context.errors import ProviderResponseInvalid, ProviderStatusError
from location_context.sections.open_meteo import NAME, reason, weight
from location_context.sections.weather.providers.open_meteo_answer import NAMES, terrain_params

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from location_context.sections.weather.cells import Cell
    from location_context.settings import Settings
    from location_context.upstream.client import ProviderClient

T = TypeVar("T")
Allowed = re.Match[str] | None

_TRIALS = 12  # enough for three unknown ones among twelve
_LESSONS = 5  # a range, a zone, variables named one by one
_DATES = re.compile(r"allowed range from (\S+) to ([^\s.]+)")
_FORECAST_DAYS = re.compile(r"Forecast days is invalid\. Allowed range (\d+) to (\d+)")
_UNKNOWN = re.compile(r"invalid String value ([\w,]+)")
_CORE = frozenset(
    {"weather_code", "temperature_max", "temperature_min", "precipitation_sum", "wind_speed_max"}
)  # known to the provider since its first version


class Variables:
    """The fields to ask for: all, less those the provider turned out not to know.

    A refusal that quotes a whole list does not say which one is unknown: then the core is tried
    with half of the others, and what is accepted is trusted again, until the unknown is found.
    """

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = tuple(fields)
        self._lacking: set[str] = set()
        self._suspects: list[str] = []
        self._within: list[str] = []  # suspects of whom one is unknown
        self._on_trial: list[str] = []  # suspects that are asked for

    def fields(self) -> list[str]:
        """Our names of what is asked for now, in the order of the fields."""
        left_out = self._lacking.union(self._suspects).difference(self._on_trial)
        return [name for name in self._fields if name not in left_out]

    @property
    def settled(self) -> bool:
        """Whether the provider is known to know all that would be asked for."""
        return not self._suspects

    def accepted(self, asked: Sequence[str]) -> None:
        """The provider knows all of `asked`."""
        self._suspects = [name for name in self._suspects if name not in asked]
        self._within = [name for name in self._within if name not in asked]
        self._put_on_trial()

    def refused(self, asked: Sequence[str], quoted: str) -> bool:
        """The provider does not know `quoted`: its name of one of `asked`, or the whole list.

        False when fewer cannot be asked for.
        """
        if self._lacking.intersection(asked):
            return True  # found out by another call meanwhile
        named = [name for name in asked if NAMES[name][0] == quoted and name not in _CORE]
        within = named or [name for name in asked if name not in _CORE]
        if not named and self._suspects:
            within = [name for name in within if name in self._suspects]
        if not named and not self._suspects:
            self._suspects = within
        self._within = within
        self._put_on_trial()
        return bool(within)

    def only_the_core(self) -> None:
        """Ask no more for what is still suspected."""
        self._lacking.update(self._suspects)
        self._suspects, self._within, self._on_trial = [], [], []

    def _put_on_trial(self) -> None:
        """Half of those of whom one is unknown; the last one left is unknown itself."""
        if len(self._within) == 1:
            self._lacking.update(self._within)
            self._suspects = [name for name in self._suspects if name not in self._lacking]
            self._within = []
        self._on_trial = self._within[: len(self._within) // 2] or list(self._suspects)


class OpenMeteo:
    """One address of Open-Meteo for `fields`: the key, and learning from what a 400 says."""

    def __init__(self, upstream: ProviderClient, settings: Settings, fields: Sequence[str]) -> None:
        self.upstream = upstream
        self.variables = Variables(fields)
        self._key = settings.open_meteo_api_key
        self._strange_zones: set[str] = set()

    def zone(self, cell: Cell) -> str:
        """The cell's zone, or the provider's own choice where it does not know the name."""
        return "auto" if cell.timezone in self._strange_zones else cell.timezone

    def names(self) -> list[str]:
        """The provider's names of the variables to ask for."""
        return [NAMES[name][0] for name in self.variables.fields()]

    async def get(
        self,
        params: Mapping[str, str],
        parse: Callable[[Any], T],
        units: float,
        *,
        public: bool,
    ) -> T:
        """What `parse` makes of the answer's JSON, which must not be an error in disguise."""
        keyed = {**params, "apikey": self._key.reveal()} if self._key else dict(params)
        return await self.upstream.get_json(
            keyed, lambda body: parse(_sound(body)), units=units, public=public
        )

    async def learning(
        self, ask: Callable[[Allowed], Awaitable[T]], cell: Cell, lightest: Mapping[str, str]
    ) -> T:
        """What `ask` gives, asked again as long as a 400 tells what to ask otherwise.

        `lightest` are the parameters of one day, which find out what variables are known.
        """
        allowed: Allowed = None
        for _ in range(_LESSONS):
            asked = self.variables.fields()
            try:
                return await ask(allowed)
            except ProviderStatusError as error:
                allowed = self._learn(error, asked, cell) or allowed
            await self._settle(cell, lightest)
        return await ask(allowed)

    async def _settle(self, cell: Cell, lightest: Mapping[str, str]) -> None:
        """Find out which variables the provider does not know."""
        for _ in range(_TRIALS):
            if self.variables.settled:
                return
            asked = self.variables.fields()
            params = {
                **terrain_params(cell.lat, cell.lng), **lightest,
                "daily": ",".join(self.names()), "timezone": self.zone(cell),
            }  # fmt: skip
            try:
                await self.get(params, lambda _: None, weight(len(asked), [1]), public=False)
            except ProviderStatusError as error:
                self._learn(error, asked, cell)
            else:
                self.variables.accepted(asked)
        self.variables.only_the_core()

    def _learn(self, error: ProviderStatusError, asked: Sequence[str], cell: Cell) -> Allowed:
        """The allowed range a 400 names; what else it does not know is not asked for again.

        Raises:
            ProviderStatusError: it says nothing to learn from.
        """
        said = reason(error.body)
        if error.status != 400:
            raise error
        if "timezone" in said.lower() and self.zone(cell) != "auto":
            self._strange_zones.add(cell.timezone)
            return None
        unknown = _UNKNOWN.search(said)
        if unknown and self.variables.refused(asked, unknown[1]):
            return None
        if allowed := _DATES.search(said) or _FORECAST_DAYS.search(said):
            return allowed
        raise error


def _sound(body: Any) -> Any:
    """The body, which must be no error: a fault while it is written comes with status 200."""
    if isinstance(body, dict) and body.get("error"):
        raise ProviderResponseInvalid(NAME, "answered with an error")
    return body
