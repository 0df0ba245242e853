"""Made-up restaurants, queries and datasets for the guide's tests."""

import csv
import io
import random
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.contract import Query
from location_context.sections.guide.records import TIERS, Provenance, Restaurant

RADII = (80.0, 40.0, 15.0, 2.0, 1.0)
PARIS = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
METADATA = Provenance(source="made-up.csv", dated=date(2025, 3, 1))
PROVENANCE = Provenance(
    kind="plain_csv", source="made-up.csv", dated=date(2025, 3, 1), attribution="Made up"
)
OPEN_COLUMNS = (
    "Name,Address,Location,Price,Cuisine,Longitude,Latitude,PhoneNumber,Url,WebsiteUrl,Award"
)


def restaurant(number: int, **changes: Any) -> Restaurant:
    values: dict[str, Any] = {
        "id": f"r{number:05}", "name": f"Table {number}", "tier": "one_star", "lat": 48.85,
        "lng": 2.35,
    }  # fmt: skip
    return Restaurant(**(values | changes))


def around(*distances: tuple[str, float]) -> list[Restaurant]:
    """Return restaurants of a tier, so many km north of Paris."""
    return [
        restaurant(n, tier=tier, lat=PARIS.lat + km / 111.195, lng=PARIS.lng)
        for n, (tier, km) in enumerate(distances)
    ]


def scattered(count: int, seed: int = 1) -> list[Restaurant]:
    """Restaurants crowded around places where geometry is hard, the rest anywhere."""
    chance = random.Random(seed)
    centres = [(90, 0), (-90, 0), (0, 180), (65, -180), (48.8566, 2.3522), (35.68, 139.76)]
    made = []
    for number in range(count):
        lat, lng = chance.choice(centres)
        spread = chance.choice([0.003, 0.02, 0.3, 40])
        lat, lng = lat + chance.gauss(0, spread), lng + chance.gauss(0, spread)
        if abs(lat) > 90:  # over the pole and down the other side
            lat, lng = (180 if lat > 0 else -180) - lat, lng + 180
        lat = max(-90.0, min(90.0, lat))
        place = {"lat": round(lat, 6), "lng": round((lng + 180) % 360 - 180, 6)}
        made.append(restaurant(number, tier=chance.choice(TIERS), **place))
    return made


def points(count: int, seed: int = 2) -> list[tuple[float, float]]:
    """Random points of the sphere, the poles, both sides of 180°, and the hotspots' middles."""
    chance = random.Random(seed)
    special = [(90.0, 0.0), (-90.0, 0.0), (89.9999, 77.0), (0.0, 180.0), (0.0, -179.9999)]
    special += [(65.0, 180.0), (65.0, -179.9), (48.8566, 2.3522), (35.68, 139.76)]
    anywhere = [
        (round(chance.uniform(-90, 90), 4), round(chance.uniform(-180, 180), 4))
        for _ in range(count)
    ]
    return special + anywhere


def query(point: Point = PARIS, *, lang: str = "en", **changes: Any) -> Query:
    language = Languages.load().choose(lang)
    return Query(
        **({"point": point, "stay": None, "units": "metric", "language": language} | changes)
    )


def csv_of(rows: Iterable[Mapping[str, Any]], *, columns: str, delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns.split(","), delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def open_row(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A row of the open guide CSV, made up."""
    return {
        "Name": f"Chez Exemple {number}", "Address": f"{number} rue du Test, Paris, 75001, France",
        "Location": "Paris, France", "Price": "€€€", "Cuisine": "Modern, Creative",
        "Longitude": f"{2.3 + number / 500:.5f}", "Latitude": "48.85661",
        "PhoneNumber": "+33142000000",
        "Url": f"https://guide.example/paris/restaurant/exemple-{number}",
        "WebsiteUrl": f"https://exemple-{number}.example/", "Award": "1 Star",
    } | changes  # fmt: skip


def open_csv(*rows: Mapping[str, Any]) -> bytes:
    return csv_of(rows, columns=OPEN_COLUMNS)


def country_at(lat: float, lng: float) -> str | None:
    """A coarse world: France, Japan, and sea."""
    if 41 < lat < 51.5 and -5 < lng < 9.6:
        return "FR"
    return "JP" if 30 < lat < 46 and 128 < lng < 146 else None


def snapshots(shared_data: Path) -> dict[int, Path]:
    """The two snapshots beside the project, by year."""
    return {year: next((shared_data / "guide").glob(f"*_{year}-*.csv.gz")) for year in (2023, 2024)}
