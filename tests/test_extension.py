"""A package outside the repository adds a forecast provider and a section; nothing of ours changes.

The package in `examples/air_quality` is installed into a folder of its own, which is put on the
path: what is tried then is the real application over a fake server of the made-up provider.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from location_context.sections import registry
from location_context.settings import Settings
from location_context.testing import (
    FakeRequest,
    FakeResponse,
    FakeServer,
    check_provider,
    check_section,
)
from tests.moved_clock import MovedClock
from tests.web.commands import command
from tests.web.conftest import Client, served_client
from tests.web.full_app import OFF

PACKAGE = Path(__file__).parents[1] / "examples" / "air_quality"
STAY = {"lat": "48.8566", "lng": "2.3522", "start": "2026-11-22", "end": "2026-11-24"}


def respond(request: FakeRequest) -> FakeResponse:
    """What Skyline answers: 16 days of forecast, or five of air."""
    if request.path == "/air":
        days = [{"day": f"{_day(n)}", "aqi": 12.4 + 20 * n} for n in range(6)]
        return FakeResponse({"days": days})
    body = {
        "days": [f"{_day(n)}" for n in range(16)],
        "tmax": [285.15] * 16,
        "tmin": [278.15] * 16,
        "rain": [1.2] * 16,
        "wind": [5.0] * 16,
        "height": 35,
    }
    return FakeResponse(body)


def _day(number: int) -> date:
    return MovedClock()().date() + timedelta(days=number)


@dataclass(frozen=True)
class Installed:
    """The package's modules, and the environment in which its commands run."""

    forecast: ModuleType
    air_quality: ModuleType
    environ: dict[str, str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The package, installed as anybody installs it, and a server of its provider."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    options = ["--no-build-isolation", "--target", str(target), str(PACKAGE)]
    subprocess.run([*command, *options], check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as patch, FakeServer(respond).running() as server:
        patch.syspath_prepend(str(target))
        data = tmp_path_factory.mktemp("data")
        off = {f"LOCATION_CONTEXT_{name.upper()}": "" for name in OFF}
        own = {
            **off,
            "LOCATION_CONTEXT_DATA_DIR": str(data),
            "LOCATION_CONTEXT_SKYLINE_URL": f"{server.url}/forecast",
            "LOCATION_CONTEXT_SKYLINE_API_KEY": "hunter2",
            "LOCATION_CONTEXT_AIR_QUALITY_URL": f"{server.url}/air",
        }
        for name, value in own.items():
            patch.setenv(name, value)
        yield Installed(
            import_module("skyline_location_context.forecast"),
            import_module("skyline_location_context.air_quality"),
            own,
        )


@pytest.fixture(scope="module")
def client(installed: Installed) -> Iterator[Client]:
    settings = Settings.read(installed.environ)
    with served_client(settings, clock=MovedClock()) as client:
        yield client


def test_provider_of_a_third_party_package_passes_the_conformance_kit(installed: Installed) -> None:
    check_provider(installed.forecast.Skyline, respond, clock=MovedClock())


def test_section_of_a_third_party_package_passes_the_conformance_kit(installed: Installed) -> None:
    given = {"air_quality_url": "{url}/air"}
    check_section(installed.air_quality.AirQuality, respond, settings=given, clock=MovedClock())


def test_third_party_section_has_an_endpoint_with_api_key_and_quota(client: Client) -> None:
    assert client.get("/v1/pulse/air_quality", STAY, key=None).status_code == 401
    answer = client.get("/v1/pulse/air_quality", STAY)
    assert answer.status_code == 200
    assert [day["level"] for day in answer.json()["days"]] == ["fair", "moderate", "poor"]
    assert "RateLimit" in answer.headers
    assert answer.headers["ETag"]
    wrong = client.get("/v1/pulse/air_quality", {**STAY, "end": ""})
    assert wrong.json()["error"]["code"] == "missing_parameter"


def test_third_party_provider_supplies_the_forecast(client: Client) -> None:
    body = client.get("/v1/pulse/weather", STAY).json()
    assert body["basis"]["provider"] == "Skyline"
    assert body["days"][0]["temperature_max"] == pytest.approx(12.0, abs=0.5)
    assert "Forecast: Skyline, CC BY 4.0" in [one["text"] for one in body["attribution"]]


def test_api_reference_documents_the_third_party_section(client: Client) -> None:
    document = client.get("/v1/openapi.json", key=None).json()
    operation = document["paths"]["/v1/pulse/air_quality"]["get"]
    assert operation["summary"] == "Air quality: the European index for each day"
    content = operation["responses"]["200"]["content"]["application/json"]
    assert content["schema"]["$ref"].endswith("/AirQualityAnswer")
    assert content["examples"]["applicable"]["value"]["type"] == "air_quality"
    assert "AirQualityBody" in document["components"]["schemas"]
    assert "Air quality: the European" in client.get("/v1/docs", key=None).text


def test_status_lists_the_third_party_section_and_provider(client: Client) -> None:
    client.get("/v1/pulse/air_quality", STAY)
    sections = client.get("/v1/status", key=None).json()["sections"]
    assert list(sections) == ["weather", "astronomy", "air_quality", "guide", "events", "year"]
    [provider] = sections["air_quality"]["providers"]
    assert (provider["name"], provider["status"]) == ("air_quality", "operational")
    assert "skyline" in [one["name"] for one in sections["weather"]["providers"]]


def test_widget_shows_the_card_and_attribution_of_the_third_party_section(client: Client) -> None:
    page = client.get("/v1/pulse", {**STAY, "lang": "de"}, key=None).text
    assert '<section class="card air_quality" id="air_quality"' in page
    assert "Luftqualität</h2>" in page
    footer = page[page.index("<footer") :]
    assert "<b>Luftqualität:</b>" in footer
    assert "Skyline" in footer
    assert "Wetter, Himmel, Luftqualität, Restaurants und Veranstaltungen" in page


def test_compact_widget_shows_the_card_of_the_third_party_section(client: Client) -> None:
    page = client.get("/v1/pulse", {**STAY, "lang": "de", "layout": "compact"}, key=None).text
    part = page.partition('aria-labelledby="h-air_quality">')[2].partition("</section>")[0]
    assert "Luftqualität</h2>" in part
    assert "fair (32)" in part
    assert 'href="https://skyline.example/"' in page.partition("<footer")[2]


def test_builder_and_oembed_offer_the_third_party_section(client: Client) -> None:
    builder = client.get("/", STAY, key=None).text
    assert "<code>/v1/pulse/air_quality</code><span>air quality</span>" in builder
    address = f"http://127.0.0.1:8000/v1/pulse?{'&'.join(f'{k}={v}' for k, v in STAY.items())}"
    embed = client.get("/v1/oembed", {"url": address}, key=None).json()
    assert embed["title"] == "Weather, sky, air quality, restaurants and events"
    assert embed["height"] > 500


def test_read_command_prints_the_third_party_section(installed: Installed) -> None:
    start = date.today() + timedelta(days=1)  # noqa: DTZ011  a command has the system's clock
    days = ("--start", f"{start}", "--end", f"{start + timedelta(days=2)}")
    place = ("--lat", "48.8566", "--lng", "2.3522")
    done = command(None, "read", "air_quality", *place, *days, more=installed.environ)
    assert "air_quality" in done.stdout
    assert "air_quality" in registry.names()


def test_doctor_checks_the_third_party_package_and_masks_its_secret(installed: Installed) -> None:
    # it exits with 1, since no source is left for the weather of half a year from now
    done = command(None, "doctor", "--json", more=installed.environ, fails=True)
    findings = {one["check"]: one["message"] for one in json.loads(done.stdout)}
    assert "section air_quality" in findings
    assert "provider skyline" in findings
    assert findings["setting LOCATION_CONTEXT_SKYLINE_API_KEY"] == "***"
    assert findings["setting LOCATION_CONTEXT_AIR_QUALITY_URL"].endswith("/air")
    assert "hunter2" not in done.stdout + done.stderr


def test_misspelt_setting_of_a_third_party_package_is_reported(installed: Installed) -> None:
    wrong = {**installed.environ, "LOCATION_CONTEXT_SKYLINE_ULR": "x"}
    settings = import_module("location_context.settings")
    assert settings.unknown(wrong) == ["LOCATION_CONTEXT_SKYLINE_ULR"]
