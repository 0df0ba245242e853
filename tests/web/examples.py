"""The examples of the OpenAPI document, made from real answers.

Each is what the application answers over stand-ins at a fixed time. Only the
request's id is replaced; pages are shortened where … stands, and of this document
there is the beginning.
"""

import asyncio
import inspect
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from location_context.sections import registry
from location_context.sections.contract import Applicable, Query
from location_context.sections.section import Section
from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.web.conftest import Client, served_client
from tests.web.full_app import OFF, STAY, full_app, load_sample_guide
from tests.web.sections import Broken, FakeSection, Slow, occupied

FOLDER = Path(__file__).parents[2] / "src" / "location_context" / "web" / "examples"
PUBLIC = "http://127.0.0.1:8000"
REQUEST_ID = "req_4f6c1f0e2b7a9d3c5e8f1a2b"
WIDGET = f"{PUBLIC}/v1/pulse?lat=48.8566&lng=2.3522&start=2026-11-28&end=2026-12-01"
QUARTERS = [
    {"start": f"2027-{month:02}-01", "end": f"2027-{month + 2:02}-28"} for month in (1, 4, 7, 10)
]
PUBLIC_ANSWERS = [
    # operation, name of the example, path, parameters
    ("health", "ok", "/v1/health", {}),
    ("ready", "ready", "/v1/ready", {}),
    ("status", "operational", "/v1/status", {}),
    ("embed", "script", "/v1/embed.js", {}),
    ("oembed", "widget", "/v1/oembed", {"url": WIDGET}),
]
DAY = {"lat": "48.8566", "lng": "2.3522", "start": "2026-12-01", "end": "2026-12-01"}
PULSES = [
    ("pulse", "one_point", "/v1/pulse.json", {**DAY, "sections": "astronomy,guide"}),
    (
        "pulse",
        "several_points",
        "/v1/pulse.json",
        {"points": "48.8566,2.3522;-45,-130", "sections": "guide"},
    ),
]
WRONG = [
    # code, path, changed parameters
    ("malformed_request", "/v1/pulse/astronomy?place=%ff", None),
    ("missing_parameter", "/v1/pulse/astronomy", {"lat": ""}),
    ("duplicate_parameter", "/v1/pulse/astronomy?lat=48.8566&lat=48.9", None),
    ("unknown_parameter", "/v1/pulse/astronomy", {"unit": "imperial"}),
    ("invalid_latitude", "/v1/pulse/astronomy", {"lat": "91"}),
    ("invalid_longitude", "/v1/pulse/astronomy", {"lng": "2,35"}),
    ("invalid_date", "/v1/pulse/astronomy", {"start": "2026-02-30"}),
    ("invalid_date_range", "/v1/pulse/astronomy", {"end": "2026-11-27"}),
    ("date_range_too_long", "/v1/pulse/astronomy", {"end": "2027-03-31"}),
    ("invalid_units", "/v1/pulse/astronomy", {"units": "kelvin"}),
    ("invalid_language", "/v1/pulse/astronomy", {"lang": "English please"}),
    ("invalid_guide", "/v1/pulse/guide", {"guide": "home"}),
    ("invalid_points", "/v1/pulse.json", {"lat": "", "lng": "", "points": "48.8566"}),
    ("invalid_days", "/v1/pulse.json", {"start": "", "end": "", "days": "17"}),
    ("invalid_sections", "/v1/pulse.json", {"sections": "wether"}),
    ("conflicting_parameters", "/v1/pulse.json", {"points": "48.8566,2.3522"}),
    ("not_found", "/v1/oembed", {"url": "https://example.org/"}),
    ("format_not_implemented", "/v1/oembed", {"url": WIDGET, "format": "xml"}),
]


def forget_budgets(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "location-context.sqlite3")) as connection:
        connection.execute("DELETE FROM provider_units")
        connection.commit()


def made(folder: Path) -> dict[str, Any]:
    """Every file of examples by its name: operation to examples, and the errors by code."""
    files: dict[str, Any] = {"errors": {}, "pages": {}}
    with full_app(folder / "whole", open_meteo_budget=()) as client:
        for stay in QUARTERS:  # stores what is typical of the year, also of the forecast's dates
            client.get("/v1/pulse/weather", {**STAY, **stay})
    forget_budgets(folder / "whole")  # on a busy machine a second archive is called too
    with full_app(folder / "whole", calibrate=True) as client:
        first, rest = section_answers()
        # the status shows what the first answers left, before others add to it
        for operation, name, path, params in (*first, *PUBLIC_ANSWERS, *rest, *PULSES):
            answer = client.get(path, params)
            assert answer.status_code == 200, answer.text
            files.setdefault(operation, {})[name] = _body(answer)
        document = client.get("/v1/openapi.json").json()
        begin = {name: document["info"][name] for name in ("title", "version", "summary")}
        files["openapi"] = {"beginning": {"openapi": document["openapi"], "info": begin}}
        files["docs"] = {"head": _head(client.get("/v1/docs"))}
        calendar = client.get("/v1/pulse.ics", STAY, key=None).text
        files["calendar"] = {"stay": calendar.replace("\r\n", "\n")}
        files["widget"] = {"head": _head(client.get("/v1/pulse", STAY, key=None))}
        _used_within_a_minute(files["status"]["operational"])
        client.served.app.draining = True
        for probe in ("health", "ready"):
            files[probe]["draining"] = _body(client.get(f"/v1/{probe}"))
    for code, answer in _errors(folder):
        assert answer.json()["error"]["code"] == code, answer.text
        files["errors"][code] = _body(answer)
    for status, answer in _pages(folder):
        assert answer.status_code == int(status), (status, answer.text)
        files["pages"][status] = _page(answer)
    return files


def _used_within_a_minute(status: dict[str, Any]) -> None:
    """Budgets as on a machine so quick that all calls lie within the last minute."""
    for section in status["sections"].values():
        for budgets in (provider["budgets"] for provider in section["providers"]):
            for one in budgets:
                one["used"] = budgets[-1]["used"]


Example = tuple[str, str, str, Mapping[str, str]]


def section_answers() -> tuple[list[Example], list[Example]]:
    """The first sample of every section, and the others, each with its path."""
    request = [
        [(one.name, name, f"/v1/pulse/{one.name}", params) for name, params in one.samples.items()]
        for one in registry.load(registry.SECTIONS, Section)
    ]
    return [one[0] for one in request if one], [sample for one in request for sample in one[1:]]


def file_of(name: str) -> Path:
    """Where examples are stored: those of a section beside its module."""
    for section in registry.load(registry.SECTIONS, Section):
        if section.name == name:
            return Path(inspect.getfile(section)).with_name("sample.json")
    return FOLDER / f"{name}.json"


def encoded(content: Any) -> str:
    """A file of examples as it is written."""
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"


def _body(answer: Any) -> Any:
    text = re.sub("req_[0-9a-f]{24}", REQUEST_ID, answer.text)
    return msgspec.json.decode(text) if "json" in answer.headers["content-type"] else text


def _page(answer: Any) -> str:
    """A page without its style, its script and its drawings."""
    text: str = re.sub("req_[0-9a-f]{24}", REQUEST_ID, answer.text)
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", r"<\1>…</\1>", text, flags=re.DOTALL)
    return re.sub(r"\n\s*", "\n", text)


def _head(answer: Any) -> str:
    """The page up to its body."""
    return _page(answer).partition("<body>")[0] + "<body>…</body>\n</html>"


class Odd(FakeSection):
    """Answers with a notice that is none, so that the page's footer cannot be drawn."""

    def body(self, query: Query) -> Applicable:
        return msgspec.structs.replace(super().body(query), attribution=[None])


@contextmanager
def _serving(
    folder: Path, *sections: Any, per_minute: int = 100, **changed: Any
) -> Iterator[Client]:
    settings = Settings(data_dir=folder, log_level="critical", **{**OFF, **changed})
    with served_client(settings, *sections, clock=MovedClock(), per_minute=per_minute) as client:
        yield client


def _errors(folder: Path) -> Iterator[tuple[str, Any]]:
    """One answer for every code that JSON can carry."""
    path = "/v1/pulse/astronomy"
    bare = Settings(data_dir=folder / "bare", log_level="critical")
    asyncio.run(load_sample_guide(bare, name="house"))
    with _serving(folder / "bare") as client:
        for code, request, changed in WRONG:
            yield code, client.get(request, changed if "?" in request else {**STAY, **changed})
        test_header = {"X-Test-Now": "2027-03-01T12:00:00Z"}
        yield "invalid_test_header", client.get(path, STAY, headers=test_header)
        yield "missing_api_key", client.get(path, STAY, key=None)
        yield "invalid_api_key", client.get(path, STAY, key="lc_live_unknown")
        yield "upstream_unavailable", client.get("/v1/pulse/weather", STAY)
    with _serving(folder / "spent", per_minute=2) as client:
        client.get(path, STAY)
        client.get(path, STAY)
        yield "rate_limit_exceeded", client.get(path, STAY)
    with _serving(folder / "broken", Broken()) as client:
        yield "internal_error", client.get("/v1/pulse/broken", STAY)
    with _overloaded(folder) as client:
        yield "service_overloaded", client.get("/v1/pulse/slow", STAY)


@contextmanager
def _overloaded(folder: Path) -> Iterator[Client]:
    """A server that works on one request, and takes one at a time."""
    slow = Slow(MovedClock())
    with _serving(folder / "full", slow, max_in_flight=1) as client:
        with occupied(slow, partial(client.get, "/v1/pulse/slow", STAY)) as (first,):
            assert slow.entered.wait(20)
            yield client
        assert first.result().status_code == 200


def _pages(folder: Path) -> Iterator[tuple[str, Any]]:
    """The widget's error pages."""
    with _serving(folder / "page", widget_per_minute=1) as client:
        yield "400", client.get("/v1/pulse", {**STAY, "lat": "91"}, key=None)
        yield "429", client.get("/v1/pulse", STAY, key=None)
    with _serving(folder / "odd", Odd(MovedClock())) as client:
        yield "500", client.get("/v1/pulse", STAY, key=None)
    with _overloaded(folder) as client:
        yield "503", client.get("/v1/pulse", STAY, key=None)
