"""A made-up planet for the weather stand-ins: what a place is like on a date, always the same.

The season is a cosine that turns over at the equator, days differ by a noise made from their date,
every fourth day or so is wet, and it is 6.5 K a km colder on higher ground.
"""

import math
from collections.abc import Mapping
from datetime import date
from functools import lru_cache

LAPSE = 0.0065


def noise(seed: int, salt: int) -> float:
    """Between -1 and 1, looking random, always the same."""
    mixed = (seed * 2654435761 + salt * 40503) & 0xFFFFFFFF
    mixed ^= mixed >> 15
    mixed = (mixed * 2246822519) & 0xFFFFFFFF
    mixed ^= mixed >> 13
    return mixed / 0x7FFFFFFF - 1


def terrain(lat: float, lng: float) -> float:
    """The height in m at a point: a ridge each quarter degree, seen by 90 m models alone."""
    return round(900 + 800 * math.sin(lat * 50) * math.cos(lng * 50), 0)


def cell_height(lat: float, lng: float) -> float:
    """The height in m of the model's cell."""
    return round(900 + 100 * math.sin(lat) * math.cos(lng), 0)


@lru_cache(20_000)
def day(lat: float, lng: float, when: date, metres: float) -> Mapping[str, float]:
    """Open-Meteo's daily values by their names there, metric; cached for the half hours."""
    seed = when.toordinal()
    turn = math.cos(2 * math.pi * (when.timetuple().tm_yday - 200) / 365.25)
    middle = 26 - abs(lat) * 0.35 + turn * lat * 0.22 + 4 * noise(seed, 1)
    middle += (900 - metres) * LAPSE
    wet = noise(seed, 2) > 0.5
    rain = round(1 + 12 * abs(noise(seed, 3)), 1) if wet else 0.0
    code = (63 if rain < 10 else 65) if wet else (0, 2, 3)[seed % 3]
    if wet and middle < 0:
        code = 73
    return {
        "weather_code": code,
        "temperature_2m_max": round(middle + 4, 1),
        "temperature_2m_min": round(middle - 4, 1),
        "temperature_2m_mean": round(middle, 1),
        "apparent_temperature_max": round(middle + 3, 1),
        "apparent_temperature_min": round(middle - 6, 1),
        "precipitation_sum": rain,
        "precipitation_hours": 5.0 if wet else 0.0,
        "snowfall_sum": rain * 0.7 if code == 73 else 0.0,
        "wind_speed_10m_max": round(15 + 10 * noise(seed, 4), 1),
        "wind_gusts_10m_max": round(30 + 15 * noise(seed, 4), 1),
        "wind_direction_10m_dominant": int(350 + 30 * noise(seed, 5)) % 360,
        "sunshine_duration": 3600.0 * (2 if wet else 8),
        "cloud_cover_mean": 85 if wet else 30,
        "relative_humidity_2m_mean": 80 if wet else 60,
        "precipitation_probability_max": 80 if wet else 10,
        "uv_index_max": 4.2,
    }
