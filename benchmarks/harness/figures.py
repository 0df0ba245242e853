"""Options, medians with their spread, and how figures are printed."""

import argparse
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Figures = Mapping[str, Mapping[str, Any]]


def parser(documentation: str, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with `--rounds` and `--json`, which every benchmark takes."""
    options = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=rounds, help=f"default {rounds}")
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    return options


def median(values: Iterable[float], digits: int = 1) -> float:
    return round(statistics.median(values), digits)


def ratio(upper: Sequence[float], lower: Sequence[float], name: str) -> dict[str, float]:
    """Return the median of the rounds' ratios under `name`, with the lowest and the highest."""
    ratios = sorted(a / b for a, b in zip(upper, lower, strict=True))
    return {
        name: round(statistics.median(ratios), 3),
        f"{name}_lowest": round(ratios[0], 3),
        f"{name}_highest": round(ratios[-1], 3),
    }


def show(figures: Figures, options: argparse.Namespace) -> None:
    """Print the figures: as JSON, or one a line, each with its parts by name."""
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    wide = max(map(len, figures))
    for name, parts in figures.items():
        words = "  ".join(f"{part} {_written(value)}" for part, value in parts.items())
        print(f"{name:{wide}}  {words}")


def table(figures: Figures, columns: Mapping[str, str], options: argparse.Namespace) -> None:
    """Print the figures: as JSON, or as a table of these parts under these headings."""
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    wide = max(map(len, figures))
    print(" " * wide + "".join(f"{heading:>{len(heading) + 3}}" for heading in columns.values()))
    for name, parts in figures.items():
        cells = (
            f"{_written(parts[part]) if part in parts else '':>{len(heading) + 3}}"
            for part, heading in columns.items()
        )
        print(f"{name:{wide}}" + "".join(cells))


def _written(value: Any) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{2 if abs(value) < 10 else 1}f}"
