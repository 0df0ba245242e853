"""Rows of all vintages and formats come out right; wrong ones are listed with line and reason."""

from typing import Any

import msgspec
import pytest

from location_context.errors import OperatorError
from location_context.sections.guide.imports.importer import ImportRejected
from tests.sections.guide.samples import METADATA, csv_of, open_csv, open_row


async def test_row_of_the_published_csv_format_is_imported_with_every_field(import_rows):
    (one,) = await import_rows(open_csv(open_row(1)))
    assert msgspec.to_builtins(one) | {"id": ""} == {
        "id": "", "name": "Chez Exemple 1", "tier": "one_star", "lat": 48.85661, "lng": 2.302,
        "cuisine": ("Modern", "Creative"), "price_level": 3, "price": "€€€",
        "address": "1 rue du Test, Paris, 75001, France", "city": "Paris", "country": "FR",
        "url": "https://guide.example/paris/restaurant/exemple-1",
        "website": "https://exemple-1.example/", "phone": "+33142000000",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        *(
            ({"Award": award}, {"tier": "three_star"})
            for award in ("3 Stars", "3 Acme Stars", "Three Stars", "★★★", "3 star")
        ),
        (
            {"Location": "Singapore", "Address": "1 Test Road, Singapore"},
            {"city": "Singapore", "country": "SG"},
        ),
        ({"Location": "Lyon", "Address": "1 rue du Test"}, {"city": "Lyon", "country": "FR"}),
        ({"Location": "San Francisco, USA"}, {"city": "San Francisco", "country": "US"}),
        ({"PhoneNumber": "33142000000"}, {"phone": "33142000000"}),
        ({"PhoneNumber": "01 42 00 00 00"}, {"phone": "01 42 00 00 00"}),
        ({"PhoneNumber": "3.3142E+10"}, {"phone": None}),
        ({"PhoneNumber": "########"}, {"phone": None}),
        ({"PhoneNumber": "call us"}, {"phone": None}),
        ({"Url": "javascript:alert(1)"}, {"url": None}),
        ({"WebsiteUrl": "ftp://exemple.example/"}, {"website": None}),
    ],
)
async def test_columns_of_the_published_csv_format_become_the_documented_fields(
    import_rows, changes, expected
):
    (one,) = await import_rows(open_csv(open_row(**changes)))
    assert {name: getattr(one, name) for name in expected} == expected


async def test_csv_with_a_bom_semicolons_and_line_breaks_is_read(import_rows):
    rows = [open_row(1, Address="1 rue\ndu Test"), open_row(2)]
    columns = ",".join(rows[0])
    data = csv_of(rows, columns=columns, delimiter=";").replace(b"\r\n", b"\n")
    first, second = await import_rows(b"\xef\xbb\xbf" + data)
    assert first.address == "1 rue du Test"
    assert second.name == "Chez Exemple 2"


async def test_price_range_in_the_oldest_csv_columns_is_kept_as_the_price_text(import_rows):
    row = open_row(1) | {"MinPrice": "3,300", "MaxPrice": "3,800", "Currency": "SEK"}
    del row["Price"]
    (one,) = await import_rows(csv_of([row], columns=",".join(row)))
    assert (one.price, one.price_level) == ("3,300–3,800 SEK", None)


BAD = {
    "the name is missing": {"Name": "  "},
    "the latitude is missing": {"Latitude": ""},
    "the latitude 'north' is not a number of degrees": {"Latitude": "north"},
    "the longitude 'nan' is not a number of degrees": {"Longitude": "nan"},
    "the longitude 200.5 is out of range": {"Longitude": "200.5"},
    "the coordinates are 0, 0": {"Latitude": "0", "Longitude": "0.0"},
    "latitude and longitude are swapped": {"Latitude": "2.35", "Longitude": "48.85"},
    "the award '4 Stars' is not known": {"Award": "4 Stars"},
    "the award 'Green Star' is no longer given and does not name a tier": {"Award": "Green Star"},
    "the text contains control characters": {"Name": "Chez \x07 Exemple"},
    "the text is wrongly encoded: 'FrantzÃ©n'": {"Name": "FrantzÃ©n"},
}


async def test_each_wrong_row_is_listed_with_its_line_and_reason(importer):
    good = [open_row(n) for n in range(1, 15)]
    bad = [open_row(20 + n, **changes) for n, changes in enumerate(BAD.values())]
    _, report = await importer.run(open_csv(*good, *bad), METADATA)
    rejected = [(row.line, row.reason) for row in report.refused]
    assert rejected == [(16 + n, reason) for n, reason in enumerate(BAD)]
    assert (report.rows, report.taken) == (25, 14)


async def test_line_number_in_a_report_counts_every_line_of_the_file(importer):
    rows = [open_row(1, Address="one\ntwo\nthree"), open_row(2), open_row(3, Award="none")]
    _, report = await importer.run(open_csv(*rows), METADATA)
    assert [row.line for row in report.refused] == [6]


async def test_csv_row_with_too_few_fields_is_refused_and_other_rows_are_imported(importer):
    data = open_csv(open_row(1), open_row(2)) + b"Chez Court,Paris\r\n"
    _, report = await importer.run(data, METADATA)
    assert [row.line for row in report.refused] == [4]
    assert "the row has 2 fields, the header 11" in report.refused[0].reason


async def test_strict_import_refuses_the_whole_file_and_lists_the_wrong_rows(importer, guides):
    data = open_csv(open_row(1), open_row(2), open_row(3, Award="4 Stars"))
    with pytest.raises(ImportRejected, match="1 of 3 rows") as refused:
        await importer.run(data, METADATA, strict=True)
    assert [row.line for row in refused.value.report.refused] == [4]
    assert await guides.active() == {}


async def test_plain_csv_with_the_documented_columns_is_imported(importer, guides):
    row = {
        "id": "a-1", "name": "Chez Plain", "tier": "good_value", "lat": "48,85", "lng": "2,35",
        "city": "Paris", "country": "FR", "price_level": "2", "award_year": "2025",
    }  # fmt: skip
    data = csv_of([row], columns=",".join(row), delimiter=";")
    _, report = await importer.run(data, METADATA)
    (one,) = await guides.load(1)
    assert report.kind == "plain_csv"
    assert (one.tier, one.lat, one.price_level, one.award_year) == ("good_value", 48.85, 2, 2025)


HOUSE = {"name": "Chez Nous", "lat": "48.85", "lng": "2.35"}


@pytest.mark.parametrize(
    ("more", "tier", "without"),
    [
        ({}, "selected", 1),
        ({"tier": ""}, "selected", 1),
        ({"tier": "", "award": " ", "stars": ""}, "selected", 1),
        ({"tier": "", "award": "2 Stars"}, "two_star", 0),
        ({"tier": "", "stars": "1"}, "one_star", 0),
        ({"tier": "good value", "stars": "3"}, "good_value", 0),
    ],
)
async def test_row_with_neither_tier_nor_award_nor_stars_is_imported_in_the_tier_named_selected(
    importer, guides, more, tier, without
):
    row = HOUSE | more
    _, report = await importer.run(csv_of([row], columns=",".join(row)), METADATA, strict=True)
    (one,) = await guides.load(1)
    assert (one.tier, report.without_tier) == (tier, without)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [("name,lat,lng", "plain_csv"), ("name,lat,lng,award", "guide_csv")],
)
async def test_csv_format_is_detected_by_its_columns(importer, columns, kind):
    _, report = await importer.run(csv_of([HOUSE], columns=columns), METADATA)
    assert report.kind == kind


@pytest.mark.parametrize(
    "pair", ["48.85, 2.35", "48.85,2.35", " +48.850 ,  2.35 ", "POINT (2.35 48.85)"]
)
async def test_coordinates_column_is_read_latitude_first_or_as_a_geometry_point(import_rows, pair):
    row = {"name": "Chez Nous", "coordinates": pair}
    (one,) = await import_rows(csv_of([row], columns="name,coordinates"))
    assert (one.lat, one.lng) == (48.85, 2.35)


async def test_unreadable_coordinates_are_refused_with_an_example(importer):
    rows = [{"name": "Chez Nous", "coordinates": pair} for pair in ("48.85, 2.35", "near us")]
    _, report = await importer.run(csv_of(rows, columns="name,coordinates"), METADATA)
    (refused,) = report.refused
    assert (
        refused.reason
        == "the coordinates are 'near us'; accepted: lat, lng such as 43.3215, -1.9510"
    )


@pytest.mark.parametrize(
    ("note", "stored"),
    [
        ("Ask for the table  by the window.", "Ask for the table by the window."),
        ("One line\nand another", "One line and another"),
        ("é" * 140, "é" * 140),
        ("\u202eback\u2069", "back"),
        ("  ", None),
    ],
)
async def test_restaurant_note_is_stored_in_one_line(import_rows, note, stored):
    row = HOUSE | {"note": note}
    (one,) = await import_rows(csv_of([row], columns=",".join(row)))
    assert one.note == stored


@pytest.mark.parametrize("length", [141, 500])
async def test_overlong_restaurant_note_is_refused_with_its_length(importer, length):
    rows = [HOUSE | {"note": "x" * 140}, HOUSE | {"name": "Loin", "note": "x" * length}]
    _, report = await importer.run(csv_of(rows, columns=",".join(rows[0])), METADATA)
    assert [(row.line, row.reason) for row in report.refused] == [
        (3, f"the note has {length} characters; accepted: at most 140")
    ]


async def test_restaurant_note_is_kept_if_its_row_is_merged_with_a_newer_award(import_rows):
    rows = [
        HOUSE | {"note": "Our chef's favourite.", "award_year": "2020", "stars": "1"},
        HOUSE | {"note": "", "award_year": "2025", "stars": "2"},
    ]
    (one,) = await import_rows(csv_of(rows, columns=",".join(rows[0])))
    assert (one.tier, one.note) == ("two_star", "Our chef's favourite.")


def feature(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [round(2.3 + number / 100, 2), 48.85]},
        "properties": {"name": f"Chez Geo {number}", "stars": 2, "cuisine": ["Modern", "Soup"]},
    } | changes


async def test_geojson_points_are_imported_and_other_features_are_refused_with_their_number(
    importer, guides
):
    line = {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}
    features = [feature(1), feature(2), feature(3, geometry=line), feature(4, geometry=None)]
    data = msgspec.json.encode({"type": "FeatureCollection", "features": [*features, feature(5)]})
    version, report = await importer.run(data, METADATA)
    assert (report.kind, report.counted_in) == ("geojson", "feature")
    assert [row.line for row in report.refused] == [3, 4]
    stored = await guides.load(version.number)
    assert {(r.tier, r.cuisine) for r in stored} == {("two_star", ("Modern", "Soup"))}
    assert {r.lng for r in stored} == {2.31, 2.32, 2.35}


@pytest.mark.parametrize("field", ["cuisine", "coordinates", "type"])
async def test_deeply_nested_geojson_does_not_affect_other_features(importer, guides, field):
    deep: list[Any] = []
    for _ in range(400):
        deep = [deep]
    odd = feature(2)
    (odd["properties"] if field == "cuisine" else odd["geometry"])[field] = deep
    data = msgspec.json.encode({"type": "FeatureCollection", "features": [feature(1), odd]})
    version, report = await importer.run(data, METADATA)
    stored = await guides.load(version.number)
    assert len(stored) + len(report.refused) == 2
    assert 2.31 in {r.lng for r in stored}


def binding(**values: str) -> dict[str, dict[str, str]]:
    return {name: {"type": "literal", "value": value} for name, value in values.items()}


async def test_sparql_result_keeps_the_newest_award_of_each_item(importer, guides):
    place = {
        "item": "http://www.wikidata.org/entity/Q1", "itemLabel": "Chez Wiki",
        "coord": "Point(2.35 48.85)", "country": "FR", "cityLabel": "Paris",
    }  # fmt: skip
    bindings = [
        binding(**place, stars="3", year="2019"),
        binding(**place, stars="2", year="2024"),
        binding(**place | {"coord": "unknown"}, stars="1"),
    ]
    data = msgspec.json.encode({"head": {"vars": []}, "results": {"bindings": bindings}})
    _, report = await importer.run(data, METADATA)
    (one,) = await guides.load(1)
    assert (one.tier, one.award_year, one.city, one.lat) == ("two_star", 2024, "Paris", 48.85)
    assert one.url == "https://www.wikidata.org/wiki/Q1"
    assert (report.kind, len(report.merged), len(report.refused)) == ("sparql", 1, 1)


async def test_report_counts_restaurants_by_country_and_tier(world_importer):
    place = {"itemLabel": "Chez Wiki", "coord": "Point(2.35 48.85)", "country": "FR"}
    tokyo = {"coord": "Point(139.76 35.68)", "country": "JP"}
    bindings = [
        binding(**place, stars="3", year="2019"),
        binding(**place | {"itemLabel": "Autre"}, stars="1", year="2024"),
        binding(**place | {"itemLabel": "Troisième"}, stars="1"),
        binding(**place | tokyo, stars="2"),
    ]
    data = msgspec.json.encode({"head": {"vars": []}, "results": {"bindings": bindings}})
    _, report = await world_importer.run(data, METADATA)
    fields = ("country", "restaurants", "three_star", "two_star", "one_star", "newest_award")
    assert [tuple(getattr(one, name) for name in fields) for one in report.coverage] == [
        ("FR", 3, 1, 0, 2, 2024),
        ("JP", 1, 0, 1, 0, None),
    ]


async def test_guide_file_is_refused_entirely_if_most_of_its_rows_are_wrong(importer):
    rows = [open_row(1), open_row(2, Award="none"), open_row(3, Award="none")]
    with pytest.raises(OperatorError, match="2 of 3 rows are wrong"):
        await importer.run(open_csv(*rows), METADATA)
