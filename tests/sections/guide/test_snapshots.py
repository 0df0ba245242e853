"""Both snapshots beside the project import whole, each row of theirs accounted for.

Nothing of the data is printed: a failure names line numbers only.
"""

import asyncio
import csv
import gzip
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.guide.imports.importer import Importer
from location_context.sections.guide.imports.matching import fold
from location_context.sections.guide.imports.reading import ImportReport, read
from location_context.sections.guide.records import Restaurant
from location_context.sections.guide.restaurant_index import RestaurantIndex
from location_context.settings import Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from tests.moved_clock import MovedClock
from tests.sections.guide.samples import METADATA, RADII, snapshots

Imported = tuple[ImportReport, list[Restaurant]]


@pytest.fixture(scope="module")
def imports(
    shared_data: Path, gazetteer: Gazetteer, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, Imported]:
    """The report and the restaurants of each snapshot, imported one after the other."""

    async def work() -> dict[int, Imported]:
        database = await Database.open(Settings(data_dir=tmp_path_factory.mktemp("guide")))
        store = SqlGuideStore(database)
        importer = Importer(store, MovedClock(), partial(read, country_at=gazetteer.country))
        found = {}
        for year, path in snapshots(shared_data).items():
            version, report = await importer.run(path.read_bytes(), METADATA)
            found[year] = report, await store.load(version.number)
        await database.close()
        return found

    return asyncio.run(work())


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
def test_every_row_of_a_guide_snapshot_is_imported(shared_data, year, imports):
    rows = rows_of(snapshots(shared_data)[year])
    report, restaurants = imports[year]
    assert (report.rows, report.taken) == (len(rows), len(rows))
    assert report.merged == []
    assert report.refused == []
    imported = {restaurant.url: restaurant for restaurant in restaurants}
    lost = []
    for line, row in enumerate(rows, 2):
        one = imported.get(row["Url"])
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


def test_different_restaurants_at_118_shared_addresses_are_not_merged(shared_data, imports):
    rows = rows_of(snapshots(shared_data)[2023])
    shared = [n for n in Counter(row["Address"].lower() for row in rows).values() if n > 1]
    imported = Counter((r.address or "").lower() for r in imports[2023][1])
    assert len(shared) == 118
    assert len([n for n in imported.values() if n > 1]) >= 118


def test_restaurant_ids_are_the_same_in_both_yearly_snapshots(imports):
    ids = [{r.url: r.id for r in restaurants} for _, restaurants in imports.values()]
    both = ids[0].keys() & ids[1].keys()
    assert len(both) > 1500
    assert all(ids[0][url] == ids[1][url] for url in both)
    assert all(len(set(year.values())) == len(year) for year in ids)


def test_paris_has_restaurants_of_every_tier_of_the_snapshot(imports):
    answer = RestaurantIndex(imports[2023][1]).query(48.8566, 2.3522, RADII)
    assert [tier.inside_radius > 0 for tier in answer] == [True, True, True, True, False]
