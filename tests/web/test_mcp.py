"""Agents at /mcp: the SDK's own client over a real socket, and plain requests for what is HTTP."""

import asyncio
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from location_context.localisation.language import Languages
from location_context.sections.weather.records import ROW
from location_context.settings import Settings
from location_context.web import application
from tests.sections.weather.climate.stores import seasons, write_store
from tests.web.conftest import HTTP, Client, make_key, remaining, served_client
from tests.web.full_app import full_app
from tests.web.sections import Broken, Empty, FakeSection

BYTES_A_TOKEN = 2.4  # fewer than o200k_base and cl100k_base need: 2.5 in tables, 3.6 in definitions
WEEK = {"start": "2026-11-28", "end": "2026-12-04"}
CROSSING = {"start": "2026-12-03", "end": "2026-12-09"}  # the forecast ends on the 6th
FIRST = date(2015, 12, 1)
TOWNS = {"Bergen, NO": (60.5, 5.625), "Como": (46.0, 9.375), "Paris": (49.0, 2.5)}  # cells


def tokens(text: str) -> float:
    return len(text.encode()) / BYTES_A_TOKEN


@asynccontextmanager
async def connected(client: Client, mode: str = "auto", case: str = ""):
    headers = {"Authorization": f"Bearer {client.key}"} | ({"X-Test-Case": case} if case else {})
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20, trust_env=False, verify=False) as http,
        McpClient(
            streamable_http_client(f"{client.served.url}/mcp", http_client=http), mode=mode
        ) as c,
    ):
        yield c


def call(client: Client, tool: str, *, case: str = "", **arguments) -> tuple[str, bool]:
    """The text of a call's answer, and whether it is an error."""

    async def work():
        async with connected(client, case=case) as agent:
            answer = await agent.call_tool(tool, arguments)
            return answer.content[0].text, bool(answer.is_error)

    return asyncio.run(work())


def post(client: Client, method: str = "tools/list", headers=None, key="", **params):
    sent = {"Accept": "application/json", **(headers or {})}
    if key is not None:
        sent["Authorization"] = f"Bearer {key or client.key}"
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return HTTP.post(f"{client.served.url}/mcp", json=body, headers=sent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def stays(folder) -> Iterator[Client]:
    """The whole service, with a climate store in which Como has the driest spring."""
    values = {}
    for number, cell in enumerate(TOWNS.values()):
        values[cell] = seasons(FIRST, 3800)
        rain = values[cell][ROW["precipitation_sum"]]
        rain[:] = 0
        rain[:: (2, 9, 4)[number]] = 5
    write_store(folder, values, FIRST)
    with full_app(folder) as client:
        yield client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_tool_definitions_take_at_most_1500_tokens(stays, mode):
    async def work():
        async with connected(stays, mode) as agent:
            return (await agent.list_tools()).tools

    tools = asyncio.run(work())
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert [tool["name"] for tool in listed] == ["stay", "year", "places"]
    assert tokens(json.dumps(listed)) <= 1500


def test_week_of_four_sections_takes_at_most_2500_tokens_in_every_language(stays):
    for language in Languages.load().tags:
        text, is_error = call(stays, "stay", place="Paris", lang=language, **WEEK)
        assert not is_error
        assert tokens(text) <= 2500, language
        for name in ("weather: forecast", "astronomy", "guide", "events"):
            assert re.search(rf"\n## {name}(?:[:;].*)?\n", text)
        assert all(f"2026-{day}" in text for day in ("11-28", "12-01", "12-04"))
        assert "Weather data by Open-Meteo.com (CC BY 4.0)" in text
        assert "CC BY 4.0 https://creativecommons.org/licenses/by/4.0/" in text
        assert re.search(r"… \d+ more lines: /v1/pulse/guide", text)


def test_agent_plans_a_dry_week_in_spring_in_one_of_three_towns_in_at_most_four_calls(stays):
    calls = []

    async def work() -> tuple[str, str]:
        async with connected(stays) as agent:

            async def ask(tool: str, **arguments) -> str:
                calls.append(tool)
                answer = await agent.call_tool(tool, arguments)
                assert not answer.is_error
                return answer.content[0].text

            years = await ask("year", places=list(TOWNS))
            springs, town, wet = {}, "", 0
            for line in years.splitlines():
                first, *cells = line.split(" | ")
                if line.startswith("# "):
                    town = first.split()[1]
                elif first == "month":
                    wet = cells.index("wet days")
                elif first in ("3", "4", "5"):
                    springs[town, int(first)] = float(cells[wet])
            town, month = min(springs, key=springs.get)
            start, end = f"2027-{month:02}-10", f"2027-{month:02}-16"
            return town, await ask("stay", place=town, start=start, end=end, sections=["weather"])

    town, plan = asyncio.run(work())
    assert town == "Como"
    assert "## weather: climatology: past years, not a forecast" in plan
    assert len(calls) <= 4


def test_stay_tool_says_which_days_of_a_stay_have_a_forecast(stays):
    text, _ = call(stays, "stay", place="48.8566, 2.3522", sections=["weather"], **CROSSING)
    forecast, climatology = text.split("## weather ")[1:3]
    assert forecast.startswith("2026-12-03 to 2026-12-06: forecast; as of 2026-11-21T12:00Z\n")
    assert climatology.startswith(
        "2026-12-07 to 2026-12-09: climatology: past years, not a forecast"
    )
    assert "2026-12-07" not in forecast.partition("\n")[2]
    assert "today is 2026-11-21 there" in text


def test_town_name_in_another_language_also_lists_towns_with_that_exact_name(stays):
    text, _ = call(stays, "stay", place="Roma", sections=["astronomy"], **WEEK)
    heading, others = text.splitlines()[:2]
    assert heading.startswith("# Rome · IT-62 · ")
    assert "Roma, AU-QLD (" in others


def test_shared_town_name_selects_the_most_populous_town_and_lists_the_other_towns(stays):
    text, _ = call(stays, "stay", place="Paris", sections=["astronomy"], **WEEK)
    assert text.startswith("# Paris · FR-IDF · 48.8534,2.3488 · Europe/Paris")
    assert "also: Paris, US-TX (" in text
    for place in ("Paris, US-TX", "Paris, TX, USA", "paris,us"):
        text, _ = call(stays, "stay", place=place, sections=["astronomy"], **WEEK)
        assert text.startswith("# Paris · US-TX")
    text, _ = call(stays, "stay", place="Como", sections=["astronomy"], **WEEK)
    assert text.startswith("# Como · IT-25")  # Comodoro Rivadavia is larger


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("stay", {"place": "Xyzzyx", **WEEK}, "over 1,000 people is named 'Xyzzyx'. Accepted"),
        ("stay", {"place": "Portland, Oregon", **WEEK}, "places of this name: Portland, US-OR"),
        ("stay", {"place": "95,200", **WEEK}, "accepted: lat,lng in decimal degrees"),
        ("stay", {"place": "Paris", "start": "soon", "end": "later"}, "start is 'soon'; accepted"),
        ("stay", {"place": "Paris"}, "start is missing or empty"),
        ("stay", {"place": "Paris", "sections": ["tides"], **WEEK}, "accepted: weather, astronomy"),
        ("stay", {"place": "Paris", "city": "Paris", **WEEK}, "'city' is unknown; accepted: place"),
        ("year", {"places": ["Paris"] * 6}, "places has 6 names; accepted: at most 5"),
        ("year", {"places": []}, "places is missing"),
        ("places", {"name": "Paris, Atlantis"}, "places of this name: Paris, FR-IDF"),
        ("weather", {}, "tool is 'weather'; accepted: stay, year, places."),
    ],
)  # fmt: skip
def test_wrong_tool_call_is_refused_with_the_accepted_values(stays, tool, arguments, said):
    text, is_error = call(stays, tool, **arguments)
    assert is_error
    assert said in text


def test_places_tool_lists_at_most_eight_towns_of_the_same_name(stays):
    text, _ = call(stays, "places", name="Springfield")
    head, *rows, source = text.splitlines()
    assert head.split(" | ")[:3] == ["name", "country", "region"]
    assert len(rows) == 8
    assert rows[0].startswith("Springfield | US | US-MO | ")
    assert "GeoNames, CC BY 4.0" in source


def test_tool_call_uses_one_quota_unit_per_section_and_place(stays):
    before = remaining(post(stays))
    answer = post(stays, "tools/call", name="stay", arguments={"place": "Paris", **WEEK})
    assert remaining(answer) == before - 4
    arguments = {"places": ["Paris", "Como", "Bergen"]}
    answer = post(stays, "tools/call", name="year", arguments=arguments)
    assert remaining(answer) == before - 7


def test_tool_call_beyond_the_quota_is_answered_429_and_uses_no_quota(web_settings):
    sections = [FakeSection(), *(type(n, (FakeSection,), {"name": n})() for n in ("a", "b", "c"))]
    with served_client(web_settings, *sections, per_minute=3) as client:
        arguments = {"place": "Paris", **WEEK}
        refused = post(client, "tools/call", name="stay", arguments=arguments)
        assert refused.status_code == 429
        assert refused.json()["error"]["data"]["code"] == "rate_limit_exceeded"
        assert refused.headers["Retry-After"]
        assert remaining(post(client)) == 3
        arguments["sections"] = ["a", "b"]
        assert post(client, "tools/call", name="stay", arguments=arguments).status_code == 200
        assert remaining(post(client)) == 1


def test_mcp_client_connects_with_a_spent_quota_and_reads_the_refusal_message(web_settings):
    async def work(client: Client) -> MCPError:
        async with connected(client) as agent:
            await agent.call_tool("stay", {"place": "Paris", **WEEK})
            await agent.list_tools()
            with pytest.raises(MCPError, match="quota of 1 requests a minute") as refused:
                await agent.call_tool("stay", {"place": "Paris", **WEEK})
            return refused.value

    with served_client(web_settings, FakeSection(), per_minute=1) as client:
        refused = asyncio.run(work(client))
    assert refused.error.data["code"] == "rate_limit_exceeded"


def test_tool_lists_failed_sections_and_refunds_a_call_that_returned_no_section(web_settings):
    with served_client(web_settings, FakeSection(words="calm"), Broken(), Empty()) as client:
        text, is_error = call(client, "stay", place="Paris", **WEEK)
        assert not is_error
        assert "## broken: failed, no data now" in text
        assert "Words: calm" in text
        before = remaining(post(client))
        text, is_error = call(client, "stay", place="Paris", sections=["broken", "empty"], **WEEK)
        assert is_error
        assert text.startswith("No section has data")
        assert remaining(post(client)) == before


def test_unexpected_error_is_answered_without_its_message(web_settings, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("the inside of the house")

    monkeypatch.setattr("location_context.web.tools.answer", broken)
    with served_client(web_settings, FakeSection()) as client:
        answer = post(client, "tools/call", name="stay", arguments={})
    assert answer.status_code == 500
    assert answer.json()["error"]["data"]["code"] == "internal_error"
    assert "house" not in answer.text


def test_test_key_receives_fixed_answers(stays, folder):
    fixed = Client(stays.served, make_key(Settings(data_dir=folder), test=True))
    text, is_error = call(fixed, "stay", place="Paris", sections=["weather"], **WEEK)
    assert not is_error
    assert "Test data" in text


def test_test_case_header_changes_the_result_of_a_tool_and_not_the_connection(stays, folder):
    fixed = Client(stays.served, make_key(Settings(data_dir=folder), test=True))
    week = {"place": "Paris", "sections": ["weather"], **WEEK}
    stale, _ = call(fixed, "stay", case="stale", **week)
    assert "stale" in stale
    text, is_error = call(fixed, "stay", case="upstream_unavailable", **week)
    assert is_error
    assert "no earlier result is stored" in text
    with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match="quota of"), flatten_subgroups=True):
        call(fixed, "stay", case="rate_limit_exceeded", **week)


def test_stay_tool_reports_the_age_of_data_and_what_is_incomplete(stays, folder):
    fixed = Client(stays.served, make_key(Settings(data_dir=folder), test=True))
    week = {"start": "2026-11-26", "end": "2026-11-28"}
    text, _ = call(fixed, "stay", case="degraded", place="Paris", **week)
    assert re.search(r"\n## weather: climatology.*; incomplete: forecast_unavailable\n", text)
    assert re.search(r"\n## events: .*; incomplete: provider_unavailable\n", text)
    text, _ = call(fixed, "stay", place="Paris", **week)
    assert "\n## weather: forecast; as of 2026-11-25T00:00Z\n" in text


def test_documented_example_program_calls_an_mcp_tool(stays):
    page = stays.get("/v1/docs", key=None).text
    program = html.unescape(re.search(r'<code id="mcp-call">(.*?)</code>', page, re.DOTALL)[1])
    program = re.sub(r'"http[^"]*/mcp"', f'"{stays.served.url}/mcp"', program)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=False, env={**os.environ, "API_KEY": stays.key},
    )  # fmt: skip
    assert done.stdout.startswith("# Paris"), done.stderr


def test_request_without_a_key_is_answered_401(stays):
    assert post(stays, key=None).status_code == 401
    assert post(stays, key="lc_live_unknown").status_code == 401


def test_get_request_to_mcp_is_answered_405(stays):
    answer = stays.get("/mcp")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert answer.json()["error"]["message"].endswith("accepted: POST.")


def test_mcp_request_from_a_web_page_of_another_origin_is_refused(stays):
    assert post(stays, headers={"Origin": "https://evil.example"}).status_code == 403


def test_too_large_mcp_request_body_is_refused(stays):
    answer = post(stays, "tools/call", name="places", arguments={"name": "x" * 70_000})
    assert answer.status_code == 413


def test_mcp_answer_has_a_request_id_and_is_not_cached(stays):
    answer = post(stays)
    assert answer.status_code == 200
    assert answer.headers["X-Request-Id"].startswith("req_")
    assert answer.headers["Cache-Control"] == "no-store"


def test_mcp_path_is_not_found_without_the_optional_dependency(web_settings, monkeypatch):
    monkeypatch.setattr(application, "find_spec", lambda _: None)
    with served_client(web_settings, FakeSection()) as client:
        assert post(client).status_code == 404


def test_importing_the_app_does_not_import_the_mcp_sdk():
    code = "import sys, location_context.app; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
