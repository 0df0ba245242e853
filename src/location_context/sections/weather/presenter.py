"""The presenter makes the answer's body from the weather of a source.

Temperatures are corrected by 6.5 K per km (ICAO standard atmosphere) for the difference in
elevation between the provider's cell and the point. This is done only here: stored values are
uncorrected. Then values are summarised and converted to the requested units.
"""

import math
from collections.abc import Callable, Sequence
from datetime import date, timedelta

import msgspec
import numpy as np

from location_context.localisation.formatter import Formatter
from location_context.point import distance_km
from location_context.sections import contract
from location_context.sections.contract import DegradedReason, Query
from location_context.sections.units import Measure
from location_context.sections.weather import estimate, records
from location_context.sections.weather.climatology import WET_MM
from location_context.sections.weather.records import Columns, Floats, WeatherSeries
from location_context.sections.weather.response import (
    Basis,
    Day,
    Issued,
    Representativeness,
    Summary,
    Typical,
    WeatherBody,
    YearBody,
)
from location_context.sections.weather.retrieval.elevations import DEM
from location_context.sections.weather.summary_text import condition_text, stay_text
from location_context.stay import horizon

Convert = Callable[[float | None], float | None]

_TENTHS = tuple(f"temperature_{end}_{level}" for end in ("max", "min") for level in ("p10", "p90"))
_COLUMNS = (*records.FORECAST_FIELDS, *_TENTHS, "precipitation_sum_p90")
_ISSUED = ("temperature_max", "temperature_min", "precipitation_probability")
_TYPICAL = (*_ISSUED, "temperature_max_p10", "temperature_max_p90")


class Presenter:
    """Makes the answer's body for one query from the weather of the chosen source."""

    def __init__(
        self,
        query: Query,
        series: WeatherSeries,
        elevation: float | None,
        today: date,
    ) -> None:
        """Store the arguments; `elevation` is the height of the point in m, None if unknown."""
        self._query = query
        self._stay = query.dates
        self._series = series
        self._elevation = elevation
        self._today = today
        self._measure = Measure(query.units)
        self._kelvin = series.grid.correction(elevation) if series.grid else None
        unknown = np.full(self._stay.days, math.nan)  # values that a provider lacks are null
        columns = dict.fromkeys(_COLUMNS, unknown) | estimate.at_place(series)
        self._columns: Columns = {
            name: _corrected(name, values, self._kelvin) for name, values in columns.items()
        }
        archive = series.typical or series  # its history is shown, corrected from its own elevation
        grid = series.grid
        ground = elevation if elevation is not None or grid is None else grid.elevation
        self._archive, self._archive_kelvin = archive, 0.0
        if archive.grid is not None:
            self._archive_kelvin = archive.grid.correction(ground) or 0.0

    def body(self) -> WeatherBody:
        """Return the answer's body, in the requested units."""
        point, series = self._query.point, self._series
        dem = [] if self._elevation is None else [DEM]  # the source of the point's height
        body = WeatherBody(
            point=contract.point_body(point),
            stay=contract.StayBody(start=self._stay.start, end=self._stay.end),
            units=self._measure.body,
            as_of=series.as_of,
            stale=series.stale,
            degraded_reason=self._degraded_reason(),
            attribution=[*series.attribution, *dem, *contract.point_notices(point)],
            mode="forecast" if series.kind == "forecast" else "climatology",
            forecast_until=horizon(self._today),
            days=self._days(),
            summary=self._summary(),
            basis=self._basis(),
            history=self._history(),
        )
        fmt = Formatter(self._query.language)
        text = fmt.plain(stay_text(body, self._today, fmt))
        summary = msgspec.structs.replace(body.summary, text=text)
        return msgspec.structs.replace(body, summary=summary)

    def _degraded_reason(self) -> DegradedReason | None:
        """Return why the answer is incomplete or from a fallback; None if it is neither.

        If a fallback is used, the fallback is the reason, even if data are also missing.
        """
        if self._stay.within_horizon(self._today) and self._series.kind != "forecast":
            return "forecast_unavailable"
        if self._series.kind == "monthly_mean":
            return "archive_unavailable"
        return self._series.degraded_reason

    def _days(self) -> list[Day]:
        names = [name for name in _COLUMNS if name != "weather_code"]
        rows = self._rows(self._columns, names, 0.0)
        codes = self._columns["weather_code"]  # shown only if a condition belongs to it
        issued, typical = self._issued(), self._typical()
        language = self._query.language
        days = []
        for place, day in enumerate(self._stay.dates()):
            condition = records.condition_of(codes[place])
            days.append(
                Day(
                    date=day,
                    condition=condition,
                    weather_code=int(codes[place]) if condition else None,
                    summary=condition_text(condition, language) if condition else None,
                    issued=issued[place],
                    typical=typical[place],
                    **rows[place],
                )
            )
        return days

    def _issued(self) -> Sequence[Issued | None]:
        series = self._series
        if series.kind != "forecast":
            return [None] * self._stay.days
        given = self._rows(series.issued or series.columns, _ISSUED, self._kelvin or 0.0)
        return [Issued(**values) for values in given]

    def _typical(self) -> Sequence[Typical | None]:
        typical = self._series.typical
        if typical is None:
            return [None] * self._stay.days
        years = list(typical.years)
        given = self._rows(estimate.at_place(typical), _TYPICAL, self._archive_kelvin)
        return [Typical(**values, years=years) for values in given]

    def _rows(
        self, columns: Columns, names: Sequence[str], kelvin: float
    ) -> list[dict[str, float | None]]:
        """Return one mapping for each day, from field name to value in the requested units.

        `columns` has the values of the fields in `names`. `kelvin` is added to correct temperatures
        to the point's elevation.
        """
        shown = []
        for name in names:
            convert: Convert = getattr(self._measure, _field(name).measure)
            values = _corrected(name, columns[name], kelvin)
            shown.append([convert(value) for value in values.tolist()])
        return [dict(zip(names, row, strict=True)) for row in zip(*shown, strict=True)]

    def _summary(self) -> Summary:
        measure = self._measure
        high, low = self._mean("temperature_max"), self._mean("temperature_min")
        wet = _total(self._chances()) / 100
        return Summary(
            text="",  # is made from the whole body
            temperature_max_mean=measure.temperature(high),
            temperature_min_mean=measure.temperature(low),
            precipitation_total=measure.precipitation(_total(self._columns["precipitation_sum"])),
            expected_wet_days=measure.count(wet),
            sunshine_hours_total=measure.hours(_total(self._columns["sunshine_hours"])),
            warmest_date=self._top("temperature_max"),
            wettest_date=self._top("precipitation_sum", at_least=0.1),
        )

    def _chances(self) -> Floats:
        """Return each day's chance of rain in percent; NaN if unknown.

        If a forecast lacks the chance for a day, the amount of rain decides: the result is 100 if
        it makes the day wet, else 0.
        """
        chances = self._columns["precipitation_probability"]
        if self._series.kind != "forecast":
            return chances
        rain = self._columns["precipitation_sum"]
        decided = np.where(np.isfinite(rain), np.where(rain >= WET_MM, 100.0, 0.0), math.nan)
        return np.where(np.isfinite(chances), chances, decided)

    def _mean(self, name: str) -> float:
        values = self._columns[name]
        known = values[np.isfinite(values)]
        return float(known.mean()) if known.size else math.nan

    def _top(self, name: str, at_least: float = -math.inf) -> date | None:
        """Return the date with the highest value in a column; the earliest if several have it.

        Return None for monthly means, or if the highest value is below `at_least`.
        """
        values = self._columns[name]
        if self._series.kind == "monthly_mean":
            return None
        if not np.isfinite(values).any() or np.nanmax(values) < at_least:
            return None
        return self._stay.start + timedelta(int(np.nanargmax(values)))

    def _basis(self) -> Basis:
        series, measure, point = self._series, self._measure, self._query.point
        grid = series.grid
        away = distance_km(point.lat, point.lng, grid.lat, grid.lng) if grid else None
        return Basis(
            kind=series.kind,
            provider=series.provider,
            model=series.model,
            issued_at=series.issued_at,
            years=list(series.years),
            samples_per_day=series.samples_per_day,
            grid_distance=measure.distance(away),
            grid_elevation=measure.elevation(grid.elevation) if grid else None,
            point_elevation=measure.elevation(self._elevation),
            temperature_correction=measure.temperature_difference(self._kelvin),
            representativeness=self._representativeness(),
            spread=series.spread,
        )

    def _representativeness(self) -> Representativeness | None:
        error = self._archive.representativeness
        if error is None:
            return None
        high, low = (self._measure.temperature_difference(kelvin) or 0.0 for kelvin in error)
        return Representativeness(temperature_max=high, temperature_min=low)

    def _history(self) -> list[YearBody]:
        measure, kelvin = self._measure, self._archive_kelvin

        def degrees(celsius: float | None) -> float | None:
            if celsius is None:
                return None
            [corrected] = _corrected("temperature_max", np.array([celsius]), kelvin).tolist()
            return measure.temperature(corrected)

        return [
            msgspec.structs.replace(
                year,
                temperature_max_mean=degrees(year.temperature_max_mean),
                temperature_min_mean=degrees(year.temperature_min_mean),
                precipitation_total=measure.precipitation(year.precipitation_total),
            )
            for year in self._archive.history
        ]


def _field(column: str) -> records.Field:
    """Return the limits and the unit of a column; a suffix `_p10` or `_p90` is ignored."""
    return records.FIELDS[column.removesuffix("_p10").removesuffix("_p90")]


def _corrected(name: str, values: Floats, kelvin: float | None) -> Floats:
    """Return a column's values; add `kelvin` (None adds nothing) if they are temperatures.

    Temperatures that become implausible are replaced by NaN.
    """
    field = _field(name)
    if not kelvin or field.measure != "temperature":
        return values
    moved = values + kelvin
    with np.errstate(invalid="ignore"):
        return np.where((moved >= field.lowest) & (moved <= field.highest), moved, np.nan)


def _total(values: Floats) -> float:
    """Return the sum of the values that are not NaN; NaN if there are none."""
    known = values[np.isfinite(values)]
    return float(known.sum()) if known.size else math.nan
