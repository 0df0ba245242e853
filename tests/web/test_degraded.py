"""The law over HTTP: what is degraded is cached for a minute only, or until a budget is free."""

import asyncio
import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import jsonschema_rs
import msgspec
import pytest

from location_context.sections.contract import DEGRADED, NOT_APPLICABLE
from location_context.settings import Secret, Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from tests.fakes import ticketmaster
from tests.fakes.open_meteo import ARCHIVE, FORECAST
from tests.fakes.server import FakeResponse, FakeServer
from tests.moved_clock import NOON
from tests.sections.guide.samples import PROVENANCE
from tests.sections.guide.test_section import around
from tests.sections.guide.test_travel import Osrm
from tests.sections.weather.conftest import (  # noqa: F401  fixtures
    fakes,
    weather_settings,
    write_grid,
)
from tests.web.conftest import HTTP, Client, served_client

POINT = {"lat": "48.8566", "lng": "2.3522"}
NEAR, FAR = (
    {**POINT, "start": start, "end": end}
    for start, end in (("2026-11-24", "2026-11-28"), ("2026-12-22", "2026-12-28"))
)
HANG, DOWN = FakeResponse(fault="hang"), FakeResponse(b"<html>Bad Gateway</html>", 502)
SOLD = ticketmaster.responding(
    [ticketmaster.event("Phoenix", ticketmaster.at(day, "20:00:00"))
     for day in ("2026-11-25", "2026-12-25")]
)  # fmt: skip
REQUESTS = [
    ("weather", NEAR),
    ("weather", FAR),
    ("astronomy", FAR),
    ("guide", FAR),
    ("events", FAR),
]
REASONS = {
    "all answer": [None, None, None, None, None],
    "all fail": ["forecast_unavailable", "archive_unavailable", None, "provider_unavailable",
                 "provider_unavailable"],
    "budgets are spent": ["budget_spent", "budget_spent", None, "budget_spent", "budget_spent"],
    "all are silent": ["forecast_unavailable", "archive_unavailable", None, "late", "late"],
}  # fmt: skip


def load_guide(settings: Settings) -> None:
    """Restaurants around Paris, one of them a drive away."""

    async def work() -> None:
        database = await Database.open(settings)
        await SqlGuideStore(database).replace(PROVENANCE, around(("three_star", 60)), NOON)
        await database.close()

    asyncio.run(work())


@contextmanager
def real(settings, clock, fakes, fault: FakeResponse | None) -> Iterator[Client]:  # noqa: F811
    """The real sections, with every provider answering well or by `fault`."""
    open_meteo, *others = fakes
    road = Osrm([600.0])
    if fault:
        open_meteo.faults = {FORECAST: fault, ARCHIVE: fault}
        for one in others:
            one.fault = fault
    with (
        FakeServer(lambda request: fault or road(request)).running() as osrm,
        FakeServer(lambda request: fault or SOLD(request)).running() as seller,
    ):
        settings = msgspec.structs.replace(
            settings, osrm_url=osrm.url, ticketmaster_url=seller.url, open_holidays_url="",
            ticketmaster_api_key=Secret(ticketmaster.KEY), log_level="error",
            json_deadline=2.0 if fault else 60.0,
            widget_deadline=2.0 if fault else 60.0,
        )  # fmt: skip
        write_grid(settings.data_dir)
        load_guide(settings)
        with served_client(settings, clock=clock) as client:
            yield client


@pytest.mark.parametrize(
    ("situation", "fault"),
    [
        ("all answer", None), ("all fail", DOWN), ("all are silent", HANG),
        ("budgets are spent", None),
    ],
)  # fmt: skip
def test_answer_is_degraded_exactly_when_its_max_age_is_short(
    weather_settings, clock, fakes, situation, fault  # noqa: F811
):  # fmt: skip
    # Calibration would be fetched behind the first answer, and shorten the page's age meanwhile.
    weather_settings = msgspec.structs.replace(weather_settings, calibrate_forecast=False)
    is_spent = situation == "budgets are spent"
    if is_spent:  # of whoever has a second source, or is one of several
        names = ("open_meteo_budget", "ticketmaster_budget", "osrm_budget")
        weather_settings = msgspec.structs.replace(
            weather_settings, **dict.fromkeys(names, ("0.5/day",))
        )
    with real(weather_settings, clock, fakes, fault) as client:
        document = client.get("/v1/openapi.json").json()
        for (section, request), reason in zip(REQUESTS, REASONS[situation], strict=True):
            answer = client.get(f"/v1/pulse/{section}", request)
            body, control = answer.json(), answer.headers["cache-control"]
            assert body["applicable"], section
            assert (body["degraded"], body["degraded_reason"]) == (reason is not None, reason)
            seconds = int(re.search(r"max-age=(\d+)", control)[1])
            if reason == "budget_spent":
                assert 60 < seconds <= 900, section
            else:
                assert (control == "private, max-age=60") == body["degraded"], section
            operation = document["paths"][f"/v1/pulse/{section}"]["get"]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            schema = {**schema, "components": document["components"]}
            assert jsonschema_rs.is_valid(schema, body), section
        widget = HTTP.get(f"{client.served.url}/v1/pulse", params=NEAR)
    short = {"public, max-age=60", "public, max-age=3"}  # the latter while an answer is on its way
    assert (widget.headers["cache-control"] in short) == (fault is not None)
    if is_spent:
        assert widget.headers["cache-control"].startswith("public, max-age=900, ")


def test_documented_example_of_a_stay_beyond_the_forecast_matches_the_service(
    weather_settings, clock, fakes  # noqa: F811
):  # fmt: skip
    with real(weather_settings, clock, fakes, None) as client:
        page = html.unescape(client.get("/v1/docs").text)
        example = page[page.index('<section id="horizon">') : page.index('<section id="degraded">')]
        request = [
            {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
            for address in re.findall(r'"(http[^"]*/v1/pulse/weather\?[^"]*)"', example)
        ]
        parts = [client.get("/v1/pulse/weather", query).json() for query in request]
        stay = {**request[0], "end": request[1]["end"]}
        whole = client.get("/v1/pulse/weather", stay).json()
    assert (whole["mode"], whole["forecast_until"]) == ("climatology", "2026-12-06")
    assert '"forecast_until": "2026-12-06"' in example
    assert [part["mode"] for part in parts] == ["forecast", "climatology"]
    assert request[0]["end"] == whole["forecast_until"]
    dates = [day["date"] for part in parts for day in part["days"]]
    assert dates == [day["date"] for day in whole["days"]]
    assert [part["degraded"] for part in (*parts, whole)] == [False] * 3


def test_each_degraded_reason_is_explained_in_schema_and_documentation(whole: Client):
    document, page = whole.get("/v1/openapi.json").json(), whole.get("/v1/docs").text
    schemas = document["components"]["schemas"]
    reason = schemas["WeatherBody"]["properties"]["degraded_reason"]
    refusal = schemas["NotApplicable"]["properties"]["reason"]
    assert schemas["NoEvents"]["properties"]["reason"]["enum"] == refusal["enum"]
    for field, enum, codes in (
        (reason, [code for code in reason["enum"] if code], DEGRADED),
        (refusal, refusal["enum"], NOT_APPLICABLE),
    ):
        assert sorted(enum) == sorted(codes)
        for code, sentence in codes.items():
            assert f"`{code}`: {sentence}" in field["description"]
            assert f"<tr><td><code>{code}</code></td><td>" in page
    assert set(schemas["ErrorBody"]["properties"]["code"]["enum"]) >= {"invalid_latitude"}
