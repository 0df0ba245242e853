"""Foreign tables: columns by the names of their portals, points in one column, lists in JSON."""

import json
from datetime import UTC, date, datetime

import pytest

from location_context.errors import OperatorError
from location_context.sections.events.imports.importer import ImportRejected
from location_context.sections.events.imports.tables import read_csv, read_list
from tests.fakes.server import FakeResponse
from tests.sections.events.conftest import PARIS, calendar_of
from tests.sections.events.readings import split, task

FRENCH = b"nom;date_debut;lieu\nChorale;2026-12-02T19:30;\xc3\x89glise\n"
CHOSEN = {"title": ["nom"], "start": ["date_debut"], "venue": ["lieu"]}
HERE = {"lat": PARIS[0], "lng": PARIS[1], "timezone": "Europe/Paris"}


def _task(**given):
    return task(date(2026, 11, 1), date(2027, 10, 31), "Europe/Paris", "csv", **given)


def _csv(data: bytes, **given):
    return split(read_csv(data, _task(columns=given)))


def _list(document: object, path: str = ".", **given):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return split(read_list(data, _task(list_path=path, columns=given)))


def test_fields_are_read_from_the_table_columns_chosen_for_them():
    (event,), refused = _csv(FRENCH, **CHOSEN)
    assert (event.title, event.place.name, refused) == ("Chorale", "Église", [])
    assert event.start.at == datetime(2026, 12, 2, 18, 30, tzinfo=UTC)


def test_names_of_columns_are_matched_regardless_of_letter_case():
    (event,), _ = _csv(b"NOM,Date_Debut\nChorale,2026-12-02\n", title=["nom"], start=["DATE_DEBUT"])
    assert event.title == "Chorale"


def test_second_column_chosen_for_a_field_is_read_if_the_first_column_is_empty():
    table = b"title_en,title_fr,start\nChoir,Chorale,2026-12-02\n,Orgue,2026-12-02\n"
    events, _ = _csv(table, title=["title_en", "title_fr"])
    assert [one.title for one in events] == ["Choir", "Orgue"]


def test_missing_column_is_reported_with_the_existing_columns():
    events, (refused,) = _csv(FRENCH, **CHOSEN, url=["lien"])
    assert events == []
    assert refused.reason == ("the table lacks the columns lien; it has: nom, date_debut, lieu")
    _, (refused,) = _csv(FRENCH, title=["nom"])
    assert refused.reason.endswith("lacks the columns start; it has: nom, date_debut, lieu")


@pytest.mark.parametrize(
    "point",
    [
        '"48.85, 2.35"', "POINT (2.35 48.85)", '"{""lon"": 2.35, ""lat"": 48.85}"',
        '"{""type"": ""Point"", ""coordinates"": [2.35, 48.85]}"',
    ],
)  # fmt: skip
def test_event_location_is_read_from_a_coordinates_column(point):
    (event,), _ = _csv(f"title,start,coordinates\nChoir,2026-12-02,{point}\n".encode())
    assert (event.place.lat, event.place.lng, event.scope) == (48.85, 2.35, "point")


def test_unreadable_coordinates_are_rejected_and_empty_coordinates_are_accepted():
    events, refused = _csv(b"title,start,coordinates\nA,2026-12-02,there\nB,2026-12-02,\n")
    assert [one.title for one in events] == ["B"]
    assert [one.reason for one in refused] == [
        "coordinates is 'there'; accepted: degrees such as 48.85 and 2.35"
    ]


def test_refused_coordinates_are_named_by_the_columns_of_their_table():
    table = b"title,start,breite,laenge\nA,2026-12-02,48.85,\n"
    _, (refused,) = _csv(table, lat=["breite"], lng=["laenge"])
    assert refused.reason.startswith("breite is '48.85', laenge is ''; accepted: degrees")


@pytest.mark.parametrize(
    ("start", "time", "shown"),
    [
        ("2026-12-02T00:00:00Z", "19:30", "2026-12-02T19:30:00+01:00"),
        ("2026-12-02", "à 20h30.", "2026-12-02T20:30:00+01:00"),
        ("2026-12-02 00:00:00.0", "De 19h à minuit", "2026-12-02T19:00:00+01:00"),
        ("2026-12-02T00:00:00Z", "Consultar", None),
        ("2026-12-02T00:00:00Z", "", None),
        ("2026-12-02T00:00:00Z", "2 h", None),
    ],
)
def test_time_column_replaces_the_time_in_the_date_column(start, time, shown):
    (event,), _ = _csv(f"title,start,hora\nA,{start},{time}\n".encode(), time=["hora"])
    assert event.start.day == date(2026, 12, 2)
    assert (event.start.at and event.start.at.isoformat()) == shown
    assert event.all_day is (shown is None)


def test_end_of_an_event_has_no_time_if_the_table_has_a_time_column():
    table = (
        b"title,start,end,time\nA,2026-12-02 00:00:00.0,2026-12-02 23:59:00.0,19:00\n"
        b"B,2026-12-02 00:00:00.0,2026-12-05 23:59:00.0,19:00\n"
    )
    (one, many), _ = _csv(table, time=["time"])
    assert one.end is None
    assert (many.end.day, many.end.at) == (date(2026, 12, 5), None)


def test_json_list_of_objects_is_read_by_field_paths():
    document = {
        "meta": {"next": None},
        "data": [
            {
                "id": 7, "name": {"fi": "Kuoro", "en": None}, "start_time": "2026-12-02T17:00:00Z",
                "images": [{"url": "https://a.example/1.jpg"}], "free": True,
                "location": {"name": {"fi": "Kirkko"}, "position": {
                    "type": "Point", "coordinates": [24.95, 60.17]}},
            },
            {"id": 8, "name": {"fi": "Urut"}, "start_time": "2026-12-03", "images": [],
             "location": None},
        ],
    }  # fmt: skip
    (choir, organ), refused = _list(
        document, "data", title=["name.en", "name.fi"], start=["start_time"],
        image=["images.url"], venue=["location.name.fi"], coordinates=["location.position"],
    )  # fmt: skip
    assert refused == []
    assert (choir.title, choir.place.name, choir.place.lat) == ("Kuoro", "Kirkko", 60.17)
    assert choir.image == "https://a.example/1.jpg"
    assert (organ.title, organ.image, organ.scope) == ("Urut", None, "country")


def test_geojson_events_are_read_from_its_features():
    feature = {
        "type": "Feature", "geometry": {"type": "Point", "coordinates": [2.35, 48.85]},
        "properties": {"nom": "Chorale", "date": "2026-12-02"},
    }  # fmt: skip
    (event,), _ = _list(
        {"type": "FeatureCollection", "features": [feature]}, "features",
        title=["properties.nom"], start=["properties.date"], coordinates=["geometry"],
    )  # fmt: skip
    assert (event.title, event.place.lat) == ("Chorale", 48.85)


def test_empty_list_has_no_events_and_no_rejections():
    assert _list({"results": []}, "results", title=["nom"]) == ([], [])


@pytest.mark.parametrize(
    ("document", "path", "reason"),
    [
        ({"results": [], "facets": {"all": []}, "n": 1}, "data",
         "the JSON has no list at data; its lists: results, facets.all"),
        ({"n": 1}, ".", "the JSON has no list at .; its lists: none"),
        ([], "data", "the JSON has no list at data; its lists: ."),
        (b"title,start\nA,2026-12-02\n", ".", "the file is not JSON"),
        (b"[" * 100_000, ".", "the JSON is nested too deeply"),
        (b"", ".", "the file is not JSON"),
    ],
)  # fmt: skip
def test_json_file_without_the_chosen_list_is_rejected_and_its_lists_are_named(
    document, path, reason
):
    events, (refused,) = _list(document, path)
    assert events == []
    assert refused.reason.startswith(reason)


def test_field_path_missing_in_all_objects_is_reported_and_other_fields_are_read():
    rows = [{"nom": "A", "start": "2026-12-02", "lieu": None}, {"nom": "B", "start": "2026-12-02"}]
    events, (refused,) = _list(rows, title=["nom"], venue=["lieu.nom"], image=["photo"])
    assert [one.title for one in events] == ["A", "B"]
    assert refused.location == "--column image=photo"
    assert refused.reason == "no object has this field; the objects have: nom, start, lieu"


def test_field_path_to_an_object_is_rejected_and_a_path_to_a_value_is_suggested():
    _, (refused,) = _list([{"name": {"fi": "A"}, "start": "2026-12-02"}], title=["name"])
    assert refused.reason == "name is an object; choose one of its values, such as name.fi"


def test_hostile_values_do_not_affect_the_other_objects():
    good = {"title": "Good", "start": "2026-12-02", "price_min": 5}
    hostile: list[object] = [
        None, 7, "x", [], [good], {}, {"title": "A", "start": 1e300},
        {"title": ["A"], "start": None}, {"title": {"a": 1}, "start": "2026-12-02"},
        {"title": "B", "start": "2026-12-02", "lat": 10**400, "lng": 2},
        {"title": "C", "start": "2026-12-02", "lat": float("nan"), "lng": float("inf")},
        {"title": "D", "start": "2026-12-02", "coordinates": [2.35, 48.85]},
        {"title": "E" * 100_000, "start": "2026-12-02", "price_min": float("inf")},
    ]  # fmt: skip
    events, refused = _list([*hostile, good])
    assert {"Good"} <= {one.title for one in events}
    assert all(one.price is None or one.price.min == 5 for one in events)
    assert {"object 10", "object 11", "object 12"} <= {one.location for one in refused}


async def test_json_feed_is_refreshed_with_its_stored_list_path_and_columns(opened, feed):
    def answer(title: str) -> FakeResponse:
        return FakeResponse({"results": [{"nom": title, "jour": "2026-12-02"}]})

    feed.respond = lambda _: answer("Chorale")
    calendar = calendar_of("feed", feed.url + "/a.json", **HERE, list_path="results",
                           columns={"title": ["nom"], "start": ["jour"]})  # fmt: skip
    await opened.feeds.import_calendar(calendar)
    assert await opened.titles() == ["Chorale"]
    feed.respond = lambda _: answer("Orgue")
    opened.clock.advance(hours=2)
    await opened.feeds.refresh_outdated()
    assert await opened.titles() == ["Orgue"]
    feed.respond = lambda _: FakeResponse({"error": "the dataset moved"})
    opened.clock.advance(hours=2)
    await opened.feeds.refresh_outdated()
    (stored,) = await opened.feeds.calendars()
    assert "the JSON has no list at results; its lists: none" in stored.failed_with
    assert await opened.titles() == ["Orgue"]


@pytest.mark.parametrize(
    "data",
    [
        b'{"results": [{"nom": "A"}]}',
        b"BEGIN:VCALENDAR\nEND:VCALENDAR\n",
        b"<html>Back soon</html>",
    ],
)
async def test_columns_given_for_a_file_that_is_not_a_table_are_rejected(opened, data):
    with pytest.raises(
        ImportRejected, match="the file is not a table; --column is only for tables"
    ):
        await opened.import_file(data, **HERE, columns={"title": ["nom"]})


async def test_json_list_longer_than_the_limit_is_truncated_and_reported(opened):
    rows = [{"id": n, "title": "A", "start": "2026-12-02"} for n in range(50_001)]
    imported = await opened.import_file(json.dumps(rows).encode(), **HERE, list_path=".")
    assert imported.calendar.rows == 50_000
    assert [one.location for one in imported.rejected] == ["the rest"]


async def test_missing_file_is_an_error(opened):
    with pytest.raises(OperatorError, match="cannot be read"):
        await opened.feeds.import_calendar(calendar_of("import", "nowhere.json", list_path="."))
