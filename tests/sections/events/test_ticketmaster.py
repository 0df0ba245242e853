"""Ticketmaster: rows read from a table of traps and from recorded answers."""

from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest

from location_context.sections.events.fields import parse_rows
from location_context.sections.events.providers.ticketmaster import geohash, parse_event
from location_context.settings import Secret
from tests.fakes.ticketmaster import at, event, responding

PARIS = ZoneInfo("Europe/Paris")
TBA = {"localDate": "2026-12-03", "timeTBA": True}
NO_TIME = {"localDate": "2026-12-03", "noSpecificTime": True, "dateTime": "2026-12-03T00:00:00Z"}
MIDNIGHT_TBA = at("2026-12-03", "00:00:00") | {"timeTBA": True}
EVENING = at("2026-12-03", "20:00:00")
NO_ZONE = {"venue": {"timezone": None}}


def _one(row: dict):
    return next(parse_rows([row], lambda row: parse_event(row, PARIS)), None)


# start as given, changes of the row, the answer's start at the point
STARTS = {
    "UTC date unlike the local one": (
        at("2026-12-03", "23:30:00", "2026-12-03T22:30:00Z"), {}, "2026-12-03T23:30:00+01:00",
    ),
    "a moment without a zone anywhere": (
        at("2026-12-03", "20:00:00", "2026-12-03T19:00:00Z"), NO_ZONE, "2026-12-03T20:00:00+01:00",
    ),
    "local time, the zone of the event": (
        EVENING, {"zone": "Europe/London"}, "2026-12-03T21:00:00+01:00",
    ),
    "local time, the zone of the venue": (
        EVENING, {"venue": {"timezone": "Europe/Lisbon"}},
        "2026-12-03T21:00:00+01:00",
    ),
    "local time, no zone: the point's": (
        EVENING, NO_ZONE, "2026-12-03T20:00:00+01:00",
    ),
    "a zone that is none": (
        EVENING, {"zone": "Mars/Olympus"}, "2026-12-03T20:00:00+01:00",
    ),
    "time to be announced": (TBA, {}, "2026-12-03"),
    "no specific time, UTC midnight": (NO_TIME, {}, "2026-12-03"),
    "midnight that is to be announced": (MIDNIGHT_TBA, {}, "2026-12-03"),
    "midnight that is meant": (at("2026-12-03", "00:00:00"), {}, "2026-12-03T00:00:00+01:00"),
    "the hour that comes twice": (
        at("2026-10-25", "02:30:00", "2026-10-25T01:30:00Z"), {}, "2026-10-25T02:30:00+01:00",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_ticketmaster_start_becomes_the_right_local_date(name):
    start, changes, expected = STARTS[name]
    parsed = _one(event("A", start, **changes))
    assert parsed.start.local(PARIS).isoformat() == expected
    assert not parsed.all_day


OUT = {
    "test events": {"test": True}, "cancelled ones": {"status": "cancelled"},
    "canceled ones": {"status": "Canceled"},
    "a date to be defined": {"dates": {"start": {"localDate": "2026-12-03", "dateTBD": True}}},
    "no name": {"name": None}, "a name of blanks": {"name": " \t"}, "no id": {"id": None},
    "a date that is not a date": {"dates": {"start": {"localDate": "soon"}}},
    "no dates": {"dates": {}},
}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_invalid_event_is_left_out(name):
    assert _one(event("A", EVENING, **OUT[name])) is None


def test_postponed_event_has_its_status():
    assert _one(event("A", EVENING, status="postponed")).status == "postponed"


def test_event_with_a_date_to_be_announced_is_estimated_and_has_no_time():
    start = at("2026-12-03", "00:00:00", "2026-12-02T23:00:00Z") | {"dateTBA": True}
    parsed = _one(event("A", start))
    assert (parsed.status, parsed.start.local(PARIS).isoformat()) == ("estimated", "2026-12-03")


# as recorded: what Ticketmaster sells beside an event, as an event of its own
MISCELLANEOUS = {"id": "KZFzniwnSyZfZ7v7n1", "name": "Miscellaneous"}
UNDEFINED = {"id": "KnvZfZ7v7ll", "name": "Undefined"}
UPSELL = {
    "primary": True, "segment": MISCELLANEOUS, "genre": UNDEFINED,
    "subGenre": {"id": "KZazBEonSMnZfZ7vAv1", "name": "Undefined"},
    "type": {"id": "KZAyXgnZfZ7v7nJ", "name": "Upsell"},
    "subType": {"id": "KZFzBErXgnZfZ7vAke", "name": "Merchandise Voucher"}, "family": False,
}  # fmt: skip
PLAIN = {"primary": True, "segment": MISCELLANEOUS, "genre": UNDEFINED}
MUSIC = {"primary": True, "segment": {"name": "Music"}}
ADD_ONS = [
    ("SPAC Blanket Voucher: Shinedown", [UPSELL]),
    ("Shania Twain Lawn Chair", [UPSELL]),
    ("Renamed in its language", [UPSELL | {"type": {"id": "KZAyXgnZfZ7v7nJ", "name": "Mehr"}}]),
    ("Hotel Bus", [PLAIN | {"type": {"id": "KZAyXgnZfZ7v7nn", "name": "Transportation"}}]),
    ("Live Nation Blanket: Shania Twain - Not a Concert Ticket", [MUSIC]),
    ("Parking", [PLAIN]),
    ("Parking: Phoenix", [PLAIN]),
    ("Phoenix Parking", []),
    ("Parking Pass - Phoenix", [MUSIC]),
    ("PARKING PASSES ONLY Phoenix", [MUSIC]),
]
EVENTS = [
    ("Parking Lot Social", [MUSIC]),
    ("Phoenix", [MUSIC | {"type": {"name": "Group"}}]),
    ("Space Shuttle Atlantis at 40", [PLAIN]),
    ("Winter Market", [PLAIN | {"type": UNDEFINED}]),
    ("Winter Market", []),
]


@pytest.mark.parametrize(("name", "kinds"), ADD_ONS)
def test_ticketmaster_add_ons_such_as_parking_are_left_out(name, kinds):
    assert _one(event(name, EVENING, classifications=kinds)) is None


@pytest.mark.parametrize(("name", "kinds"), EVENTS)
def test_event_whose_name_resembles_an_add_on_is_shown(name, kinds):
    parsed = _one(event(name, EVENING, classifications=kinds))
    assert parsed.title == name


CATEGORIES = [
    ({"segment": {"name": "Music"}, "genre": {"name": "Rock"}}, "concert"),
    ({"segment": {"name": "Sports"}}, "sport"),
    ({"segment": {"name": "Arts & Theatre"}, "genre": {"name": "Opera"}}, "performing_arts"),
    ({"segment": {"name": "Arts & Theatre"}, "genre": {"name": "Fine Art"}}, "exhibition"),
    ({"segment": {"name": "Miscellaneous"}, "genre": {"name": "Fairs & Festivals"}}, "festival"),
    ({"segment": {"name": "Undefined"}}, "other"),
    ({}, "other"),
]


@pytest.mark.parametrize(("given", "expected"), CATEGORIES)
def test_classifications_become_categories(given, expected):
    row = event("A", EVENING, classifications=[{"primary": True} | given])
    assert _one(row).category == expected


def test_event_category_comes_from_the_primary_classification():
    both = [{"primary": False, "segment": {"name": "Music"}},
            {"primary": True, "segment": {"name": "Sports"}}]  # fmt: skip
    assert _one(event("A", EVENING, classifications=both)).category == "sport"


def test_venue_coordinates_are_parsed_from_strings_and_null_if_invalid():
    place = _one(event("A", EVENING)).place
    assert (place.lat, place.lng) == (48.8701, 2.3281)
    for given in (("north", "2"), ("0", "0"), ("98", "2"), (None, None)):
        location = {"latitude": given[0], "longitude": given[1]}
        place = _one(event("A", EVENING, venue={"location": location})).place
        assert (place.lat, place.lng, place.name) == (None, None, "Olympia")


def test_overlong_event_url_is_null_instead_of_truncated():
    long = "https://www.ticketmaster.example/" + "x" * 2000
    assert _one(event("A", EVENING, url=long)).url is None


@pytest.mark.parametrize(
    ("given", "price"),
    [
        ([{"min": 20, "max": 80.5, "currency": "EUR"}], (20.0, 80.5, "EUR")),
        ([{"type": "standard"}, {"min": 20.0}], (20.0, None, None)),
        ([{"min": "20", "max": True, "currency": "EUR"}], (20.0, None, "EUR")),
        ([], None),
    ],
)
def test_ticket_price_is_numeric_or_null(given, price):
    parsed = _one(event("A", EVENING, priceRanges=given))
    assert (parsed.price and (parsed.price.min, parsed.price.max, parsed.price.currency)) == price


async def test_event_and_image_urls_that_are_not_http_are_null(open_with):
    sold = event("A", at("2026-12-24", "20:00:00"), url="javascript:alert(1)",
                 images=[{"ratio": "16_9", "width": 640, "url": "data:text/html,x"}])  # fmt: skip
    async with open_with("ticketmaster", responding([sold])) as (opened, _):
        reading = await opened.read((48.8566, 2.3522), "2026-12-24", "2026-12-24")
    (parsed,) = reading.body.events
    assert (parsed.title, parsed.url, parsed.image) == ("A", None, None)


def test_recorded_provider_answers_give_the_right_local_dates_and_places(shared_data):
    file = shared_data / "events" / "ticketmaster_discovery_v2_US_events_2020.json"
    body = msgspec.json.decode(file.read_bytes())
    rows = {row["id"]: row for row in body["_embedded"]["events"]}
    parsed = parse_rows(rows.values(), lambda row: parse_event(row, ZoneInfo("Etc/UTC")))
    parsed = {event.id: event for event in parsed}
    assert parsed.keys() == rows.keys()
    shifted = 0
    for key, row in rows.items():
        venue, start = row["_embedded"]["venues"][0], row["dates"]["start"]
        local = parsed[key].start.local(ZoneInfo(venue["timezone"]))
        expected = datetime.fromisoformat(f"{start['localDate']}T{start['localTime']}")
        print(f"{start['localDate']} {start['localTime']} {venue['timezone']:20} -> {local}")
        assert local.replace(tzinfo=None) == expected
        assert local == datetime.fromisoformat(start["dateTime"])
        assert parsed[key].start.day == expected.date()
        shifted += start["dateTime"][:10] != start["localDate"]
        place = parsed[key].place
        assert (place.lat, place.lng) == (
            float(venue["location"]["latitude"]), float(venue["location"]["longitude"]),
        )  # fmt: skip
        assert parsed[key].category in {"concert", "sport"}
    assert shifted > 10


async def test_wrong_key_makes_the_provider_unavailable_and_is_never_shown(open_with, capfd):
    key = {"ticketmaster_api_key": Secret("canary-key")}
    async with open_with("ticketmaster", responding([]), **key) as (opened, _):
        reading = await opened.read((48.8566, 2.3522), "2026-12-24", "2026-12-26")
    assert not reading.complete
    assert b"canary" not in reading.payload
    assert "canary" not in "".join(capfd.readouterr())


def test_geohash_agrees_with_the_examples_of_its_inventor():
    assert geohash(57.64911, 10.40744, 11) == "u4pruydqqvj"
