"""Rows of all vintages and formats come out right; wrong ones are listed with line and reason."""

from typing import Any

import msgspec
import pytest

from location_context.errors import OperatorError
from location_context.sections.guide.imports.importer import ImportRejected
from tests.sections.guide.samples import METADATA, csv_of, open_csv, open_row

pytestmark = pytest.mark.anyio


async def test_row_of_the_open_csv_keeps_every_field(import_rows):
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
async def test_column_of_the_open_csv_becomes_its_fields(import_rows, changes, expected):
    (one,) = await import_rows(open_csv(open_row(**changes)))
    assert {name: getattr(one, name) for name in expected} == expected


async def test_csv_with_a_bom_semicolons_and_line_breaks_is_read(import_rows):
    rows = [open_row(1, Address="1 rue\ndu Test"), open_row(2)]
    columns = ",".join(rows[0])
    data = csv_of(rows, columns=columns, delimiter=";").replace(b"\r\n", b"\n")
    first, second = await import_rows(b"\xef\xbb\xbf" + data)
    assert first.address == "1 rue du Test"
    assert second.name == "Chez Exemple 2"


async def test_range_of_amounts_of_the_oldest_vintage_stays_the_price(import_rows):
    row = open_row(1) | {"MinPrice": "3,300", "MaxPrice": "3,800", "Currency": "SEK"}
    del row["Price"]
    (one,) = await import_rows(csv_of([row], columns=",".join(row)))
    assert (one.price, one.price_level) == ("3,300–3,800 SEK", None)


BAD = {
    "it has no name": {"Name": "  "},
    "it has no latitude": {"Latitude": ""},
    "its latitude 'north' is not a number of degrees": {"Latitude": "north"},
    "its longitude 'nan' is not a number of degrees": {"Longitude": "nan"},
    "its longitude 200.5 is out of range": {"Longitude": "200.5"},
    "its coordinates are 0, 0": {"Latitude": "0", "Longitude": "0.0"},
    "latitude and longitude are swapped": {"Latitude": "2.35", "Longitude": "48.85"},
    "the award '4 Stars' is not known": {"Award": "4 Stars"},
    "its distinction is retired and is not a tier": {"Award": "Green Star"},
    "it has no award, tier or stars": {"Award": ""},
    "it holds control characters": {"Name": "Chez \x07 Exemple"},
    "its text is wrongly encoded: 'FrantzÃ©n'": {"Name": "FrantzÃ©n"},
}


async def test_each_wrong_row_is_listed_with_its_line_and_reason(importer):
    good = [open_row(n) for n in range(1, 15)]
    bad = [open_row(20 + n, **changes) for n, changes in enumerate(BAD.values())]
    _, report = await importer.run(open_csv(*good, *bad), METADATA)
    rejected = [(row.line, row.reason) for row in report.refused]
    assert rejected == [(16 + n, reason) for n, reason in enumerate(BAD)]
    assert (report.rows, report.taken) == (26, 14)


async def test_line_number_counts_the_lines_of_the_file(importer):
    rows = [open_row(1, Address="one\ntwo\nthree"), open_row(2), open_row(3, Award="none")]
    _, report = await importer.run(open_csv(*rows), METADATA)
    assert [row.line for row in report.refused] == [6]


async def test_row_with_a_field_too_few_is_refused_and_the_rest_is_taken(importer):
    data = open_csv(open_row(1), open_row(2)) + b"Chez Court,Paris\r\n"
    _, report = await importer.run(data, METADATA)
    assert [row.line for row in report.refused] == [4]
    assert "2 fields where the header has 11" in report.refused[0].reason


async def test_strict_import_refuses_the_file_and_lists_the_rows(importer, guides):
    data = open_csv(open_row(1), open_row(2), open_row(3, Award=""))
    with pytest.raises(ImportRejected, match="1 of 3 rows") as refused:
        await importer.run(data, METADATA, strict=True)
    assert [row.line for row in refused.value.report.refused] == [4]
    assert await guides.active() == {}


async def test_plain_csv_of_the_documented_columns_is_taken(importer, guides):
    row = {
        "id": "a-1", "name": "Chez Plain", "tier": "good_value", "lat": "48,85", "lng": "2,35",
        "city": "Paris", "country": "FR", "price_level": "2", "award_year": "2025",
    }  # fmt: skip
    data = csv_of([row], columns=",".join(row), delimiter=";")
    _, report = await importer.run(data, METADATA)
    (one,) = await guides.load(1)
    assert report.kind == "plain_csv"
    assert (one.tier, one.lat, one.price_level, one.award_year) == ("good_value", 48.85, 2, 2025)


def feature(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [round(2.3 + number / 100, 2), 48.85]},
        "properties": {"name": f"Chez Geo {number}", "stars": 2, "cuisine": ["Modern", "Soup"]},
    } | changes


async def test_geojson_points_are_taken_and_others_listed_by_number(importer, guides):
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


async def test_file_with_most_rows_wrong_is_refused_whole(importer):
    rows = [open_row(1), open_row(2, Award=""), open_row(3, Award="")]
    with pytest.raises(OperatorError, match="2 of 3 rows are wrong"):
        await importer.run(open_csv(*rows), METADATA)
