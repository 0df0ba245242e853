"""The section `year`: the typical weather of each month, for the question "when shall we go?"."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

import numpy as np

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Language
from location_context.sections import contract, registry, section
from location_context.sections.card import Card, CardContext
from location_context.sections.units import Measure
from location_context.sections.weather.climate.store import ClimateStores
from location_context.sections.weather.fallback_grid import FallbackGrid
from location_context.sections.weather.providers.base import ArchiveProvider
from location_context.sections.weather.records import Columns
from location_context.sections.weather.retrieval.archive_repository import ArchiveRepository
from location_context.sections.weather.retrieval.archives import Archives
from location_context.sections.weather.retrieval.elevations import DEM
from location_context.sections.weather.year import card, comfort, normals
from location_context.sections.weather.year.normals import Normals
from location_context.sections.weather.year.response import TypicalMonth, TypicalYear
from location_context.upstream.deadline import Deadline

RETRY = timedelta(minutes=1)  # after this time a better source may be stored
_TEXT = {  # the columns of its text
    "month": "month",
    "temperature_max": "high {units.temperature}",
    "temperature_min": "low",
    "temperature_mean": "mean",
    "precipitation_total": "{units.precipitation}",
    "wet_days": "wet days",
    "daylight_hours": "daylight h",
    "sunshine_hours": "sunshine h",
}
_MEASURES = {  # how a month's fields are converted; the others are temperatures
    "precipitation_total": "precipitation",
    "wet_days": "count",
    "daylight_hours": "hours",
    "sunshine_hours": "hours",
}


class Year(section.Section[TypicalYear]):
    """The section `year`: it answers from stored data alone and calls no provider."""

    name = "year"
    dated = False
    response = TypicalYear
    order = 500
    shown_by_default = False
    title = "Year: the typical weather of each month, and the comfortable months"
    description = (
        "The answer comes from stored data, without a call to a provider: from a climate store, "
        "else from months of an archive if all twelve are stored, else from the fallback grid's "
        "monthly means; then `degraded` is true. `source` says which."
    )
    samples: ClassVar[section.Samples] = {
        "typical": section.PARIS,
        "not_applicable": section.AT_SEA,
    }

    def __init__(self, context: section.SectionContext, archives: Archives) -> None:
        self._clock, self._archives = context.clock, archives
        self._stores = ClimateStores(context.settings.data_dir)
        self._grid = FallbackGrid(context.settings.data_dir)

    @classmethod
    def build(cls, context: section.SectionContext) -> Self:
        """Create the section with access to the stored months of all archive providers."""
        providers = registry.load(registry.ARCHIVE_PROVIDERS, ArchiveProvider)
        built = [provider.build(context) for provider in providers]
        repository = ArchiveRepository(context.stores["climate"], context.clock)
        return cls(context, Archives(built, repository, context.clock, context.shared_cache()))

    async def read(self, query: contract.Query, deadline: Deadline) -> contract.SectionResult:
        """Return the typical months at the point; "not applicable" if no data is stored for it."""
        del deadline  # nothing is fetched
        point, now = query.point, self._clock()
        found = (
            normals.from_stores(self._stores.open(), point)
            or await normals.from_archives(self._archives, query)
            or normals.from_grid(self._grid, point)
        )
        if found is None:
            message = query.language.gettext("No climate data is stored for this place.")
            nothing = contract.NotApplicable(reason="no_climate_data", message=message)
            return contract.SectionResult(nothing, now + RETRY)
        elevation = None
        if found.grid.elevation is not None:
            elevation = await self._archives.repository.load_elevation((point.lat, point.lng))
        body = _body(query, found, found.grid.correction(elevation))
        midnight = point.next_midnight(now).astimezone(now.tzinfo)
        return contract.SectionResult(body, now + RETRY if body.degraded else midnight)

    async def fixed(
        self, query: contract.Query, deadline: Deadline, now: datetime, *, failing: bool
    ) -> contract.Applicable | contract.NotApplicable:
        """Return typical months of made-up weather for a test API key; ignore `failing`."""
        del deadline, failing  # nothing is fetched
        return _body(query, normals.fixed(query.point, now), None)

    async def run(self) -> None:
        """Write regularly to the store which cells were used; cells unused for long are deleted."""
        await self._archives.repository.retry_writes()

    async def close(self) -> None:
        await self._archives.close()

    def label(self, language: Language) -> str:
        return language.pgettext("section", "best months")

    def summary(self, language: Language) -> str:
        return language.gettext("month by month")

    def updated_at(self, body: TypicalYear) -> None:
        """Return None: no time of update is shown, since the data describe whole past years."""

    def text(self, body: TypicalYear) -> Iterator[str | section.TextTable]:
        """Yield lines for the terminal: comfortable months, the rule for comfort, source, table."""
        yield f"{body.sentence} {body.comfort_rule}"
        years = f", {body.years[0]} to {body.years[-1]}" if body.years else ""
        yield f"{body.source.replace('_', ' ')} ({body.provider}{years})"
        names = [name for name in TypicalMonth.__struct_fields__ if name in _TEXT]
        columns = [_TEXT[name].format(units=body.units) for name in names]
        rows = [
            [
                section.UNKNOWN if (value := getattr(one, name)) is None else f"{value:g}"
                for name in names
            ]
            for one in body.months
        ]
        yield section.TextTable(columns=columns, rows=rows)

    def card(self, body: TypicalYear, context: CardContext) -> Card:
        return card.card(body, context.fmt)


def _body(query: contract.Query, found: Normals, kelvin: float | None) -> TypicalYear:
    """Return the answer's body in the requested units.

    `kelvin` is added to temperatures to correct them to the point's elevation; None if unknown.
    """
    measure, fmt, point = Measure(query.units), Formatter(query.language), query.point
    columns = {
        name: values + (kelvin or 0) if name.startswith("temperature") else values
        for name, values in found.columns.items()
    }
    rule = comfort.BY_DAY if comfort.BY_DAY.warmth in columns else comfort.BY_MEAN
    distance = rule.distance(columns)
    comfortable = (np.flatnonzero(distance == 0) + 1).tolist()
    closest = int(np.nanargmin(distance)) + 1 if np.isfinite(distance).any() else None
    columns["daylight_hours"] = normals.daylight(point.lat)
    dem = [] if kelvin is None else [DEM]  # the source of the point's height
    return TypicalYear(
        point=contract.point_body(point),
        units=measure.body,
        as_of=datetime(found.years[-1], 12, 31, 23, 59, 59, tzinfo=UTC) if found.years else None,
        stale=False,
        degraded_reason="archive_unavailable" if found.source == "monthly_mean" else None,
        attribution=[*found.attribution, *dem, *contract.point_notices(point)],
        source=found.source,
        provider=found.provider,
        model=found.model,
        years=list(found.years),
        temperature_correction=measure.temperature_difference(kelvin),
        comfort_rule=fmt.plain(rule.text(measure, fmt)),
        comfortable_months=comfortable,
        sentence=fmt.plain(comfort.sentence(comfortable, closest, fmt)),
        months=[_month(columns, n, measure, n in comfortable) for n in range(1, 13)],
    )


def _month(columns: Columns, month: int, measure: Measure, comfortable: bool) -> TypicalMonth:
    """Return one typical month (1 to 12) in the requested units.

    Values that the source lacks are None.
    """
    values: dict[str, Any] = dict.fromkeys(TypicalMonth.__struct_fields__)
    for name, column in columns.items():
        convert = getattr(measure, _MEASURES.get(name, "temperature"))
        values[name] = convert(float(column[month - 1]))
    return TypicalMonth(**values | {"month": month, "comfortable": comfortable})
