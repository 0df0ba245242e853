"""Both snapshots beside the project import whole, each row of theirs accounted for.

Nothing of the data is printed: a failure names line numbers only.
"""

import csv
import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from location_context.sections.guide.imports.importer import Importer
from location_context.sections.guide.imports.matching import fold
from location_context.sections.guide.restaurant_index import RestaurantIndex
from location_context.storage.datasets import SqlGuideStore
from tests.sections.guide.samples import METADATA, RADII, snapshots

pytestmark = pytest.mark.anyio


def rows_of(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def tier_by_first_sign(award: str) -> str:
    """Read independently of the importer: a digit is a number of stars, all else good value."""
    found = re.match(r"\d", award)
    return (
        {"3": "three_star", "2": "two_star", "1": "one_star"}[found[0]] if found else "good_value"
    )


@pytest.mark.parametrize("year", [2023, 2024])
async def test_a_snapshot_imports_whole_and_every_row_is_found_again(
    shared_data: Path, year: int, world_importer: Importer, guides: SqlGuideStore
) -> None:
    path = snapshots(shared_data)[year]
    rows = rows_of(path)
    version, report = await world_importer.run(path.read_bytes(), METADATA)
    assert (report.rows, report.taken) == (len(rows), len(rows))
    assert report.merged == []
    assert report.refused == []
    kept = {restaurant.url: restaurant for restaurant in await guides.load(version.number)}
    lost = []
    for line, row in enumerate(rows, 2):
        one = kept.get(row["Url"])
        same = one is not None and (
            one.tier == tier_by_first_sign(row["Award"])
            and (one.lat, one.lng) == (float(row["Latitude"]), float(row["Longitude"]))
            and fold(one.name) == fold(row["Name"])
            and (one.price or "") == row["Price"]
            and (one.phone or "") == row["PhoneNumber"]
            and one.price_level == (min(len(row["Price"]), 4) or None)
            and one.country is not None
            and one.city is not None
        )
        if not same:
            lost.append(line)
    assert lost == []


async def test_the_118_street_addresses_shared_by_different_restaurants_stay_apart(
    shared_data: Path, world_importer: Importer, guides: SqlGuideStore
) -> None:
    path = snapshots(shared_data)[2023]
    shared = [n for n in Counter(row["Address"].lower() for row in rows_of(path)).values() if n > 1]
    version, _ = await world_importer.run(path.read_bytes(), METADATA)
    kept = Counter((r.address or "").lower() for r in await guides.load(version.number))
    assert len(shared) == 118
    assert len([n for n in kept.values() if n > 1]) >= 118


async def test_ids_survive_from_one_year_to_the_next(
    shared_data: Path, world_importer: Importer, guides: SqlGuideStore
) -> None:
    ids = []
    for path in snapshots(shared_data).values():
        version, _ = await world_importer.run(path.read_bytes(), METADATA)
        ids.append({r.url: r.id for r in await guides.load(version.number)})
    both = ids[0].keys() & ids[1].keys()
    assert len(both) > 1500
    assert all(ids[0][url] == ids[1][url] for url in both)
    assert all(len(set(year.values())) == len(year) for year in ids)


async def test_paris_has_restaurants_of_every_tier_that_the_snapshot_holds(
    shared_data: Path, world_importer: Importer, guides: SqlGuideStore
) -> None:
    version, _ = await world_importer.run(snapshots(shared_data)[2023].read_bytes(), METADATA)
    answer = RestaurantIndex(await guides.load(version.number)).query(48.8566, 2.3522, RADII)
    assert [tier.inside_radius > 0 for tier in answer] == [True, True, True, True, False]
