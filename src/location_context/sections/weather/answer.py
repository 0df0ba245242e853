"""From an outlook to the body that is answered: correction for height, summary, units last."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from location_context.point import distance_km
from location_context.sections.contract import StayBody, foremost
from location_context.sections.placed import point_body, point_notices
from location_context.sections.units import Measure
from location_context.sections.weather.climatology.climatology import WET_MM
from location_context.sections.weather.codes import condition_of, words
from location_context.sections.weather.lapse import corrected, corrected_years, correction
from location_context.sections.weather.notices import DEM
from location_context.sections.weather.records import LIMITS
from location_context.sections.weather.response import (
    Basis,
    Day,
    Summary,
    WeatherBody,
    YearBody,
)
from location_context.sections.weather.sentence import Sentence
from location_context.stay import horizon

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from location_context.sections.contract import Attribution, DegradedReason, Query
    from location_context.sections.weather.records import Columns, Outlook, YearRecord

    Floats = NDArray[np.float64]
    Convert = Callable[[float | None], float | None]

_KINDS: Mapping[str, str] = {  # the kind of each column: which conversion it takes
    "precipitation_sum": "precipitation",
    "precipitation_hours": "hours",
    "precipitation_probability": "percent",
    "snowfall_sum": "snowfall",
    "wind_speed_max": "wind_speed",
    "wind_gusts_max": "wind_speed",
    "wind_direction_dominant": "angle",
    "sunshine_hours": "hours",
    "cloud_cover_mean": "percent",
    "humidity_mean": "percent",
    "uv_index_max": "count",
}
_TENTHS = tuple(f"temperature_{end}_{level}" for end in ("max", "min") for level in ("p10", "p90"))
_ALL_COLUMNS = (*LIMITS, *_TENTHS)
_COLUMNS = tuple(name for name in _ALL_COLUMNS if name != "weather_code")


class Answer:
    """Builds the body of one query from an outlook and the point's height."""

    def __init__(
        self,
        query: Query,
        outlook: Outlook,
        metres: float | None,
        today: date,
        lacking: DegradedReason | None = None,
    ) -> None:
        """`lacking` is why the point's height, which matters, is missing."""
        assert query.stay is not None
        self._query = query
        self._stay = query.stay
        self._outlook = outlook
        self._metres = metres
        self._today = today
        self._lacking = lacking
        self._measure = Measure(query.units)
        grid = outlook.grid
        self._kelvin = correction(grid.elevation if grid else None, metres)
        unknown = np.full(self._stay.days, math.nan)  # what a provider does not give is null
        self._columns: Columns = dict.fromkeys(_ALL_COLUMNS, unknown) | outlook.columns
        if self._kelvin is not None:
            self._columns = corrected(self._columns, self._kelvin)

    def body(self) -> WeatherBody:
        """The whole answer, in the units asked for."""
        point, outlook = self._query.point, self._outlook
        return WeatherBody(
            point=point_body(point),
            stay=StayBody(start=self._stay.start, end=self._stay.end),
            units=self._measure.body,
            as_of=outlook.as_of,
            stale=outlook.stale,
            degraded_reason=self._degraded_reason(),
            attribution=[*outlook.attribution, *self._dem(), *point_notices(point)],
            mode=outlook.mode,
            forecast_until=horizon(self._today),
            days=self._days(),
            summary=self._summary(),
            basis=self._basis(),
            history=self._history(),
        )

    def _degraded_reason(self) -> DegradedReason | None:
        """Why this is less than what was due: the lesser kind first, then what is missing."""
        if self._stay.within_horizon(self._today) and self._outlook.kind != "forecast":
            return "forecast_unavailable"
        if self._outlook.kind == "monthly_mean":
            return "archive_unavailable"
        return foremost((self._outlook.lacking, self._lacking))

    def _dem(self) -> list[Attribution]:
        """The notice of the terrain model that knows the point's height."""
        return [] if self._metres is None else [DEM]

    def _days(self) -> list[Day]:
        shown = {name: self._converted(name, self._columns[name]) for name in _COLUMNS}
        codes = self._columns["weather_code"]
        language = self._query.language
        days = []
        for place, day in enumerate(self._stay.dates()):
            condition = condition_of(codes[place])
            values = {name: column[place] for name, column in shown.items()}
            days.append(
                Day(
                    date=day,
                    condition=condition,
                    weather_code=int(codes[place]) if condition else None,
                    summary=words(condition, language) if condition else None,
                    **values,
                )
            )
        return days

    def _converted(self, name: str, values: Floats) -> list[float | None]:
        convert: Convert = getattr(self._measure, _KINDS.get(name, "temperature"))
        converted = [convert(value) for value in values.tolist()]
        if name == "wind_direction_dominant":  # 359.96 is north again
            return [value if value is None else value % 360 for value in converted]
        return converted

    def _summary(self) -> Summary:
        measure = self._measure
        high, low = self._mean("temperature_max"), self._mean("temperature_min")
        wet = _total(self._chances()) / 100
        return Summary(
            text=self._sentence(high, low, wet),
            temperature_max_mean=measure.temperature(high),
            temperature_min_mean=measure.temperature(low),
            precipitation_total=measure.precipitation(_total(self._columns["precipitation_sum"])),
            expected_wet_days=measure.count(wet),
            sunshine_hours_total=measure.hours(_total(self._columns["sunshine_hours"])),
            warmest_date=self._top("temperature_max"),
            wettest_date=self._top("precipitation_sum", at_least=0.1),
        )

    def _sentence(self, high: float, low: float, wet: float) -> str:
        sentence = Sentence(self._query.language, self._measure)
        if self._outlook.kind == "forecast":
            return sentence.forecast(high, low, wet, self._stay.days)
        if self._outlook.kind == "reanalysis":
            return sentence.climatology(high, low, wet, self._stay.days, years=self._outlook.years)
        rain = _total(self._columns["precipitation_sum"])
        return sentence.monthly_mean(self._mean("temperature_mean"), rain, self._stay.days)

    def _chances(self) -> Floats:
        """The chance of a wet day in percent; where a forecast has none, its rain decides."""
        chances = self._columns["precipitation_probability"]
        if self._outlook.kind != "forecast":
            return chances
        rain = self._columns["precipitation_sum"]
        decided = np.where(np.isfinite(rain), np.where(rain >= WET_MM, 100.0, 0.0), math.nan)
        return np.where(np.isfinite(chances), chances, decided)

    def _mean(self, name: str) -> float:
        values = self._columns[name]
        known = values[np.isfinite(values)]
        return float(known.mean()) if known.size else math.nan

    def _top(self, name: str, at_least: float = -math.inf) -> date | None:
        """The date with the highest value, the first of several; a month's mean knows none."""
        values = self._columns[name]
        if self._outlook.kind == "monthly_mean":
            return None
        if not np.isfinite(values).any() or np.nanmax(values) < at_least:
            return None
        return self._stay.start + timedelta(int(np.nanargmax(values)))

    def _basis(self) -> Basis:
        outlook, measure, point = self._outlook, self._measure, self._query.point
        grid = outlook.grid
        away = distance_km(point.lat, point.lng, grid.lat, grid.lng) if grid else None
        return Basis(
            kind=outlook.kind,
            provider=outlook.provider,
            model=outlook.model,
            issued_at=outlook.issued_at,
            years=list(outlook.years),
            samples_per_day=outlook.samples_per_day,
            grid_distance=measure.distance(away),
            grid_elevation=measure.elevation(grid.elevation) if grid else None,
            point_elevation=measure.elevation(self._metres),
            temperature_correction=measure.temperature_difference(self._kelvin),
        )

    def _history(self) -> list[YearBody]:
        years: Sequence[YearRecord] = self._outlook.history
        grid = self._outlook.history_grid or self._outlook.grid
        kelvin = correction(grid.elevation if grid else None, self._metres)
        if kelvin is not None:
            years = corrected_years(years, kelvin)
        measure = self._measure
        return [
            YearBody(
                year=year.year,
                temperature_max_mean=measure.temperature(year.temperature_max_mean),
                temperature_min_mean=measure.temperature(year.temperature_min_mean),
                precipitation_total=measure.precipitation(year.precipitation_total),
                wet_days=year.wet_days,
            )
            for year in years
        ]


def _total(values: Floats) -> float:
    """The sum of what is known; NaN when nothing is."""
    known = values[np.isfinite(values)]
    return float(known.sum()) if known.size else math.nan
