"""Compute the tables of docs/performance.md from its formulas and measurements.

The limits and prices of providers are below.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from location_context.sections.weather.providers.open_meteo import FORECAST_DAYS
from location_context.sections.weather.records import FORECAST_FIELDS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "performance.md"
MEASURED = PAGE.read_text(encoding="utf-8")
HALF_HOURS = 48  # in a day: a forecast is fresh for one
YEARS, FIELDS = 10, 15  # of the archive
FORECAST_UNITS = len(FORECAST_FIELDS) / 10 * FORECAST_DAYS / 14  # Open-Meteo's formula
MONTH_UNITS = YEARS * FIELDS / 10 * 61 / 14  # a month with 15 days to either side
YEAR_UNITS = FIELDS / 10 * (YEARS * 365.25 + 30) / 14  # `climate build`: all months in one interval
ROW_BYTES = 1413  # a month of one year of a cell in SQLite, docs/decisions/storage.md
PAGE_BYTES = {"full": 12_789, "compact": 5_850}  # with Brotli, docs/decisions/widget.md
OURS = 8_000  # units a day: our default budget, 80 % of Open-Meteo's free limit
PLANS = {  # units a day for widgets: half of a budget, all of a plan without one
    "free, default budget": OURS / 2,
    "Standard, 1,000,000 a month": 1_000_000 / 30,
    "Professional, 5,000,000 a month": 5_000_000 / 30,
}
EVENT_PLANS = {  # calls a day: the provider's limit, our default
    "Ticketmaster": (5_000, 4_000),
    "PredictHQ": (None, 800),
}


def figure(row: str) -> float:
    """Return a figure of docs/performance.md by the name of its row."""
    found = re.search(rf"^\| {re.escape(row)} \| (-?[\d.]+)", MEASURED, re.MULTILINE)
    if found is None:
        raise SystemExit(f"docs/performance.md has no row {row!r}")
    return float(found[1])


WARM = figure("CPU of a section") / 1e6  # seconds of CPU
REDIS = figure("Redis, CPU of a request") / 1e6
COLD = 1 / figure("cold widgets")


def fetches(requests: float) -> float:
    """Return forecasts fetched a day for a cell with so many requests at random moments."""
    return requests / (1 + requests / HALF_HOURS)


def answers() -> str:
    rows = [
        ("section, reused by the worker", WARM),
        ("the same, quotas in Redis", WARM + REDIS),
        ("widget at a new place, nothing cached", COLD),
    ]
    return table(
        ("answer", "CPU", "a second and core"),
        [(name, seconds_of(cpu), f"{rounded(1 / cpu):,}") for name, cpu in rows],
    )


def million() -> str:
    rows = []
    for rate in (0.0, 0.5, 0.8, 0.95, 0.99):
        hours = 1e6 * (rate * (WARM + REDIS) + (1 - rate) * COLD) / 3600
        rows.append((percent(rate), f"{hours:.2f}", f"{hours / 24 * 1000:.0f}"))
    return table(("reused by a worker", "core-hours", "millicores over a day"), rows)


def units() -> str:
    requests = (1, 10, 100)
    head = ("cells", *(f"{one} a day each" for one in requests), "without limit")
    rows = [
        (f"{cells:,}", *(f"{rounded(cells * fetches(one) * FORECAST_UNITS):,}" for one in requests),
         f"{rounded(cells * HALF_HOURS * FORECAST_UNITS):,}")
        for cells in (10, 100, 1_000, 10_000, 100_000)
    ]  # fmt: skip
    return table(head, rows)


def plans() -> str:
    requests = (1, 10, 100)
    head = ("Open-Meteo", "for widgets a day", *(f"cells, {one} a day each" for one in requests))
    rows = [
        (name, f"{rounded(allowed):,}",
         *(f"{rounded(allowed / fetches(one) / FORECAST_UNITS):,}" for one in requests))
        for name, allowed in PLANS.items()
    ]  # fmt: skip
    return table(head, rows)


def archive() -> str:
    professional = PLANS["Professional, 5,000,000 a month"]
    rows = [
        (f"{cells:,}", f"{rounded(cells * MONTH_UNITS):,}", f"{rounded(cells * YEAR_UNITS):,}",
         days(cells * YEAR_UNITS / OURS), days(cells * YEAR_UNITS / professional),
         size(cells * YEARS * 12 * ROW_BYTES), "0")
        for cells in (1, 100, 1_000, 10_000)
    ]  # fmt: skip
    head = ("cells", "units, one month", "all twelve", "days, free", "days, Professional", "stored",
            "units with a climate store")  # fmt: skip
    return table(head, rows)


def events() -> str:
    head = ("", "calls a day", "of ours", "for widgets", "of 1 page", "of 2", "of 5")
    rows = [
        (name, f"{limit:,}" if limit else "by plan", f"{ours:,}", f"{ours // 2:,}",
         *(f"{ours // 2 // pages:,}" for pages in (1, 2, 5)))
        for name, (limit, ours) in EVENT_PLANS.items()
    ]  # fmt: skip
    return table(head, rows)


def bandwidth() -> str:
    rows = [(name, f"{sent:,}", f"{sent / 1000:.1f} GB") for name, sent in PAGE_BYTES.items()]
    return table(("layout", "bytes at most, Brotli", "a million"), rows)


def example() -> str:
    """Return the example of a chain with 200,000 properties, step by step."""
    widgets, cdn, reused, near, cells, peak = 2_000_000, 0.5, 0.8, 0.5, 20_000, 5
    served = widgets * (1 - cdn)
    cpu = reused * (WARM + REDIS) + (1 - reused) * COLD
    requests = served * near / cells
    used = cells * fetches(requests) * FORECAST_UNITS
    climate = 12_500
    rows = [
        ("widgets a day", f"{widgets:,}"),
        (f"left by a CDN that answers {percent(cdn)}", f"{served:,.0f}"),
        (f"a second, with {peak} times the mean at the peak", f"{served / 86400 * peak:.0f}"),
        (f"cores at the peak, {percent(reused)} reused by workers",
         f"{served / 86400 * peak * cpu:.2f}"),
        (f"forecast requests in each of {cells:,} cells, {percent(near)} of stays being near",
         f"{requests:.0f} a day"),
        ("forecasts fetched for each", f"{fetches(requests):.1f} a day"),
        ("Open-Meteo units", f"{rounded(used):,} a day, {rounded(used * 30):,} a month"),
        (f"archive of {climate:,} cells of 0.25°, once",
         f"{rounded(climate * YEAR_UNITS):,} units, {size(climate * YEARS * 12 * ROW_BYTES)}"),
        ("the same with a climate store", "0 units"),
        ("sent by the service", f"{served * PAGE_BYTES['full'] / 1e9:.0f} GB a day"),
    ]  # fmt: skip
    return table(("step", ""), rows)


def formulas() -> str:
    rows = [
        ("forecast of a cell", f"{len(FORECAST_FIELDS)} variables ÷ 10 × {FORECAST_DAYS} days ÷ 14",
         f"{FORECAST_UNITS:.2f} units"),
        ("one month of its archive", f"{FIELDS} ÷ 10 × 61 days ÷ 14 × {YEARS} years",
         f"{MONTH_UNITS:.0f} units"),
        ("all twelve at once (`warm FILE --climate-only`)",
         f"{FIELDS} ÷ 10 × {YEARS} years and 30 days ÷ 14",
         f"{YEAR_UNITS:.0f} units"),
        ("forecasts fetched a day", "a ÷ (1 + a ÷ 48) for a requests", f"at most {HALF_HOURS}"),
        ("climate of a cell", f"{YEARS} years × 12 months × {ROW_BYTES:,} bytes",
         size(YEARS * 12 * ROW_BYTES)),
    ]  # fmt: skip
    return table(("what", "formula", ""), rows)


def rounded(value: float) -> int:
    """Round to three significant digits."""
    digits = max(0, len(str(int(value))) - 3)
    return int(round(value / 10**digits) * 10**digits)


def percent(share: float) -> str:
    return f"{share * 100:.0f}\N{NO-BREAK SPACE}%"


def seconds_of(value: float) -> str:
    return f"{value * 1e3:.0f} ms" if value > 1e-3 else f"{value * 1e6:.0f} µs"


def days(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{rounded(value):,}"


def size(value: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if value >= factor:
            return f"{value / factor:.1f} {unit}"
    return f"{value / 1e3:.0f} kB"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    return "\n".join(lines)


TABLES = (answers, million, units, plans, archive, events, bandwidth, example, formulas)


def page(text: str) -> str:
    """Return the page with each table computed again between its marks."""
    for made in TABLES:
        mark = f"<!-- {made.__name__} -->"
        begin, _, rest = text.partition(mark)
        _, end, after = rest.partition("<!-- end -->")
        if not end:
            raise SystemExit(f"docs/performance.md has no place for {mark}")
        text = f"{begin}{mark}\n\n{made()}\n\n{end}{after}"
    return text


def files() -> dict[Path, str]:
    return {PAGE: page(PAGE.read_text(encoding="utf-8"))}
