"""Recorder: hands each forecast to the score, as guests of all its days are given it."""

from dataclasses import replace
from datetime import timedelta

import numpy as np

from location_context.sections.contract import Query
from location_context.sections.weather.accuracy.records import LEADS, by_month, given_columns
from location_context.sections.weather.accuracy.scorekeeper import Scorekeeper
from location_context.sections.weather.estimate import Estimator, height_between
from location_context.sections.weather.providers.base import Forecast, ForecastProvider
from location_context.sections.weather.records import Cell, Columns
from location_context.sections.weather.retrieval.sources import Sources
from location_context.stay import Stay


class Recorder:
    """Records forecasts of 16 days."""

    def __init__(self, score: Scorekeeper, sources: Sources, estimator: Estimator) -> None:
        self._score = score
        self._sources = sources
        self._estimator = estimator

    def record(self, provider: ForecastProvider, query: Query, forecast: Forecast) -> None:
        """Keep the forecast, if it is the cell's first of the day."""
        issued = (forecast.issued_at or forecast.fetched_at).astimezone(query.point.zone).date()
        last = min(forecast.last_known, issued + timedelta(LEADS - 1))
        if last < issued:
            return

        async def columns() -> Columns:
            # month by month, since what is typical of one may be held when the next one's is not
            months = [
                await self._given(replace(query, stay=stay), provider, forecast)
                for stay in by_month(Stay(issued, last))
            ]
            return {name: np.concatenate([one[name] for one in months]) for name in months[0]}

        cell = Cell.of(query.point, provider.cell_degrees)
        self._score.record(provider.title, cell, issued, forecast.grid.elevation, columns)

    async def _given(self, query: Query, provider: ForecastProvider, forecast: Forecast) -> Columns:
        """Return what a guest is given of a forecast, as it is kept; nothing is asked for."""
        series = self._sources.forecasts.part_of(provider, query, forecast)
        typical = await self._sources.archives.load(query)
        given = self._estimator.estimate(query, replace(series, typical=typical), None)
        grid = typical.grid if typical is not None else None
        return given_columns(given, height_between(given.grid, grid, None))
