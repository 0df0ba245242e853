"""What the benchmarks share: options, medians with their spread, and how figures are printed."""

import argparse
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Figures = Mapping[str, Mapping[str, Any]]


def parser(documentation: str, rounds: int) -> argparse.ArgumentParser:
    """With `--rounds` and `--json`, which every benchmark takes."""
    made = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--rounds", type=int, default=rounds, help=f"default {rounds}")
    made.add_argument("--json", action="store_true", help="print the figures as JSON")
    return made


def median(values: Iterable[float], digits: int = 1) -> float:
    return round(statistics.median(values), digits)


def ratio(upper: Sequence[float], lower: Sequence[float], name: str) -> dict[str, float]:
    """The median of the rounds' ratios under `name`, with the lowest and the highest."""
    found = sorted(a / b for a, b in zip(upper, lower, strict=True))
    return {
        name: round(statistics.median(found), 3),
        f"{name}_lowest": round(found[0], 3),
        f"{name}_highest": round(found[-1], 3),
    }


def show(figures: Figures, given: argparse.Namespace) -> None:
    """Print the figures: JSON, or a line for each with its parts by name."""
    if given.json:
        print(json.dumps(figures, indent=1))
        return
    wide = max(map(len, figures))
    for name, parts in figures.items():
        words = "  ".join(f"{part} {_written(value)}" for part, value in parts.items())
        print(f"{name:{wide}}  {words}")


def table(figures: Figures, columns: Mapping[str, str], given: argparse.Namespace) -> None:
    """Print the figures: JSON, or a table of these parts under these headings."""
    if given.json:
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
