"""`accuracy`: how the forecasts of this installation came out, as `/v1/docs/accuracy` shows it."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.console import RenderableType

from location_context.app import open_service
from location_context.cli import console
from location_context.errors import OperatorError
from location_context.sections.weather.accuracy.report import (
    ProviderScore,
    Report,
    TemperatureScore,
)
from location_context.sections.weather.section import Weather

Verify = Annotated[
    bool, typer.Option("--verify", help="Ask the archive now about every cell that is due.")
]
_TEMPERATURES = (
    "ahead", "days", "80 % range", "mean error", "MAE", "RMSE",
    "issued: mean error", "RMSE", "climatology: days", "MAE", "RMSE",
)  # fmt: skip
_RAIN = ("ahead", "days", "wet days", "Brier score", "issued", "climatology: days", "Brier score")
_RELIABILITY = ("ahead", "days", "mean chance", "wet days")


def accuracy(*, verify: Verify = False, json: console.Json = False) -> None:
    """Show how the forecasts of this installation came out, by days ahead."""
    report = asyncio.run(_report(verify=verify))
    console.emit(report, *_printable(report), json=json)


async def _report(*, verify: bool) -> Report:
    async with open_service(console.settings()) as service:
        for cached in service.sections:
            if isinstance(cached.section, Weather):
                score = cached.section.score
                while verify and await score.pass_once():
                    console.step("Asked the archive about a cell …")
                return await score.report()
    raise OperatorError("The section weather is not installed.")


def _printable(report: Report) -> Iterator[RenderableType]:
    if not report.providers:
        yield "No forecasts are kept yet."
    elif not report.verified:
        yield "No day is known yet: it is compared about a week after it has passed."
    for score in report.providers:
        yield (
            f"{score.provider}: {score.forecasts} forecasts of {score.cells} cells, issued from "
            f"{score.first_issued} to {score.last_issued}"
        )
        if report.verified:
            yield from _tables(score, report.wet_mm)


def _tables(score: ProviderScore, wet_mm: float) -> Iterator[RenderableType]:
    for name, scores in (("Highs", score.temperature_max), ("Lows", score.temperature_min)):
        yield f"{name}, in °C"
        yield console.table(_TEMPERATURES, [_temperature_row(one) for one in scores if one.pairs])
    yield f"Chance of a wet day ({wet_mm:g} mm or more)"
    yield console.table(
        _RAIN,
        [
            (
                str(one.lead), str(one.pairs), _percent(one.wet_share), _number(one.brier, 3),
                _number(one.issued_brier, 3), str(one.typical_pairs), _number(one.typical_brier, 3),
            )
            for one in score.rain
            if one.pairs
        ],
    )  # fmt: skip
    yield "Days with such a chance, and how many of them were wet"
    yield console.table(
        _RELIABILITY,
        [
            (
                f"{band.first_lead} to {band.last_lead}", str(one.pairs),
                f"{one.chance:.0f} %", f"{one.wet_share:.0f} %",
            )
            for band in score.reliability
            for one in band.bins
        ],
    )  # fmt: skip


def _temperature_row(one: TemperatureScore) -> Sequence[str]:
    return (
        str(one.lead), str(one.pairs), _percent(one.coverage), _number(one.mean_error),
        _number(one.mae), _number(one.rmse), _number(one.issued_mean_error),
        _number(one.issued_rmse), str(one.typical_pairs), _number(one.typical_mae),
        _number(one.typical_rmse),
    )  # fmt: skip


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
