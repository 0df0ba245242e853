"""The page `/v1/docs/accuracy`, which shows the accuracy of forecasts as tables."""

from dataclasses import dataclass

from location_context.sections.section import DocsPage
from location_context.sections.weather.accuracy.records import RETENTION_DAYS
from location_context.sections.weather.accuracy.report import Report
from location_context.sections.weather.accuracy.scorekeeper import SCORED_CELLS, Scorekeeper

MIN_PAIRS = 10  # results from fewer pairs say little, and are shown in a muted colour
STYLE = """
.score { table-layout: auto; font-variant-numeric: tabular-nums; }
.score th, .score td, .score td:first-child, .score td:nth-child(2) { width: auto; color: inherit;
  text-align: right; white-space: nowrap; padding: 0.3rem 0 0.3rem 0.9rem; }
.score th { color: var(--soft); vertical-align: bottom; white-space: normal; }
.score thead th { font-size: 0.85em; line-height: 1.35; }
.score tr:first-child th:first-child, .score tbody th { text-align: left; padding-left: 0; }
.score tbody th { font-weight: 400; color: inherit; }
.few { color: var(--soft); }
"""


@dataclass(frozen=True)
class PageView:
    """The data for the page's template: the accuracy report, and three limits that it names."""

    report: Report
    cells: int = SCORED_CELLS
    days: int = RETENTION_DAYS
    min_pairs: int = MIN_PAIRS


def docs_page(scorekeeper: Scorekeeper) -> DocsPage:
    """Return the documentation page that shows the latest accuracy report as tables."""

    async def read() -> PageView:
        return PageView(await scorekeeper.report())

    return DocsPage(
        name="accuracy",
        title="Accuracy of the forecasts",
        description=(
            "How the forecasts of this installation came out: coverage of their range, errors "
            "beside climatology's, and the reliability of the chance of rain, by days ahead."
        ),
        template="location_context.sections.weather.accuracy:page.html",
        style=STYLE,
        read=read,
    )
