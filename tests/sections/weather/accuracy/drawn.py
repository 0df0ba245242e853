"""Forecasts drawn around days that came: a small forecasts whose errors and bands are known."""

from datetime import date, timedelta

import numpy as np

from location_context.sections.weather.accuracy.records import LEADS, ForecastRow
from location_context.sections.weather.accuracy.verification import ObservedDays

FIRST = date(2026, 6, 1)
CELLS = ("48.9000,2.4000,Europe/Paris", "52.5000,13.4000,Europe/Berlin")
SD = 4.0  # of the climate
Z90 = 1.2815515655


def drawn(
    days: int = 150, provider: str = "Open-Meteo", seed: int = 1, bias: float = 1.0
) -> tuple[list[ForecastRow], dict[str, ObservedDays]]:
    """A forecast a day for each cell, and what then came; the archive is 100 m higher."""
    generator = np.random.default_rng(seed)
    rows, came = [], {}
    lead = np.arange(LEADS)
    r = 0.97 / (1 + np.exp((lead - 8.6) / 2.28))
    for cell in CELLS:
        anomaly = generator.normal(0, SD, (2, days + LEADS))
        chances = generator.beta(0.6, 1.0, days + LEADS) * 100
        rain = np.where(generator.uniform(0, 100, days + LEADS) < chances, 4.0, 0.2)
        values = np.stack([22 + anomaly[0], 12 + anomaly[1], rain])
        came[cell] = ObservedDays(FIRST, 200.0, np.round(values[:, : days + 3], 2))
        for day in range(days):
            ahead = slice(day, day + LEADS)
            columns = {"issued_chance": np.clip(chances[ahead] * 1.1, 0, 100)}
            columns["chance"] = r * chances[ahead] + (1 - r) * 37.5
            columns["typical_chance"] = np.full(LEADS, 37.5)
            for place, (name, mean) in enumerate((("max", 22.0), ("min", 12.0))):
                usual = mean + 0.65  # the forecast's height is 100 m lower
                noise = generator.normal(0, SD, LEADS) * np.sqrt(1 - r**2)
                issued = usual + r * anomaly[place, ahead] + noise
                best = usual + r * (issued - usual)
                half = Z90 * SD * np.sqrt(1 - r**2)
                columns[f"issued_{name}"], columns[name] = issued + bias, best
                columns[f"{name}_p10"], columns[f"{name}_p90"] = best - half, best + half
                columns[f"typical_{name}"] = np.full(LEADS, usual)
            issued_on = FIRST + timedelta(day)
            rows.append(ForecastRow.pack(provider, cell, issued_on, 100.0, columns))
    return rows, came
