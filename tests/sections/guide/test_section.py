"""The section answers the contract: tiers, radii, order, words, units and unknown fields."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import msgspec
import pytest

from location_context.errors import StorageError, UpstreamUnavailable
from location_context.point import Point
from location_context.sections.contract import Query
from location_context.sections.guide.records import (
    TIERS,
    Provenance,
    Restaurant,
    TierTexts,
)
from location_context.sections.guide.response import GuideBody
from location_context.sections.guide.section import Guide
from location_context.sections.section import SectionContext
from location_context.settings import Settings
from location_context.storage.datasets import SqlGuideStore
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient
from tests.fakes.failing_store import FailingStore
from tests.moved_clock import NOON, MovedClock
from tests.patience import PATIENCE_SECONDS
from tests.sections.guide.oracle import RANKS
from tests.sections.guide.samples import PROVENANCE, around, query, scattered

OCEAN = Point(-45.0, -130.0, "Etc/GMT+9")


@pytest.fixture
async def guide(guides: SqlGuideStore) -> AsyncIterator[Guide]:
    async with HttpClient("tests") as client:
        yield Guide.build(SectionContext(Settings(), MovedClock(), client, {"guide": guides}))


@pytest.fixture
def answer(guide: Guide, guides: SqlGuideStore) -> Callable[..., Any]:
    """Store restaurants and read the section's body."""

    async def work(
        rows: Sequence[Restaurant], wanted: Query | None = None, provenance: Provenance = PROVENANCE
    ) -> dict[str, Any]:
        await guides.replace(provenance, rows, NOON)
        await guide.refresh()
        reading = await guide.read(wanted or query(), Deadline.after(4))
        return msgspec.json.decode(reading.payload)

    return work


async def test_tiers_are_listed_in_rank_order_with_their_radii(answer):
    body = await answer(around(("selected", 0.5)))
    ranked = [(tier["tier"], tier["rank"], tier["radius"]) for tier in body["tiers"]]
    assert ranked == list(zip(RANKS, range(1, 6), [80, 40, 15, 2, 1], strict=True))


async def test_each_tier_lists_only_restaurants_within_its_radius(answer):
    radii = dict(zip(RANKS, [80, 40, 15, 2, 1], strict=True))
    edges = [(tier, radius + move) for tier, radius in radii.items() for move in (-0.01, 0.01)]
    body = await answer(around(*edges))
    assert [one["distance"] for one in body["restaurants"]] == [79.99, 39.99, 14.99, 1.99, 0.99]
    assert [tier["count"] for tier in body["tiers"]] == [1] * 5
    assert [tier["nearest_beyond"] for tier in body["tiers"]] == [None] * 5


async def test_tier_without_restaurants_names_the_nearest_restaurant_beyond_its_radius(answer):
    rows = around(("one_star", 3), ("three_star", 95.5), ("three_star", 300), ("selected", 1.2))
    body = await answer(rows)
    beyond = {tier["tier"]: tier["nearest_beyond"] for tier in body["tiers"]}
    assert beyond["three_star"] == {"id": "r00001", "name": "Table 1", "distance": 95.5}
    assert beyond["selected"]["distance"] == 1.2
    assert (beyond["two_star"], beyond["one_star"]) == (None, None)


async def test_tier_names_no_nearest_restaurant_over_1000_km_away(answer):
    """Such as a row with swapped coordinates and no country, which nothing else tells."""
    rows = around(("one_star", 3), ("three_star", 1000.1), ("two_star", 999.9))
    body = await answer(rows)
    beyond = {tier["tier"]: tier["nearest_beyond"] for tier in body["tiers"]}
    assert beyond["three_star"] is None
    assert beyond["two_star"]["distance"] == 999.9


async def test_restaurants_are_ordered_by_tier_distance_and_id_and_limited_to_fifty(answer):
    rows = around(*[(TIERS[n % 5], n % 7 / 10) for n in range(80)])
    body = await answer(rows)
    keys = [(TIERS.index(one["tier"]), one["distance"], one["id"]) for one in body["restaurants"]]
    assert keys == sorted(keys)
    assert (len(keys), body["total"]) == (50, 80)


async def test_restaurant_in_the_answer_has_every_field_and_null_for_unknown_values(answer):
    body = await answer(around(("two_star", 10)))
    (one,) = body["restaurants"]
    assert one == {
        "id": "r00000", "name": "Table 0", "tier": "two_star", "label": "Two stars", "stars": 2,
        "distance": 10.0, "bearing": 0.0,
        "travel": {"kind": "drive", "minutes": 21, "estimated": True}, "cuisine": [],
        "price_level": None, "price": None, "address": None, "city": None, "country": None,
        "lat": pytest.approx(48.946533, abs=1e-5), "lng": 2.3522, "url": None, "website": None,
        "phone": None, "award_year": None, "note": None,
    }  # fmt: skip


async def test_restaurant_note_is_in_the_answer_and_in_the_output_of_the_read_command(
    answer, guide
):
    note = "Ask for the table by the window."
    (row,) = around(("selected", 0.5))
    body = await answer([msgspec.structs.replace(row, note=note)])
    assert body["restaurants"][0]["note"] == note
    table, _ = guide.text(msgspec.convert(body, GuideBody))
    assert dict(zip(table.columns, table.rows[0], strict=True))["note"] == note


async def test_answer_matches_its_documented_struct(guide, guides):
    await guides.replace(PROVENANCE, scattered(200), NOON)
    reading = await guide.read(query(), Deadline.after(4))
    assert msgspec.json.decode(reading.payload, type=GuideBody) == reading.body


async def test_imperial_values_are_converted_from_the_metric_values(answer):
    body = await answer(around(("one_star", 14.9)), query(units="imperial"))
    assert body["units"]["distance"] == "mi"
    assert body["tiers"][2]["radius"] == 9.32
    assert body["restaurants"][0]["distance"] == 9.26


async def test_as_of_is_the_date_of_the_guide_dataset(answer):
    body = await answer(around(("one_star", 1)))
    assert (body["as_of"], body["stale"]) == ("2025-03-01T00:00:00Z", False)


async def test_guide_section_without_a_guide_is_not_applicable_and_adds_a_warning(guide):
    reading = await guide.read(query(), Deadline.after(4))
    body = msgspec.json.decode(reading.payload)
    assert (body["applicable"], body["reason"]) == (False, "no_guide_loaded")
    assert guide.warnings()[0].startswith("No restaurant guide is loaded")
    assert (await guide.dataset()).version is None


async def test_guide_section_far_from_all_restaurants_is_not_applicable(answer):
    body = await answer(around(("selected", 0)), query(OCEAN))
    assert (body["applicable"], body["reason"]) == (False, "no_restaurants_in_range")


async def test_sample_guide_is_marked_as_not_current(answer, guide):
    provenance = Provenance(
        kind="sample", source="s", dated=date(2024, 6, 1), attribution="Sample guide"
    )
    notice = (await answer(around(("one_star", 1)), provenance=provenance))["attribution"][0]
    text = "Sample guide 2024: a demonstration, not current, places up to 500 m off"
    assert (notice["text"], notice["adapted"]) == (text, False)
    assert notice["name"] == "Sample guide 2024, not current"
    assert "sample guide of 2024 is active. It is a demonstration" in guide.warnings()[0]
    assert "500 m off" in guide.warnings()[0]


async def test_imported_guide_names_its_licence_terms_and_that_it_was_adapted(answer):
    provenance = msgspec.structs.replace(PROVENANCE, license="cc-by-sa-4.0")
    notice = (await answer(around(("one_star", 3)), provenance=provenance))["attribution"][0]
    assert (notice["license"], notice["adapted"]) == ("cc-by-sa-4.0", True)
    assert notice["license_url"] == "https://creativecommons.org/licenses/by-sa/4.0/"


async def test_guide_without_a_licence_is_not_called_adapted(answer):
    provenance = msgspec.structs.replace(PROVENANCE, license=None)
    notice = (await answer(around(("one_star", 3)), provenance=provenance))["attribution"][0]
    assert (notice["license"], notice["adapted"]) == (None, False)


async def test_tier_labels_of_the_operator_replace_the_shipped_labels_in_each_language(
    answer,
):
    words = {"one_star": TierTexts(label={"": "A rosette", "de": "Eine Rosette"})}
    provenance = msgspec.structs.replace(PROVENANCE, labels=words)
    for wanted, label in (
        (query(), "A rosette"),
        (with_language(query(), "de-AT"), "Eine Rosette"),
    ):
        body = await answer(around(("one_star", 1)), wanted, provenance)
        assert body["tiers"][2]["label"] == body["restaurants"][0]["label"] == label
    assert "short drive" in (await answer(around(("one_star", 1))))["tiers"][2]["meaning"]


def with_language(given: Query, tag: str) -> Query:
    """The query in a language, whether or not it has a catalogue."""
    language = type(given.language)(tag, given.language.locale, given.language.read)
    return type(given)(given.point, given.stay, given.units, language)


async def test_failing_database_gives_status_503_only_until_the_guide_is_loaded(guides):
    await guides.replace(PROVENANCE, around(("one_star", 1)), NOON)
    faulty = FailingStore(guides)
    async with HttpClient("tests") as client:
        guide = Guide.build(SectionContext(Settings(), MovedClock(), client, {"guide": faulty}))
        with pytest.raises(UpstreamUnavailable):
            await guide.read(query(), Deadline.after(4))
        assert not guide.is_ready
        faulty.failing = False
        assert (await guide.read(query(), Deadline.after(4))).body.applicable
        assert guide.is_ready
        faulty.failing = True
        with pytest.raises(StorageError):
            await guide.refresh()
        assert (await guide.read(query(), Deadline.after(4))).body.applicable


async def test_running_server_follows_new_guide_versions_and_rollbacks(guide, guides, monkeypatch):
    monkeypatch.setattr("location_context.sections.section.FOLLOW_SECONDS", 0.01)
    changes: asyncio.Queue[None] = asyncio.Queue()
    guide.on_change(lambda: changes.put_nowait(None))
    running = asyncio.create_task(guide.run())
    seen = []
    for rows in (around(("one_star", 1)), around(("one_star", 1), ("one_star", 2)), None):
        if rows is None:
            await guides.rollback()
        else:
            await guides.replace(PROVENANCE, rows, NOON)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await changes.get()
        reading = await guide.read(query(), Deadline.after(4))
        seen.append((reading.body.total, (await guide.dataset()).version))
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert seen == [(1, "1"), (2, "2"), (1, "1")]


async def test_requests_succeed_while_imports_replace_the_guide(guide, guides):
    await guides.replace(PROVENANCE, around(("one_star", 1)), NOON)

    async def replace(count: int) -> None:
        rows = around(*[("one_star", n) for n in range(count)])
        await guides.replace(PROVENANCE, rows, NOON)
        await guide.refresh()

    for count in range(2, 5):
        replacing, totals = asyncio.create_task(replace(count)), set[int]()
        while not replacing.done():
            totals.add((await guide.read(query(), Deadline.after(4))).body.total)
            await asyncio.wait({replacing}, timeout=0.002)
        assert totals <= {count - 1, count}
        assert (await guide.read(query(), Deadline.after(4))).body.total == count


async def read_body(guide: Guide, name: str = "") -> dict[str, Any]:
    reading = await guide.read(query(guide=name), Deadline.after(4))
    return msgspec.json.decode(reading.payload)


async def test_named_guide_answers_from_its_own_restaurants_and_radii(guide, guides):
    house = msgspec.structs.replace(
        PROVENANCE, radii=(300.0, 150.0, 50.0, 10.0, 5.0), attribution="The house"
    )
    await guides.replace(PROVENANCE, around(("one_star", 3)), NOON)
    await guides.replace(house, around(("selected", 4), ("selected", 0.5)), NOON, "house")
    await guide.refresh()
    unnamed, named = await read_body(guide), await read_body(guide, "house")
    assert [one["distance"] for one in unnamed["restaurants"]] == [3.0]
    assert [one["distance"] for one in named["restaurants"]] == [0.5, 4.0]
    assert [tier["radius"] for tier in unnamed["tiers"]] == [80, 40, 15, 2, 1]
    assert [tier["radius"] for tier in named["tiers"]] == [300, 150, 50, 10, 5]
    assert unnamed["attribution"][0]["text"] == "Made up"
    assert named["attribution"][0]["text"] == "The house"
    assert (await guide.dataset()).named == 1


async def test_named_guide_is_served_without_a_default_guide(guide, guides):
    await guides.replace(PROVENANCE, around(("one_star", 3)), NOON, "house")
    assert (await read_body(guide, "house"))["total"] == 1
    assert (await read_body(guide))["reason"] == "no_guide_loaded"
    assert guide.warnings() == []


async def test_guide_loads_only_the_version_that_changed(guide, guides, monkeypatch):
    await guides.replace(PROVENANCE, around(("one_star", 3)), NOON)
    await guides.replace(PROVENANCE, around(("one_star", 3)), NOON, "house")
    await guide.refresh()
    loaded, load = [], guides.load

    async def noted(number: int) -> list[Restaurant]:
        loaded.append(number)
        return await load(number)

    monkeypatch.setattr(guides, "load", noted)
    newer = await guides.replace(PROVENANCE, around(("one_star", 4)), NOON, "house")
    await guide.refresh()
    await guide.refresh()
    assert loaded == [newer.number]


async def test_damaged_guide_does_not_stop_updates_of_the_other_guides(guide, guides, monkeypatch):
    damaged = await guides.replace(PROVENANCE, around(("one_star", 3)), NOON, "broken")
    load = guides.load

    async def broken(number: int) -> list[Restaurant]:
        if number == damaged.number:
            raise StorageError("The record of restaurant r1 is damaged.")
        return await load(number)

    monkeypatch.setattr(guides, "load", broken)
    for count in (1, 2):
        await guides.replace(PROVENANCE, around(*[("one_star", 3)] * count), NOON)
        await guide.prepare()
        assert (await read_body(guide))["total"] == count
        assert guide.is_ready
    assert "is damaged" in guide.warnings()[0]
    with pytest.raises(UpstreamUnavailable):
        await read_body(guide, "broken")


async def test_warning_of_a_sample_guide_contains_the_guide_name(guide, guides):
    provenance = msgspec.structs.replace(PROVENANCE, kind="sample")
    await guides.replace(PROVENANCE, around(("one_star", 3)), NOON)
    await guides.replace(provenance, around(("one_star", 3)), NOON, "demo")
    await guide.refresh()
    (warning,) = guide.warnings()
    assert "is active as 'demo'" in warning
    assert warning.endswith("guide import FILE --name demo")
