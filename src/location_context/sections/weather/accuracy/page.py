"""The page of the score, `/v1/docs/accuracy`: the report as sentences, drawings and tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from location_context.sections.section import DocsPage
from location_context.sections.weather.accuracy import plots
from location_context.sections.weather.accuracy.plots import MIN_PAIRS, Panel, Series, Value
from location_context.sections.weather.accuracy.report import (
    ProviderScore,
    Reliability,
    Report,
    TemperatureScore,
)
from location_context.sections.weather.accuracy.scorekeeper import Scorekeeper

NAMES = {"temperature_max": "Highs", "temperature_min": "Lows"}
STYLE = """
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr));
  gap: 1rem 2rem; margin: 1rem 0; }
figure { margin: 0; }
figcaption { font-weight: 550; margin-bottom: 0.2rem; }
.plot { display: block; width: 100%; height: auto; font-size: 13px; }
.plot text { fill: var(--soft); }
.plot .grid { stroke: var(--line); }
.plot .rule { stroke: var(--soft); stroke-dasharray: 2 3; }
.plot polyline, .key line { fill: none; stroke-linejoin: round; stroke-linecap: round; }
.best { stroke: var(--accent); stroke-width: 3; }
.issued { stroke: var(--ink); stroke-width: 1.8; stroke-dasharray: 7 4; }
.typical { stroke: var(--soft); stroke-width: 2.2; stroke-dasharray: 0.1 5; }
.plot circle { fill: var(--accent); stroke: var(--raised); stroke-width: 1; }
.plot circle.issued { fill: var(--ink); stroke-dasharray: none; }
.plot circle.typical { fill: var(--soft); stroke-dasharray: none; }
.key { display: flex; flex-wrap: wrap; gap: 0.2rem 1.4rem; list-style: none; margin: 0.6rem 0 0;
  padding: 0; font-size: 0.92rem; color: var(--soft); }
.key svg { width: 2.2rem; height: 0.8rem; margin-right: 0.4rem; vertical-align: -0.05rem; }
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
class ProviderView:
    """One provider's part of the page; `intro` are its forecasts in a sentence."""

    score: ProviderScore
    slug: str
    intro: str
    errors: Sequence[Panel]
    coverage: Panel
    rain: Panel
    reliability: Sequence[Panel]


@dataclass(frozen=True)
class PageView:
    """What the template shows."""

    report: Report
    providers: Sequence[ProviderView]
    max_cells: int
    days: int
    min_pairs: int = MIN_PAIRS
    width: int = plots.WIDTH
    height: int = plots.HEIGHT
    left: int = plots.LEFT
    right: int = plots.WIDTH - plots.RIGHT
    top: int = plots.TOP
    bottom: int = plots.HEIGHT - plots.BOTTOM


def docs_page(scorekeeper: Scorekeeper) -> DocsPage:
    """The page; what it shows is as old as the scorekeeper's report."""

    async def read() -> PageView:
        report = await scorekeeper.report()
        providers = [_provider_view(score, number) for number, score in enumerate(report.providers)]
        return PageView(report, providers, scorekeeper.max_cells, scorekeeper.days)

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


def _provider_view(score: ProviderScore, number: int) -> ProviderView:
    slug = f"provider-{number + 1}"
    temperatures = {
        "temperature_max": score.temperature_max,
        "temperature_min": score.temperature_min,
    }
    return ProviderView(
        score=score,
        slug=slug,
        intro=_intro(score),
        errors=[
            _error_panel(f"{slug}-{name}", NAMES[name], scores)
            for name, scores in temperatures.items()
        ],
        coverage=_coverage_panel(f"{slug}-coverage", score),
        rain=_rain_panel(f"{slug}-rain", score),
        reliability=[
            _reliability_panel(f"{slug}-days-{one.first_lead}", one) for one in score.reliability
        ],
    )


def _intro(score: ProviderScore) -> str:
    cells = "1 cell" if score.cells == 1 else f"{score.cells} cells"
    forecasts = "1 forecast" if score.forecasts == 1 else f"{score.forecasts:,} forecasts"
    return f"{forecasts} of {cells}, issued from {score.first_issued} to {score.last_issued}."


def _error_panel(id: str, name: str, scores: Sequence[TemperatureScore]) -> Panel:  # noqa: A002  as in HTML
    best = [_shown(one.rmse, one.pairs) for one in scores]
    issued = [_shown(one.issued_rmse, one.pairs) for one in scores]
    typical = [_shown(one.typical_rmse, one.typical_pairs) for one in scores]
    summary = f"Root mean square error of {name.lower()}: {_course(best, ' °C')}"
    if any(value is not None for value in typical):
        summary += f"; of climatology {_course(typical, ' °C')}"
    series = _compared(best, issued, typical)
    return plots.by_lead(id, f"{name}: error in °C (RMSE)", summary + ".", series)


def _coverage_panel(id: str, score: ProviderScore) -> Panel:  # noqa: A002  as in HTML
    highs, lows = (
        [_shown(_percent(one.coverage), one.pairs) for one in scores]
        for scores in (score.temperature_max, score.temperature_min)
    )
    summary = (
        f"Share of days within the 80 % range: highs {_course(highs, ' %')}, "
        f"lows {_course(lows, ' %')}."
    )
    series = [Series("best", "highs", highs), Series("issued", "lows", lows)]
    title = "Days within the 80 % range"
    y_range = plots.share_range([*highs, *lows])
    return plots.by_lead(id, title, summary, series, unit=" %", y_range=y_range, rule=80)


def _compared(
    best: Sequence[Value], issued: Sequence[Value], typical: Sequence[Value]
) -> list[Series]:
    return [
        Series("best", "best estimate", best),
        Series("issued", "as issued", issued),
        Series("typical", "climatology", typical),
    ]


def _rain_panel(id: str, score: ProviderScore) -> Panel:  # noqa: A002  as in HTML
    best = [_shown(one.brier, one.pairs) for one in score.rain]
    issued = [_shown(one.issued_brier, one.pairs) for one in score.rain]
    typical = [_shown(one.typical_brier, one.typical_pairs) for one in score.rain]
    summary = f"Brier score of the chance of rain: {_course(best, '')}."
    series = _compared(best, issued, typical)
    return plots.by_lead(id, "Chance of rain: Brier score", summary, series)


def _reliability_panel(id: str, one: Reliability) -> Panel:  # noqa: A002  as in HTML
    bins = [(part.pairs, part.chance, part.wet_share) for part in one.bins]
    shown = [part for part in bins if part[0] >= MIN_PAIRS]
    words = [f"{chance:.0f} % given, {share:.0f} % came" for _, chance, share in shown]
    summary = f"Days {one.first_lead} to {one.last_lead}: {'; '.join(words) or 'too few days'}."
    title = f"{one.first_lead} to {one.last_lead} days ahead: chance given, wet days"
    return plots.reliability(id, title, summary, bins)


def _shown(value: Value, pairs: int) -> Value:
    """The value where enough pairs stand behind it to draw it."""
    return value if pairs >= MIN_PAIRS else None


def _percent(share: Value) -> Value:
    return None if share is None else 100 * share


def _course(values: Sequence[Value], unit: str) -> str:
    """The first and the last known value in words."""
    known = [(lead, value) for lead, value in enumerate(values) if value is not None]
    if not known:
        return "not known yet"
    (first, begin), (last, end) = known[0], known[-1]
    return f"{begin:.3g}{unit} on day {first}, {end:.3g}{unit} on day {last}"
