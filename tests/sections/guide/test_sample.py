"""The sample guide: true as far as the data beside the project can tell, broad, and of our making.

Nothing of the dataset is printed: a failure names rows of the sample.
"""

import csv
import gzip
import io
from pathlib import Path

from location_context.point import distance_km
from location_context.sections.guide.imports.importer import import_sample, sample_data
from location_context.sections.guide.imports.matching import fold, nearly_same
from location_context.sections.guide.records import TIERS
from tests.sections.guide.samples import snapshots
from tests.sections.guide.test_snapshots import tier_by_first_sign

Row = dict[str, str]


def sample() -> list[Row]:
    return list(csv.DictReader(io.StringIO(sample_data().decode())))


async def test_strict_import_of_the_sample_accepts_every_row(world_importer):
    version, report = await import_sample(world_importer)
    assert version.provenance.sample
    assert report.taken == report.rows == len(sample())
    assert list(report.by_tier) == list(TIERS)


def test_sample_has_160_restaurants_in_25_cities_and_paris_in_every_tier():
    rows = sample()
    assert len(rows) >= 160
    assert len({(row["city"], row["country"]) for row in rows}) >= 25
    assert {row["tier"] for row in rows if row["city"] == "Paris"} == set(TIERS)


def test_sample_restaurant_has_the_tier_of_its_snapshot_entry_and_lies_within_500_m_of_it(
    shared_data,
):
    """The notice of the sample, its warning and docs/data.md say the same distance."""
    known = {str(year): places(path) for year, path in snapshots(shared_data).items()}
    found, wrong = 0, []
    for row in sample():
        verdicts = [verdict for year in known if (verdict := judged(row, known[year]))]
        found += bool(verdicts)
        of_its_year = judged(row, known[row["award_year"]])
        if verdicts and "right" not in verdicts:
            wrong.append((row["name"], verdicts))
        elif of_its_year == "another tier":
            wrong.append((row["name"], "another tier in its year"))
    assert wrong == []
    assert found >= 500


def test_sample_rows_missing_in_all_snapshots_are_few_and_only_in_the_lowest_tier(shared_data):
    known = [place for path in snapshots(shared_data).values() for place in places(path)]
    unchecked = [row["tier"] for row in sample() if judged(row, known) is None]
    assert set(unchecked) <= {"selected"}
    assert len(unchecked) <= 10


Place = tuple[str, str, float, float]


def places(path: Path) -> list[Place]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [
            (fold(row["Name"]), tier_by_first_sign(row["Award"]),
             float(row["Latitude"]), float(row["Longitude"]))
            for row in csv.DictReader(file)
        ]  # fmt: skip


def judged(row: Row, known: list[Place]) -> str | None:
    """What the dataset says of a row of the sample; None when it does not know the name there."""
    name, lat, lng = fold(row["name"]), float(row["lat"]), float(row["lng"])
    near = [place for place in known if abs(place[2] - lat) < 0.1 and abs(place[3] - lng) < 0.15]
    same = [place for place in near if alike(name, place[0])]
    if not same:
        return None
    for _, tier, place_lat, place_lng in same:
        if distance_km(lat, lng, place_lat, place_lng) <= 0.5 and tier == row["tier"]:
            return "right"
    close = any(distance_km(lat, lng, place[2], place[3]) <= 0.5 for place in same)
    return "another tier" if close else "too far"


def alike(one: str, other: str) -> bool:
    inside = min(len(one), len(other)) >= 4 and (one in other or other in one)
    return inside or nearly_same(one, other)
